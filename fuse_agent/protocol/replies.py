# SPDX-License-Identifier: Apache-2.0
"""From values to the bytes of an answer, or of what the kernel is told unasked."""

from __future__ import annotations

import math
import stat
from functools import cache
from typing import NamedTuple

from . import layout
from .codes import Notify, Open

# What is known to hold for ever holds as long as the kernel can count.
_LONGEST = 2**62
_BLOCK = 512  # of st_blocks, whatever a file system's own are
_BILLION = 10**9
_HEADER = layout.REPLY.size


class Attributes(NamedTuple):
    number: int  # st_ino, which need not be the node's id
    mode: int
    size: int = 0
    links: int = 1
    uid: int = 0
    gid: int = 0
    atime_ns: int = 0
    mtime_ns: int = 0
    ctime_ns: int = 0
    device: int = 0


class Entry(NamedTuple):
    """What a name stands for, and for how many seconds the kernel may take it for granted."""

    node: int
    attributes: Attributes
    name_holds: float = 0.0
    attributes_hold: float = 0.0


class Handle(NamedTuple):
    number: int
    flags: Open = Open(0)
    backing: int = 0


class Space(NamedTuple):
    """Of a file system, in blocks."""

    block: int
    blocks: int
    free: int
    files: int
    files_free: int


def done(number: int, body: bytes | memoryview = b"") -> bytes:
    return layout.REPLY.pack(_HEADER + len(body), 0, number) + body


def failed(number: int, errno: int) -> bytes:
    return layout.REPLY.pack(layout.REPLY.size, -errno, number)


def header(number: int, size: int) -> bytes:
    """Before data that need not be copied to stand behind it."""
    return layout.REPLY.pack(layout.REPLY.size + size, 0, number)


def attributes(found: Attributes, hold: float) -> bytes:
    return layout.ATTR_OUT.pack(*span(hold), *numbers(*found))


def entry(found: Entry) -> bytes:
    (name, name_ns), (rest, rest_ns) = span(found.name_holds), span(found.attributes_hold)
    return layout.ENTRY.pack(found.node, 0, name, rest, name_ns, rest_ns, *numbers(*found.attributes))


def absent(hold: float) -> bytes:
    """Of a name: the kernel need not ask again that soon."""
    seconds, nanoseconds = span(hold)
    return layout.ENTRY.pack(0, 0, seconds, 0, nanoseconds, 0, *[0] * 16)


def opened(handle: Handle) -> bytes:
    return layout.OPEN_OUT.pack(*handle)


def created(found: Entry, handle: Handle) -> bytes:
    return entry(found) + opened(handle)


def written(size: int) -> bytes:
    return layout.WRITE_OUT.pack(size)


def space(found: Space) -> bytes:
    return layout.STATFS_OUT.pack(
        found.blocks, found.free, found.free, found.files, found.files_free, found.block, 255, found.block
    )


def xattr_size(size: int) -> bytes:
    return layout.XATTR_OUT.pack(size)


def position(offset: int) -> bytes:
    return layout.LSEEK_OUT.pack(offset)


def listed(name: bytes, number: int, mode: int, after: int) -> bytes:
    """One entry of READDIR. ``after`` is what the kernel says to go on behind it."""
    size = layout.DIRENT.size + len(name)
    return layout.DIRENT.pack(number, after, len(name), stat.S_IFMT(mode) >> 12) + name + bytes(-size % 8)


def listed_size(name: bytes, plus: bool) -> int:
    size = layout.DIRENT.size + len(name)
    return size + -size % 8 + (layout.ENTRY.size if plus else 0)


def listed_plus(name: bytes, found: Entry, after: int) -> bytes:
    """One entry of READDIRPLUS; one without a node is listed and not looked up."""
    return entry(found) + listed(name, found.attributes.number, found.attributes.mode, after)


def notification(code: Notify, body: bytes = b"") -> bytes:
    return layout.REPLY.pack(layout.REPLY.size + len(body), code, 0) + body


def forget_data(node: int, offset: int = 0, size: int = 0) -> bytes:
    """The kernel's pages and attributes of a node; all of its pages without a size, none with an offset below 0."""
    return notification(Notify.INVAL_INODE, layout.INVAL_INODE.pack(node, offset, size))


def forget_name(parent: int, name: bytes) -> bytes:
    return notification(Notify.INVAL_ENTRY, layout.INVAL_ENTRY.pack(parent, len(name), 0) + name + b"\0")


def removed(parent: int, child: int, name: bytes) -> bytes:
    """As unlink does: who watches the folder is told, too."""
    return notification(Notify.DELETE, layout.DELETE.pack(parent, child, len(name)) + name + b"\0")


def resend() -> bytes:
    """What was read and not answered is to be asked again."""
    return notification(Notify.RESEND)


def numbers(
    number: int, mode: int, size: int, links: int, uid: int, gid: int, atime_ns: int, mtime_ns: int, ctime_ns: int, device: int = 0
) -> tuple[int, ...]:  # fmt: skip
    """Of ``Attributes``, as they lie in an answer."""
    access, access_ns = divmod(atime_ns, _BILLION)
    change, change_ns = divmod(mtime_ns, _BILLION)
    status, status_ns = divmod(ctime_ns, _BILLION)
    return (
        number, size, -(-size // _BLOCK), access, change, status, access_ns, change_ns, status_ns,
        mode, links, uid, gid, device, 4096, 0,
    )  # fmt: skip


@cache  # there are as many as options
def span(seconds: float) -> tuple[int, int]:
    """Seconds and nanoseconds."""
    if seconds >= _LONGEST:
        return _LONGEST, 0
    fraction, whole = math.modf(seconds)
    return int(whole), int(fraction * _BILLION)
