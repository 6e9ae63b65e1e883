# SPDX-License-Identifier: Apache-2.0
"""Uploads in parts that were begun here: one that died leaves them at the store, where nobody sees them and somebody pays.

Only these are ever ended by another: those of other machines may be under way. [D-45]
"""

from __future__ import annotations

import json
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple


class Begun(NamedTuple):
    key: str
    upload: str


class Journal:
    """Of one mount, in a folder that is nobody else's. A disk that takes no notes is no reason to store nothing."""

    def __init__(self, folder: str | Path | None = None) -> None:
        """
        :param folder: without it nothing is noted
        """
        self._folder = Path(folder) if folder else None

    def begun(self, one: Begun) -> None:
        if self._folder is None:
            return
        with suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            unfinished = self._path(one).with_suffix(".new")
            unfinished.write_text(json.dumps(one), encoding="utf-8")
            unfinished.rename(self._path(one))

    def ended(self, one: Begun) -> None:
        if self._folder is not None:
            with suppress(OSError):
                self._path(one).unlink()

    def left(self) -> list[Begun]:
        """Those that were begun and not ended."""
        found: list[Begun] = []
        for path in sorted(self._folder.glob("*.json")) if self._folder else ():
            with suppress(OSError, ValueError, TypeError):
                found.append(Begun(*map(str, json.loads(path.read_text(encoding="utf-8")))))
        return found

    def _path(self, one: Begun) -> Path:
        assert self._folder is not None
        return self._folder / f"{blake2b(repr(one).encode(), digest_size=16).hexdigest()}.json"


NOWHERE = Journal()
