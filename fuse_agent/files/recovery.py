# SPDX-License-Identifier: Apache-2.0
"""What a mount that ended by force left goes where it belongs, unless something newer is there."""

from __future__ import annotations

import logging
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

import trio

from ..sources.base import ChangedError

if TYPE_CHECKING:
    from ..sources.base import Source
    from .ahead import Range
    from .names import Names
    from .overtaken import Overtaken
    from .stage import Stage
    from .storing import Storing
    from .work import Work

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
        self._left.append(stage)
        self._work.soon(partial(self._recover, stage))

    async def moved(self, old: bytes, new: bytes) -> None:
        """What is not stored yet lies elsewhere by now."""
        for stage in self._left:
            path = stage.note.path
            if path.startswith(old + b"/"):
                path = new + path[len(old) :]
                before = stage.note.before
                if before:
                    with suppress(FileNotFoundError):
                        before = (await self._work.ask(self._source.find, path)).version
                stage.say(path=path, before=before)

    async def _recover(self, stage: Stage) -> None:
        pause = FIRST_PAUSE
        while True:
            await self._names.settled(stage.note.path)
            note = stage.note
            mapped = stage.is_mapped()  # since before this worker
            try:
                await self._recovered(stage)
            except ChangedError:
                self._left.remove(stage)
                self._overtaken.add(stage)
                return
            except OSError as error:
                _LOG.warning("what was left by a crash is not stored yet path=%r reason=%r", note.path, str(error))
            else:
                self._names.changes.touch(note.path)
                if not mapped:
                    _LOG.warning("what was left by a crash is stored path=%r", note.path)
                    self._left.remove(stage)
                    self._work.remove(stage)
                    return
            await trio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)

    async def _recovered(self, stage: Stage) -> None:
        note = stage.note

        async def fill(missing: list[Range]) -> None:
            for one in missing:
                data = await self._work.ask(self._source.read, note.path, note.before, *one)
                await self._work.change(stage.fill, one.offset, data)

        now, found = await self._storing.store(stage, note.path, note.before, fill)
        stage.rebase(before=found.version, stored=now, kept=False)
