# SPDX-License-Identifier: Apache-2.0
"""How a file is being read, and so what is worth fetching before it is asked for. No input or output."""

from __future__ import annotations

from typing import Final, NamedTuple

# The kernel reads ahead by several requests at once, which come in any order.
_SLACK: Final = 2 << 20
_FIRST: Final = 1 << 20
# Who jumped so often does not read in order.
_JUMPS: Final = 3


class Range(NamedTuple):
    offset: int
    size: int

    @property
    def end(self) -> int:
        return self.offset + self.size


class Reader:
    """One who reads a file, by what was read of it so far.

    :ivar begun: up to there all that is worth having was begun, so that not each read looks through the whole window
    """

    __slots__ = ("_end", "_jumps", "_run", "begun")

    def __init__(self) -> None:
        self._end = self._run = self._jumps = self.begun = 0

    def window(self, asked: Range, most: int) -> int:
        """How many bytes behind what is asked are worth having soon: as many as were read in a row, twice."""
        if abs(asked.offset - self._end) <= _SLACK:
            self._run += asked.size
            self._end = max(self._end, asked.end)
        else:
            self._run, self._end, self.begun = 0, asked.end, asked.end
            self._jumps += 1
        if self._jumps >= _JUMPS and self._run < _SLACK:
            return 0
        return min(_FIRST + 2 * self._run, most)


def request_size(window: int, most: int) -> int:
    size = max(min(window // 4, most), _FIRST)
    return size - size % _FIRST


def requests(missing: list[Range], window: int, most: int) -> list[Range]:
    """What to ask a source for, in order: small pieces for who has just begun to read, so that he need not wait for a large one.

    :param most: bytes of one request
    """
    size = request_size(window, most)
    return [
        Range(offset, min(size, one.end - offset)) for one in missing for offset in range(one.offset, one.end, size)
    ]


def without(wanted: list[Range], taken: list[Range]) -> list[Range]:
    """What of the first is in none of the second."""
    left = wanted
    for other in taken:
        left = [
            part
            for one in left
            for part in (
                Range(one.offset, min(one.end, other.offset) - one.offset),
                Range(max(one.offset, other.end), one.end - max(one.offset, other.end)),
            )
            if part.size > 0
        ]
    return left


def overlap(one: Range, other: Range) -> bool:
    return one.offset < other.end and other.offset < one.end


def joined(ranges: list[Range]) -> list[Range]:
    """Those that touch are one."""
    found: list[Range] = []
    for one in ranges:
        if found and found[-1].end == one.offset:
            found[-1] = Range(found[-1].offset, found[-1].size + one.size)
        else:
            found.append(one)
    return found
