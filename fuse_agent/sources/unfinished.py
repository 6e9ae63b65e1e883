# SPDX-License-Identifier: Apache-2.0
"""What is made under a name of its own until it is whole: who dies over it leaves it at the source, where it takes room unseen.

Only what is noted here is removed by the next one: what others write may be under way.
"""

from __future__ import annotations

import secrets
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

# Whatever has such a name is nobody's until it has its own.
UNFINISHED: Final = b".paddleflow-unfinished-"
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
    def making(self, place: bytes, remove: Callable[[bytes], object]) -> Iterator[Tries]:
        """Of what is renamed to that place within; what tries have left is removed."""
        tries = Tries(self, place)
        try:
            yield tries
            self.ended(tries.names.pop())
        finally:
            for one in tries.names:
                self.forget(one, remove)

    def forget(self, place: bytes, remove: Callable[[bytes], object]) -> None:
        """If it cannot be removed, it is left for the next one; no listing shows it."""
        try:
            with suppress(FileNotFoundError):
                remove(place)
        except OSError:
            return
        self.ended(place)

    def forget_all(self, places: Sequence[bytes], remove: Callable[[bytes], object]) -> bool:
        """
        :param places: what a folder has
        :return: whether all of it is unfinished; else nothing is removed
        """
        if not all(place.rpartition(b"/")[2].startswith(UNFINISHED) for place in places):
            return False
        for place in places:
            self.forget(place, remove)
        return True

    def left(self) -> list[bytes]:
        """Those that were begun and not ended; not what only a part was written of."""
        found: list[bytes] = []
        for path in self._folder.glob(f"*{_SUFFIX}") if self._folder else ():
            with suppress(OSError):
                place = path.read_bytes()
                found += [place] if _name(place) == path.name else []
        return found


class Tries:
    """To make what is to have that place.

    :ivar names: where each was made
    """

    def __init__(self, noted: Unfinished, place: bytes) -> None:
        self._noted, self._folder = noted, place[: place.rfind(b"/") + 1]
        self.names: list[bytes] = []

    def begin(self) -> bytes:
        """By another name each time: what a lost connection left behind may still be at work in its own file."""
        self.names.append(self._folder + UNFINISHED + secrets.token_hex(8).encode())
        self._noted.begun(self.last)
        return self.last

    @property
    def last(self) -> bytes:
        return self.names[-1]


def _name(place: bytes) -> str:
    return blake2b(place, digest_size=16).hexdigest() + _SUFFIX


NOWHERE: Final = Unfinished()
