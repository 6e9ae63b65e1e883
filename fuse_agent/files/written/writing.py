# SPDX-License-Identifier: Apache-2.0
"""What is written, until the source has it.

A failure to store is told to whoever closes or syncs the file, and what was written stays. Where nobody is left to be told, it is
tried again until the source takes it.
"""

from __future__ import annotations

import errno
import logging
import os
import stat
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import trio

from ...metrics import Metrics
from ...nodes.records import StaleError
from ...opens import Mode
from ...sources.base import UNTOLD
from .. import view
from ..read.ahead import Range, joined
from ..read.contents import LARGEST
from .admission import Admission
from .begun import Begun
from .behind import Behind
from .closing import Closing
from .headroom import Headroom
from .overtaken import Overtaken
from .recovery import Recovery
from .stage import PIECE
from .storing import OvertakenError, Storing

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from ...nodes.table import Nodes
    from ...opens import Opens
    from ...operations import Changes, Soon
    from ...sources.base import Found, Source
    from ...sources.xattrs import Xattrs
    from ..known.names import Names
    from ..read.contents import Contents
    from ..view import Settings
    from ..work import Work
    from .stage import Stage
    from .staging import Staging

_LOG = logging.getLogger(__name__)
# Files that a status names; all are counted.
_TOLD: Final = 100
# Files that are stored at a time when all are.
_AT_ONCE: Final = 16


class Writing:
    """
    :ivar admission: to be asked before somebody begins to write
    :ivar recovery: of what a mount before this one left
    """

    def __init__(
        self, nodes: Nodes, names: Names, contents: Contents, opens: Opens, source: Source, settings: Settings,
        work: Work, staging: Staging, headroom: Headroom | None = None, metrics: Metrics | None = None,
    ) -> None:  # fmt: skip
        self._nodes, self._names, self._contents, self._opens = nodes, names, contents, opens
        self._source, self._settings, self._work, self._staging = source, settings, work, staging
        self._stages: dict[int, Stage] = {}
        self._begun = Begun(nodes, names, contents, opens, source, work, staging)
        self._storing = Storing(source, work)
        self.overtaken = Overtaken(staging, self._storing)
        self.recovery = Recovery(names, source, work, self._storing, self.overtaken)
        self._closing = Closing(
            self._stages, staging.folder, nodes, contents, opens, work, self.overtaken, self.store, self.sync,
            self.is_new,
        )  # fmt: skip
        behind = Behind(self._stages, names, opens, source, work, metrics or Metrics())
        self.admission = Admission(
            headroom or Headroom(staging.folder), work, contents, self._stages, opens.stage, behind, self._closing.settle,
        )  # fmt: skip
        self.failures = 0
        held = {opens.stage(node): node for node in opens.nodes() if opens.stage(node)}
        left = list(staging.left())
        for number in left:
            self._adopt(number, held.get(number, 0), bool(held))
        for number in held.keys() - left:
            _LOG.error("what was written is lost: somebody removed it from the cache folder staged=%d", number)

    def of(self, node: int) -> Stage | None:
        return self._stages.get(node)

    def status(self, node: int) -> os.stat_result | None:
        """None also where the source may know it better."""
        stage = self._stages.get(node)
        return stage.status() if stage and not self.is_doubtful(node) else None

    def is_doubtful(self, node: int) -> bool:
        """It was stored, and may have been written by another of its names since, or by another machine once all have closed it."""
        stage = self._stages.get(node)
        if stage is None or stage.note.kept or (self._opens.writers(node) and self._nodes.known(node).links < 2):
            return False
        return stage.seems_stored()

    def resume(self, stage: Stage) -> None:
        """Somebody writes to what was left to endure."""
        if stage.note.boot != self._staging.boot:
            stage.say(boot=self._staging.boot)

    def unsaved(self) -> list[bytes]:
        """Paths of what the source does not have, as far as that shows without reading any of it."""
        return [stage.note.path for stage in self._stages.values() if not stage.seems_stored()]

    @property
    def staged(self) -> int:
        """Bytes that lie here."""
        return sum(stage.status().st_size for stage in self._stages.values())

    @property
    def dirty(self) -> int:
        """Bytes of those that the source does not have."""
        return sum(stage.status().st_size for stage in self._stages.values() if not stage.seems_stored())

    def described(self) -> list[dict[str, Any]]:
        """What lies here, as far as that is not too much to tell."""
        return [
            {
                "path": stage.note.path.decode(errors="backslashreplace"),
                "bytes": stage.status().st_size,
                "stored": stage.seems_stored(),
                "retried": stage.note.waits,
            }
            for stage in islice(self._stages.values(), _TOLD)
        ]

    async def save(self) -> list[bytes]:
        """All of it; paths of what the source would not take."""
        failed: list[bytes] = []
        turn, away = trio.CapacityLimiter(_AT_ONCE), False

        async def save(node: int, stage: Stage) -> None:
            nonlocal away
            async with turn:
                if away and not stage.seems_stored():  # else each of many takes as long as the source is hoped for
                    failed.append(stage.note.path)
                    return
                try:
                    # Of what a close could not store it was promised that it outlives the machine.
                    await (self.sync if stage.retried else self.store)(node)
                except OSError as error:
                    _LOG.error("a file could not be stored, and is kept path=%r reason=%r", stage.note.path, str(error))
                    failed.append(stage.note.path)
                    away = error.errno == errno.ETIMEDOUT
                else:
                    away = False

        async with trio.open_nursery() as nursery:
            for node, stage in list(self._stages.items()):
                nursery.start_soon(save, node, stage)
        return failed

    # --- begin -------------------------------------------------------------------------------

    def begin(self, node: int, xattrs: Xattrs, alone: bool = False) -> Stage:
        """An empty one.

        :param xattrs: what its file had a moment before, here and below
        :param alone: it is to be the first of its name
        """
        return self._enter(node, self._begun.empty(node, xattrs, alone))

    async def begin_from(self, node: int, xattrs: Xattrs) -> Stage | None:
        """With what it holds already; None when somebody has it open in passthrough by now, and so reads another file."""
        while node not in self._stages:  # of two at once, the first one's it is
            content = self._contents.of(node)
            stage = await self._begun.copied(node, content, xattrs)
            # Meanwhile another may have begun, stored and left.
            is_read = self._opens.mode(node) is Mode.PASSTHROUGH
            if node not in self._stages and self._contents.of(node) is content and not is_read:
                return self._enter(node, stage)
            self._work.remove(stage)
            if is_read:
                return self._stages.get(node)
        return self._stages[node]

    async def take_over(self, node: int, xattrs: Xattrs) -> Stage | None:
        """What others read by the kernel, where they can see what is written."""
        stage = await self._begun.shared(node, xattrs)
        return self._enter(node, stage) if stage else self._stages.get(node)

    def _enter(self, node: int, stage: Stage) -> Stage:
        self._stages[node] = stage
        self._nodes.pin(node)
        self.admission.begun()
        return stage

    # --- what it holds -----------------------------------------------------------------------

    def read(self, node: int, stage: Stage, offset: int, size: int) -> Soon[bytes]:
        asked = Range(offset, size)
        if stage.missing(asked):
            return self._read(node, stage, asked)
        return self._work.ask(os.pread, stage.descriptor, size, offset)

    async def _read(self, node: int, stage: Stage, asked: Range) -> bytes:
        async with stage.lock:
            await self.fill(node, stage, stage.missing(asked))
        return await self._work.ask(os.pread, stage.descriptor, asked.size, asked.offset)

    async def write(self, node: int, stage: Stage, offset: int, data: bytes) -> int:
        async with stage.lock:
            await self.fill(node, stage, stage.missing(Range(offset, len(data)), edges_only=True))
            return await self._work.change(stage.write, offset, data)

    async def truncate(self, node: int, stage: Stage, size: int) -> bool:
        """False when it was stored and closed by all meanwhile, and so is none any more."""
        async with stage.lock:
            if self._stages.get(node) is not stage:
                return False
            self.resume(stage)
            if size < stage.status().st_size:
                await self.fill(node, stage, stage.missing(Range(size, 1)))  # of which a part stays
            await self._work.change(stage.truncate, size)
            return True

    async def spare(self, node: int) -> None:
        """Its name is about to go: who has it open finds all of it here from now on."""
        stage = self._stages.get(node)
        if stage and self._opens.stage(node):
            async with stage.lock:
                await self.fill(node, stage, stage.missing(Range(0, stage.note.base)))

    async def fill(self, node: int, stage: Stage, missing: list[Range]) -> None:
        """The stage's lock is held."""
        if not missing:
            return  # as of one that has no name any more
        content = self._contents.of(node)
        for one in joined(missing):
            # Only of what is long more is wanted soon.
            for start in range(one.offset, one.end, LARGEST):
                piece = Range(start, min(LARGEST, one.end - start))
                data = memoryview(await content.whole_range(piece, ahead=one.size > LARGEST))
                for place in range(0, piece.size, PIECE):
                    await self._work.change(stage.fill, start + place, data[place : place + PIECE])

    # --- store -------------------------------------------------------------------------------

    async def store(self, node: int) -> None:
        """Until the source has what was written before this was asked.

        :raises OSError: why not; nothing that was written is lost by that
        """
        await self._store(node, sync=False)

    async def sync(self, node: int) -> None:
        """And until that outlives the source's machine, also what was stored by a close before, or changed in a folder."""
        if not await self._store(node, sync=True):
            try:
                with suppress(StaleError):  # what no name leads to, nobody can lose
                    await self._storing.sync(self._names.path(node))
            except OSError:  # which a disk says once: what is here still is stored anew
                if stage := self._stages.get(node):
                    stage.say_if_it_can(kept=True)
                raise

    async def _store(self, node: int, sync: bool) -> bool:
        stage = self._stages.get(node)
        if stage is None:
            return False
        async with stage.lock:
            return self._stages.get(node) is stage and await self._store_all(node, stage, sync)

    async def _store_all(self, node: int, stage: Stage, sync: bool) -> bool:
        """Its lock is held.

        :return: whether there was something to store
        """
        if not stage.poisoned:
            if stage.note.overtaken:
                raise OvertakenError(stage.note.path)
            if not self._nodes.parent(node) or await self._is_stored(stage):
                return False
            await self.admission.find_missed()
        if stage.poisoned:
            raise OSError(stage.poisoned, "a write to it failed before, so it is not stored", stage.note.path)
        path = self._names.path(node)
        try:
            now, found = await self._storing.store(
                stage, path, self._over(stage), partial(self.fill, node, stage), sync
            )
        except OSError as error:
            self.failures += 1
            if isinstance(error, OvertakenError):
                stage.say_if_it_can(overtaken=True)
                if stage.note.alone:
                    self._names.listings.bulk.contested(self._nodes.parent(node))
                # Its name means what the source has from now on.
                self._nodes.unname(node)
                self._names.replaced(path)
            raise
        self._stored(node, path, found)
        stage.rebase(before=found.version, path=path, waits=False, stored=now, kept=False, alone=False)
        return True

    def _over(self, stage: Stage) -> bytes | None:
        """What it may replace."""
        if self._settings.conflict_fails or stage.note.alone:
            return stage.note.before
        return None

    async def _is_stored(self, stage: Stage) -> bool:
        if stage.note.kept:
            return False
        if stage.is_untouched():
            return True
        if not stage.seems_stored():
            return False
        return stage.is_stored() if stage.is_short else await self._work.ask(stage.is_stored)

    def _stored(self, node: int, path: bytes, found: Found) -> None:
        before = self._nodes.known(node)
        self._nodes.set_version(node, found.version)
        known = view.known(found, before.number, self._settings, view.now())
        if found.mtime_ns == UNTOLD:  # it is asked for when somebody wants to know
            now = self._names.known(node).mtime
            known = known._replace(mtime=now, ctime=now, atime=now)
            self._names.listings.without_times(self._nodes.parent(node))
        self._nodes.set(node, known)
        self._names.xattrs.take(node, found.xattrs)
        self._contents.drop(node)
        self._names.changes.touch(path)
        self._names.changed(self._nodes.parent(node))

    def let_go(self, node: int) -> None:
        """One of those who have it open is about to close it."""
        self._closing.let_go(node)

    async def close(self, node: int) -> None:
        """Nobody has it open for writing any more."""
        await self._closing.close(node)

    def end(self) -> None:
        """The mount is gone for good, and nobody has anything open: what the source has need not lie here."""
        for stage in self._stages.values():
            with suppress(OSError):  # it stays, as for who comes after a crash
                if stage.is_needless(asked_again=False):
                    stage.unname()
        self._closing.end()

    async def endure(self) -> None:
        """What is not stored at the end is there also when the machine has died."""
        await self._closing.endure()

    # --- names -------------------------------------------------------------------------------

    def moved(self) -> None:
        """Names were changed: what is stored later goes where they are now."""
        for node, stage in self._stages.items():
            with suppress(StaleError):  # what no name leads to any more stays what it was to become
                stage.say_if_it_can(path=self._names.path(node))

    def dropped(self, node: int) -> None:
        """Its name is gone: nobody stores it, nor does a mount after this one."""
        stage = self._stages.get(node)
        if stage:
            stage.say_if_it_can(path=b"")

    def replaces(self, node: int, version: bytes) -> None:
        """What the source has under its name is of that version."""
        stage = self._stages.get(node)
        if stage:
            stage.say_if_it_can(before=version)

    @asynccontextmanager
    async def still(self, *nodes: int) -> AsyncIterator[None]:
        """Nothing of what they are or hold is being stored: it would come to lie under a name that is no longer its own."""
        async with AsyncExitStack() as locks:
            for node, stage in sorted(self._stages.items(), key=lambda item: item[1].number):
                if any(self._is_within(node, one) for one in nodes):
                    await locks.enter_async_context(stage.lock)
            yield

    def _is_within(self, node: int, folder: int) -> bool:
        while node and node != folder:
            node = self._nodes.parent(node)
        return bool(node)

    def below(self, folder: int) -> bool:
        """Whether the folder holds something that the source may not have yet."""
        return any(self._nodes.parent(node) == folder for node in self._stages)

    def used_below(self, folder: int) -> list[int]:
        """Files that somebody has open, or that are not stored, and that the source knows."""
        used = [node for node in {*self._opens.nodes(), *self._stages} if not self.is_new(node)]
        return [node for node in used if self._is_within(node, folder)]

    def is_new(self, node: int) -> bool:
        """The source does not know of it."""
        stage = self._stages.get(node)
        return stage is not None and stage.stored is None and not stage.note.before

    async def confirm(self, node: int) -> None:
        """That the source does not know of it: it may have been stored, and nobody could say so."""
        stage = self._stages.get(node)
        if stage is not None and (stage.found or stage.sent) and self.is_new(node):
            async with stage.lock:
                found = await self._storing.known(stage, stage.note.path)
                if found:
                    stage.say(before=found.version)
                    self._nodes.set_version(node, found.version)  # which is what may be replaced under its name

    async def keep(self, node: int, stage: Stage, changes: Changes) -> bool:
        """False when it is none any more, as of ``truncate``."""
        async with stage.lock:
            if self._stages.get(node) is not stage:
                return False
            fields = {name: value for name in ("mode", "uid", "gid") if (value := getattr(changes, name)) is not None}
            stage.say(kept=stage.note.kept or self._source.abilities.keeps, **fields)
            if changes.mtime_ns is not None:
                os.utime(stage.descriptor, ns=(changes.atime_ns or changes.mtime_ns, changes.mtime_ns))
            known = self._nodes.known(node)
            self._nodes.set(
                node,
                known._replace(
                    mode=known.mode if changes.mode is None else stat.S_IFMT(known.mode) | changes.mode,
                    uid=known.uid if changes.uid is None else changes.uid,
                    gid=known.gid if changes.gid is None else changes.gid,
                    atime=known.atime if changes.atime_ns is None else changes.atime_ns,
                ),
            )
            return True

    # --- those that another process began ----------------------------------------------------

    def _adopt(self, number: int, node: int, taken_over: bool) -> None:
        try:
            stage = self._staging.open(number)
        except (OSError, ValueError) as error:
            _LOG.error("what was staged cannot be read and is left alone staged=%d reason=%r", number, str(error))
            return
        if node:
            self._enter(node, stage)
        elif stage.note.overtaken and stage.note.path:
            self.overtaken.add(stage)
        elif stage.is_needless(taken_over):
            self._work.remove(stage)
        else:
            self.recovery.begin(stage)
