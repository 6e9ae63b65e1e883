# SPDX-License-Identifier: Apache-2.0
"""What comes after what when a mount is to end: all is stored, then nobody sees it, then what came in between is stored, then it is let go.
Each has its time. Told what happens; does nothing itself."""

from __future__ import annotations

from enum import Enum
from typing import Final

# Seconds in which somebody who had no time to store everything says so.
_MORE: Final = 1.0


class Phase(Enum):
    SAVING = 0
    TAKING = 1  # it is unmounted
    SAVING_REST = 2  # of those that have something open still, and see it no more
    LEAVING = 3


class Step(Enum):
    NOTHING = 0
    SAVE = 1
    TAKE = 2
    ABORT = 3  # who serves it does not answer: nobody shall wait for it
    LEAVE = 4
    KILL = 5
    END = 6


class Ending:
    """
    :ivar aborted: nothing that is not stored yet will be
    """

    def __init__(self, now: float, grace: float, bound: float) -> None:
        """
        :param grace: seconds to store what is not stored
        :param bound: seconds of each other step
        """
        self.phase, self.aborted = Phase.SAVING, False
        self._bound = bound
        self._grace_until = now + grace
        self._until = self._grace_until + _MORE

    def left(self, now: float) -> float:
        """Seconds to store what is not stored."""
        return max(self._grace_until - now, 0.0)

    def saved(self, now: float) -> Step:
        if self.phase is Phase.SAVING:
            return self._next(Phase.TAKING, now, Step.TAKE)
        if self.phase is Phase.SAVING_REST:
            return self._next(Phase.LEAVING, now, Step.LEAVE)
        return Step.NOTHING

    def taken(self, now: float, lazily: bool) -> Step:
        if not lazily or self.aborted:
            return self._next(Phase.LEAVING, now, Step.NOTHING)  # whoever serves it finds that it is gone
        self._grace_until = max(self._grace_until, now + self._bound)
        self._next(Phase.SAVING_REST, now, Step.NOTHING)
        self._until = self._grace_until + _MORE
        return Step.SAVE

    def unused(self, now: float) -> Step:
        """Nobody has served it yet."""
        self.aborted = True
        return self._next(Phase.TAKING, now, Step.TAKE)

    def lost(self, now: float) -> Step:
        """Who serves it ended, and nobody else can: what it had not stored is for the next mount."""
        if self.aborted or self.phase is Phase.LEAVING:
            return Step.NOTHING
        self.aborted = True
        after = Phase.LEAVING if self.phase is Phase.SAVING_REST else Phase.TAKING
        return self._next(after, now, Step.ABORT)

    def gone(self, now: float) -> None:
        """By itself, or since somebody else took it away; an unmount that is under way is waited for."""
        if self.phase is not Phase.TAKING:
            self._next(Phase.LEAVING, now, Step.NOTHING)

    def busy(self, now: float) -> None:
        """Who leaves goes on with what takes long."""
        if self.phase is Phase.LEAVING and not self.aborted:
            self._until = now + self._bound

    def decide(self, now: float) -> Step:
        """Once for each time that is over."""
        if now < self._until:
            return Step.NOTHING
        if self.phase is Phase.SAVING or (self.phase is Phase.TAKING and not self.aborted):
            self.aborted = True
            return self._next(Phase.TAKING, now, Step.ABORT)
        if self.phase is Phase.SAVING_REST:
            self.aborted = True
            return self._next(Phase.LEAVING, now, Step.LEAVE)
        return self._next(Phase.LEAVING, now, Step.KILL if self.phase is Phase.LEAVING else Step.END)

    def due(self) -> float:
        return self._until

    def _next(self, phase: Phase, now: float, step: Step) -> Step:
        self.phase, self._until = phase, now + self._bound
        return step
