# SPDX-License-Identifier: Apache-2.0
"""From requests of the kernel to operations, and from their answers to bytes. No input or output."""

from __future__ import annotations

import errno
import time
from typing import TYPE_CHECKING, Any, Final

from ..operations import Absent, Caller, Changes
from ..protocol import replies
from ..protocol.codes import FSYNC_FDATASYNC, GETATTR_FH, RESENT, Op, Set

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..operations import Held, Listed, Operations
    from ..protocol.replies import Entry, Handle
    from ..protocol.requests import Request

    Call = Callable[[Operations, Caller, Request], Any]
    Pack = Callable[[Request, Any], bytes | memoryview]

_BILLION: Final = 10**9
# Of a request's number, what it keeps when it comes again.
_SAME: Final = RESENT - 1


def caller(request: Request) -> Caller:
    number = request.number
    return Caller(request.uid, request.gid, request.pid, number & _SAME, number > _SAME)


def changes(request: Request) -> Changes:
    valid, handle, size, _owner, atime, mtime, _ctime, atime_ns, mtime_ns, _ctime_ns, mode, uid, gid = request.fixed
    now = time.time_ns() if valid & (Set.ATIME_NOW | Set.MTIME_NOW) else 0
    return Changes(
        mode=mode if valid & Set.MODE else None,
        uid=uid if valid & Set.UID else None,
        gid=gid if valid & Set.GID else None,
        size=size if valid & Set.SIZE else None,
        atime_ns=now if valid & Set.ATIME_NOW else _moment(atime, atime_ns) if valid & Set.ATIME else None,
        mtime_ns=now if valid & Set.MTIME_NOW else _moment(mtime, mtime_ns) if valid & Set.MTIME else None,
        handle=handle if valid & Set.FH else None,
        drop_privileges=bool(valid & Set.KILL_SUIDGID),
    )


def _moment(seconds: int, nanoseconds: int) -> int:
    signed = seconds - 2**64 if seconds >= 2**63 else seconds  # before 1970
    return signed * _BILLION + nanoseconds


def _handle(request: Request) -> int | None:
    flags, number = request.fixed
    return number if flags & GETATTR_FH else None


def _readdir(plus: bool) -> Call:
    def call(operations: Operations, who: Caller, request: Request) -> Any:
        handle, after, room = request.fixed[:3]
        return operations.readdir(who, request.node, handle, after, room, plus)

    return call


def _name(request: Request) -> bytes:
    return request.names[0]


def _nothing(_request: Request, _none: None) -> bytes:
    return b""


def _entry(_request: Request, found: Entry) -> bytes:
    return replies.entry(found)


def _looked_up(_request: Request, found: Entry | Absent) -> bytes:
    return replies.absent(found.hold) if isinstance(found, Absent) else replies.entry(found)


def _held(_request: Request, held: Held) -> bytes:
    return replies.attributes(*held)


def _opened(_request: Request, handle: Handle) -> bytes:
    return replies.opened(handle)


def _written(_request: Request, size: int) -> bytes:
    return replies.written(size)


def _data(_request: Request, data: bytes | memoryview) -> bytes | memoryview:
    return data


def _listed(_request: Request, found: Sequence[Listed]) -> bytes:
    return b"".join(
        replies.listed(one.name, one.entry.attributes.number, one.entry.attributes.mode, one.after) for one in found
    )


def _listed_plus(_request: Request, found: Sequence[Listed]) -> bytes:
    return b"".join(replies.listed_plus(*one) for one in found)


def _sized(request: Request, value: bytes) -> bytes:
    """Who asks with no room asks how much there has to be."""
    room = request.fixed[0]
    if not room:
        return replies.xattr_size(len(value))
    if len(value) > room:
        raise OSError(errno.ERANGE, f"{len(value)} bytes do not fit into {room}")
    return value


# By operation: whom to call with what, and how to pack what comes of it.
CALLS: Final[dict[int, tuple[Call, Pack]]] = {
    Op.LOOKUP: (lambda ops, who, r: ops.lookup(who, r.node, _name(r)), _looked_up),
    Op.GETATTR: (lambda ops, who, r: ops.getattr(who, r.node, _handle(r)), _held),
    Op.SETATTR: (lambda ops, who, r: ops.setattr(who, r.node, changes(r)), _held),
    Op.READLINK: (lambda ops, who, r: ops.readlink(who, r.node), _data),
    Op.SYMLINK: (lambda ops, who, r: ops.symlink(who, r.node, *r.names), _entry),
    Op.MKNOD: (
        lambda ops, who, r: ops.mknod(who, r.node, _name(r), r.fixed[0], r.fixed[1]),
        _entry,
    ),
    Op.MKDIR: (
        lambda ops, who, r: ops.mkdir(who, r.node, _name(r), r.fixed[0]),
        _entry,
    ),
    Op.UNLINK: (lambda ops, who, r: ops.unlink(who, r.node, _name(r)), _nothing),
    Op.RMDIR: (lambda ops, who, r: ops.rmdir(who, r.node, _name(r)), _nothing),
    Op.RENAME: (
        lambda ops, who, r: ops.rename(who, (r.node, r.names[0]), (r.fixed[0], r.names[1]), 0),
        _nothing,
    ),
    Op.RENAME2: (
        lambda ops, who, r: ops.rename(who, (r.node, r.names[0]), (r.fixed[0], r.names[1]), r.fixed[1]),
        _nothing,
    ),
    Op.LINK: (
        lambda ops, who, r: ops.link(who, r.fixed[0], r.node, _name(r)),
        _entry,
    ),
    Op.OPEN: (lambda ops, who, r: ops.open(who, r.node, r.fixed[0]), _opened),
    Op.CREATE: (
        lambda ops, who, r: ops.create(who, r.node, _name(r), r.fixed[1], r.fixed[0]),
        lambda _r, made: replies.created(*made),
    ),
    Op.READ: (lambda ops, who, r: ops.read(who, r.node, *r.fixed[:3]), _data),
    Op.WRITE: (
        lambda ops, who, r: ops.write(who, r.node, r.fixed[0], r.fixed[1], r.data, r.fixed[3]),
        _written,
    ),
    Op.FLUSH: (lambda ops, who, r: ops.flush(who, r.node, r.fixed[0]), _nothing),
    Op.RELEASE: (lambda ops, who, r: ops.release(who, r.node, r.fixed[0]), _nothing),
    Op.FSYNC: (
        lambda ops, who, r: ops.fsync(who, r.node, r.fixed[0], bool(r.fixed[1] & FSYNC_FDATASYNC)),
        _nothing,
    ),
    Op.OPENDIR: (lambda ops, who, r: ops.opendir(who, r.node), _opened),
    Op.READDIR: (_readdir(plus=False), _listed),
    Op.READDIRPLUS: (_readdir(plus=True), _listed_plus),
    Op.RELEASEDIR: (lambda ops, who, r: ops.releasedir(who, r.node, r.fixed[0]), _nothing),
    Op.FSYNCDIR: (
        lambda ops, who, r: ops.fsyncdir(who, r.node, r.fixed[0], bool(r.fixed[1] & FSYNC_FDATASYNC)),
        _nothing,
    ),
    Op.STATFS: (lambda ops, who, r: ops.statfs(who, r.node), lambda _r, space: replies.space(space)),
    Op.SETXATTR: (
        lambda ops, who, r: ops.setxattr(who, r.node, _name(r), bytes(r.data), r.fixed[1]),
        _nothing,
    ),
    Op.GETXATTR: (lambda ops, who, r: ops.getxattr(who, r.node, _name(r)), _sized),
    Op.LISTXATTR: (
        lambda ops, who, r: ops.listxattr(who, r.node),
        lambda r, names: _sized(r, b"".join(name + b"\0" for name in names)),
    ),
    Op.REMOVEXATTR: (lambda ops, who, r: ops.removexattr(who, r.node, _name(r)), _nothing),
    Op.ACCESS: (lambda ops, who, r: ops.access(who, r.node, r.fixed[0]), _nothing),
    Op.FALLOCATE: (lambda ops, who, r: ops.fallocate(who, *r.fixed), _nothing),
    Op.LSEEK: (lambda ops, who, r: ops.lseek(who, *r.fixed), lambda _r, offset: replies.position(offset)),
    Op.COPY_FILE_RANGE: (
        lambda ops, who, r: ops.copy_file_range(who, (r.fixed[0], r.fixed[1]), (r.fixed[3], r.fixed[4]), r.fixed[5]),
        _written,
    ),
}
# What done twice is not the same as done once: the answer is kept until it is given. Opens are, by their handles.
RECORDED: Final = frozenset(
    (
        Op.SYMLINK, Op.MKNOD, Op.MKDIR, Op.UNLINK, Op.RMDIR, Op.RENAME, Op.RENAME2, Op.LINK, Op.CREATE, Op.SETXATTR,
        Op.REMOVEXATTR,
    )
)  # fmt: skip
# Nobody waits for these.
FORGETS: Final = frozenset((Op.FORGET, Op.BATCH_FORGET))
