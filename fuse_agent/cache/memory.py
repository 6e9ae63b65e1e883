# SPDX-License-Identifier: Apache-2.0
"""What was read, in memory, for a mount without a disk tier and for what that refused. One budget for all who read.

What came at once stays one piece, and goes as one: to copy it into blocks takes as long as to give it to the kernel. What was read in
order is what the kernel has itself, so of that only a share is kept, unless somebody asks again.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final, NamedTuple

# What is asked for and found by one number.
BLOCK: Final = 1 << 20
# A piece above this share of the budget would push out too much; and of what was read in order no more than it is kept.
_SHARE: Final = 8
# What a piece costs beside its bytes: its key, its place and its object.
_OVERHEAD: Final = 400


class _Piece(NamedTuple):
    key: bytes
    first: int  # block
    data: memoryview

    @property
    def numbers(self) -> range:
        return range(self.first, self.first + max(-(-len(self.data) // BLOCK), 1))

    @property
    def cost(self) -> int:
        return len(self.data) + len(self.numbers) * _OVERHEAD


class Memory:
    """
    :ivar used: bytes, with what it costs to keep them
    """

    def __init__(self, budget: int) -> None:
        self.budget, self.used = budget, 0
        self.evictions = self.refused = 0
        self._pieces: OrderedDict[tuple[bytes, int], _Piece] = OrderedDict()  # by their first blocks
        self._firsts: dict[tuple[bytes, int], int] = {}  # of all blocks
        self._passed: OrderedDict[tuple[bytes, int], int] = OrderedDict()  # costs of pieces that were read in order
        self._passed_bytes = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """Blocks."""
        return len(self._firsts)

    def has(self, key: bytes, number: int) -> bool:
        return (key, number) in self._firsts

    def get(self, key: bytes, number: int) -> memoryview | None:
        with self._lock:
            first = self._firsts.get((key, number))
            if first is None:
                return None
            self._pieces.move_to_end((key, first))
            self._passed_bytes -= self._passed.pop((key, first), 0)
            begin = (number - first) * BLOCK
            return self._pieces[key, first].data[begin : begin + BLOCK]

    def put(self, key: bytes, number: int, data: bytes | memoryview) -> bool:
        """Whether any of it was taken.

        :param data: from that block on. What is large is kept as it is, and nobody may change it; of what is smaller than a block a copy,
            since it may be a part of something larger
        """
        view = memoryview(data).cast("B")
        whole = _Piece(key, number, view if len(view) >= BLOCK else memoryview(bytes(view)))
        if len(view) <= BLOCK or whole.cost <= self.budget // _SHARE:
            return self._put(whole)
        taken = False
        for begin in range(0, len(view), BLOCK):
            one = _Piece(key, number + begin // BLOCK, memoryview(bytes(view[begin : begin + BLOCK])))
            taken = self._put(one) or taken
        return taken

    def passed(self, key: bytes, number: int) -> None:
        """Who reads in order is at the end of that block: when it is the last of its piece, that goes soon."""
        with self._lock:
            first = self._firsts.get((key, number))
            if first is None or number != (piece := self._pieces[key, first]).numbers[-1]:
                return
            self._passed_bytes += piece.cost - self._passed.pop((key, first), 0)
            self._passed[key, first] = piece.cost
            while self._passed_bytes > self.budget // _SHARE:
                self._evict(next(iter(self._passed)))

    def resize(self, budget: int) -> None:
        """At once; what is there above it goes."""
        with self._lock:
            self.budget = budget
            while self.used > budget:
                self._evict(next(iter(self._pieces)))

    def clear(self) -> None:
        with self._lock:
            self._pieces.clear()
            self._firsts.clear()
            self._passed.clear()
            self.used = self._passed_bytes = 0

    def _put(self, piece: _Piece) -> bool:
        with self._lock:
            if piece.cost > self.budget // _SHARE:
                self.refused += 1
                return False
            for number in piece.numbers:
                first = self._firsts.get((piece.key, number))
                if first is not None:
                    self._remove((piece.key, first))
            while self.used + piece.cost > self.budget:
                self._evict(next(iter(self._pieces)))
            self._pieces[piece.key, piece.first] = piece
            self._firsts.update(((piece.key, number), piece.first) for number in piece.numbers)
            self.used += piece.cost
            return True

    def _evict(self, place: tuple[bytes, int]) -> None:
        self._remove(place)
        self.evictions += 1

    def _remove(self, place: tuple[bytes, int]) -> None:
        piece = self._pieces.pop(place)
        for number in piece.numbers:
            del self._firsts[piece.key, number]
        self.used -= piece.cost
        self._passed_bytes -= self._passed.pop(place, 0)
