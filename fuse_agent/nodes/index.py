# SPDX-License-Identifier: Apache-2.0
"""From a folder and a name to a node: a hash table in the region that grows by one bucket at a time, so that no lookup ever waits
for a million names to be sorted anew (linear hashing: Litwin, 1980)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from zlib import crc32

from .records import CHAIN, CODE, NAME, PARENT, WORDS
from .region import BITS, NODES, SPLIT, Region

if TYPE_CHECKING:
    from collections.abc import Callable

_FIRST_BITS: Final = 10


class Index:
    """Of the records two words are its own: CODE and CHAIN."""

    def __init__(self, region: Region, text: Callable[[int, int], bytes]) -> None:
        """
        :param text: a field of a record
        """
        self._text = text
        self._buckets, self._words, self._counters = region.buckets, region.words, region.counters
        self._counters[BITS] = max(self._counters[BITS], _FIRST_BITS)

    def find(self, folder: int, name: bytes) -> int:
        """The slot of what a name in the folder of that slot means, 0 for nothing. The kernel asks for nothing else as often."""
        words, code = self._words, crc32(name, folder)
        slot: int = self._buckets[self._bucket(code)]
        while slot:
            base = slot * WORDS
            if words[base + CODE] == code and words[base + PARENT] == folder and self._text(slot, NAME) == name:
                return slot
            slot = words[base + CHAIN]
        return 0

    def add(self, slot: int, folder: int, name: bytes) -> None:
        words, code = self._words, crc32(name, folder)
        base, bucket = slot * WORDS, self._bucket(code)
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
