# SPDX-License-Identifier: Apache-2.0
"""When a worker is started, when it is taken for stuck, and when there is no use in starting one again. Told what happens and what time it is;
does nothing itself."""

from __future__ import annotations

import math
from enum import Enum
from typing import NamedTuple


class Limits(NamedTuple):
    """Seconds, and how often."""

    patience: float = 10.0  # without a sign of life
    starting: float = 30.0  # the same, before the first
    settled: float = 1.0  # who ended by itself so soon after it served has failed
    failures: int = 5
    window: float = 60.0
    in_a_row: int = 10  # failures, however far apart, between which nobody served for so long
    first_pause: float = 0.1
    longest_pause: float = 5.0


class Do(Enum):
    NOTHING = 0
    START = 1
    KILL = 2
    GIVE_UP = 3


class Watch:
    """A worker has failed when it was stuck, when it ended unasked by itself, when its memory was used up, or before it was settled. One that others
    killed later has not: it is replaced at once, as often as that takes.

    :ivar in_a_row: failures since somebody served for long, or ended well
    """

    def __init__(self, limits: Limits, now: float) -> None:
        self._limits = limits
        self._failures: list[float] = []
        self.in_a_row = 0
        self._runs = self._doomed = self._stuck = False
        self._ready: float | None = None
        self._leaves = False
        self._until = now  # what is decided next is decided then

    @property
    def failures(self) -> int:
        """Of late."""
        return len(self._failures)

    def started(self, now: float) -> None:
        self._runs, self._doomed, self._stuck, self._leaves = True, False, False, False
        self._ready, self._until = None, now + self._limits.starting

    def beat(self, now: float) -> None:
        if not self._leaves:
            self._until = now + self._limits.patience

    def ready(self, now: float) -> None:
        self._ready = now
        self.beat(now)

    def leaves(self, now: float, seconds: float) -> None:
        """It was told to end in that time."""
        self._leaves, self._until = True, now + seconds

    def ended(self, now: float, by_itself: bool = False) -> None:
        """
        :param by_itself: with an error, or for what it took of the memory; what it stumbled over comes again, and the next one may need as long for
            that
        """
        served = 0.0 if self._ready is None else now - self._ready
        settled = not by_itself and self._ready is not None and served >= self._limits.settled
        if served >= self._limits.window:
            self.in_a_row = 0
        self._runs = False
        if self._stuck or not (settled or self._leaves):
            self._failures.append(now)
            # The first is replaced at once: what fails mostly fails once.
            pause = self._limits.first_pause * 2 ** (self.in_a_row - 1) if self.in_a_row else 0.0
            self.in_a_row += 1
            self._until = now + min(pause, self._limits.longest_pause)
        else:
            self.in_a_row = 0
            self._until = now

    def decide(self, now: float) -> Do:
        self._failures = [at for at in self._failures if now - at < self._limits.window]
        if not self._runs:
            if len(self._failures) >= self._limits.failures or self.in_a_row >= self._limits.in_a_row:
                return Do.GIVE_UP
            return Do.START if now >= self._until else Do.NOTHING
        if now < self._until or self._doomed:
            return Do.NOTHING
        self._doomed = True
        self._stuck = not self._leaves
        return Do.KILL

    def due(self) -> float:
        """When to decide again if nothing happens before."""
        return math.inf if self._runs and self._doomed else self._until
