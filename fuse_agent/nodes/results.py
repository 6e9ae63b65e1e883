# SPDX-License-Identifier: Apache-2.0
"""What came of requests that do not do the same when they are done twice.

A worker may be killed after it did what was asked and before it could say so; the kernel then asks the next one. So the answer is written
here before it is given, and that somebody is about to change the source is written before he does. Who finds neither does it for the first
time; who finds an answer gives it; who finds only that it was begun has to look at the source.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from .region import MOST_RESULTS, RESULT, RESULTS_TOP

if TYPE_CHECKING:
    from .region import Region

# Of each: the request's number with a bit that says whether it has an answer, the node that was about to be changed, the errno and length
# of the answer, and the answer.
_REQUEST, _NODE, _CODE, _BODY = range(4)
_LONGEST: Final = (RESULT - _BODY) * 8


class Result(NamedTuple):
    code: int
    body: bytes


class Results:
    def __init__(self, region: Region) -> None:
        self._cells, self._counters = region.results, region.counters
        # By number, where they lie; of those that were begun before this process, and of those that are on their way.
        self._before: dict[int, int] = {}
        self._begun: dict[int, int] = {}
        for place in range(min(self._counters[RESULTS_TOP], MOST_RESULTS)):
            if request := self._cells[place * RESULT + _REQUEST]:
                self._before[request >> 1] = place

    def begin(self, number: int, node: int = 0) -> None:
        """Right before the source is changed.

        :param node: that is about to be removed or renamed
        """
        place = self._place(number)
        self._cells[place * RESULT + _NODE] = node
        self._cells[place * RESULT + _REQUEST] = number << 1  # last: it is there whole
        self._begun[number] = place

    def end(self, number: int, code: int, body: bytes | memoryview = b"") -> None:
        """Right before it is answered."""
        cell = self._place(number) * RESULT
        size = len(body)
        if size > _LONGEST:
            raise ValueError(f"an answer of {size} bytes, but at most {_LONGEST} are kept")
        if size:
            words = memoryview(bytes(body) + bytes(-size % 8)).cast("Q")
            self._cells[cell + _BODY : cell + _BODY + len(words)] = words
        self._cells[cell + _CODE] = code << 32 | size
        self._cells[cell + _REQUEST] = number << 1 | 1
        self._begun.pop(number, None)

    def before(self, number: int) -> int | None:
        """The node that a worker before this one was about to change, or 0; None when it had not got so far."""
        place = self._known(number)
        return None if place is None else int(self._cells[place * RESULT + _NODE])

    def find(self, number: int) -> Result | None:
        """What a worker before this one was about to answer."""
        place = self._known(number)
        if place is None or not self._cells[place * RESULT + _REQUEST] & 1:
            return None
        cell = place * RESULT
        told = self._cells[cell + _CODE]
        size = told & 0xFFFFFFFF
        words = self._cells[cell + _BODY : cell + _BODY + -(-size // 8)]
        return Result(told >> 32, bytes(words)[:size])

    def _known(self, number: int) -> int | None:
        place = self._before.get(number)
        return place if place is not None and self._cells[place * RESULT + _REQUEST] >> 1 == number else None

    def _place(self, number: int) -> int:
        """Where it lies already, or the one that was used longest ago and is nobody's who is on his way."""
        known = self._begun.get(number, self._known(number))
        if known is not None:
            return known
        place = 0
        for _step in range(MOST_RESULTS):
            place = int(self._counters[RESULTS_TOP] % MOST_RESULTS)
            self._counters[RESULTS_TOP] += 1
            if not self._is_on_its_way(self._cells[place * RESULT + _REQUEST]):
                break
        self._cells[place * RESULT + _REQUEST] = 0  # nobody's until it is written
        return place

    def _is_on_its_way(self, request: int) -> bool:
        number = request >> 1
        return bool(request) and not request & 1 and (number in self._begun or number in self._before)
