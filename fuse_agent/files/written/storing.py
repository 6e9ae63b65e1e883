# SPDX-License-Identifier: Apache-2.0
"""How what is staged comes to the source: whole, or what was changed of it, and over nothing that it must not replace."""

from __future__ import annotations

import os
import time
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import trio

from ...sources.base import ChangedError, Kept
from .. import view
from ..read.ahead import Range
from .patch import plan
from .stage import COMPARED, SETTLED

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ...sources.base import Found, Part, Source
    from ..work import Work
    from .notes import Stored
    from .stage import Stage

    Fill = Callable[[list[Range]], Awaitable[None]]

# A large file that is written to all the time never shows settled times; it is stored as it is, and counts as changed.
_ATTEMPTS: Final = 5
_STEP: Final = 8 << 20
# Tries of which nobody knows how they ended, by which a file is known again.
_MOST_SENT: Final = 16


class OvertakenError(ChangedError):
    """The source has a newer version, over which this is not to be stored, or without which it cannot be."""


class Storing:
    def __init__(self, source: Source, work: Work) -> None:
        self._source, self._work = source, work

    async def store(
        self, stage: Stage, path: bytes, over: bytes | None, fill: Fill, sync: bool = False
    ) -> tuple[Stored, Found]:
        """Nobody writes to it by us meanwhile.

        :param over: the version that it may replace, b"" for none at all; None replaces whatever is there
        :param fill: brings what is missing of what was there before
        :param sync: and has to outlive the source's machine
        :raises OvertakenError:
        """
        before = stage.sent.copy()
        try:
            done = await self._store(stage, path, over, fill, sync)
        except ChangedError:
            stage.sent = before
            done = await self._stored_before(stage, path, fill)
            if sync:
                try:
                    await self._work.store(self._sync, path)
                except OSError:
                    stage.say_if_it_can(before=done[1].version)  # as below
                    raise
        stage.sent = []
        return done

    async def _stored_before(self, stage: Stage, path: bytes, fill: Fill) -> tuple[Stored, Found]:
        """By whoever could not say so: what was written since is stored over that."""
        found = await self._work.ask(self.ours, stage, path)
        if found and _is_told(stage, found):
            return await self._work.ask(stage.settle), found
        found = await self._work.ask(self._sent, stage, path)
        if found and _is_told(stage, found):
            stage.say_if_it_can(before=found.version)  # of which all that was not written since is the same
            return await self.store(stage, path, found.version, fill)
        raise OvertakenError(path)

    async def known(self, stage: Stage, path: bytes) -> Found | None:
        """What the source has, where that was written here and could not be said: by a process that died, or a try whose answer was lost."""
        return await self._work.ask(self.ours, stage, path) or await self._work.ask(self._sent, stage, path)

    async def _store(
        self, stage: Stage, path: bytes, over: bytes | None, fill: Fill, sync: bool
    ) -> tuple[Stored, Found]:
        least = self._source.abilities.patches
        parts = plan(stage.status().st_size, stage.same(), least) if least else []
        sent = [Range(part.offset, part.size) for part in parts if not part.copied]
        for one in sent if parts else [Range(0, stage.note.base)]:
            await fill(stage.missing(one))
        is_settled = await self._settle(stage)
        now, found, failed = await self._work.store(self._send, stage, path, parts, over, sync)
        if failed:  # which a disk says once: the next try is to replace that file, and not to find that it is ours
            stage.say_if_it_can(before=found.version)
            raise failed
        return now if is_settled else now._replace(mtime_ns=0), found

    def _send(
        self, stage: Stage, path: bytes, parts: list[Part], over: bytes | None, sync: bool
    ) -> tuple[Stored, Found, OSError | None]:
        """In a thread.

        :return: why what was stored may not outlive the machine
        """
        now = stage.settle()
        stage.sent = [*[one for one in stage.sent if one != now][-_MOST_SENT:], now]
        kept = self._kept(stage, now.mtime_ns)
        if parts and now.size == parts[-1].offset + parts[-1].size:
            found = self._source.patch(path, stage.descriptor, parts, stage.note.before, kept, over)
        else:
            found = self._source.store(path, stage.descriptor, now.size, kept, over)
        try:
            if sync:
                self._sync(path)
        except OSError as error:
            return now, found, error
        return now, found, None

    async def sync(self, path: bytes) -> None:
        """What was stored there before outlives the source's machine."""
        if self._source.abilities.syncs:
            await self._work.store(self._sync, path)

    def _sync(self, path: bytes) -> None:
        """In a thread."""
        if self._source.abilities.syncs:
            with suppress(FileNotFoundError, NotADirectoryError):  # others removed it, and nobody can lose it
                self._source.sync(path)

    async def _settle(self, stage: Stage) -> bool:
        """Whether its times tell of the next write."""
        for _attempt in range(_ATTEMPTS):
            status = stage.status()
            age = time.time_ns() - status.st_mtime_ns
            if status.st_size <= COMPARED or not 0 <= age < SETTLED:
                return True
            # Not to wait for anybody: two writes may have the same time as long as it is that young.
            await trio.sleep((SETTLED - age) / view.SECOND)
        return False

    def _kept(self, stage: Stage, mtime_ns: int) -> Kept:
        note = stage.note
        if not self._source.abilities.keeps:
            return Kept()
        return Kept(note.mode, note.uid, note.gid, mtime_ns, note.xattrs or None)

    def _sent(self, stage: Stage, path: bytes) -> Found | None:
        """In a thread. What the source has is what was sent once, as far as that is told by its content."""
        try:
            found = self._source.find(path)
            sums = {one.sum for one in stage.sent if one.size == found.size <= COMPARED}
            if sums and zlib.crc32(self._source.read(path, found.version, 0, found.size)) in sums:
                return found
        except (FileNotFoundError, ChangedError):
            pass
        return None

    def ours(self, stage: Stage, path: bytes) -> Found | None:
        """In a thread. What the source has is what is here, and nobody could say that it was stored."""
        if not (stage.found or stage.sent):
            return None
        try:
            found = self._source.find(path)
            size = stage.status().st_size
            if found.size != size:
                return None
            for one in _without(stage.same(), size):
                for offset in range(one.offset, one.end, _STEP):
                    length = min(_STEP, one.end - offset)
                    data = self._source.read(path, found.version, offset, length)
                    if bytes(data) != os.pread(stage.descriptor, length, offset):
                        return None
        except (FileNotFoundError, ChangedError):
            return None
        return found


def _is_told(stage: Stage, found: Found) -> bool:
    """Whether the content of what is there tells whose it is. An empty one may be that of another who wants the same lock."""
    return bool(found.size) or stage.found or not stage.note.alone or bool(stage.note.before)


def _without(same: list[Range], size: int) -> list[Range]:
    found, place = [], 0
    for one in same:
        found.append(Range(place, one.offset - place))
        place = one.end
    found.append(Range(place, size - place))
    return [one for one in found if one.size > 0]
