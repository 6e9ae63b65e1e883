# SPDX-License-Identifier: Apache-2.0
"""That what lies staged lacks a part, where its own disk does not take the note of that: on another one, for as long as the machine runs."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

_BYTES: Final = 12  # of a name


class Marks:
    """Of one folder of staged files."""

    def __init__(self, folder: Path | None, staging: Path) -> None:
        """
        :param folder: of all marks, which another process of this run of the machine finds again; None where there is none
        """
        self._folder = folder
        self._name = blake2b(os.fsencode(staging), digest_size=_BYTES).hexdigest()

    def put(self, number: int, code: int) -> None:
        """
        :param code: the errno of what failed
        :raises OSError: when it cannot be kept here either
        """
        if self._folder is None:
            raise FileNotFoundError(errno.ENOENT, "there is no folder for it")
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path(self._folder, number).write_text(f"{code}\n", encoding="ascii")

    def get(self, number: int) -> int:
        """0 of what has none."""
        if self._folder is None:
            return 0
        try:
            text = self._path(self._folder, number).read_text(encoding="ascii").strip()
        except FileNotFoundError:
            return 0
        return int(text) if text.isdecimal() else errno.EIO

    def drop(self, number: int) -> None:
        if self._folder is not None:
            with suppress(OSError):
                self._path(self._folder, number).unlink(missing_ok=True)

    def _path(self, folder: Path, number: int) -> Path:
        return folder / f"{self._name}.{number}"
