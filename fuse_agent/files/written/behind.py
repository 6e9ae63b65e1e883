# SPDX-License-Identifier: Apache-2.0
"""What becomes large is sent while it is still written, so that who closes it waits for the rest alone.

The kernel writes by itself and tells nobody, so files are looked at. What is sent in vain costs no more than the sending: the source shows
it to nobody, and who stores the file has it compared with what is here then.
"""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

import trio

from ...nodes.records import StaleError
from .recovery import FIRST_PAUSE, LONGEST_PAUSE

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from ...metrics import Metrics
    from ...opens import Opens
    from ...sources.base import Source
    from ..known.names import Names
    from ..work import Work
    from .stage import Stage

_LOG = logging.getLogger(__name__)
# Parts of one file that are on their way.
_AT_ONCE: Final = 4


class _Followed:
    """A file that is sent as far as it is written.

    :ivar busy: something of it is on its way
    :ivar seen: size and time of when all was sent that could be
    :ivar not_before: by the clock; later each time that the source takes nothing
    """

    def __init__(self, node: int, stage: Stage, path: bytes) -> None:
        self.node, self.stage, self.path = node, stage, path
        self.busy, self.seen = False, (0, 0)
        self.pause, self.not_before = FIRST_PAUSE, 0.0

    def failed(self) -> None:
        self.not_before = trio.current_time() + self.pause
        self.pause = min(self.pause * 2, LONGEST_PAUSE)


class Behind:
    def __init__(
        self, stages: Mapping[int, Stage], names: Names, opens: Opens, source: Source, work: Work, metrics: Metrics
    ) -> None:
        """
        :param stages: all there are, by their nodes
        """
        self._stages, self._names, self._opens = stages, names, opens
        self._source, self._work, self._metrics = source, work, metrics
        self._followed: dict[int, _Followed] = {}  # by the numbers of stages

    @property
    def is_idle(self) -> bool:
        return not self._followed

    def look(self) -> None:
        """What grew, and what is not to be sent any more. To be called now and then as long as anything is written, or it is not idle."""
        for one in self._followed.values():
            if not one.busy and not self._goes_on(one):
                self._begin(one, self._drop)
        for node, stage in self._stages.items() if self._source.abilities.behind else ():
            if stage.number not in self._followed and self._grows(node, stage):
                self._followed[stage.number] = _Followed(node, stage, self._path(node))
        for one in self._followed.values():
            is_time = not self._work.is_storing and trio.current_time() >= one.not_before
            if not one.busy and is_time and (now := _state(one.stage)) != one.seen:
                self._begin(one, partial(self._send, now))

    def _begin(self, one: _Followed, act: Callable[[_Followed], Awaitable[None]]) -> None:
        one.busy = True
        self._work.soon(partial(act, one))

    def _grows(self, node: int, stage: Stage) -> bool:
        """Whether much of it was written since it was stored, all of which is sent by whoever closes it."""
        if self._stages.get(node) is not stage or not self._opens.writers(node) or not self._path(node):
            return False
        if not stage.whole or stage.poisoned or stage.note.overtaken:
            return False
        before = stage.stored.size if stage.stored else 0
        return stage.status().st_size >= before + self._source.abilities.behind

    def _goes_on(self, one: _Followed) -> bool:
        return self._grows(one.node, one.stage) and self._path(one.node) == one.path

    def _path(self, node: int) -> bytes:
        """b"" of what no name leads to any more."""
        try:
            return self._names.path(node)
        except StaleError:
            return b""

    async def _drop(self, one: _Followed) -> None:
        """What is still there is of a file that is gone, or elsewhere, or small by now."""
        with suppress(OSError):  # then whoever begins next ends it
            await self._work.send_behind(self._source.drop_behind, one.path)
        del self._followed[one.stage.number]

    async def _send(self, now: tuple[int, int], one: _Followed) -> None:
        """All that can be sent now."""
        failed: list[OSError] = []

        async def send() -> None:
            try:
                while not failed and not self._work.is_storing and self._goes_on(one):
                    # The thread's own: it may go on when nobody has the file any more.
                    size = await self._work.send_behind(self._send_from, one.path, os.dup(one.stage.descriptor))
                    if not size:
                        one.seen, one.pause = now, FIRST_PAUSE
                        return
                    self._metrics.count("behind_bytes_total", size)
            except OSError as error:
                failed.append(error)

        async with trio.open_nursery() as nursery:
            for _one in range(_AT_ONCE):
                nursery.start_soon(send)
        if failed:  # who stores it is told what is wrong
            _LOG.debug("a file is not sent while it is written path=%r reason=%r", one.path, str(failed[0]))
            one.failed()
        one.busy = False

    def _send_from(self, path: bytes, descriptor: int) -> int:
        """In a thread."""
        try:
            return self._source.send_behind(path, descriptor)
        finally:
            os.close(descriptor)


def _state(stage: Stage) -> tuple[int, int]:
    status = stage.status()
    return status.st_size, status.st_mtime_ns
