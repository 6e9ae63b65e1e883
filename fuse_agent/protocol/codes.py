# SPDX-License-Identifier: Apache-2.0
"""The numbers of linux/fuse.h, by the names that they have there."""

from __future__ import annotations

from enum import IntEnum, IntFlag

MAJOR = 7
# The newest layout that is known here (kernel 6.12). A kernel that speaks a newer one keeps to it.
MINOR = 41
# Before it (kernel 4.20), requests that are relied on do not exist.
OLDEST_MINOR = 28
ROOT = 1  # the node id of the mount's root


class Op(IntEnum):
    """What the kernel asks for. It does without what is not here, once it is told so."""

    LOOKUP = 1
    FORGET = 2
    GETATTR = 3
    SETATTR = 4
    READLINK = 5
    SYMLINK = 6
    MKNOD = 8
    MKDIR = 9
    UNLINK = 10
    RMDIR = 11
    RENAME = 12
    LINK = 13
    OPEN = 14
    READ = 15
    WRITE = 16
    STATFS = 17
    RELEASE = 18
    FSYNC = 20
    SETXATTR = 21
    GETXATTR = 22
    LISTXATTR = 23
    REMOVEXATTR = 24
    FLUSH = 25
    INIT = 26
    OPENDIR = 27
    READDIR = 28
    RELEASEDIR = 29
    FSYNCDIR = 30
    GETLK = 31
    SETLK = 32
    SETLKW = 33
    ACCESS = 34
    CREATE = 35
    INTERRUPT = 36
    DESTROY = 38
    IOCTL = 39
    BATCH_FORGET = 42
    FALLOCATE = 43
    READDIRPLUS = 44
    RENAME2 = 45
    LSEEK = 46
    COPY_FILE_RANGE = 47


class Init(IntFlag):
    """What kernel and agent agree on when a mount begins; the upper half travels in a second word."""

    ASYNC_READ = 1 << 0
    POSIX_LOCKS = 1 << 1
    ATOMIC_O_TRUNC = 1 << 3
    EXPORT_SUPPORT = 1 << 4
    BIG_WRITES = 1 << 5
    DONT_MASK = 1 << 6
    FLOCK_LOCKS = 1 << 10
    AUTO_INVAL_DATA = 1 << 12
    DO_READDIRPLUS = 1 << 13
    READDIRPLUS_AUTO = 1 << 14
    ASYNC_DIO = 1 << 15
    WRITEBACK_CACHE = 1 << 16
    NO_OPEN_SUPPORT = 1 << 17
    PARALLEL_DIROPS = 1 << 18
    HANDLE_KILLPRIV = 1 << 19
    POSIX_ACL = 1 << 20
    ABORT_ERROR = 1 << 21
    MAX_PAGES = 1 << 22
    CACHE_SYMLINKS = 1 << 23
    NO_OPENDIR_SUPPORT = 1 << 24
    EXPLICIT_INVAL_DATA = 1 << 25
    HANDLE_KILLPRIV_V2 = 1 << 28
    SETXATTR_EXT = 1 << 29
    INIT_EXT = 1 << 30
    PASSTHROUGH = 1 << 37
    HAS_RESEND = 1 << 39
    ALLOW_IDMAP = 1 << 40
    OVER_IO_URING = 1 << 41
    REQUEST_TIMEOUT = 1 << 42


class Open(IntFlag):
    """How the kernel is to treat what was opened."""

    DIRECT_IO = 1 << 0
    KEEP_CACHE = 1 << 1
    NONSEEKABLE = 1 << 2
    CACHE_DIR = 1 << 3
    STREAM = 1 << 4
    NOFLUSH = 1 << 5
    PARALLEL_DIRECT_WRITES = 1 << 6
    PASSTHROUGH = 1 << 7


class Set(IntFlag):
    """Which fields of a SETATTR hold."""

    MODE = 1 << 0
    UID = 1 << 1
    GID = 1 << 2
    SIZE = 1 << 3
    ATIME = 1 << 4
    MTIME = 1 << 5
    FH = 1 << 6
    ATIME_NOW = 1 << 7
    MTIME_NOW = 1 << 8
    LOCKOWNER = 1 << 9
    CTIME = 1 << 10
    KILL_SUIDGID = 1 << 11


class Notify(IntEnum):
    """What is told to the kernel unasked."""

    INVAL_INODE = 2
    INVAL_ENTRY = 3
    STORE = 4
    DELETE = 6
    RESEND = 7


GETATTR_FH = 1 << 0
OPEN_KILL_SUIDGID = 1 << 0
READ_LOCKOWNER = 1 << 1
WRITE_CACHE, WRITE_LOCKOWNER, WRITE_KILL_SUIDGID = 1 << 0, 1 << 1, 1 << 2
RELEASE_FLUSH, RELEASE_FLOCK_UNLOCK = 1 << 0, 1 << 1
FSYNC_FDATASYNC = 1 << 0
# A request that is sent again after a takeover has this bit in its number.
RESENT = 1 << 63

# ioctls of /dev/fuse.
DEV_CLONE = 0x8004E500
BACKING_OPEN = 0x4010E501
BACKING_CLOSE = 0x4004E502
