# SPDX-License-Identifier: Apache-2.0
"""How files are opened: by the kernel alone, or by us, to read what is cached or to write what is staged."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from ..nodes.records import StaleError, number
from ..opens import Below, Mode, OtherwiseOpenError
from ..operations import Changes
from ..protocol.codes import Open
from ..protocol.replies import Handle
from ..sources.base import ChangedError, Found, Kind
from . import view
from .read.content import SMALL
from .read.neighbours import Neighbours

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..metrics import Metrics
    from ..nodes.table import Nodes
    from ..opens import Handle as Opened
    from ..opens import Opens
    from ..operations import Caller, Soon
    from ..protocol.replies import Entry
    from ..sources.base import Source
    from ..sources.xattrs import Xattrs
    from .extended import Extended
    from .known.names import Names
    from .read.content import Content
    from .read.contents import Contents
    from .view import Settings
    from .written.stage import Stage
    from .written.writing import Writing

# So small a file is fetched in the time in which its version is asked for: where each open asks, that brings it.
_ASKED: Final = 64 << 10
# Within which the kernel looks a name up again whose open failed, and opens what it finds.
_FRESH: Final = 10 * view.SECOND


class _Flags(NamedTuple):
    """How the kernel is to treat what was opened, by the way in which it is open. Made once: flags are slow to combine."""

    cached: Open
    passthrough: Open


_READ = _Flags(Open.KEEP_CACHE | Open.NOFLUSH, Open.PASSTHROUGH | Open.NOFLUSH)
_WRITTEN = _Flags(Open.NOFLUSH, Open.PASSTHROUGH | Open.NOFLUSH)
_STAGED = _Flags(Open(0), Open.PASSTHROUGH)
# Of an open that is not one to read alone.
_WRITES: Final = os.O_ACCMODE | os.O_TRUNC


class Opening:
    """
    :ivar ends: nobody begins to write any more
    """

    def __init__(
        self, nodes: Nodes, names: Names, contents: Contents, opens: Opens, source: Source, settings: Settings,
        writing: Writing | None, extended: Extended, bind: Callable[[int], int] | None, metrics: Metrics,
    ) -> None:  # fmt: skip
        """
        :param writing: None on a mount that is read-only
        :param bind: gives the kernel a file to read and write by itself; None where the session cannot
        """
        self._nodes, self._names, self._contents, self._opens = nodes, names, contents, opens
        self._source, self._settings, self._writing = source, settings, writing
        self._extended = extended
        self._bind, self.ends = bind, False
        self._counted = [metrics.counter("opens_total", mode=mode) for mode in ("cached", "passthrough")]
        self._neighbours = Neighbours(nodes)
        # Of what is worth fetching ahead.
        self._least = 0 if settings.relaxed else _ASKED
        # Found to be what its name means after an open of another version failed: the next open of it need not ask again, until then.
        self._fresh: dict[int, int] = {}

    def forget(self, node: int) -> None:
        self._fresh.pop(node, None)

    @property
    def writing(self) -> Writing:
        """
        :raises OSError: on a mount that is read-only
        """
        if self._writing is None:
            raise OSError(errno.EROFS, "this mount is read-only")
        return self._writing

    def _begin(self) -> Writing:
        if self.ends:
            raise OSError(errno.EROFS, "this mount is about to end, and nothing new is written")
        return self.writing

    def open(self, caller: Caller, node: int, flags: int) -> Soon[Handle]:
        known = self._nodes.known(node)
        if stat.S_ISDIR(known.mode):
            raise IsADirectoryError(errno.EISDIR, "a folder is not opened as a file")
        if caller.again and (opened := self._opens.asked(caller.number)):
            return self._as_before(opened)
        if self._nodes.is_replaced(node):
            raise StaleError(node)  # as the kernel knew its name, or had moved it: it looks that up again
        writing = self._writing
        stage = writing.of(node) if writing else None
        if stage and writing:
            if stage.note.overtaken:
                raise StaleError(node)  # what it holds is for those who have it open
            if stage.poisoned and not self._opens.writers(node):
                self._give_up(node, writing)
        if flags & _WRITES:
            return self._open_to_write(caller, node, flags, self._begin())
        if stage and writing:
            if writing.is_doubtful(node):
                return self._open_doubtful(caller, node, writing)
            return self._opened_stage(caller, node, stage, writes=False)
        if self._is_fresh(node) or (self._settings.relaxed and known.holds > view.now()):
            content = self._contents.of(node)
            if not self._is_ready(content):
                return self._open_now(caller, node)
            self.fetch_after(node, missed=False)
            return self._opened(caller, node, content)
        return self._open(caller, node)

    def _as_before(self, opened: Opened) -> Handle:
        """What a worker opened that died before it could say so: nothing is emptied again that was written meanwhile."""
        flags = Open.PASSTHROUGH if opened.mode is Mode.PASSTHROUGH else Open(0)
        return Handle(opened.number, flags, opened.backing)

    async def _open_doubtful(self, caller: Caller, node: int, writing: Writing) -> Handle:
        await self._confirm(node)
        stage = writing.of(node)
        return self._opened_stage(caller, node, stage, writes=False) if stage else await self._open_now(caller, node)

    async def _open(self, caller: Caller, node: int) -> Handle:
        content = self._contents.of(node)
        if content.version and not content.is_doubtful and not self._is_ready(content):
            # To fetch it tells whether it is that version still.
            with contextlib.suppress(ChangedError):
                return await self._open_now(caller, node)
        await self._confirm(node)
        return await self._open_now(caller, node)

    async def _open_now(self, caller: Caller, node: int) -> Handle:
        content = self._contents.of(node)
        await content.verify_to_open()
        missed = content.size <= SMALL and not content.is_here
        self.fetch_after(node, missed)
        if missed:
            await content.fetch_all()
        return self._opened(caller, node, content, missed)

    def fetch_after(self, node: int, missed: bool) -> None:
        others = self._neighbours.after(node, missed)
        if not others:
            return
        row = []
        for other in others:
            known = self._nodes.known(other)
            if stat.S_ISREG(known.mode) and self._least < known.size <= SMALL and not self._names.is_held(other):
                row.append(other)
        self._contents.fetch_ahead(row)

    def _is_ready(self, content: Content) -> bool:
        """A small one is whole before it is opened, so that the kernel reads it by itself."""
        return (content.size > SMALL and not content.is_doubtful) or content.is_here

    async def _confirm(self, node: int) -> None:
        parent = self._nodes.parent(node)
        name = self._nodes.name(node) if parent else b""
        try:
            await self._names.confirm(node)
        except StaleError:
            # It has no name any more; what has it now is opened next.
            if parent and (other := self._nodes.find(parent, name)):
                self._expect(other)
            raise

    def _expect(self, node: int) -> None:
        self._fresh[node] = view.now() + _FRESH

    def _is_fresh(self, node: int) -> bool:
        """Once."""
        return node in self._fresh and self._fresh.pop(node) > view.now()

    def _opened(self, caller: Caller, node: int, content: Content, missed: bool = False) -> Handle:
        file = content.file
        whole = file if file is not None and file.whole else None
        flags = _WRITTEN if self._nodes.was_written(node) else _READ
        below = Below(content.digest, whole) if whole else None
        handle = self._handle(caller, node, whole.descriptor if whole else None, flags, below=below)
        self._contents.opened(content, missed, bool(handle.backing))
        return handle

    def _opened_stage(self, caller: Caller, node: int, stage: Stage, writes: bool) -> Handle:
        whole = stage.descriptor if stage.whole else None
        return self._handle(caller, node, whole, _STAGED, writes=writes, stage=stage.number)

    def _handle(
        self, caller: Caller, node: int, whole: int | None, flags: _Flags, *, writes: bool = False, stage: int = 0,
        below: Below | None = None,
    ) -> Handle:  # fmt: skip
        """
        :param whole: a descriptor of a file that has all of it
        """
        bind = partial(self._bind, whole) if self._bind is not None and whole is not None else None
        was_open = self._opens.is_open(node)
        handle = self._opens.open(node, caller.number, writes=writes, stage=stage, bind=bind, below=below)
        if not was_open:
            self._nodes.pin(node)
        by_kernel = bool(handle.backing)
        self._counted[by_kernel].value += 1
        return Handle(handle.number, flags[by_kernel], handle.backing)

    async def _open_to_write(self, caller: Caller, node: int, flags: int, writing: Writing) -> Handle:
        empties = bool(flags & os.O_TRUNC)
        if writing.is_doubtful(node):
            await self._confirm(node)
        stage = None
        while stage is None or stage is not writing.of(node):  # all others closed it meanwhile, and it was stored
            stage = writing.of(node)
            if stage is None:
                stage = await self._stage(node, writing, empties)
            elif empties:
                await writing.truncate(node, stage, 0)
            if empties and caller.uid:
                await self._drop_privileges(node, stage, writing)
        writing.resume(stage)
        try:
            return self._opened_stage(caller, node, stage, writes=True)
        except OtherwiseOpenError:  # somebody began to read it meanwhile
            await writing.close(node)
            self._renew(node)
            raise

    async def _drop_privileges(self, node: int, stage: Stage, writing: Writing) -> None:
        """As the kernel does by another request where a file is emptied by another way than an open."""
        mode = self._nodes.known(node).mode
        less = view.without_privileges(mode)
        if less != stat.S_IMODE(mode) and self._source.abilities.keeps:
            await writing.keep(node, stage, Changes(mode=less))

    async def _stage(self, node: int, writing: Writing, empty: bool) -> Stage:
        await writing.admission.ask()
        if not self._is_fresh(node) and (not empty or self._settings.conflict_fails):
            await self._confirm(node)
        xattrs = await self._extended.before(node)
        stage = None
        while stage is None:
            if self._opens.mode(node) is Mode.PASSTHROUGH:
                stage = await self._take_over(node, writing, empty, xattrs)
                continue
            self._nodes.mark_written(node)
            if empty or not self._nodes.known(node).size:
                stage = writing.of(node) or writing.begin(node, xattrs)
            else:
                stage = await writing.begin_from(node, xattrs)  # None when somebody began to read it meanwhile
        return stage

    async def _take_over(self, node: int, writing: Writing, empty: bool, xattrs: Xattrs) -> Stage | None:
        stage = await writing.take_over(node, xattrs)
        if stage is None and self._opens.mode(node) is Mode.PASSTHROUGH:
            self._renew(node)
        if stage is not None:
            self._nodes.mark_written(node)
            if empty:
                await writing.truncate(node, stage, 0)
        return stage

    def _give_up(self, node: int, writing: Writing) -> None:
        """All who wrote it were told that it lacks a part: what was there before is what its name means.

        :raises StaleError: always
        """
        if writing.is_new(node) and self._nodes.parent(node):
            self._nodes.unname(node)
        self._renew(node)

    def _renew(self, node: int) -> None:
        """What others read, and is not to be written to: its name means another node from now on.

        :raises StaleError: always
        """
        parent = self._nodes.parent(node)
        if parent:
            name = self._nodes.name(node)
            self._expect(self._nodes.add(parent, name, self._nodes.known(node), self._nodes.version(node)))
        raise StaleError(node)

    async def create(self, caller: Caller, parent: int, name: bytes, mode: int, flags: int) -> tuple[Entry, Handle]:
        writing = self._begin()
        path = self._names.new(parent, name)
        if caller.again and (opened := self._opens.asked(caller.number)):
            return self._names.entry(opened.node), self._as_before(opened)
        await writing.admission.ask()
        alone, conditions = bool(flags & os.O_EXCL), self._source.abilities.conditions
        if not self._is_sure(parent, name, flags):
            await self._names.refresh_new(parent, name)  # others may have made it since the kernel asked
        node = self._nodes.find(parent, name)
        if node and alone:
            raise FileExistsError(errno.EEXIST, "it is there already", path)
        if node and not stat.S_ISREG(self._nodes.known(node).mode):
            raise StaleError(node)  # the kernel looks the name up again: it refuses a folder, and follows a link
        if node:
            return self._names.entry(node), await self._open_to_write(caller, node, flags, writing)
        above, now = self._nodes.known(parent), time.time_ns()
        known = view.known(Found(Kind.FILE, mtime_ns=now), number(above.number, name), self._settings, view.now())
        if self._source.abilities.keeps:
            uid, gid = view.owner(caller, above)
            known = known._replace(mode=stat.S_IFREG | stat.S_IMODE(mode), uid=uid, gid=gid)
        node = self._nodes.add(parent, name, known)
        self._names.changes.touch(path)
        try:
            stage = writing.begin(node, {}, alone=alone)
        except OSError:  # as of a disk that is full
            self._nodes.unname(node)
            raise
        self._nodes.mark_written(node)
        if conditions:
            self._names.listings.bulk.made(parent)
        return self._names.entry(node), self._opened_stage(caller, node, stage, writes=True)

    def _is_sure(self, parent: int, name: bytes, flags: int) -> bool:
        """Whether nobody need be asked what has a name by now that meant nothing to the kernel."""
        if flags & os.O_EXCL:
            return self._source.abilities.conditions and self._names.listings.bulk.is_free(parent, name)
        # Of a file that is emptied nothing stays, whoever made it.
        node = self._nodes.find(parent, name)
        return bool(flags & os.O_TRUNC) and not (node and self._nodes.known(node).holds == view.UNSURE)

    async def truncate(self, node: int, size: int) -> None:
        writing = self.writing
        if size > view.LARGEST:
            raise OSError(errno.EFBIG, f"no file has {size} bytes")
        if writing.is_doubtful(node):
            await self._confirm(node)
        stage = writing.of(node)
        if stage and await writing.truncate(node, stage, size):
            if not self._opens.writers(node):  # else he stores it who closes it
                await writing.store(node)
            return
        if self._nodes.known(node).size == size:
            await self._confirm(node)
            return
        stage = await self._stage(node, writing, size == 0)
        try:
            await writing.truncate(node, stage, size)
            await writing.store(node)
        finally:
            await writing.close(node)
