# SPDX-License-Identifier: Apache-2.0
"""Where names go: folders by a plan that survives whoever began it, and then what is known here of what was moved."""

from __future__ import annotations

import logging
import stat
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Final

import trio

from ..nodes.records import StaleError

if TYPE_CHECKING:
    from collections.abc import Collection

    from ..nodes.table import Nodes
    from ..sources.base import Source
    from .known.names import Names
    from .plans import Plan, Plans
    from .read.contents import Contents
    from .work import Work
    from .written.writing import Writing

_LOG = logging.getLogger(__name__)
# Seconds between two attempts to end what was left: twice as long each time.
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0
# Files that are asked for their new version at a time.
_AT_ONCE: Final = 16


class Moves:
    def __init__(
        self, nodes: Nodes, names: Names, contents: Contents, writing: Writing, source: Source, work: Work, plans: Plans
    ) -> None:  # fmt: skip
        self._nodes, self._names, self._contents, self._writing = nodes, names, contents, writing
        self._source, self._work, self._plans = source, work, plans
        for plan in plans.left():
            waiting = ExitStack()
            waiting.enter_context(names.moving.of(plan.old, plan.new))
            work.soon(partial(self._resume, plan, waiting))

    async def folder(self, node: int, old: tuple[int, bytes], new: tuple[int, bytes]) -> None:
        """Nothing of it is being stored."""
        before, after = self._names.below(*old), self._names.below(*new)
        newer = await self.newer(node)
        if not self._source.abilities.resumes:
            await self._work.change(self._source.rename, before, after)
            await self.moved(node, old, new, newer)
            return
        plan = await self._work.change(self._plans.begin, before, after)
        try:
            async with plan.lock:
                await self._steps(plan)
                await self.moved(node, old, new, newer)
                self._plans.end(plan)
        except trio.Cancelled:  # who asked went before anything was begun
            self._plans.end(plan)
            raise
        except OSError:
            if not plan.is_void:  # all is copied, so it goes on
                self._work.soon(partial(self._resume, plan, ExitStack()))
            raise

    async def resumed(self, old: bytes, new: bytes) -> bool:
        """Whether it had been begun and was not ended, as by a worker that died over it; and is done now."""
        plan = self._plans.of(old, new)
        if plan is None:
            return False
        await self._finish(plan)
        return True

    async def _steps(self, plan: Plan) -> None:
        try:
            await self._work.change(self._source.rename_folder, plan.old, plan.new, plan.steps)
        except OSError:
            if plan.is_void:
                self._plans.end(plan)
            raise

    async def _finish(self, plan: Plan) -> None:
        async with plan.lock:
            if self._plans.of(plan.old, plan.new) is not plan:
                return  # others did
            old, new = self._names.place(plan.old), self._names.place(plan.new)
            node = self._nodes.find(*old) if old else 0
            # First: who stores what is below it waits for those who move it, when it is not where it was.
            async with self._writing.still(*[node] * bool(node)):
                with self._names.moving.of(plan.old, plan.new):
                    newer = await self.newer(node) if node else ()
                    await self._steps(plan)
                    if node and old and new:
                        await self.moved(node, old, new, newer)
                    await self._writing.recovery.moved(plan.old, plan.new)
                    self._plans.end(plan)

    async def _resume(self, plan: Plan, waiting: ExitStack) -> None:
        """What nobody may be waiting for, as after the machine died.

        :param waiting: what is let go after the first attempt
        """
        pause = _FIRST_PAUSE
        while self._plans.of(plan.old, plan.new) is plan:
            try:
                with waiting:
                    await self._finish(plan)
            except OSError as error:
                if plan.is_void:
                    _LOG.error(
                        "a rename was cut off, and is undone old=%r new=%r reason=%r", plan.old, plan.new, str(error)
                    )
                    return
                _LOG.warning(
                    "a rename that was cut off is not ended yet old=%r new=%r reason=%r", plan.old, plan.new, str(error)
                )
            else:
                _LOG.warning("a rename that was cut off is ended old=%r new=%r", plan.old, plan.new)
                return
            await trio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)

    # --- what is known here ------------------------------------------------------------------

    async def newer(self, node: int) -> Collection[int]:
        """Of what is in use of it, what others replaced: what is moved is not what that was begun from."""
        found: set[int] = set()
        failed: list[OSError] = []
        limit = trio.CapacityLimiter(_AT_ONCE)

        async def look(one: int) -> None:
            async with limit:
                try:
                    there = await self._work.ask(self._source.find, self._names.path(one))
                    if there.version != self._nodes.version(one):
                        found.add(one)
                except (FileNotFoundError, StaleError):
                    pass  # as of one that was moved already by who died over it
                except OSError as error:
                    failed.append(error)

        async with trio.open_nursery() as nursery:
            for one in self._used(node):
                # What is not staged was asked for just now, where it is moved itself.
                if one != node or self._writing.of(node):
                    nursery.start_soon(look, one)
        if failed:
            raise failed[0]
        return found

    def _used(self, node: int) -> list[int]:
        """Files that are open, or not stored, and that the source knows."""
        if stat.S_ISDIR(self._nodes.known(node).mode):
            return self._writing.used_below(node)
        return [] if self._writing.is_new(node) else [node]

    async def moved(
        self, node: int, old: tuple[int, bytes], new: tuple[int, bytes], newer: Collection[int] = ()
    ) -> None:
        """The source has it in its new place."""
        used = [one for one in self._used(node) if one not in newer]
        self._names.changed(old[0], new[0])
        target = self._nodes.find(*new)
        # Both may have come to mean something else while the source was at it.
        if self._nodes.find(*old) == node:
            if target and target != node:
                self._writing.dropped(target)
                self._nodes.mark_removed(target)
            self._nodes.rename(node, *new)
            self._writing.moved()
        limit = trio.CapacityLimiter(_AT_ONCE)
        with trio.CancelScope(shield=True):  # it is done, and an interrupt would tell who asked that it is not
            async with trio.open_nursery() as nursery:
                for one in used:
                    nursery.start_soon(self._follow, one, limit)

    async def _follow(self, node: int, limit: trio.CapacityLimiter) -> None:
        """A copy may have another version, which those who have it open go on with."""
        async with limit:
            try:
                found = await self._work.ask(self._source.find, self._names.path(node))
                self._nodes.set_version(node, found.version)
                self._contents.moved(node, found.version)
                self._writing.replaces(node, found.version)
            except StaleError:
                pass  # it has no name any more
            except OSError:  # who opens it next asks, and who reads it is told
                self._names.doubt(node)
