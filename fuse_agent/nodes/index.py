# SPDX-License-Identifier: Apache-2.0
"""From a folder and a name to a node: a hash table in the region that grows by one bucket at a time, so that no lookup ever waits
for a million names to be sorted anew (linear hashing: Litwin, 1980)."""

from __future__ import annotations

from typing import Final
from zlib import crc32

from .records import CHAIN, CODE, WORDS
from .region import BITS, NODES, SPLIT, Region

_FIRST_BITS: Final = 10


class Index:
    """Of the records two words are its own: CODE and CHAIN."""

    def __init__(self, region: Region) -> None:
        self._buckets, self._words, self._counters = region.buckets, region.words, region.counters
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
        base = slot * WORDS
        words[base + CODE] = code
        words[base + CHAIN] = self._buckets[bucket]
        self._buckets[bucket] = slot
        if self._counters[NODES] > (1 << self._counters[BITS]) + self._counters[SPLIT]:
            self._grow()

    def remove(self, slot: int) -> None:
        words = self._words
        bucket = self._bucket(words[slot * WORDS + CODE])
        before, found = 0, self._buckets[bucket]
        while found != slot:
            before, found = found, words[found * WORDS + CHAIN]
        after = words[slot * WORDS + CHAIN]
        if before:
            words[before * WORDS + CHAIN] = after
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
        words = self._words
        bits, split = self._counters[BITS], self._counters[SPLIT]
        slot, stays, goes = self._buckets[split], 0, 0
        while slot:
            base = slot * WORDS
            after = words[base + CHAIN]
            if words[base + CODE] >> bits & 1:
                words[base + CHAIN], goes = goes, slot
            else:
                words[base + CHAIN], stays = stays, slot
            slot = after
        self._buckets[split], self._buckets[split + (1 << bits)] = stays, goes
        if split + 1 == 1 << bits:
            self._counters[BITS], self._counters[SPLIT] = bits + 1, 0
        else:
            self._counters[SPLIT] = split + 1
