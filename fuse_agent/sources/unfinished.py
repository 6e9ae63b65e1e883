# SPDX-License-Identifier: Apache-2.0
"""What is written under a name of its own until it is whole: who dies over it leaves it at the source, where it takes room unseen.

Only what is noted here is removed by the next one: what others write may be under way.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_SUFFIX: Final = ".left"


class Unfinished:
    """Of one mount, in a folder that is nobody else's. A disk that takes no notes is no reason to store nothing."""

    def __init__(self, folder: str | Path | None = None) -> None:
        """
        :param folder: without it nothing is noted
        """
        self._folder = Path(folder) if folder else None

    def begun(self, place: bytes) -> None:
        if self._folder is not None:
            with suppress(OSError):
                self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                (self._folder / _name(place)).write_bytes(place)

    def ended(self, place: bytes) -> None:
        if self._folder is not None:
            with suppress(OSError):
                (self._folder / _name(place)).unlink(missing_ok=True)

    @contextmanager
    def during(self, place: bytes) -> Iterator[None]:
        self.begun(place)
        try:
            yield
        finally:
            self.ended(place)

    def left(self) -> list[bytes]:
        """Those that were begun and not ended; not what only a part was written of."""
        found: list[bytes] = []
        for path in self._folder.glob(f"*{_SUFFIX}") if self._folder else ():
            with suppress(OSError):
                place = path.read_bytes()
                found += [place] if _name(place) == path.name else []
        return found


def _name(place: bytes) -> str:
    return blake2b(place, digest_size=16).hexdigest() + _SUFFIX


NOWHERE: Final = Unfinished()
