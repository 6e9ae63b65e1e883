# SPDX-License-Identifier: Apache-2.0
"""Who may begin to write, and whose writes may have failed: looked at again and again as long as anything is written."""

from __future__ import annotations

import errno
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

import trio

from .headroom import no_room

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from ..read.contents import Contents
    from ..work import Work
    from .behind import Behind
    from .headroom import Headroom
    from .stage import Stage


_ROOM: Final = "room"


class Admission:
    def __init__(
        self,
        headroom: Headroom,
        work: Work,
        contents: Contents,
        stages: Mapping[int, Stage],
        is_written: Callable[[int], object],
        behind: Behind,
        settle: Callable[[], Awaitable[None]],
    ) -> None:
        """
        :param stages: all there are, by their nodes
        :param is_written: whether somebody has a node open to write
        :param settle: waits until what was stored and closed lies staged no more
        """
        self._headroom, self._work, self._contents = headroom, work, contents
        self._stages, self._is_written, self._behind = stages, is_written, behind
        self._settle = settle
        self._watched = False

    @property
    def refusal(self) -> str:
        """Why nobody begins to write, as was last seen."""
        return self._headroom.refusal

    async def ask(self) -> None:
        """To be asked before somebody begins to write.

        :raises OSError: when there is no room
        """
        if not self._headroom.is_fresh:
            await self._look(self._work.once)
        if self._headroom.refusal:  # as was seen before the last close, it may be
            await self._settle()
            await self._look(self._work.anew)
        if self._headroom.refusal:
            raise no_room(self._headroom.refusal)

    def begun(self) -> None:
        """There is something to look at: that is written, or why nobody may."""
        if not self._watched:
            self._watched = True
            self._work.soon(self._watch)

    async def find_missed(self) -> None:
        """What was written while the disk took no more lacks a part, it may be, and whoever wrote it was told: it is not stored."""
        since = 0 if self._headroom.is_roomy else await self._work.ask(self._headroom.missed_since)
        for node, stage in self._stages.items() if since else ():
            is_dirty = self._is_written(node) and not stage.seems_stored()
            if is_dirty and not stage.poisoned and stage.status().st_ctime_ns >= since:
                stage.poison(OSError(errno.ENOSPC, "the disk took no more"))

    async def _watch(self) -> None:
        """Most of what is written is not written by us. A refusal stands in the status, so somebody looks until there is none."""
        try:
            while self._stages or not self._behind.is_idle or self._headroom.refusal:
                await trio.sleep(self._headroom.pause)
                self._behind.look()
                with suppress(OSError):  # it is said by the refusal; the disk may come back
                    await self._look(self._work.once)
                    await self.find_missed()
        finally:
            self._watched = False

    async def _look(self, do: Callable[[str, Callable[[], Awaitable[str]]], Awaitable[str]]) -> None:
        """
        :param do: whether with a look that is under way or by one of its own
        """
        look = partial(self._work.ask, self._headroom.look)
        try:
            await do(_ROOM, look)
            if self._headroom.presses:
                self._contents.rest()
                await self._work.anew(_ROOM, look)
        finally:
            if self._headroom.refusal:
                self.begun()
