# SPDX-License-Identifier: Apache-2.0
"""Serves a mount by pyfuse3 and the libfuse of the distribution, where the agent's own session cannot or shall not.

They tell less: no request has a number, an interrupt stays unheard, whoever reads or writes is not named, and a file's number is
that of its node. What they do with the mount's first request is theirs, so no other worker goes on where this one ends.
"""

from __future__ import annotations

import contextlib
import inspect
import itertools
import select
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyfuse3
import trio

from ..operations import Absent, Caller, Changes
from ..protocol.codes import Op, Open
from .base import code, late
from .calls import RECORDED
from .spin import Spin

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyfuse3 import EntryAttributes, ReaddirToken, RequestContext, SetattrFields

    from ..nodes.results import Results
    from ..operations import Held, Listed, Operations
    from ..protocol.agree import Agreed
    from ..protocol.replies import Attributes, Entry, Handle, Space

# Requests at once, each a task; who comes beyond them waits in the kernel.
_TASKS: Final = 1000
# Of a listing at a time: the least that any kernel has room for, since how much it is we are not told.
_ROOM: Final = 4096
_DOTS: Final = (b".", b"..")


class Libfuse:
    """A session; one in a process."""

    def __init__(self, descriptor: int, agreed: Agreed, longest: float = 300.0) -> None:
        """
        :param descriptor: of /dev/fuse, mounted; nobody has answered it yet
        :param longest: seconds that an operation may take
        """
        self.agreed, self.longest = agreed, longest
        self.observe: Callable[[str, int, float], None] = lambda _name, _code, _seconds: None
        self.began, self.spin = trio.Event(), Spin(0.0)
        self.results: Results | None = None
        self._descriptor = descriptor
        self._ending = trio.CancelScope()
        self._is_open = self._leaves = False
        self.waiting = 0

    async def serve(self, operations: Operations) -> bool:
        if self._leaves:
            return False
        pyfuse3.init(_Callbacks(self, operations), f"/dev/fd/{self._descriptor}", set())
        self._is_open = True
        try:
            with self._ending:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._notice_the_end, nursery.cancel_scope)
                    await pyfuse3.main(max_tasks=_TASKS)
                    nursery.cancel_scope.cancel()
        finally:
            self._is_open = False
            pyfuse3.close(unmount=False)
        return not self._leaves

    def leave(self, longest: float) -> None:
        self._leaves = True
        self._ending.deadline = min(self._ending.deadline, trio.current_time() + longest)
        if self._is_open:
            pyfuse3.terminate()

    def bind(self, _file: int) -> int:
        raise NotImplementedError

    def unbind(self, _number: int) -> bool:
        return False

    def doubt(self, node: int) -> None:
        with contextlib.suppress(OSError):  # the kernel does not hold it
            pyfuse3.invalidate_inode(node, attr_only=True)

    async def _notice_the_end(self, scope: trio.CancelScope) -> None:
        """What was begun ends when the mount is gone, as nobody waits for it any more."""
        with select.epoll() as poll:
            poll.register(self._descriptor, 0)  # only that it is gone, which needs not be asked for
            await trio.lowlevel.wait_readable(poll.fileno())
        scope.cancel()


class _Opened(NamedTuple):
    node: int
    handle: int


class _Callbacks(pyfuse3.Operations):
    supports_dot_lookup = False

    def __init__(self, session: Libfuse, operations: Operations) -> None:
        self._session, self._operations = session, operations
        self._requests, self._numbers = itertools.count(1), itertools.count(1)
        # Who reads names only what an open gave: so that gives a number that leads to both.
        self._opened: dict[int, _Opened] = {}

    def init(self) -> None:
        self._session.began.set()

    # --- names -------------------------------------------------------------------------------

    async def lookup(self, parent: int, name: bytes, context: RequestContext) -> EntryAttributes:
        return _looked_up(await self._lookup(self._caller(context), parent, name))

    async def forget(self, nodes: Sequence[tuple[int, int]]) -> None:
        self._operations.forget(nodes)

    async def getattr(self, node: int, context: RequestContext) -> EntryAttributes:
        held = await self._ask(Op.GETATTR, node, self._operations.getattr, self._caller(context), node, None)
        return _held(node, held)

    async def setattr(
        self, node: int, wanted: EntryAttributes, fields: SetattrFields, number: int | None, context: RequestContext
    ) -> EntryAttributes:
        changes = Changes(
            mode=wanted.st_mode if fields.update_mode else None,
            uid=wanted.st_uid if fields.update_uid else None,
            gid=wanted.st_gid if fields.update_gid else None,
            size=wanted.st_size if fields.update_size else None,
            atime_ns=wanted.st_atime_ns if fields.update_atime else None,
            mtime_ns=wanted.st_mtime_ns if fields.update_mtime else None,
            handle=None if number is None else self._opened[number].handle,
        )
        held = await self._ask(Op.SETATTR, node, self._operations.setattr, self._caller(context), node, changes)
        return _held(node, held)

    async def readlink(self, node: int, context: RequestContext) -> bytes:
        target: bytes = await self._ask(Op.READLINK, node, self._operations.readlink, self._caller(context), node)
        return target

    async def symlink(self, parent: int, name: bytes, target: bytes, context: RequestContext) -> EntryAttributes:
        return _entry(
            await self._ask(Op.SYMLINK, parent, self._operations.symlink, self._caller(context), parent, name, target)
        )

    async def mknod(self, parent: int, name: bytes, mode: int, device: int, context: RequestContext) -> EntryAttributes:
        return _entry(
            await self._ask(Op.MKNOD, parent, self._operations.mknod, self._caller(context), parent, name, mode, device)
        )

    async def mkdir(self, parent: int, name: bytes, mode: int, context: RequestContext) -> EntryAttributes:
        return _entry(
            await self._ask(Op.MKDIR, parent, self._operations.mkdir, self._caller(context), parent, name, mode)
        )

    async def unlink(self, parent: int, name: bytes, context: RequestContext) -> None:
        await self._ask(Op.UNLINK, parent, self._operations.unlink, self._caller(context), parent, name)

    async def rmdir(self, parent: int, name: bytes, context: RequestContext) -> None:
        await self._ask(Op.RMDIR, parent, self._operations.rmdir, self._caller(context), parent, name)

    async def rename(
        self, parent: int, name: bytes, new_parent: int, new_name: bytes, flags: int, context: RequestContext
    ) -> None:
        old, new = (parent, name), (new_parent, new_name)
        await self._ask(Op.RENAME2, parent, self._operations.rename, self._caller(context), old, new, flags)

    async def link(self, node: int, parent: int, name: bytes, context: RequestContext) -> EntryAttributes:
        return _entry(await self._ask(Op.LINK, node, self._operations.link, self._caller(context), node, parent, name))

    # --- folders -----------------------------------------------------------------------------

    async def opendir(self, node: int, context: RequestContext) -> int:
        handle = await self._ask(Op.OPENDIR, node, self._operations.opendir, self._caller(context), node)
        return self._remember(node, handle.number)

    async def readdir(self, number: int, after: int, token: ReaddirToken) -> None:
        node, handle = self._opened[number]
        found: list[tuple[Listed, EntryAttributes]] = []
        while not found:  # an answer without names would be the end
            listed: Sequence[Listed] = await self._ask(
                Op.READDIRPLUS, node, self._operations.readdir, self._caller(), node, handle, after, _ROOM, True
            )
            if not listed:
                return
            found, after = await self._named(node, listed), listed[-1].after
        for one, entry in found:
            pyfuse3.readdir_reply(token, one.name, entry, one.after)

    async def releasedir(self, number: int) -> None:
        node, handle = self._opened.pop(number)
        await self._ask(Op.RELEASEDIR, node, self._operations.releasedir, self._caller(), node, handle)

    async def fsyncdir(self, number: int, data_only: bool) -> None:
        node, handle = self._opened[number]
        await self._ask(Op.FSYNCDIR, node, self._operations.fsyncdir, self._caller(), node, handle, data_only)

    async def _named(self, parent: int, listed: Sequence[Listed]) -> list[tuple[Listed, EntryAttributes]]:
        """What is listed here is looked up, too: what is not known well enough is asked for, all at once."""
        found: list[Entry | Absent | None] = [
            one.entry if one.entry.node or one.name in _DOTS else None for one in listed
        ]
        failed: list[pyfuse3.FUSEError] = []

        async def look_up(place: int, name: bytes) -> None:
            try:
                found[place] = await self._lookup(self._caller(), parent, name)
            except pyfuse3.FUSEError as error:
                failed.append(error)

        async with trio.open_nursery() as nursery:
            for place, one in enumerate(listed):
                if found[place] is None:
                    nursery.start_soon(look_up, place, one.name)
        if failed:
            self._operations.forget(
                [(one.node, 1) for one in found if one and not isinstance(one, Absent) and one.node]
            )
            raise failed[0]
        return [
            (one, _entry(entry, one.entry.attributes.number))
            for one, entry in zip(listed, found, strict=True)
            if entry and not isinstance(entry, Absent)
        ]

    # --- content -----------------------------------------------------------------------------

    async def open(self, node: int, flags: int, context: RequestContext) -> pyfuse3.FileInfo:
        return self._info(
            node, await self._ask(Op.OPEN, node, self._operations.open, self._caller(context), node, flags)
        )

    async def create(
        self, parent: int, name: bytes, mode: int, flags: int, context: RequestContext
    ) -> tuple[pyfuse3.FileInfo, EntryAttributes]:
        entry, handle = await self._ask(
            Op.CREATE, parent, self._operations.create, self._caller(context), parent, name, mode, flags
        )
        return self._info(entry.node, handle), _entry(entry)

    async def read(self, number: int, offset: int, size: int) -> bytes:
        node, handle = self._opened[number]
        data: bytes = await self._ask(Op.READ, node, self._operations.read, self._caller(), node, handle, offset, size)
        return data

    async def write(self, number: int, offset: int, data: bytes) -> int:
        node, handle = self._opened[number]
        size: int = await self._ask(
            Op.WRITE, node, self._operations.write, self._caller(), node, handle, offset, memoryview(data), 0
        )
        return size

    async def flush(self, number: int) -> None:
        node, handle = self._opened[number]
        await self._ask(Op.FLUSH, node, self._operations.flush, self._caller(), node, handle)

    async def release(self, number: int) -> None:
        node, handle = self._opened.pop(number)
        await self._ask(Op.RELEASE, node, self._operations.release, self._caller(), node, handle)

    async def fsync(self, number: int, data_only: bool) -> None:
        node, handle = self._opened[number]
        await self._ask(Op.FSYNC, node, self._operations.fsync, self._caller(), node, handle, data_only)

    # --- what else there is ------------------------------------------------------------------

    async def statfs(self, context: RequestContext) -> pyfuse3.StatvfsData:
        root = pyfuse3.ROOT_INODE
        return _space(await self._ask(Op.STATFS, root, self._operations.statfs, self._caller(context), root))

    async def access(self, node: int, mask: int, context: RequestContext) -> bool:
        await self._ask(Op.ACCESS, node, self._operations.access, self._caller(context), node, mask)
        return True

    async def setxattr(self, node: int, name: bytes, value: bytes, context: RequestContext) -> None:
        await self._ask(Op.SETXATTR, node, self._operations.setxattr, self._caller(context), node, name, value, 0)

    async def getxattr(self, node: int, name: bytes, context: RequestContext) -> bytes:
        value: bytes = await self._ask(Op.GETXATTR, node, self._operations.getxattr, self._caller(context), node, name)
        return value

    async def listxattr(self, node: int, context: RequestContext) -> Sequence[bytes]:
        names: Sequence[bytes] = await self._ask(
            Op.LISTXATTR, node, self._operations.listxattr, self._caller(context), node
        )
        return names

    async def removexattr(self, node: int, name: bytes, context: RequestContext) -> None:
        await self._ask(Op.REMOVEXATTR, node, self._operations.removexattr, self._caller(context), node, name)

    # --- what all do -------------------------------------------------------------------------

    def _caller(self, context: RequestContext | None = None) -> Caller:
        number = next(self._requests)
        return Caller(context.uid, context.gid, context.pid, number) if context else Caller(0, 0, 0, number)

    def _info(self, node: int, handle: Handle) -> pyfuse3.FileInfo:
        return pyfuse3.FileInfo(
            fh=self._remember(node, handle.number),
            direct_io=Open.DIRECT_IO in handle.flags,
            keep_cache=Open.KEEP_CACHE in handle.flags,
        )

    def _remember(self, node: int, handle: int) -> int:
        number = next(self._numbers)
        self._opened[number] = _Opened(node, handle)
        return number

    async def _lookup(self, caller: Caller, parent: int, name: bytes) -> Entry | Absent:
        found: Entry | Absent = await self._ask(Op.LOOKUP, parent, self._operations.lookup, caller, parent, name)
        return found

    async def _ask(self, op: Op, node: int, call: Callable[..., Any], caller: Caller, *given: Any) -> Any:
        begun, session, failed = time.perf_counter(), self._session, 0
        session.waiting += 1
        try:
            found = call(caller, *given)
            if inspect.iscoroutine(found):
                with trio.move_on_after(session.longest) as scope:
                    found = await found
                if scope.cancelled_caught:
                    raise late(session.longest)
        except Exception as error:  # noqa: BLE001 (a defect of one request is no reason to take the mount from all)
            failed = code(error, f"{op.name} of node {node}")
            raise pyfuse3.FUSEError(failed) from None
        finally:
            session.waiting -= 1
            session.observe(op.name, failed, time.perf_counter() - begun)
            if session.results and op in RECORDED:  # nobody asks again, so that is all that is written down of it
                session.results.end(caller.number, failed)
        return found


def _looked_up(found: Entry | Absent) -> EntryAttributes:
    if not isinstance(found, Absent):
        return _entry(found)
    made = pyfuse3.EntryAttributes()
    made.st_ino, made.entry_timeout = 0, found.hold
    return made


def _entry(found: Entry, otherwise: int = 0) -> EntryAttributes:
    """
    :param otherwise: its number, where it has no node
    """
    made = _attributes(found.node or otherwise, found.attributes, found.attributes_hold)
    made.entry_timeout = found.name_holds
    return made


def _held(node: int, held: Held) -> EntryAttributes:
    return _attributes(node, *held)


def _attributes(node: int, found: Attributes, hold: float) -> EntryAttributes:
    made = pyfuse3.EntryAttributes()
    made.st_ino, made.attr_timeout = node, hold
    made.st_mode, made.st_nlink, made.st_rdev = found.mode, found.links, found.device
    made.st_uid, made.st_gid = found.uid, found.gid
    made.st_size, made.st_blocks, made.st_blksize = found.size, -(-found.size // 512), 4096
    made.st_atime_ns, made.st_mtime_ns, made.st_ctime_ns = found.atime_ns, found.mtime_ns, found.ctime_ns
    return made


def _space(found: Space) -> pyfuse3.StatvfsData:
    made = pyfuse3.StatvfsData()
    made.f_bsize = made.f_frsize = found.block
    made.f_blocks, made.f_bfree, made.f_bavail = found.blocks, found.free, found.free
    made.f_files, made.f_ffree, made.f_favail = found.files, found.files_free, found.files_free
    made.f_namemax = 255
    return made
