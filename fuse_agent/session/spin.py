# SPDX-License-Identifier: Apache-2.0
"""For how long to look for the next request before the loop lies down: to be woken takes longer than to answer. No input or output."""

from __future__ import annotations

from typing import Final

# Seconds without looking after it was in vain, twice as many each time in a row.
_FIRST_REST: Final = 0.001
_LONGEST_REST: Final = 1.0


class Spin:
    """
    :ivar looked: seconds so far, at most; they were those of a processor
    :ivar caught: requests that came meanwhile
    :ivar missed: times that none came, or too late: others had the processor, or the interpreter
    """

    def __init__(self, longest: float) -> None:
        """
        :param longest: seconds of one look; 0 never looks
        """
        self.longest = longest
        self.looked = 0.0
        self.caught = self.missed = 0
        self._begun = self._rests_until = 0.0
        self._rest = _FIRST_REST

    def begin(self, now: float) -> bool:
        """Whether it is worth it now."""
        self._begun = now
        return self.longest > 0 and now >= self._rests_until

    def goes_on(self, now: float) -> bool:
        """When nothing has come yet."""
        if now - self._begun < self.longest:
            return True
        self._end(now, caught=False)
        return False

    def came(self, now: float) -> None:
        self._end(now, caught=now - self._begun <= self.longest)

    def _end(self, now: float, *, caught: bool) -> None:
        self.looked += min(now - self._begun, self.longest)
        if caught:
            self.caught += 1
            self._rest = _FIRST_REST
        else:
            self.missed += 1
            self._rests_until = now + self._rest
            self._rest = min(2 * self._rest, _LONGEST_REST)
