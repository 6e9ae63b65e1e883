# SPDX-License-Identifier: Apache-2.0
"""Renames of folders that take many steps, written down before the first: whoever finds one that was cut off goes on with it."""

from __future__ import annotations

import itertools
import json
import logging
import os
from typing import TYPE_CHECKING, Final

import trio

if TYPE_CHECKING:
    from pathlib import Path

_LOG = logging.getLogger(__name__)
_PLAN, _STEPS = ".plan", ".steps"
_NEW: Final = ".new"


class Plan:
    """
    :ivar old: and ``new``, of the folder
    :ivar steps: an open file, in which the source notes what it needs to go on
    """

    def __init__(self, path: Path, old: bytes, new: bytes, steps: int) -> None:
        self._path, self.old, self.new, self.steps = path, old, new, steps
        self.lock = trio.Lock()
        self._closed = False

    @property
    def is_void(self) -> bool:
        """The source has nothing to go on with: it has not begun, or has undone what it did."""
        return self._closed or not os.fstat(self.steps).st_size

    def drop(self) -> None:
        """It is done, or nobody wants it any more."""
        self._path.unlink(missing_ok=True)
        self._path.with_suffix(_STEPS).unlink(missing_ok=True)
        os.close(self.steps)
        self._closed = True


class Plans:
    def __init__(self, folder: Path) -> None:
        """
        :param folder: of what is staged
        """
        self._folder = folder
        self._plans: dict[tuple[bytes, bytes], Plan] = {}
        last = 0
        for path in sorted(folder.glob(f"*{_PLAN}")):
            last = max(last, int(path.stem))
            self._adopt(path)
        self._numbers = itertools.count(last + 1)
        for path in folder.glob(f"*{_STEPS}"):
            if not path.with_suffix(_PLAN).exists():
                path.unlink()  # of one that was never begun

    def left(self) -> list[Plan]:
        return list(self._plans.values())

    def of(self, old: bytes, new: bytes) -> Plan | None:
        return self._plans.get((old, new))

    def begin(self, old: bytes, new: bytes) -> Plan:
        """In a thread: it is on the disk when this returns."""
        path = self._folder / f"{next(self._numbers)}{_PLAN}"
        steps = os.open(path.with_suffix(_STEPS), os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        unfinished = path.with_suffix(_NEW)
        with unfinished.open("w", encoding="ascii") as file:
            json.dump({"old": old.hex(), "new": new.hex()}, file)
            file.flush()
            os.fsync(file.fileno())
        unfinished.rename(path)
        folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
        plan = self._plans[old, new] = Plan(path, old, new, steps)
        return plan

    def end(self, plan: Plan) -> None:
        if self._plans.pop((plan.old, plan.new), None):
            plan.drop()

    def _adopt(self, path: Path) -> None:
        try:
            told = json.loads(path.read_text(encoding="ascii"))
            old, new = bytes.fromhex(told["old"]), bytes.fromhex(told["new"])
            steps = os.open(path.with_suffix(_STEPS), os.O_RDWR | os.O_CLOEXEC)
        except (OSError, ValueError, KeyError) as error:
            _LOG.error("the plan of a rename cannot be read and is left alone path=%s reason=%r", path, str(error))
            return
        plan = self._plans[old, new] = Plan(path, old, new, steps)
        if plan.is_void:
            self.end(plan)
