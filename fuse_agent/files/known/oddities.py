# SPDX-License-Identifier: Apache-2.0
"""What a source holds and nobody sees here, for whoever looks after it."""

from __future__ import annotations

import logging
from itertools import islice
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_LOG = logging.getLogger(__name__)
_MOST: Final = 10_000
_SHOWN: Final = 20
_LONGEST: Final = 256


class Oddities:
    """Paths, each counted once; as many as anybody will look at. Of the first a line is written."""

    def __init__(self, line: str) -> None:
        """
        :param line: what they are, and what to do about it
        """
        self._line = line
        self._paths: dict[bytes, None] = {}

    def __len__(self) -> int:
        return len(self._paths)

    def add(self, folder: bytes, names: Iterable[bytes]) -> None:
        for name in names:
            if len(self._paths) >= _MOST:
                return
            if not self._paths:
                _LOG.warning(
                    "%s path=%r; status counts all, and names some",
                    self._line,
                    folder + b"/" + name if folder else name,
                )
            self._paths[folder + b"/" + name if folder else name] = None

    def shown(self) -> list[str]:
        """The first of them."""
        return [path.decode(errors="backslashreplace")[:_LONGEST] for path in islice(self._paths, _SHOWN)]
