# SPDX-License-Identifier: Apache-2.0
"""Bytes of any length up to a page, kept in the region. What is given back is used again for the same length."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .region import ARENA_TOP, MOST_UNITS, UNIT, UNITS, Region

if TYPE_CHECKING:
    from collections.abc import Iterable

LONGEST = 4095


class Arena:
    def __init__(self, region: Region) -> None:
        self._bytes = region.arena
        self._next = region.arena_words
        self._free = region.free_units
        self._counters = region.counters
        # What stands for nothing is never given out.
        self._counters[ARENA_TOP] = max(self._counters[ARENA_TOP], 1)

    def put(self, data: bytes) -> int:
        """Where it lies from now on; nothing lies at 0.

        :raises ValueError: when it is longer than anything that is kept here
        :raises MemoryError: when all that may be mapped is used
        """
        if len(data) > LONGEST:
            raise ValueError(f"{len(data)} bytes, but a name or version has at most {LONGEST}")
        units = _units(len(data))
        if not units:
            return 0
        place: int = self._free[units]
        if place:
            self._free[units] = self._next[place * UNIT // 4]
        else:
            place = self._counters[ARENA_TOP]
            if place + units > MOST_UNITS:
                raise MemoryError("The names and versions of a mount take more than 32 GiB.")
            self._counters[ARENA_TOP] = place + units
        self._counters[UNITS] += units
        start = place * UNIT
        self._bytes[start : start + len(data)] = data
        return place

    def get(self, place: int, length: int) -> bytes:
        start = place * UNIT
        return bytes(self._bytes[start : start + length])

    def drop(self, place: int, length: int) -> None:
        units = _units(length)
        if units:
            self._link(place, units)
            self._counters[UNITS] -= units

    def rebuild(self, used: Iterable[tuple[int, int]]) -> None:
        """After a writer was killed: all that nobody uses is free.

        :param used: places and lengths
        """
        for units in range(len(self._free)):
            self._free[units] = 0
        taken, end = 0, 1
        for place, length in sorted(used):
            self._give(end, place)
            units = _units(length)
            taken, end = taken + units, place + units
        self._counters[UNITS], self._counters[ARENA_TOP] = taken, end

    def _give(self, start: int, end: int) -> None:
        """In pieces that names have, since what is long is asked for seldom."""
        while start < end:
            units = min(end - start, 2)
            self._link(start, units)
            start += units

    def _link(self, place: int, units: int) -> None:
        self._next[place * UNIT // 4] = self._free[units]
        self._free[units] = place


def _units(length: int) -> int:
    return -(-length // UNIT)
