# SPDX-License-Identifier: Apache-2.0
"""Changes of names: the source first, then what is known here."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from ..nodes.records import StaleError
from ..sources.base import ChangedError, Kept, Kind
from . import view
from .moves import Moves

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..nodes.results import Results
    from ..nodes.table import Nodes
    from ..operations import Caller, Changes
    from ..protocol.replies import Entry
    from ..sources.base import Found, Source
    from .known.names import Names
    from .plans import Plans
    from .read.contents import Contents
    from .view import Settings
    from .work import Work
    from .written.writing import Writing

NOREPLACE: Final = 1
# Longer ones no kernel follows.
LONGEST_TARGET: Final = os.pathconf("/", "PC_PATH_MAX") - 1


class Tree:
    def __init__(
        self, nodes: Nodes, names: Names, contents: Contents, writing: Writing, source: Source, settings: Settings,
        work: Work, results: Results, plans: Plans,
    ) -> None:  # fmt: skip
        self._nodes, self._names, self._contents, self._writing = nodes, names, contents, writing
        self._source, self._settings, self._work, self._results = source, settings, work, results
        self._moves = Moves(nodes, names, contents, writing, source, work, plans)
        # Whose rename was last sent back to look its name up again: not twice in a row, so that it comes to an end.
        self._sent_back: tuple[int, bytes] | None = None

    async def mkdir(self, caller: Caller, parent: int, name: bytes, mode: int) -> Entry:
        path = self._names.new(parent, name, folder=True)
        moment = view.now()
        above = self._nodes.known(parent)
        mode = stat.S_IMODE(mode) | above.mode & stat.S_ISGID
        kept = Kept(mode, *view.owner(caller, above)) if self._source.abilities.keeps else Kept()
        found = await self._make(caller, path, Kind.FOLDER, self._source.make_folder, path, kept)
        node = self._made(path, parent, name, found, moment)
        # Nobody else knows of it yet.
        self._nodes.complete(node, (moment + int(self._settings.names_hold * view.SECOND)) // view.SECOND)
        return self._names.entry(node)

    async def mknod(self, caller: Caller, parent: int, name: bytes, mode: int) -> Entry:
        """An empty file, which nobody has open."""
        if not stat.S_ISREG(mode):
            raise OSError(errno.EPERM, "sources hold files, folders and links only")
        path = self._names.new(parent, name)
        if self._begun(caller) is None and await self._names.refresh(parent, name):
            raise FileExistsError(errno.EEXIST, "it is there already", path)
        moment = view.now()
        kept = Kept()
        if self._source.abilities.keeps:
            kept = Kept(stat.S_IMODE(mode), *view.owner(caller, self._nodes.known(parent)))
        found = await self._make(caller, path, Kind.FILE, self._make_file, path, kept)
        return self._names.entry(self._made(path, parent, name, found, moment))

    def _make_file(self, path: bytes, kept: Kept) -> Found:
        """In a thread."""
        nothing = os.memfd_create("nothing", os.MFD_CLOEXEC)
        try:
            return self._source.store(path, nothing, 0, kept, over=b"")
        except ChangedError:
            raise FileExistsError(errno.EEXIST, "it is there already", path) from None
        finally:
            os.close(nothing)

    async def symlink(self, caller: Caller, parent: int, name: bytes, target: bytes) -> Entry:
        if not self._source.abilities.links:
            raise OSError(errno.EPERM, "this source knows no symbolic links")
        if len(target) > LONGEST_TARGET:
            raise OSError(
                errno.ENAMETOOLONG, f"a target has at most {LONGEST_TARGET} bytes, but this one {len(target)}"
            )
        path = self._names.new(parent, name)
        moment = view.now()
        found = await self._make(caller, path, Kind.LINK, self._source.link, path, target)
        return self._names.entry(self._made(path, parent, name, found, moment))

    async def link(self, caller: Caller, node: int, parent: int, name: bytes) -> Entry:
        """Each name has a node of its own: what is written by one is seen by the other when it is closed, as on another machine."""
        if not self._source.abilities.hard_links:
            raise OSError(errno.EPERM, "a file of this source has one name")
        await self._writing.store(node)  # the source is to know it
        path, new = self._names.path(node), self._names.new(parent, name)
        moment = view.now()
        kind = Kind.LINK if stat.S_ISLNK(self._nodes.known(node).mode) else Kind.FILE
        found = await self._make(caller, new, kind, self._source.add_name, path, new)
        self._names.changes.touch(path)
        self._names.linked(node, found)
        return self._names.entry(self._made(new, parent, name, found, moment))

    def _begun(self, caller: Caller) -> int | None:
        """What a worker that died over the same request was about to change; None when it had not got so far."""
        return self._results.before(caller.number) if caller.again else None

    @contextmanager
    def _in_doubt(self, *paths: bytes, known: int = 0) -> Iterator[None]:
        """What failed since others did something there, or was done and the answer is lost: who looks is told what is there, however
        long something else was to be believed.

        :param known: the errno of a failure that surprises nobody
        """
        try:
            yield
        except OSError as error:
            for path in paths if error.errno != known else ():
                self._names.replaced(path)
            raise

    async def _make(self, caller: Caller, path: bytes, kind: Kind, make: Callable[..., Found], *args: Any) -> Found:
        """What was begun by a worker that died over it may have been made by that one."""
        begun = self._begun(caller)
        self._results.begin(caller.number)
        try:
            with self._in_doubt(path):
                return await self._work.change(make, *args)
        except FileExistsError:
            if begun is None:
                raise
            found = await self._work.ask(self._source.find, path)
            if found.kind is not kind or (kind is Kind.LINK and await self._target(path) != args[1]):
                raise
            return found

    def _made(self, path: bytes, parent: int, name: bytes, found: Found, moment: int) -> int:
        """Its node. A link gets one of its own, since one with another target looks the same."""
        self._names.changes.touch(path)
        self._names.changed(parent)
        before = 0 if found.kind is Kind.LINK else self._nodes.find(parent, name)
        return self._names.take(parent, name, found, moment, before)

    async def _target(self, path: bytes) -> bytes:
        return await self._work.ask(self._source.target, path)

    async def _is_still(self, node: int, path: bytes) -> bool:
        """Whether the source has it there, and not what others put in its place."""
        try:
            found = await self._work.ask(self._source.find, path)
        except FileNotFoundError:
            return self._writing.is_new(node)
        if stat.S_ISDIR(self._nodes.known(node).mode) or found.kind is Kind.FOLDER:
            return found.kind is Kind.FOLDER and stat.S_ISDIR(self._nodes.known(node).mode)
        return found.version == self._nodes.version(node)

    async def _is_gone(self, begun: int, parent: int, name: bytes) -> bool:
        """Whether a worker that died over it had removed or moved it: what others put there since stays."""
        return self._nodes.find(parent, name) != begun or not await self._is_still(
            begun, self._names.below(parent, name)
        )

    async def unlink(self, caller: Caller, parent: int, name: bytes) -> None:
        path, begun = self._names.below(parent, name), self._begun(caller)
        if begun and await self._is_gone(begun, parent, name):
            async with self._writing.recovery.removing(path):
                self._gone(parent, name, begun)
            return
        node = self._names.believed(parent, name)
        if not node or self._writing.of(node):
            node = await self._there(parent, name)
        if not node:
            raise FileNotFoundError(errno.ENOENT, "it is not there", path)
        if stat.S_ISDIR(self._nodes.known(node).mode):
            raise IsADirectoryError(errno.EISDIR, "it is a folder", path)
        await self._spare(node)
        async with self._writing.still(node), self._writing.recovery.removing(path):
            self._results.begin(caller.number, node)
            if not self._writing.is_new(node):
                with self._in_doubt(path):
                    await self._work.change(self._source.remove, path)
            self._gone(parent, name, node)

    async def rmdir(self, caller: Caller, parent: int, name: bytes) -> None:
        path, begun = self._names.below(parent, name), self._begun(caller)
        if begun and await self._is_gone(begun, parent, name):
            self._gone(parent, name, begun)
            return
        node = await self._there(parent, name)
        if not node:
            raise FileNotFoundError(errno.ENOENT, "it is not there", path)
        if self._writing.below(node) or self._writing.recovery.has_below(path):
            raise OSError(errno.ENOTEMPTY, "a file in it is being written", path)
        self._results.begin(caller.number, node)
        with self._in_doubt(path, known=errno.ENOTEMPTY if self._nodes.count(node) else 0):
            await self._work.change(self._source.remove_folder, path)
        self._gone(parent, name, node)

    async def rename(self, caller: Caller, old: tuple[int, bytes], new: tuple[int, bytes], flags: int) -> None:
        if flags & ~NOREPLACE:
            raise OSError(errno.EINVAL, "names are exchanged by no source")
        before, after = self._names.below(*old), self._names.new(*new, folder=self._is_folder(*old))
        begun = self._begun(caller)
        if await self._moves.resumed(before, after):
            return
        if begun and await self._is_gone(begun, *old):
            # Nobody else has it under that name: what is known here follows the source, unless it has already.
            if self._nodes.find(*old) == begun:
                with self._names.moving.of(before, after):
                    await self._moves.moved(begun, old, new)
            return
        known = self._nodes.find(*old)
        node = await self._there(*old)
        if not begun and known and node and node != known and self._sent_back != old:
            self._sent_back = old
            # The kernel would go on to take the new name for what it knew: it looks the old one up again, and renames that.
            raise StaleError(known)
        self._sent_back = None
        target = await self._there(*new)
        if not node:
            raise FileNotFoundError(errno.ENOENT, "it is not there", before)
        if target:
            # What is there after a worker died over it may be the copy that it made.
            flags = 0 if begun == node and not self._source.abilities.renames_at_once else flags
            self._replaceable(node, target, flags, after)
            if self._is_one_file(node, target):
                return  # POSIX leaves both
            await self._spare(target)
        async with self._writing.still(node, *filter(None, [target])), self._writing.recovery.moving(before, after):
            self._results.begin(caller.number, node)
            await self._rename(node, target, old, new)

    async def _rename(self, node: int, target: int, old: tuple[int, bytes], new: tuple[int, bytes]) -> None:
        before, after = self._names.below(*old), self._names.below(*new)
        is_new = self._writing.is_new(node)
        with self._in_doubt(before, after), self._names.moving.of(before, after):
            if not is_new and stat.S_ISDIR(self._nodes.known(node).mode):
                await self._moves.folder(node, old, new)
                return
            newer = await self._moves.newer(node)
            if not is_new:
                await self._work.change(self._source.rename, before, after)
            elif target and not self._writing.is_new(target):
                self._writing.replaces(node, self._nodes.version(target))
            await self._moves.moved(node, old, new, newer)

    def _is_folder(self, parent: int, name: bytes) -> bool:
        """As far as it is known."""
        node = self._nodes.find(parent, name)
        return bool(node) and stat.S_ISDIR(self._nodes.known(node).mode)

    def _replaceable(self, node: int, target: int, flags: int, path: bytes) -> None:
        if flags & NOREPLACE:
            raise FileExistsError(errno.EEXIST, "it is there already", path)
        folder, over = (stat.S_ISDIR(self._nodes.known(one).mode) for one in (node, target))
        if over and not folder:
            raise IsADirectoryError(errno.EISDIR, "it is a folder, and would be replaced by a file", path)
        if folder and not over:
            raise NotADirectoryError(errno.ENOTDIR, "it is no folder, and would be replaced by one", path)
        if over and self._writing.below(target):
            raise OSError(errno.ENOTEMPTY, "a file in it is being written", path)

    async def keep(self, node: int, changes: Changes, again: bool) -> None:
        """Owner, mode and times of what nobody writes.

        :param again: another worker may have done it already
        """
        known = self._nodes.known(node)
        times = known._replace(
            mtime=known.mtime if changes.mtime_ns is None else changes.mtime_ns,
            atime=known.atime if changes.atime_ns is None else changes.atime_ns,
        )
        if not self._source.abilities.keeps:
            self._nodes.set(node, times)  # for as long as it is known here
            return
        wanted = Kept(changes.mode, changes.uid, changes.gid, changes.mtime_ns)
        if wanted == Kept():
            self._nodes.set(node, times)
        else:
            if not again:
                await self._names.confirm(node)
            await self.change(node, wanted, times.atime, again)

    async def change(self, node: int, wanted: Kept, atime: int, again: bool) -> None:
        """What the source keeps of it beside its content.

        :param again: so that its content, too, may be another than what is known of it
        """
        path, version, inode = self._names.path(node), self._nodes.version(node), self._nodes.known(node).number
        found = await self._work.change(self._source.keep, path, wanted)
        self._names.changes.touch(path)
        self._nodes.set(node, view.known(found, inode, self._settings, view.now())._replace(atime=atime))
        self._names.xattrs.take(node, found.xattrs)
        if found.version != version:
            self._nodes.set_version(node, found.version)
            if again:
                self._contents.drop(node)
            else:
                self._contents.moved(node, found.version)

    def _is_one_file(self, node: int, other: int) -> bool:
        one, two = self._nodes.known(node), self._nodes.known(other)
        return node != other and one.links > 1 and two.links > 1 and one.number == two.number

    async def _spare(self, node: int) -> None:
        if self._nodes.known(node).links > 1:
            await self._writing.store(node)  # by its other names it is read on
        await self._contents.spare(node)
        await self._writing.spare(node)

    async def _there(self, parent: int, name: bytes) -> int:
        node = self._nodes.find(parent, name)
        if node and self._writing.of(node) and not self._writing.is_doubtful(node):
            await self._writing.confirm(node)
            return node
        return await self._names.refresh(parent, name)

    def _gone(self, parent: int, name: bytes, node: int) -> None:
        self._names.changes.touch(self._names.below(parent, name))
        self._names.changed(parent)
        if self._nodes.find(parent, name) == node:
            self._writing.dropped(node)
            self._nodes.mark_removed(node)
            self._nodes.unname(node)
