# SPDX-License-Identifier: Apache-2.0
"""What else lies in a folder, as it was seen a moment ago: that does not vanish with one of its files, and nobody need be asked."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

# Seconds for which it is believed: as long others may remove it unseen.
_HOLDS: Final = 1.0
_MOST: Final = 1000


class _Seen:
    def __init__(self) -> None:
        self.names: set[bytes] = set()
        self.until = 0.0


class Look:
    """At a folder, that is on its way."""

    def __init__(self, seen: _Seen, until: float, removed: int) -> None:
        self.seen, self.until, self.removed = seen, until, removed


class Siblings:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._folders: dict[bytes, _Seen] = {}
        self._removed = self._changing = 0

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Names go in another way: nothing that is seen meanwhile, or was before, is believed."""
        with self._lock:
            self._changing += 1
        try:
            yield
        finally:
            with self._lock:
                self._changing -= 1
                self._folders.clear()

    def removed(self, folder: bytes, name: bytes) -> Look | None:
        """Right after it was.

        :return: a look that has to be taken whether there is anything else; None where that is known
        """
        with self._lock:
            now = self._clock()
            if len(self._folders) >= _MOST:
                self._folders.clear()
            seen = self._folders.setdefault(folder, _Seen())
            seen.names.discard(name)
            self._removed += 1
            if seen.names and now < seen.until and not self._changing:
                return None
            return Look(seen, now + _HOLDS, self._removed)

    def saw(self, look: Look, names: Iterable[bytes]) -> None:
        """What is there, unless some of it was removed since."""
        with self._lock:
            if look.removed == self._removed and not self._changing:
                look.seen.names, look.seen.until = set(names), look.until
