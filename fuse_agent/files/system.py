# SPDX-License-Identifier: Apache-2.0
"""The operations of a file system, for whichever session asks."""

from __future__ import annotations

import errno
import logging
import stat
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import trio

from ..metrics import Metrics
from ..nodes.records import ROOT
from ..nodes.results import Results
from ..operations import Changes, Operations
from ..protocol.replies import Handle
from . import view
from .extended import Extended
from .glance import Glance
from .known.names import Names
from .opening import Opening
from .plans import Plans
from .ranges import Ranges
from .read.content import SMALL
from .read.contents import Contents
from .read.warm import Warm
from .space import Spaces
from .tree import Tree
from .work import Work
from .written.writing import Writing

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from ..cache.disk import Disk
    from ..cache.memory import Memory
    from ..nodes.table import Nodes
    from ..opens import Opens
    from ..operations import Absent, Caller, Held, Listed, Soon
    from ..protocol.replies import Entry, Space
    from ..sources.base import Source
    from .known.remembered import Remembered
    from .view import Settings
    from .written.headroom import Headroom
    from .written.staging import Staging

_LOG = logging.getLogger(__name__)
# Names that are gone through as one.
_AT_A_TIME: Final = 500


class Parts(NamedTuple):
    """What a file system is made of.

    :ivar disk: None keeps what was read in memory alone
    :ivar staging: None on a mount that is read-only
    :ivar doubt: tells the kernel that a node's attributes are not what they were
    :ivar headroom: what may be taken of the disk where it is staged
    :ivar remembered: listings that outlive the mount
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
    remembered: Remembered | None = None


class FileSystem(Operations):
    """
    :ivar results: for the session to write down what it answers
    """

    def __init__(self, nursery: trio.Nursery, parts: Parts, settings: Settings) -> None:
        self._nodes, self._opens, self._source = parts.nodes, parts.opens, parts.source
        self._settings, self._metrics = settings, parts.metrics
        self._doubt, self._remembered = parts.doubt, parts.remembered
        self._work, self.results = Work(nursery), Results(parts.nodes.region)
        self._names = Names(
            self._nodes, self._source, settings, self._work, self._opens.is_open,
            lambda node: self._writing.status(node) if self._writing else None, parts.metrics, parts.remembered,
        )  # fmt: skip
        self._glance = Glance(self._nodes, settings, self._names.is_held)
        self._contents = Contents(
            self._nodes, self._names, self._source, self._work, settings, parts.memory, parts.disk, self._opens.is_open,
            parts.metrics,
        )  # fmt: skip
        self._writing: Writing | None = None
        self._tree: Tree | None = None
        if parts.bind is not None:
            self._opens.reclaim()
        for node in self._opens.nodes():
            self._nodes.pin(node)
            if not self._nodes.parent(node) and not self._opens.stage(node):
                self._contents.keep(node)
        if parts.staging is not None and not settings.read_only:
            self._writing = Writing(
                self._nodes, self._names, self._contents, self._opens, self._source, settings, self._work,
                parts.staging, parts.headroom, parts.metrics,
            )  # fmt: skip
            self._tree = Tree(
                self._nodes, self._names, self._contents, self._writing, self._source, settings, self._work, self.results,
                Plans(parts.staging.folder),
            )  # fmt: skip
        self._extended = Extended(
            self._nodes, self._names, self._source, settings, self._work, self._writing, self._tree, self.results
        )
        self._opening = Opening(
            self._nodes, self._names, self._contents, self._opens, self._source, settings, self._writing, self._extended,
            parts.bind, parts.metrics,
        )  # fmt: skip
        self._ranges = Ranges(self._opens, self._names, self._contents, self._work, self._writing)
        self._spaces = Spaces(self._nodes, self._source, settings, self._work)

    @property
    def writing(self) -> Writing:
        """
        :raises OSError: on a mount that is read-only
        """
        return self._opening.writing

    @property
    def tree(self) -> Tree:
        if self._tree is None:
            raise OSError(errno.EROFS, "this mount is read-only")
        return self._tree

    def close(self, for_good: bool = False) -> None:
        """
        :param for_good: nobody serves this mount after this process
        """
        self._contents.close()
        if for_good and self._writing is not None:
            self._writing.end()

    # --- names -------------------------------------------------------------------------------

    def lookup(self, _caller: Caller, parent: int, name: bytes) -> Soon[Entry | Absent]:
        return self._names.lookup(parent, name)

    def known_entry(self, parent: int, name: bytes) -> bytes | None:
        return self._glance.entry(parent, name)

    def known_attributes(self, node: int) -> bytes | None:
        return self._glance.attributes(node)

    def forget(self, nodes: Sequence[tuple[int, int]]) -> None:
        for node, times in nodes:
            self._nodes.forget(node, times)
            self._opening.forget(node)
            if node not in self._nodes:
                self._contents.drop(node)

    def getattr(self, _caller: Caller, node: int, _handle: int | None) -> Soon[Held]:
        return self._names.attributes(node)

    def setattr(self, caller: Caller, node: int, changes: Changes) -> Soon[Held]:
        return self._setattr(caller, node, changes)

    async def _setattr(self, caller: Caller, node: int, changes: Changes) -> Held:
        writing = self.writing
        if changes.size is not None:
            await self._opening.truncate(node, changes.size)
        changes = view.kept(self._nodes.known(node), changes, self._source.abilities.keeps, self._settings)
        stage = writing.of(node)
        if stage is None or not await writing.keep(node, stage, changes):
            await self.tree.keep(node, changes, caller.again)
        elif stage.note.kept and not self._opens.writers(node):  # else he stores it who closes it
            await writing.store(node)
        return view.held(self._names.known(node), self._settings)

    def readlink(self, _caller: Caller, node: int) -> Soon[bytes]:
        return self._work.ask(self._source.target, self._names.path(node))

    def symlink(self, caller: Caller, parent: int, name: bytes, target: bytes) -> Soon[Entry]:
        return self.tree.symlink(caller, parent, name, target)

    def mknod(self, caller: Caller, parent: int, name: bytes, mode: int, _device: int) -> Soon[Entry]:
        return self.tree.mknod(caller, parent, name, mode)

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

    def setxattr(self, caller: Caller, node: int, name: bytes, value: bytes, flags: int) -> Soon[None]:
        return self._extended.change(caller, node, name, value, flags)

    def getxattr(self, _caller: Caller, node: int, name: bytes) -> Soon[bytes]:
        return self._extended.get(node, name)

    def listxattr(self, _caller: Caller, node: int) -> Soon[Sequence[bytes]]:
        return self._extended.names_of(node)

    def removexattr(self, caller: Caller, node: int, name: bytes) -> Soon[None]:
        return self._extended.change(caller, node, name, None)

    def opendir(self, _caller: Caller, _node: int) -> Handle:
        return Handle(0)

    def readdir(
        self, _caller: Caller, node: int, _handle: int, after: int, room: int, plus: bool
    ) -> Soon[Sequence[Listed]]:
        return self._names.listings.page(node, after, room, plus)

    def releasedir(self, _caller: Caller, _node: int, _handle: int) -> None:
        return None

    def fsyncdir(self, _caller: Caller, node: int, _handle: int, _data_only: bool) -> Soon[None]:
        """A source has a name when it says so, but may have to be asked to keep it when its machine dies."""
        return self._writing.sync(node) if self._writing is not None else None

    def statfs(self, _caller: Caller, _node: int) -> Soon[Space]:
        return self._spaces.ask()

    # --- open --------------------------------------------------------------------------------

    def open(self, caller: Caller, node: int, flags: int) -> Soon[Handle]:
        return self._opening.open(caller, node, flags)

    def create(self, caller: Caller, parent: int, name: bytes, mode: int, flags: int) -> Soon[tuple[Entry, Handle]]:
        return self._opening.create(caller, parent, name, mode, flags)

    # --- content -----------------------------------------------------------------------------

    def read(self, _caller: Caller, node: int, handle: int, offset: int, size: int) -> Soon[bytes | memoryview]:
        if self._writing and (stage := self._writing.of(node)):
            self._count_read(stage.status().st_size, offset, size)
            return self._writing.read(node, stage, offset, size)
        content = self._contents.of(node)
        self._count_read(content.size, offset, size)
        if self._settings.without_open and not offset and content.size <= SMALL:
            self._opening.fetch_after(node, not content.is_here)
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
        if offset + len(data) > view.LARGEST:
            raise OSError(errno.EFBIG, f"no file has a byte at {offset}")
        count = await self.writing.write(node, stage, offset, data)
        self._metrics.count("fuse_written_size_bytes_sum", count)
        return count

    def write(self, _caller: Caller, node: int, _handle: int, offset: int, data: memoryview, _flags: int) -> Soon[int]:
        return self._write(node, offset, bytes(data))

    def flush(self, _caller: Caller, node: int, handle: int) -> Soon[None]:
        if self._writing is None or not self._opens.get(handle).writes:
            return None
        return self._writing.store(node)

    def fsync(self, _caller: Caller, node: int, _handle: int, _data_only: bool) -> Soon[None]:
        return self._writing.sync(node) if self._writing is not None else None

    def release(self, _caller: Caller, node: int, handle: int) -> Soon[None]:
        if self._writing is not None:
            self._writing.let_go(node)
        closed = self._opens.close(handle)
        if closed is None:
            return None
        self._contents.leave(closed.node, closed.number)
        is_last = not self._opens.is_open(closed.node)
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

    # --- beside operations -------------------------------------------------------------------

    def unsaved(self) -> list[bytes]:
        return self._writing.unsaved() if self._writing else []

    async def save(self) -> list[bytes]:
        """What is not stored is, and nobody begins to write anew; paths of what the source would not take."""
        self._opening.ends = True
        failed = await self.store_all()
        if self._writing:
            await self._writing.endure()
        return failed

    async def store_all(self) -> list[bytes]:
        """Paths of what the source would not take."""
        return await self._writing.save() if self._writing else []

    async def resolve(self, path: bytes, ours: bool) -> int:
        """What becomes of files that a newer version overtook; how many there were."""
        path = path.strip(b"/")
        done = await self.writing.overtaken.resolve(path, ours)
        self._names.replaced(path)
        return done

    def warm(self, data: bool, at_once: int) -> Warm:
        return Warm(self._nodes, self._names, self._contents, data, at_once)

    async def clear(self, paths: Sequence[bytes]) -> tuple[int, list[str]]:
        """What is kept of these paths, or of all, is asked for and fetched anew when it is wanted; how many files that are, and which paths
        lead nowhere."""
        gone = 0
        wanted = [path.strip(b"/") for path in paths]
        if b"" in wanted:  # the root, with all below it
            wanted = []
        unknown = dict.fromkeys(wanted)
        if self._remembered:
            self._remembered.forget(*wanted or [b""])
        async for node in self._known():
            path = self._names.path(node)
            if not wanted or any(path == one or path.startswith(one + b"/") for one in wanted):
                self._names.doubt(node)
                unknown.pop(path, None)
                if stat.S_ISREG(self._nodes.known(node).mode):
                    gone += self._contents.forget(node)
        if not wanted:
            self._contents.clear()
        return gone, await self.warm(False, 1).lacking(unknown)

    async def _known(self) -> AsyncIterator[int]:
        """All that has a name, a few at a time: others wait for their answers."""
        folders = [ROOT]
        yield ROOT
        while folders:
            folder, after = folders.pop(), 0
            while folder in self._nodes and (some := list(islice(self._nodes.children(folder, after), _AT_A_TIME))):
                after = some[-1].order
                for child in some:
                    if stat.S_ISDIR(self._nodes.known(child.node).mode):
                        folders.append(child.node)
                    yield child.node
                await trio.lowlevel.checkpoint()

    def status(self) -> dict[str, Any]:
        return {
            "nodes": len(self._nodes),
            "open": len(self._opens),
            "hidden_names": len(self._names.listings.hidden),
            "hidden": self._names.listings.hidden.shown(),
            "shadowed_names": len(self._names.listings.shadowed),
            "shadowed": self._names.listings.shadowed.shown(),
            "unsaved": len(self.unsaved()),
            "waiting": self._work.waiting,
            "staged": self._writing.described() if self._writing else [],
            "dirty_bytes": self._writing.dirty if self._writing else 0,
            "staged_bytes": self._writing.staged if self._writing else 0,
            "begins_no_write": self._writing.admission.refusal if self._writing else "",
            "upload_failures": self._writing.failures if self._writing else 0,
            "conflicts": self._writing.overtaken.status() if self._writing else [],
            "listings": self._remembered.status() if self._remembered else {},
        }
