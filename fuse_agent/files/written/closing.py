# SPDX-License-Identifier: Apache-2.0
"""What becomes of a file that was written when it is closed: it is stored, kept until the source takes it, or given up."""

from __future__ import annotations

import logging
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import trio

from ...nodes.records import StaleError
from .notes import note_path, sync
from .recovery import FIRST_PAUSE, LONGEST_PAUSE
from .storing import OvertakenError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from ...nodes.table import Nodes
    from ...opens import Opens
    from ..read.contents import Contents
    from ..work import Work
    from .overtaken import Overtaken
    from .stage import Stage

_LOG = logging.getLogger(__name__)
# Seconds between two looks whether a file is mapped still.
_FIRST_LOOK, _LONGEST_LOOK = 0.005, 1.0
# For how long who wants its room waits: the kernel lets go of what it wrote by itself a moment after the close; a mapping may last for ever.
_SETTLES = 1.0


class Closing:
    def __init__(
        self, stages: dict[int, Stage], folder: Path, nodes: Nodes, contents: Contents, opens: Opens, work: Work,
        overtaken: Overtaken, store: Callable[[int], Awaitable[None]], sync: Callable[[int], Awaitable[None]],
        is_new: Callable[[int], bool],
    ) -> None:  # fmt: skip
        """
        :param stages: all there are, by their nodes
        :param folder: in which they lie
        """
        self._stages, self._folder, self._nodes, self._contents = stages, folder, nodes, contents
        self._opens, self._work, self._overtaken = opens, work, overtaken
        self._store, self._sync, self._is_new = store, sync, is_new
        self._leaving: dict[int, trio.Event] = {}
        self._cut_off: list[Stage] = []  # while they were taken into the cache

    def end(self) -> None:
        """There is no next worker."""
        for stage in self._cut_off:
            stage.unname()

    def let_go(self, node: int) -> None:
        """Who closes it is forgotten before it is stored: who comes after a worker that dies in between has to know."""
        stage = self._stages.get(node)
        if stage is not None and not stage.seems_stored():
            stage.say_if_it_can(waits=True)

    async def settle(self) -> None:
        """Until what was stored and closed lies staged no more: who closed it may begin to write another."""
        with trio.move_on_after(_SETTLES):
            for one in list(self._leaving.values()):
                await one.wait()

    def _begin_to_leave(self, stage: Stage) -> None:
        self._leaving.setdefault(stage.number, trio.Event())

    def _end_to_leave(self, stage: Stage) -> None:
        """It has gone, or stays."""
        gone = self._leaving.pop(stage.number, None)
        if gone is not None:
            gone.set()

    async def close(self, node: int) -> None:
        """Nobody has it open for writing any more."""
        stage = self._stages.get(node)
        if stage is None:
            return
        if stage.seems_stored():
            self._begin_to_leave(stage)
        try:
            await self._close(node, stage)
        finally:
            if self._stages.get(node) is stage:
                self._end_to_leave(stage)

    async def _close(self, node: int, stage: Stage) -> None:
        mapped = stage.is_mapped()  # before: what is written until it is unmapped is stored, too
        try:
            await self._store(node)
        except trio.Cancelled:  # nobody waits for it any more
            self._try_again(node, stage)
            raise
        except OSError as error:
            if stage.poisoned:
                self._drop(node, stage, mapped)
            elif isinstance(error, OvertakenError) and not stage.retried:
                self._overtake(node, stage)
            if stage.poisoned or stage.retried or isinstance(error, OvertakenError):
                return
            _LOG.error(
                "a file could not be stored, and is kept path=%r reason=%r staged=%d; it is tried again until the source takes it",
                stage.note.path, str(error), stage.number,
            )  # fmt: skip
            self._try_again(node, stage)
            await self._endure(stage, node)
            return
        self._leave(node, stage, mapped)

    def _try_again(self, node: int, stage: Stage) -> None:
        if not stage.retried:
            stage.retried = True
            stage.say_if_it_can(waits=True)
            self._work.soon(partial(self._retry, node, stage))

    async def endure(self) -> None:
        """What is not stored at the end is there also when the machine has died."""
        for node, stage in list(self._stages.items()):
            if not stage.seems_stored():
                await self._endure(stage, node)

    async def _endure(self, stage: Stage, node: int) -> None:
        with suppress(OSError):  # else it endures the death of the agent alone
            await self._work.ask(sync, stage.path)
            if self._stages.get(node) is stage and not self._opens.writers(node):
                stage.say(boot="")
                await self._work.ask(sync, note_path(self._folder, stage.number))

    def _drop(self, node: int, stage: Stage, mapped: bool) -> None:
        """It lacks a part: what was there before stays."""
        _LOG.error("a write to a file failed, so what the source has stays path=%r; write it again", stage.note.path)
        is_new = self._is_new(node)
        self._leave(node, stage, mapped)
        if is_new and node not in self._stages and self._nodes.parent(node):
            self._nodes.unname(node)

    def _leave(self, node: int, stage: Stage, mapped: bool) -> None:
        """Right after it was stored: whoever waits to change it finds that it is none any more.

        :param mapped: whether it was, before it was stored
        """
        if self._stages.get(node) is not stage or self._opens.stage(node):
            return
        if mapped or stage.is_mapped():
            if not stage.watched:
                stage.watched = True
                self._work.soon(partial(self._watch, node, stage))
            stage.say_if_it_can(waits=True)
            self._begin_to_leave(stage)
            return
        del self._stages[node]
        self._begin_to_leave(stage)
        digest = self._digest(node)
        if digest and stage.whole and stage.seems_stored() and not stage.poisoned:
            self._work.soon(partial(self._keep, stage, digest))
        else:
            stage.unname()
            self._work.soon(partial(self._free, stage))
        self._nodes.unpin(node)

    def _digest(self, node: int) -> bytes:
        """By which what it holds is kept, b"" of what no name leads to any more: its own is gone, or that of a folder above it."""
        with suppress(StaleError):
            return self._contents.digest(node)
        return b""

    async def _keep(self, stage: Stage, digest: bytes) -> None:
        """Whoever reads it next is served by the kernel."""

        def keep() -> None:
            try:
                self._contents.adopt(digest, stage.path, stage.descriptor, trio.from_thread.check_cancelled)
                stage.unname()
            finally:
                stage.close()

        # Nobody waits for it at an end; the next worker removes what it finds stored.
        try:
            await self._work.change(keep)
        except trio.Cancelled:
            self._cut_off.append(stage)
            raise
        finally:
            self._end_to_leave(stage)

    async def _free(self, stage: Stage) -> None:
        """To give the room of a large one back takes a thread its time."""
        try:
            await self._work.change(stage.close)
        finally:
            self._end_to_leave(stage)

    def _overtake(self, node: int, stage: Stage) -> None:
        """Once nobody has it open."""
        if self._stages.get(node) is not stage or self._opens.stage(node):
            return
        del self._stages[node]
        self._end_to_leave(stage)
        self._overtaken.add(stage)
        self._nodes.unpin(node)

    async def _watch(self, node: int, stage: Stage) -> None:
        """What is written through a mapping after the last close is stored when that goes, of which nobody tells."""
        pause = _FIRST_LOOK
        while self._stages.get(node) is stage and not self._opens.stage(node) and stage.is_mapped():
            await trio.sleep(pause)
            pause = min(pause * 2, _LONGEST_LOOK)
        stage.watched = False
        # Who has opened it meanwhile looks again when he closes it.
        if self._stages.get(node) is stage and not self._opens.stage(node):
            await self.close(node)
        if self._stages.get(node) is stage:
            self._end_to_leave(stage)

    async def _retry(self, node: int, stage: Stage) -> None:
        pause = FIRST_PAUSE
        while True:
            await trio.sleep(pause)
            if self._stages.get(node) is not stage:
                return
            pause = min(pause * 2, LONGEST_PAUSE)
            mapped = stage.is_mapped()
            try:
                await self._sync(node)  # it was promised to outlive the machine
            except OvertakenError:
                self._overtake(node, stage)
                return
            except OSError as error:
                _LOG.debug("still not stored path=%r reason=%r", stage.note.path, str(error))
            else:
                _LOG.warning("stored after all path=%r", stage.note.path)
                stage.retried = False
                self._leave(node, stage, mapped)
                return
