# SPDX-License-Identifier: Apache-2.0
"""What a source holds and nobody sees here, for whoever looks after it."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_MOST: Final = 10_000
_SHOWN: Final = 20
_LONGEST: Final = 256


class Oddities:
    """Paths, each counted once; as many as anybody will look at."""

    def __init__(self) -> None:
        self._paths: dict[bytes, None] = {}

    def __len__(self) -> int:
        return len(self._paths)

    def add(self, folder: bytes, names: Iterable[bytes]) -> None:
        for name in names:
            if len(self._paths) >= _MOST:
                return
            self._paths[folder + b"/" + name if folder else name] = None

    def shown(self) -> list[str]:
        """The first of them."""
        return [path.decode(errors="backslashreplace")[:_LONGEST] for path in islice(self._paths, _SHOWN)]
