# SPDX-License-Identifier: Apache-2.0
"""The operations of a file system, for whichever session asks."""

from __future__ import annotations

import contextlib
import errno
import inspect
import logging
import os
import stat
import time
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ..metrics import Metrics
from ..nodes.records import ROOT, StaleError, number
from ..nodes.results import Results
from ..opens import Handle as Opened
from ..opens import Mode, Opens, OtherwiseOpenError
from ..operations import Changes, Operations
from ..protocol.codes import Open
from ..protocol.replies import Handle
from ..sources.base import ChangedError, Found, Kind
from . import view
from .content import SMALL, Contents
from .names import Names
from .neighbours import Neighbours
from .plans import Plans
from .ranges import Ranges
from .space import Spaces
from .tree import Tree
from .warm import Warm
from .work import Work
from .writing import Writing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import trio

    from ..cache.disk import Disk
    from ..cache.memory import Memory
    from ..nodes.table import Nodes
    from ..operations import Absent, Caller, Held, Listed, Soon
    from ..protocol.replies import Entry, Space
    from ..sources.base import Source
    from .content import Content
    from .headroom import Headroom
    from .stage import Stage, Staging
    from .view import Settings

_LOG = logging.getLogger(__name__)
# Within which the kernel looks a name up again whose open failed, and opens what it finds.
_FRESH: Final = 10 * view.SECOND


class _Flags(NamedTuple):
    """How the kernel is to treat what was opened, by the way in which it is open. Made once: flags are slow to combine."""

    cached: Open
    passthrough: Open


_READ = _Flags(Open.KEEP_CACHE | Open.NOFLUSH, Open.PASSTHROUGH | Open.NOFLUSH)
_WRITTEN = _Flags(Open.NOFLUSH, Open.PASSTHROUGH | Open.NOFLUSH)
_STAGED = _Flags(Open(0), Open.PASSTHROUGH)


class Parts(NamedTuple):
    """What a file system is made of.

    :ivar disk: None keeps what was read in memory alone
    :ivar staging: None on a mount that is read-only
    :ivar doubt: tells the kernel that a node's attributes are not what they were
    :ivar headroom: what may be taken of the disk where it is staged
    :ivar bind: gives the kernel a file to read and write by itself; None where the session cannot
    """

    nodes: Nodes
    opens: Opens
    source: Source
    memory: Memory
    disk: Disk | None = None
    staging: Staging | None = None
    bind: Callable[[int], int] | None = None
    metrics: Metrics = Metrics()
    doubt: Callable[[int], object] = lambda _node: None
    headroom: Headroom | None = None


class FileSystem(Operations):
    """
    :ivar results: for the session to write down what it answers
    """

    def __init__(self, nursery: trio.Nursery, parts: Parts, settings: Settings) -> None:
        self._nodes, self._opens, self._source, self._bind = parts.nodes, parts.opens, parts.source, parts.bind
        self._settings, self._metrics, self._ending = settings, parts.metrics, False
        self._doubt = parts.doubt
        self._work, self.results = Work(nursery), Results(parts.nodes.region)
        self._names = Names(
            self._nodes, self._source, settings, self._work, self._is_open,
            lambda node: self._writing.status(node) if self._writing else None, parts.metrics,
        )  # fmt: skip
        self._contents = Contents(
            self._nodes, self._names, self._source, self._work, settings, parts.memory, parts.disk, self._is_open,
            parts.metrics,
        )  # fmt: skip
        self._neighbours = Neighbours(self._nodes)
        # Found to be what its name means after an open of another version failed: the next open of it need not ask again, until then.
        self._fresh: dict[int, int] = {}
        self._writing: Writing | None = None
        self._tree: Tree | None = None
        if self._bind is not None:
            self._opens.reclaim()
        for node in self._opens.nodes():
            self._nodes.pin(node)
        if parts.staging is not None and not settings.read_only:
            self._writing = Writing(
                self._nodes, self._names, self._contents, self._opens, self._source, settings, self._work,
                parts.staging, parts.headroom,
            )  # fmt: skip
            self._tree = Tree(
                self._nodes, self._names, self._contents, self._writing, self._source, settings, self._work, self.results,
                Plans(parts.staging.folder),
            )  # fmt: skip

        self._ranges = Ranges(self._opens, self._names, self._contents, self._work, self._writing)
        self._spaces = Spaces(self._nodes, self._source, settings, self._work)

    @property
    def writing(self) -> Writing:
        """
        :raises OSError: on a mount that is read-only
        """
        if self._writing is None:
            raise OSError(errno.EROFS, "this mount is read-only")
        return self._writing

    def _begin_to_write(self) -> Writing:
        if self._ending:
            raise OSError(errno.EROFS, "this mount is about to end, and nothing new is written")
        return self.writing

    @property
    def tree(self) -> Tree:
        if self._tree is None:
            raise OSError(errno.EROFS, "this mount is read-only")
        return self._tree

    def close(self) -> None:
        self._contents.close()

    # --- names -------------------------------------------------------------------------------

    def lookup(self, _caller: Caller, parent: int, name: bytes) -> Soon[Entry | Absent]:
        return self._names.lookup(parent, name)

    def forget(self, nodes: Sequence[tuple[int, int]]) -> None:
        for node, times in nodes:
            self._nodes.forget(node, times)
            self._fresh.pop(node, None)

    def getattr(self, _caller: Caller, node: int, _handle: int | None) -> Soon[Held]:
        return self._names.attributes(node)

    def setattr(self, _caller: Caller, node: int, changes: Changes) -> Soon[Held]:
        return self._setattr(node, changes)

    async def _setattr(self, node: int, changes: Changes) -> Held:
        writing = self.writing
        if changes.size is not None:
            await self._truncate(node, changes.size)
        changes = view.kept(self._nodes.known(node), changes, self._source.abilities.keeps, self._settings)
        stage = writing.of(node)
        if stage is None or not await writing.keep(node, stage, changes):
            await self.tree.keep(node, changes)
        return view.held(self._names.known(node), self._settings)

    def readlink(self, _caller: Caller, node: int) -> Soon[bytes]:
        return self._work.ask(self._source.target, self._names.path(node))

    def symlink(self, caller: Caller, parent: int, name: bytes, target: bytes) -> Soon[Entry]:
        return self.tree.symlink(caller, parent, name, target)

    def mknod(self, caller: Caller, parent: int, name: bytes, mode: int, _device: int) -> Soon[Entry]:
        return self._mknod(caller, parent, name, mode)

    async def _mknod(self, caller: Caller, parent: int, name: bytes, mode: int) -> Entry:
        if not stat.S_ISREG(mode):
            raise OSError(errno.EPERM, "sources hold files, folders and links only")
        if self.results.before(caller.number) is not None and caller.again:
            node = await self._names.refresh(parent, name)
            if node:  # a worker died over it, and had stored it
                return self._names.entry(node)
        entry, handle = await self._create(caller, parent, name, mode, os.O_WRONLY | os.O_EXCL)
        try:
            self.results.begin(caller.number, entry.node)
            await self.writing.store(entry.node)
        finally:
            closing = self.release(caller, entry.node, handle.number)
            if inspect.isawaitable(closing):
                await closing
        return entry

    def mkdir(self, caller: Caller, parent: int, name: bytes, mode: int) -> Soon[Entry]:
        return self.tree.mkdir(caller, parent, name, mode)

    def unlink(self, caller: Caller, parent: int, name: bytes) -> Soon[None]:
        return self.tree.unlink(caller, parent, name)

    def rmdir(self, caller: Caller, parent: int, name: bytes) -> Soon[None]:
        return self.tree.rmdir(caller, parent, name)

    def rename(self, caller: Caller, old: tuple[int, bytes], new: tuple[int, bytes], flags: int) -> Soon[None]:
        return self.tree.rename(caller, old, new, flags)

    def link(self, caller: Caller, node: int, parent: int, name: bytes) -> Soon[Entry]:
        return self._link(caller, node, parent, name)

    async def _link(self, caller: Caller, node: int, parent: int, name: bytes) -> Entry:
        entry = await self.tree.link(caller, node, parent, name)
        self._doubt(node)  # who locks by a link looks at once how many names the file has
        return entry

    def opendir(self, _caller: Caller, _node: int) -> Handle:
        return Handle(0)

    def readdir(
        self, _caller: Caller, node: int, _handle: int, after: int, room: int, plus: bool
    ) -> Soon[Sequence[Listed]]:
        return self._names.listing(node, after, room, plus)

    def releasedir(self, _caller: Caller, _node: int, _handle: int) -> None:
        return None

    def fsyncdir(self, caller: Caller, node: int, handle: int, data_only: bool) -> None:
        """A source has a name when it says so."""

    def statfs(self, _caller: Caller, _node: int) -> Soon[Space]:
        return self._spaces.ask()

    # --- open --------------------------------------------------------------------------------

    def open(self, caller: Caller, node: int, flags: int) -> Soon[Handle]:
        known = self._nodes.known(node)
        if stat.S_ISDIR(known.mode):
            raise IsADirectoryError(errno.EISDIR, "a folder is not opened as a file")
        if caller.again and (opened := self._opens.asked(caller.number)):
            return self._as_before(opened)
        if self._writing and (stage := self._writing.of(node)) and stage.note.overtaken:
            raise StaleError(node)  # what it holds is for those who have it open
        if flags & os.O_ACCMODE != os.O_RDONLY or flags & os.O_TRUNC:
            return self._open_to_write(caller, node, flags, self._begin_to_write())
        if self._writing and (stage := self._writing.of(node)):
            if self._writing.is_doubtful(node):
                return self._open_doubtful(caller, node, self._writing)
            return self._opened_stage(caller, node, stage, writes=False)
        if self._is_fresh(node) or (self._settings.relaxed and known.holds > view.now()):
            content = self._contents.of(node)
            if not self._is_ready(content):
                return self._open_now(caller, node)
            self._fetch_after(node, missed=False)
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
        if content.version and not self._is_ready(content):
            # To fetch it tells whether it is that version still.
            with contextlib.suppress(ChangedError):
                return await self._open_now(caller, node)
        await self._confirm(node)
        return await self._open_now(caller, node)

    async def _open_now(self, caller: Caller, node: int) -> Handle:
        content = self._contents.of(node)
        missed = not self._is_ready(content)
        self._fetch_after(node, missed)
        if missed:
            await content.fetch_all()
        return self._opened(caller, node, content, missed)

    def _fetch_after(self, node: int, missed: bool) -> None:
        for other in self._neighbours.after(node, missed):
            known = self._nodes.known(other)
            if stat.S_ISREG(known.mode) and 0 < known.size <= SMALL and not self._names.is_held(other):
                content = self._contents.of(other)
                if not self._is_ready(content):
                    self._work.begin(content.fetch_ahead)

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
        return self._fresh.pop(node, 0) > view.now()

    def _opened(self, caller: Caller, node: int, content: Content, missed: bool = False) -> Handle:
        file = content.file
        whole = file if file is not None and file.whole else None
        flags = _WRITTEN if self._nodes.was_written(node) else _READ
        handle = self._handle(caller, node, whole.descriptor if whole else None, flags)
        self._contents.opened(content, missed, Open.PASSTHROUGH in handle.flags)
        return handle

    def _opened_stage(self, caller: Caller, node: int, stage: Stage, writes: bool) -> Handle:
        whole = stage.descriptor if stage.whole else None
        return self._handle(caller, node, whole, _STAGED, writes=writes, stage=stage.number)

    def _handle(
        self, caller: Caller, node: int, below: int | None, flags: _Flags, *, writes: bool = False, stage: int = 0
    ) -> Handle:
        """
        :param below: a file that has all of it
        """
        bind = partial(self._bind, below) if self._bind is not None and below is not None else None
        was_open = self._is_open(node)
        handle = self._opens.open(node, caller.number, writes=writes, stage=stage, bind=bind)
        if not was_open:
            self._nodes.pin(node)
        self._metrics.count("opens_total", mode=handle.mode.name.lower())
        by_kernel = handle.mode is Mode.PASSTHROUGH
        return Handle(handle.number, flags.passthrough if by_kernel else flags.cached, handle.backing)

    async def _open_to_write(self, caller: Caller, node: int, flags: int, writing: Writing) -> Handle:
        empties = bool(flags & os.O_TRUNC)
        if writing.is_doubtful(node):
            await self._confirm(node)
        stage = writing.of(node)
        while stage is not None and empties and not await writing.truncate(node, stage, 0):
            stage = writing.of(node)
        if stage is None:
            stage = await self._stage(node, writing, empties)
        if empties and caller.uid:
            await self._drop_privileges(node, stage)
        try:
            return self._opened_stage(caller, node, stage, writes=True)
        except OtherwiseOpenError:  # somebody began to read it meanwhile
            await writing.close(node)
            self._renew(node)
            raise

    async def _drop_privileges(self, node: int, stage: Stage) -> None:
        """As the kernel does by another request where a file is emptied by another way than an open."""
        mode = self._nodes.known(node).mode
        less = view.without_privileges(mode)
        if less != stat.S_IMODE(mode) and self._source.abilities.keeps:
            await self.writing.keep(node, stage, Changes(mode=less))

    async def _stage(self, node: int, writing: Writing, empty: bool) -> Stage:
        await writing.admission.ask()
        if not self._is_fresh(node) and (not empty or self._settings.conflict_fails):
            await self._confirm(node)
        if self._opens.mode(node) is Mode.PASSTHROUGH:
            self._renew(node)
        self._nodes.mark_written(node)
        if empty or not self._nodes.known(node).size:
            return writing.of(node) or writing.begin(node)
        return await writing.begin_from(node)

    def _renew(self, node: int) -> None:
        """What others read is never written to: its name means another node from now on.

        :raises StaleError: always
        """
        parent = self._nodes.parent(node)
        if parent:
            name = self._nodes.name(node)
            self._expect(self._nodes.add(parent, name, self._nodes.known(node), self._nodes.version(node)))
        raise StaleError(node)

    def create(self, caller: Caller, parent: int, name: bytes, mode: int, flags: int) -> Soon[tuple[Entry, Handle]]:
        return self._create(caller, parent, name, mode, flags)

    async def _create(self, caller: Caller, parent: int, name: bytes, mode: int, flags: int) -> tuple[Entry, Handle]:
        writing = self._begin_to_write()
        path = self._names.below(parent, name)
        if caller.again and (opened := self._opens.asked(caller.number)):
            return self._names.entry(opened.node), self._as_before(opened)
        await writing.admission.ask()
        if not flags & os.O_TRUNC or flags & os.O_EXCL:
            await self._names.refresh(parent, name)  # others may have made it since the kernel asked
        node = self._nodes.find(parent, name)
        if node and flags & os.O_EXCL:
            raise FileExistsError(errno.EEXIST, "it is there already", path)
        if node:
            return self._names.entry(node), await self._open_to_write(caller, node, flags, writing)
        above, now = self._nodes.known(parent), time.time_ns()
        known = view.known(Found(Kind.FILE, mtime_ns=now), number(above.number, name), self._settings, view.now())
        if self._source.abilities.keeps:
            uid, gid = view.owner(caller, above)
            known = known._replace(mode=stat.S_IFREG | stat.S_IMODE(mode), uid=uid, gid=gid)
        node = self._nodes.add(parent, name, known)
        self._names.changes.touch(path)
        stage = writing.begin(node, alone=bool(flags & os.O_EXCL))
        self._nodes.mark_written(node)
        return self._names.entry(node), self._opened_stage(caller, node, stage, writes=True)

    # --- content -----------------------------------------------------------------------------

    def read(self, _caller: Caller, node: int, handle: int, offset: int, size: int) -> Soon[bytes | memoryview]:
        if self._writing and (stage := self._writing.of(node)):
            self._count_read(stage.status().st_size, offset, size)
            return self._writing.read(node, stage, offset, size)
        content = self._contents.of(node)
        self._count_read(content.size, offset, size)
        if self._settings.without_open and not offset and content.size <= SMALL:
            self._fetch_after(node, not content.is_here)
        return content.read(handle, offset, size)

    def _count_read(self, end: int, offset: int, size: int) -> None:
        self._metrics.count("fuse_read_size_bytes_sum", max(min(size, end - offset), 0))

    def fallocate(self, _caller: Caller, handle: int, offset: int, length: int, mode: int) -> Soon[None]:
        return self._ranges.allocate(handle, mode, offset, length)

    def lseek(self, _caller: Caller, handle: int, offset: int, whence: int) -> Soon[int]:
        return self._ranges.seek(handle, offset, whence)

    def copy_file_range(
        self, _caller: Caller, source: tuple[int, int], target: tuple[int, int], length: int
    ) -> Soon[int]:
        return self._ranges.copy(source, target, length)

    async def _write(self, node: int, offset: int, data: bytes) -> int:
        stage = self.writing.of(node)
        if stage is None:
            raise OSError(errno.EBADF, "it is not open for writing")
        count = await self.writing.write(node, stage, offset, data)
        self._metrics.count("fuse_written_size_bytes_sum", count)
        return count

    def write(self, _caller: Caller, node: int, _handle: int, offset: int, data: memoryview, _flags: int) -> Soon[int]:
        return self._write(node, offset, bytes(data))

    async def _truncate(self, node: int, size: int) -> None:
        writing = self.writing
        if writing.is_doubtful(node):
            await self._confirm(node)
        stage = writing.of(node)
        if stage and await writing.truncate(node, stage, size):
            return
        if self._nodes.known(node).size == size:
            await self._confirm(node)
            return
        stage = await self._stage(node, writing, size == 0)
        await writing.truncate(node, stage, size)
        try:
            await writing.store(node)
        finally:
            await writing.close(node)

    def flush(self, _caller: Caller, node: int, handle: int) -> Soon[None]:
        if self._writing is None or not self._opens.get(handle).writes:
            return None
        return self._writing.store(node)

    def fsync(self, _caller: Caller, node: int, _handle: int, _data_only: bool) -> Soon[None]:
        return self._writing.store(node) if self._writing is not None else None

    def release(self, _caller: Caller, _node: int, handle: int) -> Soon[None]:
        closed = self._opens.close(handle)
        if closed is None:
            return None
        self._contents.leave(closed.node, closed.number)
        is_last = not self._is_open(closed.node)
        if self._writing is not None and self._writing.of(closed.node) and (is_last or closed.writes):
            return self._close(closed.node, is_last)
        if is_last:
            self._nodes.unpin(closed.node)
        return None

    async def _close(self, node: int, is_last: bool) -> None:
        try:
            await self.writing.close(node)
        finally:
            if is_last:
                self._nodes.unpin(node)

    def _is_open(self, node: int) -> bool:
        return self._opens.mode(node) is not Mode.CLOSED

    # --- beside operations -------------------------------------------------------------------

    def unsaved(self) -> list[bytes]:
        return self._writing.unsaved() if self._writing else []

    async def save(self) -> list[bytes]:
        """What is not stored is, and nobody begins to write anew; paths of what the source would not take."""
        self._ending = True
        return await self.store_all()

    async def store_all(self) -> list[bytes]:
        """Paths of what the source would not take."""
        return await self._writing.save() if self._writing else []

    async def resolve(self, path: bytes, ours: bool) -> int:
        """What becomes of files that a newer version overtook; how many there were."""
        path = path.strip(b"/")
        done = await self.writing.overtaken.resolve(path, ours)
        self._names.changes.touch(path)
        return done

    def warm(self, data: bool, at_once: int) -> Warm:
        return Warm(self._nodes, self._names, self._contents, data, at_once)

    def clear(self, paths: Sequence[bytes]) -> int:
        """What is kept of these paths, or of all, is fetched anew when it is wanted; how many files that are."""
        gone = 0
        wanted = [path.strip(b"/") for path in paths]
        for node in self._known_files():
            path = self._names.path(node)
            if not wanted or any(path == one or path.startswith(one + b"/") for one in wanted):
                gone += self._contents.forget(node)
        if not wanted:
            self._contents.clear()
        return gone

    def _known_files(self) -> Iterator[int]:
        folders = [ROOT]
        while folders:
            for child in list(self._nodes.children(folders.pop())):
                mode = self._nodes.known(child.node).mode
                if stat.S_ISDIR(mode):
                    folders.append(child.node)
                elif stat.S_ISREG(mode):
                    yield child.node

    def status(self) -> dict[str, Any]:
        return {
            "nodes": len(self._nodes),
            "open": len(self._opens),
            "hidden_names": len(self._names.hidden),
            "hidden": self._names.hidden.shown(),
            "shadowed_names": len(self._names.shadowed),
            "shadowed": self._names.shadowed.shown(),
            "unsaved": len(self.unsaved()),
            "waiting": self._work.waiting,
            "staged": self._writing.described() if self._writing else [],
            "dirty_bytes": self._writing.dirty if self._writing else 0,
            "staged_bytes": self._writing.staged if self._writing else 0,
            "begins_no_write": self._writing.admission.refusal if self._writing else "",
            "upload_failures": self._writing.failures if self._writing else 0,
            "conflicts": self._writing.overtaken.status() if self._writing else [],
        }
