# SPDX-License-Identifier: Apache-2.0
"""How many bytes a second may pass, of a mount and of all mounts of a machine together.

A bucket is one number: the moment at which all that was taken is paid for, in a time that begins with the machine; so the boot that it
is of stands beside it. It lies in a file that all share who share the bucket; who is killed over it leaves the number before or the
number after. Much is taken in small parts, so that nobody who wants little waits behind all of it.
"""

from __future__ import annotations

import fcntl
import os
import struct
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple
from uuid import UUID

from ..boot import boot_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

SECOND: Final = 10**9
_BUCKET: Final = struct.Struct("<q16s")
# What was not used for so long may be used at once; a part takes no longer than half of that, and is no larger than so much.
_BURST: Final = SECOND // 4
_LARGEST: Final = 256 << 10
_SMALLEST: Final = 4 << 10
# Further ahead it is nothing that we wrote.
_FARTHEST: Final = 3600 * SECOND


class Rate(NamedTuple):
    """
    :ivar path: of the file of its bucket
    :ivar most: bytes a second
    """

    path: str
    most: int


class Rates(NamedTuple):
    read: Sequence[Rate] = ()
    write: Sequence[Rate] = ()


def take(paid: int, now: int, size: int, most: int) -> tuple[int, int]:
    """The next moment at which all is paid for, and how long who takes this has to wait, in nanoseconds.

    :param paid: the moment before
    """
    begin = max(paid, now - _BURST) if paid <= now + _FARTHEST else now
    return begin + size * SECOND // most, max(begin - now, 0)


class Gate:
    """Lets bytes pass, in one direction."""

    def __init__(
        self,
        rates: Sequence[Rate] = (),
        clock: Callable[[], int] = lambda: time.clock_gettime_ns(time.CLOCK_BOOTTIME),
        wait: Callable[[float], None] = time.sleep,
        boot: bytes = b"",
    ) -> None:
        self._rates, self._clock, self._wait = tuple(rate for rate in rates if rate.most), clock, wait
        self._boot = boot or UUID(boot_id()).bytes
        self._lock = threading.Lock()
        self._files: dict[str, int] = {}

    def admit(self, size: int) -> None:
        """Returns when they may pass."""
        for part in self.parts(size):
            self.admit_part(part)

    def parts(self, size: int) -> Iterator[int]:
        """In which it is taken."""
        if not self._rates:
            return
        least = min(rate.most for rate in self._rates)
        step = max(min(least * (_BURST // 2) // SECOND, _LARGEST), _SMALLEST)
        for start in range(0, size, step):
            yield min(step, size - start)

    def admit_part(self, size: int) -> None:
        waits = [self._take(rate, size) for rate in self._rates]
        if any(waits):
            self._wait(max(waits) / SECOND)

    def _take(self, rate: Rate, size: int) -> int:
        with self._held(rate.path) as file:
            told = os.pread(file, _BUCKET.size, 0)
            paid, boot = _BUCKET.unpack(told) if len(told) == _BUCKET.size else (0, b"")
            paid, wait = take(paid if boot == self._boot else 0, self._clock(), size, rate.most)
            os.pwrite(file, _BUCKET.pack(paid, self._boot), 0)
        return wait

    @contextmanager
    def _held(self, path: str) -> Iterator[int]:
        """A lock of the file is let go when its owner ends, however that is. It is no one's of threads, hence ours."""
        with self._lock:
            if path not in self._files:
                Path(path).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._files[path] = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            fcntl.flock(self._files[path], fcntl.LOCK_EX)
            try:
                yield self._files[path]
            finally:
                fcntl.flock(self._files[path], fcntl.LOCK_UN)

    def close(self) -> None:
        with self._lock:
            for file in self._files.values():
                os.close(file)
            self._files.clear()


class Gates(NamedTuple):
    read: Gate
    write: Gate

    def close(self) -> None:
        self.read.close()
        self.write.close()


def gates(rates: Rates) -> Gates:
    return Gates(Gate(rates.read), Gate(rates.write))


OPEN: Final = gates(Rates())
