# SPDX-License-Identifier: Apache-2.0
"""Changes of names: the source first, then what is known here."""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING, Final

from ..sources.base import Kept
from . import view

if TYPE_CHECKING:
    from ..nodes.table import Nodes
    from ..operations import Caller, Changes
    from ..protocol.replies import Entry
    from ..sources.base import Found, Source
    from .content import Contents
    from .names import Names
    from .view import Settings
    from .work import Work
    from .writing import Writing

NOREPLACE: Final = 1
# Longer ones no kernel follows.
LONGEST_TARGET: Final = os.pathconf("/", "PC_PATH_MAX") - 1


class Tree:
    def __init__(
        self, nodes: Nodes, names: Names, contents: Contents, writing: Writing, source: Source, settings: Settings,
        work: Work,
    ) -> None:  # fmt: skip
        self._nodes, self._names, self._contents, self._writing = nodes, names, contents, writing
        self._source, self._settings, self._work = source, settings, work

    async def mkdir(self, caller: Caller, parent: int, name: bytes, mode: int) -> Entry:
        path = self._names.below(parent, name)
        moment = view.now()
        above = self._nodes.known(parent)
        mode = stat.S_IMODE(mode) | above.mode & stat.S_ISGID
        kept = Kept(mode, *view.owner(caller, above)) if self._source.abilities.keeps else Kept()
        found = await self._again(caller, path, self._source.make_folder, path, kept)
        self._names.changes.touch(path)
        node = self._names.take(parent, name, found, moment, self._nodes.find(parent, name))
        # Nobody else knows of it yet.
        self._nodes.complete(node, (moment + int(self._settings.names_hold * view.SECOND)) // view.SECOND)
        return self._names.entry(node)

    async def symlink(self, caller: Caller, parent: int, name: bytes, target: bytes) -> Entry:
        if not self._source.abilities.links:
            raise OSError(errno.EPERM, "this source knows no symbolic links")
        if len(target) > LONGEST_TARGET:
            raise OSError(
                errno.ENAMETOOLONG, f"a target has at most {LONGEST_TARGET} bytes, but this one {len(target)}"
            )
        path = self._names.below(parent, name)
        moment = view.now()
        found = await self._again(caller, path, self._source.link, path, target)
        self._names.changes.touch(path)
        return self._names.entry(self._names.take(parent, name, found, moment))

    async def _again(self, caller: Caller, path: bytes, make: object, *args: object) -> Found:
        """What makes something: asked again since a worker died over it, it may have been made by that one."""
        try:
            return await self._work.change(make, *args)  # type: ignore[arg-type]
        except FileExistsError:
            if not caller.again:
                raise
            return await self._work.ask(self._source.find, path)

    async def unlink(self, caller: Caller, parent: int, name: bytes) -> None:
        node, path = await self._there(parent, name), self._names.below(parent, name)
        if not node:
            if caller.again:
                return  # a worker died over it, and had removed it
            raise FileNotFoundError(errno.ENOENT, "it is not there", path)
        if stat.S_ISDIR(self._nodes.known(node).mode):
            raise IsADirectoryError(errno.EISDIR, "it is a folder", path)
        await self._spare(node)
        async with self._writing.still(node):
            if not self._writing.is_new(node):
                await self._work.change(self._source.remove, path)
            self._names.changes.touch(path)
            self._unname(parent, name, node)

    async def rmdir(self, caller: Caller, parent: int, name: bytes) -> None:
        node, path = await self._there(parent, name), self._names.below(parent, name)
        if not node:
            if caller.again:
                return
            raise FileNotFoundError(errno.ENOENT, "it is not there", path)
        if self._writing.below(node):
            raise OSError(errno.ENOTEMPTY, "a file in it is being written", path)
        await self._work.change(self._source.remove_folder, path)
        self._names.changes.touch(path)
        self._unname(parent, name, node)

    async def rename(self, caller: Caller, old: tuple[int, bytes], new: tuple[int, bytes], flags: int) -> None:
        if flags & ~NOREPLACE:
            raise OSError(errno.EINVAL, "names are exchanged by no source")
        before, after = self._names.below(*old), self._names.below(*new)
        node = await self._there(*old)
        target = await self._there(*new)
        if not node:
            if caller.again and target:
                return
            raise FileNotFoundError(errno.ENOENT, "it is not there", before)
        if target:
            self._replaceable(node, target, flags, after)
            await self._spare(target)
        async with self._writing.still(node, *filter(None, [target])):
            await self._rename(node, target, old, new)

    async def _rename(self, node: int, target: int, old: tuple[int, bytes], new: tuple[int, bytes]) -> None:
        before, after = self._names.below(*old), self._names.below(*new)
        is_new = self._writing.is_new(node)
        if not is_new:
            await self._work.change(self._source.rename, before, after)
        elif target and not self._writing.is_new(target):
            self._writing.replaces(node, self._nodes.version(target))
        self._names.changes.touch(before, after)
        # Both may have come to mean something else while the source was at it.
        if self._nodes.find(*old) == node:
            if target and target != node:
                self._writing.dropped(target)
            self._nodes.rename(node, *new)
            self._writing.moved()
        if not stat.S_ISDIR(self._nodes.known(node).mode) and not is_new:
            await self._moved(node, after)

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

    async def _moved(self, node: int, path: bytes) -> None:
        """A copy may have another version, which those who have it open go on with."""
        found = await self._work.ask(self._source.find, path)
        self._nodes.set_version(node, found.version)
        self._contents.moved(node, found.version)
        self._writing.replaces(node, found.version)

    async def keep(self, node: int, changes: Changes) -> None:
        """Owner, mode and times of what nobody writes."""
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
            return
        path = self._names.path(node)
        version = self._nodes.version(node)
        found = await self._work.change(self._source.keep, path, wanted)
        self._names.changes.touch(path)
        self._nodes.set(node, view.known(found, known.number, self._settings, view.now())._replace(atime=times.atime))
        if found.version != version:
            self._nodes.set_version(node, found.version)
            self._contents.moved(node, found.version)

    async def _spare(self, node: int) -> None:
        await self._contents.spare(node)
        await self._writing.spare(node)

    async def _there(self, parent: int, name: bytes) -> int:
        node = self._nodes.find(parent, name)
        if node and self._writing.of(node):
            return node
        return await self._names.refresh(parent, name)

    def _unname(self, parent: int, name: bytes, node: int) -> None:
        if self._nodes.find(parent, name) == node:
            self._writing.dropped(node)
            self._nodes.unname(node)
