# SPDX-License-Identifier: Apache-2.0
"""Measures a folder, of a mount or of any other file system, so that people can compare: a large file, small files, and what they are like.

Everything is written into a folder of its own there, which is removed however this ends.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

_MIB: Final = 1 << 20
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Band(NamedTuple):
    """Below ``bad`` is bad, from ``good`` on good, and between them ok."""

    test: str
    unit: str
    bad: float
    good: float

    def mark(self, value: float) -> str:
        return "bad" if value < self.bad else "ok" if value < self.good else "good"


BANDS: Final = (
    Band("big write", "MiB/s", 100, 200),
    Band("big read", "MiB/s", 100, 200),
    Band("small write", "files/s", 12.5, 20),
    Band("small read", "files/s", 50, 100),
    Band("stat", "files/s", 20, 1000),
)


class Sizes(NamedTuple):
    block: int = _MIB
    big: int = 1024 * _MIB
    small: int = 128 << 10
    files: int = 100
    threads: int = 1


class Result(NamedTuple):
    band: Band
    value: float

    @property
    def mark(self) -> str:
        return self.band.mark(self.value)


class StoppedError(Exception):
    """By a signal, whose number it has."""

    def __init__(self, number: int) -> None:
        super().__init__(f"It was interrupted by {signal.Signals(number).name}; what it wrote is removed.")
        self.number = number


def measure(folder: Path, sizes: Sizes) -> Iterator[Result]:
    """
    :raises StoppedError:
    :raises OSError:
    """
    with _signals() as stopped:
        own = Path(tempfile.mkdtemp(prefix="paddleflow-bench-", dir=folder))
        try:
            work = _Work(own, sizes, stopped)
            for band, act, amount in (
                (BANDS[0], work.write_big, sizes.threads * sizes.big / _MIB),
                (BANDS[1], work.read_big, sizes.threads * sizes.big / _MIB),
                (BANDS[2], work.write_small, sizes.threads * sizes.files),
                (BANDS[3], work.read_small, sizes.threads * sizes.files),
                (BANDS[4], work.stat, sizes.threads * sizes.files),
            ):
                yield Result(band, amount / _timed(act, sizes.threads, stopped))
        finally:
            stopped.set()
            shutil.rmtree(own)


def line(result: Result) -> str:
    return f"{result.band.test:<12} {result.value:>12,.1f} {result.band.unit:<8} {result.mark}"


def document(folder: Path, sizes: Sizes, results: list[Result]) -> str:
    found = [
        {"test": one.band.test, "value": round(one.value, 3), "unit": one.band.unit, "mark": one.mark}
        for one in results
    ]
    return json.dumps({"path": str(folder), **sizes._asdict(), "results": found}, indent=2)


class _Stopped(threading.Event):
    """
    :ivar number: of the signal
    """

    number = 0

    def check(self) -> None:
        if self.is_set():
            raise StoppedError(self.number or signal.SIGINT)


class _Work:
    """Of one thread each; what it was closed with counts, since a store has it then."""

    def __init__(self, folder: Path, sizes: Sizes, stopped: _Stopped) -> None:
        self._folder, self._sizes, self._stopped = folder, sizes, stopped
        self._block = os.urandom(sizes.block)
        self._small = os.urandom(sizes.small)

    def write_big(self, thread: int) -> None:
        left = self._sizes.big
        with (self._folder / f"big-{thread}").open("wb", buffering=0) as file:
            while left:
                self._stopped.check()
                left -= file.write(self._block[:left])

    def read_big(self, thread: int) -> None:
        self._forget(f"big-{thread}")
        with (self._folder / f"big-{thread}").open("rb", buffering=0) as file:
            while file.read(self._sizes.block):
                self._stopped.check()

    def write_small(self, thread: int) -> None:
        for path in self._each(thread):
            with path.open("wb", buffering=0) as file:
                file.write(self._small)

    def read_small(self, thread: int) -> None:
        for path in self._each(thread):
            with path.open("rb", buffering=0) as file:
                while file.read(self._sizes.small):
                    pass

    def stat(self, thread: int) -> None:
        for path in self._each(thread):
            path.stat()

    def _each(self, thread: int) -> Iterator[Path]:
        for index in range(self._sizes.files):
            self._stopped.check()
            yield self._folder / f"small-{thread}-{index}"

    def _forget(self, name: str) -> None:
        """So that it is read, not found in memory, as far as a kernel heeds that."""
        descriptor = os.open(self._folder / name, os.O_RDONLY)
        try:
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)


def _timed(act: Callable[[int], None], threads: int, stopped: _Stopped) -> float:
    begun = time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        for one in [pool.submit(act, thread) for thread in range(threads)]:
            one.result()
    stopped.check()
    return max(time.perf_counter() - begun, 1e-9)


@contextmanager
def _signals() -> Iterator[_Stopped]:
    """They end what is measured at its next step; while what was written is removed, nobody hears them."""
    stopped = _Stopped()

    def stop(number: int, _frame: FrameType | None) -> None:
        stopped.number = stopped.number or number
        stopped.set()

    before = {number: signal.signal(number, stop) for number in _SIGNALS}
    try:
        yield stopped
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
