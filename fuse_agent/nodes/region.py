# SPDX-License-Identifier: Apache-2.0
"""A piece of memory with a descriptor: whoever holds that can map it, as it was when its writer was killed.

Its parts lie at fixed places of a file that is far larger than what it holds: pages that nobody wrote to cost nothing, and no
part has ever to be moved when another grows.
"""

from __future__ import annotations

import mmap
import os
import struct
from typing import Final

# Of the layout below: a worker of another release does not read what it would misread.
LAYOUT: Final = 2
_MAGIC: Final = int.from_bytes(b"pfnodes\0", "little")

MOST_NODES: Final = 1 << 26
RECORD: Final = 128
UNIT: Final = 16  # of the arena: what it gives out begins and ends at one
MOST_UNITS: Final = 1 << 31
HANDLE: Final = 4  # numbers of 64 bits
MOST_HANDLES: Final = 1 << 22
RESULT: Final = 24  # numbers of 64 bits
MOST_RESULTS: Final = 4096
_COUNTERS, _FREE_UNITS, _RESULTS, _BUCKETS, _HANDLES, _RECORDS, _ARENA = (
    0, 4096, 1 << 16, 1 << 20, 1 << 29, 1 << 30, 1 << 34,
)  # fmt: skip
_SIZE: Final = _ARENA + MOST_UNITS * UNIT

# Counters, by their place in the first page.
(
    MAGIC,
    VERSION,
    BUSY,
    NODES,
    TOP,
    FREE,
    HAND,
    BITS,
    SPLIT,
    UNITS,
    ARENA_TOP,
    LISTINGS,
    GRAVES,
    HANDLES_TOP,
    BOUND,
    UNBINDING,
    RESULTS_TOP,
    BYTES,
) = range(18)


class LayoutError(ValueError):
    """Memory that another release wrote, or nobody of ours."""


class Region:
    """
    :ivar counters: numbers of 64 bits
    :ivar buckets: of the index by name, numbers of 32 bits
    :ivar words: of the records, 32 for each
    :ivar longs: the same records as numbers of 64 bits, 16 for each
    :ivar handles: of what is open, numbers of 64 bits, HANDLE for each
    :ivar results: of requests, numbers of 64 bits, RESULT for each
    :ivar arena: bytes of names and versions, and the same as numbers of 32 bits
    :ivar free_units: where lists of free pieces of the arena begin, by their length in units
    """

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.map = mmap.mmap(descriptor, _SIZE)
        whole = memoryview(self.map)
        self.counters = whole[_COUNTERS:_FREE_UNITS].cast("Q")
        self.free_units = whole[_FREE_UNITS : _FREE_UNITS + 4 * 4096].cast("I")
        self.buckets = whole[_BUCKETS : _BUCKETS + 4 * MOST_NODES].cast("I")
        self.words = whole[_RECORDS : _RECORDS + RECORD * MOST_NODES].cast("I")
        self.handles = whole[_HANDLES : _HANDLES + 8 * HANDLE * MOST_HANDLES].cast("Q")
        self.results = whole[_RESULTS : _RESULTS + 8 * RESULT * MOST_RESULTS].cast("Q")
        self.longs = whole[_RECORDS : _RECORDS + RECORD * MOST_NODES].cast("q")
        self.records = whole[_RECORDS : _RECORDS + RECORD * MOST_NODES]
        self.arena = whole[_ARENA:]
        self.arena_words = whole[_ARENA:].cast("I")
        self._views = [view for view in vars(self).values() if isinstance(view, memoryview)]
        whole.release()

    @classmethod
    def create(cls) -> Region:
        descriptor = os.memfd_create("paddleflow-nodes", os.MFD_CLOEXEC)
        try:
            os.truncate(descriptor, _SIZE)
            region = cls(descriptor)
        except BaseException:
            os.close(descriptor)
            raise
        region.counters[VERSION] = LAYOUT
        region.counters[MAGIC] = _MAGIC
        return region

    @classmethod
    def adopt(cls, descriptor: int) -> Region:
        """What another process created.

        :raises LayoutError:
        """
        cls.check(descriptor)
        return cls(descriptor)

    @staticmethod
    def check(descriptor: int) -> None:
        """Whether this release reads what another process created, without touching it.

        :raises LayoutError:
        """
        head = os.pread(descriptor, 16, 0)
        magic, version = struct.unpack("<QQ", head) if len(head) == 16 else (0, 0)
        if magic != _MAGIC or os.fstat(descriptor).st_size != _SIZE:
            raise LayoutError("The memory that was handed over is no table of nodes.")
        if version != LAYOUT:
            raise LayoutError(f"The memory that was handed over has layout {version}, but this release reads {LAYOUT}.")

    @property
    def resident(self) -> int:
        """Bytes that it costs."""
        return os.fstat(self.descriptor).st_blocks * 512

    def close(self) -> None:
        for view in self._views:
            view.release()
        self.map.close()
        os.close(self.descriptor)
