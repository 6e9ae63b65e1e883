# SPDX-License-Identifier: Apache-2.0
"""What is kept of one node, by its slot in the region.

A node stands for one version of one file, or for a folder. Its number holds its slot and how often that was used before, so none
is ever given twice.
"""

from __future__ import annotations

import errno
import struct
from hashlib import blake2b
from stat import S_ISDIR
from typing import TYPE_CHECKING, Final, NamedTuple

from .arena import Arena
from .region import BYTES, FREE, MOST_NODES, NODES, RECORD, TOP, Region

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT: Final = 1
# Of each record, by number of 32 bits ...
STATE, _GENERATION, PARENT, CODE, CHAIN = 0, 1, 2, 3, 6
NEXT, PREVIOUS, ORDER, LOOKUPS, MODE, _UID, _GID, LISTED, LISTED_UNTIL = range(7, 16)
FIRST, LAST, CHILDREN, LAST_ORDER = range(16, 20)  # a folder's, where anything else has size and version
WORDS: Final = RECORD // 4
# ... and of 64. Name and version say where in the arena and how long, in one number: a writer may be killed between two.
NAME, _SIZE, VERSION, _NUMBER, _MTIME, _CTIME, _ATIME, _HOLDS, _NAME_HOLDS = 2, 8, 9, 10, 11, 12, 13, 14, 15
_LONGS: Final = RECORD // 8
# Above its mode a node has how many names it has beside its own.
_LINKS, _MODE, _MOST_LINKS = 16, 0xFFFF, 0xFFFF
_ATTRIBUTES = struct.Struct("<44xIII8xq8xQqqqqq")
NOBODY: Final = MOST_NODES  # no slot: what a node's parent is once its name means something else


class State:
    """Bits of it. An IntFlag would cost more than all else that is done with them."""

    LIVE: Final = 1
    NAMED: Final = 2  # its name means it; one that was renamed over, removed or replaced is reached by number alone
    USED: Final = 4  # since the hand came by
    WRITTEN: Final = 8
    REMOVED: Final = 16  # who removed its name, or moved another there, was the kernel
    LEFT: Final = 32  # it lost its name while somebody had it open: what stands there is its whole path


_LIVE: Final = State.LIVE


class StaleError(OSError):
    """The number of a node that is gone. Who looks its name up again finds what it means now."""

    def __init__(self, node: int) -> None:
        super().__init__(errno.ESTALE, f"node {node} is gone")


class Known(NamedTuple):
    """What is kept of a node's attributes. Times are in nanoseconds; those that say how long something holds are of the boot
    clock, which goes on while the machine sleeps and over the death of a worker."""

    mode: int
    uid: int = 0
    gid: int = 0
    size: int = 0
    number: int = 0
    mtime: int = 0
    ctime: int = 0
    atime: int = 0
    holds: int = 0
    name_holds: int = 0
    links: int = 1  # names of the file


class Records:
    def __init__(self, region: Region) -> None:
        self._words, self._longs, self._bytes = region.words, region.longs, region.records
        self._counters = region.counters
        self._arena = Arena(region)

    def node(self, slot: int) -> int:
        """Its number."""
        generation: int = self._words[slot * WORDS + _GENERATION]
        return generation << 32 | slot

    def slot(self, node: int) -> int:
        """
        :raises StaleError:
        """
        slot = node & 0xFFFFFFFF
        if slot < MOST_NODES:
            words, base = self._words, slot * WORDS
            if words[base + STATE] & _LIVE and words[base + _GENERATION] == node >> 32:
                return slot
        raise StaleError(node)

    def known(self, slot: int) -> Known:
        mode, uid, gid, size, *rest = _ATTRIBUTES.unpack_from(self._bytes, slot * RECORD)
        kind = mode & _MODE
        # By its fields it would take three times as long.
        return tuple.__new__(Known, (kind, uid, gid, 0 if S_ISDIR(kind) else size, *rest, (mode >> _LINKS) + 1))

    def fill(self, slot: int, known: Known) -> None:
        base, long = slot * WORDS, slot * _LONGS
        words, longs = self._words, self._longs
        words[base + MODE] = known.mode | min(known.links - 1, _MOST_LINKS) << _LINKS
        words[base + _UID], words[base + _GID] = known.uid, known.gid
        if not S_ISDIR(known.mode):
            self._count(known.size - longs[long + _SIZE])
            longs[long + _SIZE] = known.size
        longs[long + _NUMBER], longs[long + _HOLDS] = known.number, known.holds
        longs[long + _MTIME], longs[long + _CTIME], longs[long + _ATIME] = known.mtime, known.ctime, known.atime
        longs[long + _NAME_HOLDS] = known.name_holds

    # --- its name and version: NAME and VERSION ----------------------------------------------

    def text(self, slot: int, field: int) -> bytes:
        piece = self._longs[slot * _LONGS + field]
        return self._arena.get(piece & 0xFFFFFFFF, piece >> 32)

    def put(self, slot: int, field: int, text: bytes) -> None:
        self._longs[slot * _LONGS + field] = self._arena.put(text) | len(text) << 32

    def replace(self, slot: int, field: int, text: bytes) -> None:
        before = self._longs[slot * _LONGS + field]
        self.put(slot, field, text)
        self._arena.drop(before & 0xFFFFFFFF, before >> 32)

    def texts(self, slot: int) -> Iterator[tuple[int, int]]:
        """Where they lie in the arena, and how long they are."""
        fields = (NAME,) if S_ISDIR(self._words[slot * WORDS + MODE]) else (NAME, VERSION)
        for field in fields:
            piece = self._longs[slot * _LONGS + field]
            if piece:
                yield piece & 0xFFFFFFFF, piece >> 32

    def sort_texts(self, slots: Iterable[int]) -> None:
        """After a writer was killed, all that is in none of these is free."""
        self._arena.rebuild(piece for slot in slots for piece in self.texts(slot))

    # --- slots -------------------------------------------------------------------------------

    def take(self) -> int:
        """A slot, which counts as a node."""
        slot: int = self._counters[FREE]
        if slot:
            self._counters[FREE] = self._words[slot * WORDS + CHAIN]
        else:
            slot = self._counters[TOP]
            if slot == MOST_NODES:
                raise MemoryError(f"The kernel holds {MOST_NODES} names of one mount, and there is no room for more.")
            self._counters[TOP] = slot + 1
        self._counters[NODES] += 1
        return slot

    def _count(self, more: int) -> None:
        if more:
            # Who was killed in between counted wrong: that is seen by people alone, and never below nothing.
            self._counters[BYTES] = max(self._counters[BYTES] + more, 0)

    def clear(self, slot: int) -> None:
        if not S_ISDIR(self._words[slot * WORDS + MODE]):
            self._count(-self._longs[slot * _LONGS + _SIZE])
        for place, length in self.texts(slot):
            self._arena.drop(place, length)
        self._counters[NODES] -= 1
        self.give(slot)

    def give(self, slot: int) -> None:
        base, start = slot * WORDS, slot * RECORD
        # First of all, so that the number of a node that was never comes again.
        self._words[base + _GENERATION] = (self._words[base + _GENERATION] + 1) % 2**32
        self._bytes[start : start + 4 * _GENERATION] = bytes(4 * _GENERATION)
        self._bytes[start + 4 * (_GENERATION + 1) : start + RECORD] = bytes(RECORD - 4 * (_GENERATION + 1))
        self._words[base + CHAIN] = self._counters[FREE]
        self._counters[FREE] = slot


def number(parent: int, name: bytes) -> int:
    """What users see as a file's inode: the same for the same path on every node and after every start, whichever version of it
    is seen. 63 bits make it that two of a billion names share one with a chance of one to twenty."""
    return int.from_bytes(blake2b(name, digest_size=8, key=parent.to_bytes(8, "little")).digest(), "little") >> 1
