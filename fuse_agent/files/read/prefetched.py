# SPDX-License-Identifier: Apache-2.0
"""What was fetched before anybody wanted it, and whether somebody did afterwards."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from .ahead import Range, without

if TYPE_CHECKING:
    from ...metrics import Metrics

# Contents that are remembered; what nobody read of one that is older counts as never read.
_REMEMBERED: Final = 4096


class Prefetched:
    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._left: OrderedDict[bytes, list[Range]] = OrderedDict()

    def fetched(self, digest: bytes, one: Range) -> None:
        if one.size <= 0:
            return
        self._metrics.count("prefetch_bytes_total", one.size)
        left = self._left.setdefault(digest, [])
        if left and left[-1].end == one.offset:  # or there were a hundred to look through with each read
            before = left.pop()
            one = Range(before.offset, before.size + one.size)
        left.append(one)
        if len(self._left) > _REMEMBERED:
            self.gone(next(iter(self._left)))

    def read(self, digest: bytes, asked: Range) -> None:
        left = self._left.get(digest)
        if left is None:
            return
        rest = without(left, [asked])
        self._metrics.count("prefetch_used_bytes_total", sum(one.size for one in left) - sum(one.size for one in rest))
        if rest:
            self._left[digest] = rest
        else:
            del self._left[digest]

    def gone(self, digest: bytes) -> None:
        """Nobody can read it any more, or it was long ago."""
        left = self._left.pop(digest, [])
        self._metrics.count("prefetch_unused_bytes_total", sum(one.size for one in left))
