# SPDX-License-Identifier: Apache-2.0
"""What a mount that ended by force left goes where it belongs, unless something newer is there."""

from __future__ import annotations

import logging
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Final

import trio

from ...sources.base import ChangedError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection

    from ...sources.base import Found, Source
    from ..known.names import Names
    from ..read.ahead import Range
    from ..work import Work
    from .overtaken import Overtaken
    from .stage import Stage
    from .storing import Storing

_LOG = logging.getLogger(__name__)
# Seconds between two attempts to store what nobody waits for any more: twice as long each time.
FIRST_PAUSE: Final = 1.0
LONGEST_PAUSE: Final = 60.0


class Recovery:
    def __init__(self, names: Names, source: Source, work: Work, storing: Storing, overtaken: Overtaken) -> None:
        self._names, self._source, self._work = names, source, work
        self._storing, self._overtaken = storing, overtaken
        self._left: list[Stage] = []

    def begin(self, stage: Stage) -> None:
        if stage.poisoned:  # it lacks a part
            _LOG.error(
                "a write to a file failed before a crash, so what the source has stays path=%r; write it again",
                stage.note.path,
            )
            self._work.remove(stage)
            return
        if stage.torn and stage.note.before:
            self._overtaken.add(stage, "was not on the disk yet when the machine died, and need not be whole")
            return
        self._names.replaced(stage.note.path)
        self._left.append(stage)
        self._work.soon(partial(self._recover, stage))

    @asynccontextmanager
    async def removing(self, path: bytes) -> AsyncIterator[None]:
        """What lies there, and so what was left for it: once it is gone, nobody is to store it there again."""
        async with self._still(path) as stages:
            there = [stage for stage in stages if stage.note.path == path]
            for stage in there:  # before: who comes after a worker that dies over it must not store it either
                stage.say(path=b"")
            try:
                yield
            except BaseException:
                for stage in there:
                    stage.say(path=path)
                raise
            for stage in there:
                self._left.remove(stage)
                self._work.remove(stage)

    @asynccontextmanager
    async def moving(self, old: bytes, new: bytes) -> AsyncIterator[None]:
        """What lies there, or below, to where something else goes by that."""
        async with self.removing(new), self._still(old) as stages:
            newer = [stage for stage in stages if await self._version(stage.note.path) != stage.note.before]
            yield
            await self.moved(old, new, newer)

    async def moved(self, old: bytes, new: bytes, newer: Collection[Stage] = ()) -> None:
        """What is not stored yet lies elsewhere by now.

        :param newer: there is something else in its place, which it must not replace there either
        """
        for stage in self._of(old):
            note = stage.note
            path, before = new + note.path[len(old) :], note.before
            if before and stage not in newer:
                with suppress(OSError), trio.CancelScope(shield=True):  # it is done, whatever becomes of this
                    before = await self._version(path) or before
            stage.say(path=path, before=before)

    async def _version(self, path: bytes) -> bytes:
        """Of what the source has there, b"" of nothing."""
        with suppress(FileNotFoundError):
            found: Found = await self._work.ask(self._source.find, path)
            return found.version
        return b""

    def has_below(self, folder: bytes) -> bool:
        return any(stage.note.path != folder for stage in self._of(folder))

    def _of(self, path: bytes) -> list[Stage]:
        """What is left for it, and for what is below it."""
        return [stage for stage in self._left if stage.note.path == path or stage.note.path.startswith(path + b"/")]

    @asynccontextmanager
    async def _still(self, path: bytes) -> AsyncIterator[list[Stage]]:
        """None of these is being stored."""
        async with AsyncExitStack() as locks:
            for stage in self._of(path):
                await locks.enter_async_context(stage.lock)
            yield self._of(path)

    async def _recover(self, stage: Stage) -> None:
        pause = FIRST_PAUSE
        while True:
            await self._names.moving.settled(stage.note.path)
            async with stage.lock:
                if stage not in self._left or await self._is_recovered(stage):
                    return
            await trio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)

    async def _is_recovered(self, stage: Stage) -> bool:
        """Whether there is nothing left to do for it."""
        path = stage.note.path
        mapped = stage.is_mapped()  # since before this worker
        try:
            await self._recovered(stage)
        except ChangedError:
            self._left.remove(stage)
            self._overtaken.add(stage)
            return True
        except OSError as error:
            _LOG.warning("what was left by a crash is not stored yet path=%r reason=%r", path, str(error))
            return False
        self._names.replaced(path)
        if mapped:
            return False
        _LOG.warning("what was left by a crash is stored path=%r", path)
        self._left.remove(stage)
        self._work.remove(stage)
        return True

    async def _recovered(self, stage: Stage) -> None:
        note = stage.note

        async def fill(missing: list[Range]) -> None:
            for one in missing:
                data = await self._work.ask(self._source.read, note.path, note.before, *one)
                await self._work.change(stage.fill, one.offset, data)

        if not note.kept and await self._work.ask(stage.is_stored):
            return  # it is mapped still, and was not written to since
        now, found = await self._storing.store(stage, note.path, note.before, fill, sync=True)
        stage.rebase(before=found.version, stored=now, kept=False)
