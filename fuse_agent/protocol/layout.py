# SPDX-License-Identifier: Apache-2.0
"""How requests and answers lie in memory (linux/fuse.h): little-endian, without the padding that C would add, since the
kernel's own structs have it spelt out."""

from __future__ import annotations

import struct
from typing import NamedTuple

from .codes import Op

REQUEST = struct.Struct("<IIQQIIIHH")  # length, op, number, node, uid, gid, pid, length of extensions / 8, padding
REPLY = struct.Struct("<IiQ")  # length, negative errno, number


class Shape(NamedTuple):
    """Of a request's body: numbers, then so many names that end with a zero byte, then data to the end."""

    fixed: struct.Struct
    names: int = 0
    data: bool = False


_NOTHING = struct.Struct("<")

SHAPES: dict[int, Shape] = {
    Op.LOOKUP: Shape(_NOTHING, names=1),
    Op.FORGET: Shape(struct.Struct("<Q")),  # lookups
    Op.GETATTR: Shape(struct.Struct("<I4xQ")),  # flags, handle
    Op.SETATTR: Shape(
        struct.Struct("<I4x6Q4I4x2I4x")
    ),  # valid, handle, size, owner, 3 times, 3 nanoseconds, mode, uid, gid
    Op.READLINK: Shape(_NOTHING),
    Op.SYMLINK: Shape(_NOTHING, names=2),  # its name, its target
    Op.MKNOD: Shape(struct.Struct("<III4x"), names=1),  # mode, device, umask
    Op.MKDIR: Shape(struct.Struct("<II"), names=1),  # mode, umask
    Op.UNLINK: Shape(_NOTHING, names=1),
    Op.RMDIR: Shape(_NOTHING, names=1),
    Op.RENAME: Shape(struct.Struct("<Q"), names=2),  # new parent
    Op.LINK: Shape(struct.Struct("<Q"), names=1),  # node
    Op.OPEN: Shape(struct.Struct("<II")),  # flags, flags of the protocol
    Op.READ: Shape(struct.Struct("<QQIIQI4x")),  # handle, offset, size, flags of the protocol, owner, flags
    Op.WRITE: Shape(struct.Struct("<QQIIQI4x"), data=True),
    Op.STATFS: Shape(_NOTHING),
    Op.RELEASE: Shape(struct.Struct("<QIIQ")),  # handle, flags, flags of the protocol, owner
    Op.FSYNC: Shape(struct.Struct("<QI4x")),  # handle, flags
    Op.SETXATTR: Shape(struct.Struct("<II"), names=1, data=True),  # size, flags
    Op.GETXATTR: Shape(struct.Struct("<I4x"), names=1),  # size
    Op.LISTXATTR: Shape(struct.Struct("<I4x")),  # size
    Op.REMOVEXATTR: Shape(_NOTHING, names=1),
    Op.FLUSH: Shape(struct.Struct("<Q8xQ")),  # handle, owner
    Op.INIT: Shape(struct.Struct("<IIII"), data=True),  # major, minor, read-ahead, flags; from 7.36 on more flags
    Op.OPENDIR: Shape(struct.Struct("<II")),
    Op.READDIR: Shape(struct.Struct("<QQIIQI4x")),
    Op.RELEASEDIR: Shape(struct.Struct("<QIIQ")),
    Op.FSYNCDIR: Shape(struct.Struct("<QI4x")),
    Op.GETLK: Shape(struct.Struct("<QQQQIII4x")),  # handle, owner, start, end, type, pid, flags
    Op.SETLK: Shape(struct.Struct("<QQQQIII4x")),
    Op.SETLKW: Shape(struct.Struct("<QQQQIII4x")),
    Op.ACCESS: Shape(struct.Struct("<I4x")),  # mask
    Op.CREATE: Shape(struct.Struct("<IIII"), names=1),  # flags, mode, umask, flags of the protocol
    Op.INTERRUPT: Shape(struct.Struct("<Q")),  # number of the request
    Op.DESTROY: Shape(_NOTHING),
    Op.IOCTL: Shape(struct.Struct("<QIIQII"), data=True),  # handle, flags, command, argument, sizes in and out
    Op.BATCH_FORGET: Shape(struct.Struct("<I4x"), data=True),  # count
    Op.FALLOCATE: Shape(struct.Struct("<QQQI4x")),  # handle, offset, length, mode
    Op.READDIRPLUS: Shape(struct.Struct("<QQIIQI4x")),
    Op.RENAME2: Shape(struct.Struct("<QI4x"), names=2),  # new parent, flags
    Op.LSEEK: Shape(struct.Struct("<QQI4x")),  # handle, offset, whence
    Op.COPY_FILE_RANGE: Shape(struct.Struct("<QQQQQQQ")),  # handle, offset, node out, handle, offset, length, flags
}
FORGET_ONE = struct.Struct("<QQ")  # node, lookups

# Node, size, blocks, 3 times (that may lie before 1970), 3 nanoseconds, mode, links, uid, gid, device, size of blocks, flags.
ATTR = struct.Struct("<QQQqqqIIIIIIIIII")
# Node, generation, 2 times that name and attributes hold, their nanoseconds; then the attributes.
ENTRY = struct.Struct("<QQQQIIQQQqqqIIIIIIIIII")
ATTR_OUT = struct.Struct("<QI4xQQQqqqIIIIIIIIII")  # time that they hold, nanoseconds; then the attributes
OPEN_OUT = struct.Struct("<QIi")  # handle, flags, backing id
WRITE_OUT = struct.Struct("<I4x")  # size
STATFS_OUT = struct.Struct(
    "<QQQQQIII4x24x"
)  # blocks, free, available, files, free, size of blocks, of names, of fragments
XATTR_OUT = struct.Struct("<I4x")  # size
LOCK_OUT = struct.Struct("<QQII")  # start, end, type, pid
LSEEK_OUT = struct.Struct("<Q")
# Major, minor, read-ahead, flags, background, congestion, largest write, granularity of times, pages, alignment, more flags,
# stack depth, time limit of requests.
INIT_OUT = struct.Struct("<IIIIHHIIHHIIH22x")
INIT_MORE = struct.Struct("<I")  # more flags, in what follows the shape of INIT
DIRENT = struct.Struct(
    "<QQII"
)  # node, where the next begins, length of the name, type; then the name, padded to 8 bytes
BACKING = struct.Struct("<iIQ")  # descriptor, flags, padding
INVAL_INODE = struct.Struct("<Qqq")  # node, offset, length
INVAL_ENTRY = struct.Struct("<QII")  # parent, length of the name, flags; then the name and a zero byte
DELETE = struct.Struct("<QQI4x")  # parent, child, length of the name; then the name and a zero byte
STORE = struct.Struct("<QQI4x")  # node, offset, size; then the data
