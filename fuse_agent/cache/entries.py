# SPDX-License-Identifier: Apache-2.0
"""What the disk holds, in columns: a dictionary of as many objects would cost four times the memory.

Entries have numbers, and columns are kept on disk in pieces of so many numbers (`index`): a million is read in a second.
"""

from __future__ import annotations

import zlib
from array import array
from enum import IntFlag
from typing import TYPE_CHECKING, Final

from .policy import FIRST, GONE, HOT, NEW, Order

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

KEY: Final = 16  # bytes
PAGE: Final = 256  # entries
# Bytes of an entry in each column of a page: key, cost, saved, used, sums, flags.
_WIDTHS: Final = (KEY, 8, 4, 4, 4, 1)
# Buckets of the index by key, at least and at most: a power of two.
_FEWEST, _MOST = 1 << 10, 1 << 22


class Flag(IntFlag):
    WHOLE = 1
    TRUSTED = 2  # written since the machine last started, or compared with its checksums since
    SUMMED = 4  # its checksums are known
    HOT = 8


# Plain numbers: an operation on a flag costs ten times one on a number.
WHOLE, TRUSTED, SUMMED, _HOT = (int(flag) for flag in Flag)
_OF_WHOLE: Final = bytes(flag if flag & WHOLE else 0 for flag in range(256))
_OF_HOT: Final = bytes(_HOT if where == HOT else 0 for where in range(256))


class DamagedError(ValueError):
    """A page that is none."""


class Entries:
    """
    :ivar order: who goes first; it has those that are there, and some that went
    :ivar saved: when an entry came, in seconds of the clock
    :ivar used: when it was used last, roughly, and as it was written to disk
    :ivar sums: the checksum of an entry that is one piece
    """

    def __init__(self, most: int) -> None:
        """
        :param most: entries that are expected at most; more only take longer
        """
        self.order = Order()
        self._keys = bytearray(KEY * FIRST)
        self._following = array("I", bytes(4 * FIRST))  # in a bucket, or in the list of free numbers
        self.saved, self.used, self.sums = (array("I", bytes(4 * FIRST)) for _column in range(3))
        self.flags = array("B", bytes(FIRST))
        self._mask = min(max(1 << (most // 2).bit_length(), _FEWEST), _MOST) - 1
        self._buckets = array("I", bytes(4 * (self._mask + 1)))
        self._free = 0

    def __len__(self) -> int:
        return self.order.counts[NEW] + self.order.counts[HOT]

    @property
    def memory(self) -> int:
        """Bytes that they cost."""
        columns = (self._following, self.saved, self.used, self.sums, self.flags, self._buckets)
        return sum(len(column) * column.itemsize for column in columns) + len(self._keys) + self.order.memory

    def key(self, entry: int) -> bytes:
        return bytes(self._keys[entry * KEY : entry * KEY + KEY])

    def find(self, key: bytes) -> int:
        """0 when it is not there."""
        entry = self._find(key)
        return entry if entry and self.order.where(entry) != GONE else 0

    def add(self, key: bytes, cost: int, flags: int, now: int) -> int:
        entry = self._find(key) or self._take(key)
        self.order.enter(entry, cost)
        self.saved[entry] = self.used[entry] = now
        self.flags[entry] = flags
        return entry

    def remove(self, entry: int, remember: bool = False) -> None:
        """
        :param remember: that it was there, for when it comes back
        """
        self.flags[entry] = 0
        if remember:
            forgotten = self.order.retire(entry)
        else:
            self.order.leave(entry)
            forgotten = entry
        if forgotten:
            self._release(forgotten)

    def live(self) -> list[int]:
        return [entry for entry in range(FIRST, len(self.flags)) if self.order.where(entry) in (NEW, HOT)]

    # --- as it is kept ------------------------------------------------------------------------

    def page(self, number: int) -> bytes:
        """Of what is whole, for the disk; b"" when there is nothing."""
        start, end = number * PAGE, min(number * PAGE + PAGE, len(self.flags))
        flags = self.flags[start:end].tobytes().translate(_OF_WHOLE)
        if not flags.strip(b"\0"):
            return b""
        hot = self.order.lists(start, end).translate(_OF_HOT)
        flags = (int.from_bytes(flags, "little") | int.from_bytes(hot, "little")).to_bytes(len(flags), "little")
        missing = PAGE - (end - start)
        columns = (self.order.cost, self.saved, self.used, self.sums)
        body = b"".join(
            [
                self._keys[start * KEY : end * KEY],
                bytes(missing * KEY),
                *(column[start:end].tobytes() + bytes(missing * column.itemsize) for column in columns),
                flags,
                bytes(missing),
            ]
        )
        return zlib.crc32(body).to_bytes(4, "little") + body

    def load(self, pages: Iterator[tuple[int, bytes]], distrust: bool) -> None:
        """Into an empty table.

        :param pages: in the order of their numbers
        :param distrust: what is read was not written since the machine last started
        :raises DamagedError:
        """
        keys, flags = bytearray(), array("B")
        cost = array("Q")
        saved, used, sums = (array("I") for _column in range(3))
        columns: tuple[Callable[[bytes | memoryview], object], ...] = (
            keys.extend, cost.frombytes, saved.frombytes, used.frombytes, sums.frombytes, flags.frombytes,
        )  # fmt: skip
        count = 0
        for number, page in pages:
            body = memoryview(page)[4:]
            if len(body) != PAGE * sum(_WIDTHS) or zlib.crc32(body) != int.from_bytes(page[:4], "little"):
                raise DamagedError(f"Page {number} of the index is damaged.")
            gap, offset = (number - count) * PAGE, 0
            for append, width in zip(columns, _WIDTHS, strict=True):
                append(bytes(gap * width))
                append(body[offset : offset + PAGE * width])
                offset += PAGE * width
            count = number + 1
        if count:
            self._keys, self.order.cost = keys, cost
            self.saved, self.used, self.sums = saved, used, sums
            self._following = array("I", bytes(4 * len(flags)))
            self._lay_out(flags, distrust)

    def _lay_out(self, flags: array[int], distrust: bool) -> None:
        away = _HOT | TRUSTED if distrust else _HOT
        self.flags = array("B", flags.tobytes().translate(bytes(flag & ~away for flag in range(256))))
        following, buckets, mask = self._following, self._buckets, self._mask
        live = [entry for entry in range(FIRST, len(flags)) if flags[entry] & WHOLE]
        heads = array("I", bytes(self._keys))[:: KEY // 4]
        for entry in live:
            bucket = heads[entry] & mask
            following[entry] = buckets[bucket]
            buckets[bucket] = entry
        del heads
        live.sort(key=self.used.__getitem__)
        self.order.grow(len(flags))
        self.order.fill(NEW, [entry for entry in live if not flags[entry] & _HOT])
        self.order.fill(HOT, [entry for entry in live if flags[entry] & _HOT])
        for entry in range(len(flags) - 1, FIRST - 1, -1):
            if not flags[entry] & WHOLE:
                following[entry], self._free = self._free, entry

    # --- below --------------------------------------------------------------------------------

    def _bucket(self, key: bytes) -> int:
        return int.from_bytes(key[:4], "little") & self._mask

    def _find(self, key: bytes) -> int:
        entry: int = self._buckets[int.from_bytes(key[:4], "little") & self._mask]
        keys, following = self._keys, self._following
        while entry and keys[entry * KEY : entry * KEY + KEY] != key:
            entry = following[entry]
        return entry

    def _take(self, key: bytes) -> int:
        if not self._free:
            self._grow()
        entry = self._free
        self._free = self._following[entry]
        self._keys[entry * KEY : entry * KEY + KEY] = key
        bucket = self._bucket(key)
        self._following[entry] = self._buckets[bucket]
        self._buckets[bucket] = entry
        return entry

    def _release(self, entry: int) -> None:
        bucket, following = self._bucket(self.key(entry)), self._following
        one = self._buckets[bucket]
        if one == entry:
            self._buckets[bucket] = following[entry]
        else:
            while following[one] != entry:
                one = following[one]
            following[one] = following[entry]
        following[entry], self._free = self._free, entry

    def _grow(self) -> None:
        start = len(self.flags)
        top = (start // PAGE + 1) * PAGE
        self.order.grow(top)
        self._keys += bytes(KEY * (top - start))
        for column in (self._following, self.saved, self.used, self.sums, self.flags):
            column.frombytes(bytes(column.itemsize * (top - start)))
        for entry in range(top - 1, start - 1, -1):
            self._following[entry], self._free = self._free, entry
