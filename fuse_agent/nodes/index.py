# SPDX-License-Identifier: Apache-2.0
"""From a folder and a name to a node: a hash table in the region that grows by one bucket at a time, so that no lookup ever waits
for a million names to be sorted anew (linear hashing: Litwin, 1980)."""

from __future__ import annotations

from typing import Final
from zlib import crc32

from .region import BITS, NODES, SPLIT, Region

_FIRST_BITS: Final = 10


class Index:
    """
    Of the records it knows two words: ``code`` and ``chain``, which are its own.
    """

    def __init__(self, region: Region, code: int, chain: int, record: int) -> None:
        self._buckets, self._words, self._counters = region.buckets, region.words, region.counters
        self._code, self._chain, self._record = code, chain, record
        self._counters[BITS] = max(self._counters[BITS], _FIRST_BITS)

    @staticmethod
    def code(parent: int, name: bytes) -> int:
        return crc32(name, parent)

    def first(self, code: int) -> int:
        """The chain's, in which a name with this code is if it is anywhere."""
        first: int = self._buckets[self._bucket(code)]
        return first

    def add(self, slot: int, code: int) -> None:
        words, bucket = self._words, self._bucket(code)
        base = slot * self._record
        words[base + self._code] = code
        words[base + self._chain] = self._buckets[bucket]
        self._buckets[bucket] = slot
        if self._counters[NODES] > (1 << self._counters[BITS]) + self._counters[SPLIT]:
            self._grow()

    def remove(self, slot: int) -> None:
        words, record, chain = self._words, self._record, self._chain
        bucket = self._bucket(words[slot * record + self._code])
        before, found = 0, self._buckets[bucket]
        while found != slot:
            before, found = found, words[found * record + chain]
        after = words[slot * record + chain]
        if before:
            words[before * record + chain] = after
        else:
            self._buckets[bucket] = after

    def clear(self) -> None:
        """Before all is added anew."""
        for bucket in range((1 << self._counters[BITS]) + self._counters[SPLIT]):
            self._buckets[bucket] = 0

    def _bucket(self, code: int) -> int:
        bits = self._counters[BITS]
        bucket = code & ((1 << bits) - 1)
        if bucket < self._counters[SPLIT]:
            bucket = code & ((2 << bits) - 1)
        return bucket

    def _grow(self) -> None:
        """The next bucket gives to a new one what one bit more sends there."""
        words, record = self._words, self._record
        bits, split = self._counters[BITS], self._counters[SPLIT]
        slot, stays, goes = self._buckets[split], 0, 0
        while slot:
            base = slot * record
            after = words[base + self._chain]
            if words[base + self._code] >> bits & 1:
                words[base + self._chain], goes = goes, slot
            else:
                words[base + self._chain], stays = stays, slot
            slot = after
        self._buckets[split], self._buckets[split + (1 << bits)] = stays, goes
        if split + 1 == 1 << bits:
            self._counters[BITS], self._counters[SPLIT] = bits + 1, 0
        else:
            self._counters[SPLIT] = split + 1
