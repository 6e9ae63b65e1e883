# SPDX-License-Identifier: Apache-2.0
"""Which entry goes first when there is no room for all.

What was used once goes before what was used again: who reads a large data set through once pushes out what was read once before,
and not what is read every day. But what is new has a share of its own, and who was pushed out of that and comes back soon is no
newcomer: so a data set that is used now takes over from one that was used often, long ago.
"""

from __future__ import annotations

from array import array
from itertools import pairwise
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

# An entry is a number from FIRST on. What lies below are the heads of the lists, which are rings.
NEW, HOT, GONE = 1, 2, 3
FIRST: Final = 4
# Of all bytes: what is new gives way first as long as it has more than this.
_NEW_SHARE: Final = 4
# How many are remembered that went, as a share of those that are there, and at least.
_GONE_SHARE, _LEAST_GONE = 2, 64


class Order:
    """
    :ivar cost: bytes of each entry
    :ivar bytes: of all in a list
    :ivar counts: of the entries in a list
    """

    def __init__(self) -> None:
        self._next, self._previous = array("I", range(FIRST)), array("I", range(FIRST))
        self._list = array("B", bytes(FIRST))
        self.cost = array("Q", bytes(8 * FIRST))
        self.bytes, self.counts = [0] * FIRST, [0] * FIRST

    def grow(self, top: int) -> None:
        """Make room for entries below that number."""
        for column in (self._next, self._previous, self._list, self.cost):
            column.frombytes(bytes(column.itemsize * (top - len(column))))

    @property
    def memory(self) -> int:
        return sum(len(column) * column.itemsize for column in (self._next, self._previous, self._list, self.cost))

    def lists(self, start: int, end: int) -> bytes:
        """Where each of these is."""
        return self._list[start:end].tobytes()

    def where(self, entry: int) -> int:
        return self._list[entry]

    def fill(self, into: int, entries: Iterable[int]) -> None:
        """All of a list at once, the one that goes first at the start; each has its cost already."""
        ring = [into, *entries]
        following, previous, lists, cost = self._next, self._previous, self._list, self.cost
        total = 0
        for before, entry in pairwise(ring):
            following[entry], previous[before] = before, entry
            lists[entry] = into
            total += cost[entry]
        following[into], previous[ring[-1]] = ring[-1], into
        self.bytes[into], self.counts[into] = total, len(ring) - 1

    def enter(self, entry: int, cost: int) -> None:
        """As new, or as one that comes back."""
        into = HOT if self._list[entry] == GONE else NEW
        if into == HOT:
            self.leave(entry)
        self.cost[entry] = cost
        self._put(entry, into)

    def use(self, entry: int, again: bool) -> bool:
        """
        :param again: whether this is another use than the one for which it came
        :return: whether it became one of those that are used again and again
        """
        now = self._list[entry]
        if now == HOT:
            if self._next[HOT] != entry:
                self._move(entry, HOT)
        elif again:
            self._move(entry, HOT)
            return True
        return False

    def resize(self, entry: int, cost: int) -> None:
        self.bytes[self._list[entry]] += cost - self.cost[entry]
        self.cost[entry] = cost

    def leave(self, entry: int) -> None:
        into = self._list[entry]
        before, after = self._previous[entry], self._next[entry]
        self._next[before], self._previous[after] = after, before
        self._list[entry] = 0
        self.bytes[into] -= self.cost[entry]
        self.counts[into] -= 1

    def first(self, spared: Container[int]) -> int:
        """The entry that goes first, 0 when there is none; those that are spared count as used."""
        new = self.bytes[NEW] * _NEW_SHARE > self.bytes[NEW] + self.bytes[HOT]
        for one in (NEW, HOT) if new else (HOT, NEW):
            for _entry in range(self.counts[one]):
                entry = self._previous[one]
                if entry not in spared:
                    return entry
                self._move(entry, one)
        return 0

    def retire(self, entry: int) -> int:
        """Takes out an entry, but remembers one that was new.

        :return: the entry that is remembered no more, 0 for none
        """
        new = self._list[entry] == NEW
        self.leave(entry)
        if not new:
            return entry
        self.cost[entry] = 0
        self._put(entry, GONE)
        if self.counts[GONE] <= max((self.counts[NEW] + self.counts[HOT]) // _GONE_SHARE, _LEAST_GONE):
            return 0
        oldest = self._previous[GONE]
        self.leave(oldest)
        return oldest

    def _move(self, entry: int, into: int) -> None:
        self.leave(entry)
        self._put(entry, into)

    def _put(self, entry: int, into: int) -> None:
        after = self._next[into]
        self._next[into], self._previous[after] = entry, entry
        self._previous[entry], self._next[entry] = into, after
        self._list[entry] = into
        self.bytes[into] += self.cost[entry]
        self.counts[into] += 1
