# SPDX-License-Identifier: Apache-2.0
"""Which parts of a changed file are sent, and which the source copies from the version that it has. No input or output."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final

from ...sources.base import Part

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..read.ahead import Range

# What S3 takes: of one object, and of one part of it. No more is copied by one request, since the store says nothing until it is done.
MOST_PARTS: Final = 10_000
_COPIED, _SENT = 256 << 20, 8 << 20
# Of the largest objects parts are larger, so that there are so many at most of each kind.
_SHARE: Final = 4_000


def plan(size: int, same: Sequence[Range], least: int, most: int = MOST_PARTS) -> list[Part]:
    """All of the file, in order; nothing when it is as well sent whole.

    :param same: what is as it was, in order
    :param least: bytes of a part that is not the last
    """
    threshold = least
    while True:
        parts = _split(_runs(size, [one for one in same if one.size >= threshold], least), size)
        if sum(part.size for part in parts if part.copied) < 2 * least:
            return []
        if len(parts) <= most:
            return parts
        threshold *= 2


def _runs(size: int, same: Sequence[Range], least: int) -> list[Part]:
    """What is sent begins right where the last copied one ends; when it is too small, it takes of what follows."""
    runs: list[Part] = []
    start = 0  # of what is sent
    for one in same:
        first, end = max(one.offset, start), min(one.end, size)
        if 0 < first - start < least:
            first = start + least
        if end - first < least and (end < size or first >= end):
            continue  # it is sent with what is around it
        if first > start:
            runs.append(Part(start, first - start, copied=False))
        runs.append(Part(first, end - first, copied=True))
        start = end
    if start < size:
        runs.append(Part(start, size - start, copied=False))
    return runs


def _split(runs: Sequence[Part], size: int) -> list[Part]:
    parts: list[Part] = []
    for run in runs:
        step = max(_COPIED if run.copied else _SENT, -(-size // _SHARE))
        count = -(-run.size // step)
        edges = [run.offset + run.size * number // count for number in range(count + 1)]
        parts += [Part(first, end - first, run.copied) for first, end in itertools.pairwise(edges)]
    return parts
