# SPDX-License-Identifier: Apache-2.0
"""Which operation is called with what, and what becomes of its answer."""

from __future__ import annotations

import errno
import os
import stat
import struct
from typing import Any

import pytest
from paddleflow_fuse.operations import Absent, Changes, Held, Listed, Operations
from paddleflow_fuse.protocol import layout, replies
from paddleflow_fuse.protocol.codes import Op, Open, Set
from paddleflow_fuse.protocol.replies import Attributes, Entry, Handle, Space
from paddleflow_fuse.protocol.requests import parse
from paddleflow_fuse.session.calls import CALLS, FORGETS, caller, changes

FILE = Attributes(9, stat.S_IFREG | 0o644, 5)
ENTRY = Entry(9, FILE, 1, 1)


class Recorded(Operations):
    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.called: tuple[Any, ...] = ()

    def __getattribute__(self, name: str) -> Any:
        if name in ("answer", "called", "_record", "__dict__", "__class__"):
            return object.__getattribute__(self, name)
        return lambda _caller, *given: self._record(name, given)

    def _record(self, name: str, given: tuple[Any, ...]) -> Any:
        self.called = (name, *given)
        return self.answer


def call(op: int, body: bytes, answer: Any) -> tuple[tuple[Any, ...], bytes]:
    request = parse(layout.REQUEST.pack(40 + len(body), op, 4, 3, 0, 0, 0, 0, 0) + body)
    operations = Recorded(answer)
    act, pack = CALLS[op]
    packed = bytes(pack(request, act(operations, caller(request), request)))
    return operations.called, packed


IO = struct.pack("<QQIIQII", 7, 4096, 10, 0, 0, 0, 0)
PAIR = struct.pack("<IIII", os.O_RDWR, 0o100600, 0o22, 0)


@pytest.mark.parametrize(
    ("op", "body", "called", "answer", "packed"),
    [
        (Op.LOOKUP, b"a\0", ("lookup", 3, b"a"), ENTRY, replies.entry(ENTRY)),
        (Op.LOOKUP, b"a\0", ("lookup", 3, b"a"), Absent(5), replies.absent(5)),
        (Op.GETATTR, struct.pack("<IIQ", 0, 0, 7), ("getattr", 3, None), Held(FILE, 2), replies.attributes(FILE, 2)),
        (Op.GETATTR, struct.pack("<IIQ", 1, 0, 7), ("getattr", 3, 7), Held(FILE, 2), replies.attributes(FILE, 2)),
        (Op.READLINK, b"", ("readlink", 3), b"target", b"target"),
        (Op.SYMLINK, b"a\0to\0", ("symlink", 3, b"a", b"to"), ENTRY, replies.entry(ENTRY)),
        (Op.MKNOD, struct.pack("<IIII", 0o100644, 5, 0, 0) + b"a\0", ("mknod", 3, b"a", 0o100644, 5), ENTRY, replies.entry(ENTRY)),
        (Op.MKDIR, struct.pack("<II", 0o755, 0) + b"a\0", ("mkdir", 3, b"a", 0o755), ENTRY, replies.entry(ENTRY)),
        (Op.UNLINK, b"a\0", ("unlink", 3, b"a"), None, b""),
        (Op.RMDIR, b"a\0", ("rmdir", 3, b"a"), None, b""),
        (Op.RENAME, struct.pack("<Q", 8) + b"a\0b\0", ("rename", (3, b"a"), (8, b"b"), 0), None, b""),
        (Op.RENAME2, struct.pack("<QII", 8, 1, 0) + b"a\0b\0", ("rename", (3, b"a"), (8, b"b"), 1), None, b""),
        (Op.LINK, struct.pack("<Q", 8) + b"a\0", ("link", 8, 3, b"a"), ENTRY, replies.entry(ENTRY)),
        (Op.OPEN, struct.pack("<II", os.O_APPEND, 0), ("open", 3, os.O_APPEND), Handle(7, Open.KEEP_CACHE), struct.pack("<QIi", 7, 2, 0)),
        (Op.CREATE, PAIR + b"a\0", ("create", 3, b"a", 0o100600, os.O_RDWR), (ENTRY, Handle(7)), replies.created(ENTRY, Handle(7))),
        (Op.READ, IO, ("read", 3, 7, 4096, 10), b"data", b"data"),
        (Op.WRITE, IO + b"0123456789", ("write", 3, 7, 4096, b"0123456789", 0), 10, struct.pack("<II", 10, 0)),
        (Op.FLUSH, struct.pack("<QIIQ", 7, 0, 0, 1), ("flush", 3, 7), None, b""),
        (Op.RELEASE, struct.pack("<QIIQ", 7, 0, 0, 1), ("release", 3, 7), None, b""),
        (Op.FSYNC, struct.pack("<QII", 7, 1, 0), ("fsync", 3, 7, True), None, b""),
        (Op.OPENDIR, struct.pack("<II", 0, 0), ("opendir", 3), Handle(7, Open.CACHE_DIR), struct.pack("<QIi", 7, 8, 0)),
        (Op.READDIR, IO, ("readdir", 3, 7, 4096, 10, False), [Listed(b"a", ENTRY, 2)], replies.listed(b"a", 9, FILE.mode, 2)),
        (Op.READDIRPLUS, IO, ("readdir", 3, 7, 4096, 10, True), [Listed(b"a", ENTRY, 2)], replies.listed_plus(b"a", ENTRY, 2)),
        (Op.RELEASEDIR, struct.pack("<QIIQ", 7, 0, 0, 1), ("releasedir", 3, 7), None, b""),
        (Op.FSYNCDIR, struct.pack("<QII", 7, 0, 0), ("fsyncdir", 3, 7, False), None, b""),
        (Op.STATFS, b"", ("statfs", 3), Space(4096, 4, 3, 2, 1), replies.space(Space(4096, 4, 3, 2, 1))),
        (Op.SETXATTR, struct.pack("<II", 1, 2) + b"user.a\0v", ("setxattr", 3, b"user.a", b"v", 2), None, b""),
        (Op.GETXATTR, struct.pack("<II", 5, 0) + b"user.a\0", ("getxattr", 3, b"user.a"), b"value", b"value"),
        (Op.GETXATTR, struct.pack("<II", 0, 0) + b"user.a\0", ("getxattr", 3, b"user.a"), b"value", struct.pack("<II", 5, 0)),
        (Op.LISTXATTR, struct.pack("<II", 9, 0), ("listxattr", 3), [b"a", b"b"], b"a\0b\0"),
        (Op.REMOVEXATTR, b"user.a\0", ("removexattr", 3, b"user.a"), None, b""),
        (Op.ACCESS, struct.pack("<II", 4, 0), ("access", 3, 4), None, b""),
        (Op.FALLOCATE, struct.pack("<QQQII", 7, 1, 2, 3, 0), ("fallocate", 7, 1, 2, 3), None, b""),
        (Op.LSEEK, struct.pack("<QQII", 7, 1, 4, 0), ("lseek", 7, 1, 4), 12, struct.pack("<Q", 12)),
        (Op.COPY_FILE_RANGE, struct.pack("<QQQQQQQ", 7, 1, 8, 9, 2, 30, 0), ("copy_file_range", (7, 1), (9, 2), 30), 30, struct.pack("<II", 30, 0)),
    ],
)  # fmt: skip
def test_each_operation_is_called_with_what_was_asked(
    op: Op, body: bytes, called: tuple[Any, ...], answer: Any, packed: bytes
) -> None:
    assert call(op, body, answer) == (called, packed)


def test_every_operation_is_called_or_known_otherwise() -> None:
    elsewhere = {Op.INIT, Op.DESTROY, Op.INTERRUPT, Op.IOCTL, Op.GETLK, Op.SETLK, Op.SETLKW}
    assert set(CALLS) | FORGETS | elsewhere == set(Op)


def test_a_value_that_does_not_fit_is_refused() -> None:
    with pytest.raises(OSError, match="5 bytes do not fit into 4") as refused:
        call(Op.GETXATTR, struct.pack("<II", 4, 0) + b"user.a\0", b"value")
    assert refused.value.errno == errno.ERANGE


def asked(valid: int, **given: int) -> Changes:
    names = [
        "handle",
        "size",
        "owner",
        "atime",
        "mtime",
        "ctime",
        "atime_ns",
        "mtime_ns",
        "ctime_ns",
        "mode",
        "uid",
        "gid",
    ]
    body = layout.SHAPES[Op.SETATTR].fixed.pack(valid, *(given.get(name, 0) for name in names))
    return changes(parse(layout.REQUEST.pack(40 + len(body), Op.SETATTR, 4, 3, 0, 0, 0, 0, 0) + body))


def test_only_what_is_said_to_hold_is_changed() -> None:
    assert asked(0, mode=1, uid=2, gid=3, size=4, atime=5, mtime=6, handle=7) == Changes()
    every = Set.MODE | Set.UID | Set.GID | Set.SIZE | Set.ATIME | Set.MTIME | Set.FH | Set.KILL_SUIDGID
    assert asked(every, mode=1, uid=2, gid=3, size=4, atime=5, atime_ns=8, mtime=6, mtime_ns=9, handle=7) == Changes(
        mode=1, uid=2, gid=3, size=4, atime_ns=5_000_000_008, mtime_ns=6_000_000_009, handle=7, drop_privileges=True
    )


def test_times_may_be_now_and_may_lie_before_1970() -> None:
    now = asked(Set.ATIME | Set.ATIME_NOW | Set.MTIME | Set.MTIME_NOW, atime=5, mtime=6)
    assert now.atime_ns == now.mtime_ns
    assert now.mtime_ns is not None
    assert now.mtime_ns > 1_700_000_000 * 10**9
    assert asked(Set.MTIME, mtime=2**64 - 2, mtime_ns=5).mtime_ns == -2 * 10**9 + 5
