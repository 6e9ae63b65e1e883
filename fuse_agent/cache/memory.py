# SPDX-License-Identifier: Apache-2.0
"""Blocks in memory, for a mount without a disk tier and for what that refused. One budget for all who read."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final

# A block above this share of the budget would push out too much.
_SHARE: Final = 8
# What a block costs beside its bytes: its key, its place and its object.
_OVERHEAD: Final = 400


class Memory:
    """
    :ivar used: bytes, with what it costs to keep them
    """

    def __init__(self, budget: int) -> None:
        self.budget, self.used = budget, 0
        self.evictions = self.refused = 0
        self._blocks: OrderedDict[tuple[bytes, int], bytes] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._blocks)

    def has(self, key: bytes, number: int) -> bool:
        return (key, number) in self._blocks

    def get(self, key: bytes, number: int) -> bytes | None:
        with self._lock:
            block = self._blocks.get((key, number))
            if block is not None:
                self._blocks.move_to_end((key, number))
            return block

    def put(self, key: bytes, number: int, data: bytes) -> bool:
        """Whether it was taken."""
        cost = len(data) + _OVERHEAD
        with self._lock:
            if cost > self.budget // _SHARE:
                self.refused += 1
                return False
            before = self._blocks.pop((key, number), None)
            if before is not None:
                self.used -= len(before) + _OVERHEAD
            while self.used + cost > self.budget:
                self._evict()
            self._blocks[key, number] = data
            self.used += cost
            return True

    def resize(self, budget: int) -> None:
        """At once; what is there above it goes."""
        with self._lock:
            self.budget = budget
            while self.used > budget:
                self._evict()

    def clear(self) -> None:
        with self._lock:
            self._blocks.clear()
            self.used = 0

    def _evict(self) -> None:
        _place, data = self._blocks.popitem(last=False)
        self.used -= len(data) + _OVERHEAD
        self.evictions += 1
