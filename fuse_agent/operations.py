# SPDX-License-Identifier: Apache-2.0
"""What a file system is asked, whichever session asks.

Each operation gives its answer, or a coroutine that will: what is known is answered at once, without a task of its own. It fails
with an OSError, whose errno is what the user sees; the message is for the log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine, Sequence

    from .protocol.replies import Attributes, Entry, Handle, Space

    Answer = TypeVar("Answer")
    Soon: TypeAlias = Answer | Coroutine[Any, Any, Answer]


class Caller(NamedTuple):
    """Who asks, by which request. One that comes again, since a worker died over it, has the same number."""

    uid: int
    gid: int
    pid: int
    number: int
    again: bool = False


class Held(NamedTuple):
    """Attributes, and for how many seconds the kernel may take them for granted."""

    attributes: Attributes
    hold: float


class Absent(NamedTuple):
    """That a name means nothing, and for how many seconds the kernel need not ask again."""

    hold: float


class Changes(NamedTuple):
    """What is to be set of a node's attributes; None is left as it is."""

    mode: int | None = None
    uid: int | None = None
    gid: int | None = None
    size: int | None = None
    atime_ns: int | None = None
    mtime_ns: int | None = None
    handle: int | None = None
    drop_privileges: bool = False  # setuid and setgid bits go


class Listed(NamedTuple):
    name: bytes
    entry: Entry
    after: int  # where a listing goes on behind it


class Operations:
    """What is not overridden is told to the kernel as ENOSYS, and it does not ask again."""

    def lookup(self, caller: Caller, parent: int, name: bytes, /) -> Soon[Entry | Absent]:
        raise NotImplementedError

    def known_entry(self, _parent: int, _name: bytes, /) -> bytes | None:
        """The answer to a lookup as the kernel takes it, where it is known; else None, and ``lookup`` is asked. Nothing is asked as often."""
        return None

    def known_attributes(self, _node: int, /) -> bytes | None:
        """The answer to a ``getattr``, likewise."""
        return None

    def forget(self, nodes: Sequence[tuple[int, int]], /) -> None:
        """Nodes, and how many lookups of each the kernel takes back."""

    def getattr(self, caller: Caller, node: int, handle: int | None, /) -> Soon[Held]:
        raise NotImplementedError

    def setattr(self, caller: Caller, node: int, changes: Changes, /) -> Soon[Held]:
        raise NotImplementedError

    def readlink(self, caller: Caller, node: int, /) -> Soon[bytes]:
        raise NotImplementedError

    def symlink(self, caller: Caller, parent: int, name: bytes, target: bytes, /) -> Soon[Entry]:
        raise NotImplementedError

    def mknod(self, caller: Caller, parent: int, name: bytes, mode: int, device: int, /) -> Soon[Entry]:
        raise NotImplementedError

    def mkdir(self, caller: Caller, parent: int, name: bytes, mode: int, /) -> Soon[Entry]:
        raise NotImplementedError

    def unlink(self, caller: Caller, parent: int, name: bytes, /) -> Soon[None]:
        raise NotImplementedError

    def rmdir(self, caller: Caller, parent: int, name: bytes, /) -> Soon[None]:
        raise NotImplementedError

    def rename(self, caller: Caller, old: tuple[int, bytes], new: tuple[int, bytes], flags: int, /) -> Soon[None]:
        raise NotImplementedError

    def link(self, caller: Caller, node: int, parent: int, name: bytes, /) -> Soon[Entry]:
        raise NotImplementedError

    def open(self, caller: Caller, node: int, flags: int, /) -> Soon[Handle]:
        raise NotImplementedError

    def create(self, caller: Caller, parent: int, name: bytes, mode: int, flags: int, /) -> Soon[tuple[Entry, Handle]]:
        raise NotImplementedError

    def read(self, caller: Caller, node: int, handle: int, offset: int, size: int, /) -> Soon[bytes | memoryview]:
        raise NotImplementedError

    def write(self, caller: Caller, node: int, handle: int, offset: int, data: memoryview, flags: int, /) -> Soon[int]:
        """The data are there until it returns: a coroutine is to be given a copy."""
        raise NotImplementedError

    def flush(self, caller: Caller, node: int, handle: int, /) -> Soon[None]:
        raise NotImplementedError

    def release(self, caller: Caller, node: int, handle: int, /) -> Soon[None]:
        raise NotImplementedError

    def fsync(self, caller: Caller, node: int, handle: int, data_only: bool, /) -> Soon[None]:
        raise NotImplementedError

    def opendir(self, caller: Caller, node: int, /) -> Soon[Handle]:
        raise NotImplementedError

    def readdir(
        self, caller: Caller, node: int, handle: int, after: int, room: int, plus: bool
    ) -> Soon[Sequence[Listed]]:
        """As many as fit into so many bytes, or fewer; none at the end. With ``plus`` each that has a node is looked up, too."""
        raise NotImplementedError

    def releasedir(self, caller: Caller, node: int, handle: int, /) -> Soon[None]:
        raise NotImplementedError

    def fsyncdir(self, caller: Caller, node: int, handle: int, data_only: bool, /) -> Soon[None]:
        raise NotImplementedError

    def statfs(self, caller: Caller, node: int, /) -> Soon[Space]:
        raise NotImplementedError

    def setxattr(self, caller: Caller, node: int, name: bytes, value: bytes, flags: int, /) -> Soon[None]:
        raise NotImplementedError

    def getxattr(self, caller: Caller, node: int, name: bytes, /) -> Soon[bytes]:
        raise NotImplementedError

    def listxattr(self, caller: Caller, node: int, /) -> Soon[Sequence[bytes]]:
        raise NotImplementedError

    def removexattr(self, caller: Caller, node: int, name: bytes, /) -> Soon[None]:
        raise NotImplementedError

    def access(self, caller: Caller, node: int, mask: int, /) -> Soon[None]:
        raise NotImplementedError

    def fallocate(self, caller: Caller, handle: int, offset: int, length: int, mode: int, /) -> Soon[None]:
        raise NotImplementedError

    def lseek(self, caller: Caller, handle: int, offset: int, whence: int, /) -> Soon[int]:
        raise NotImplementedError

    def copy_file_range(
        self, caller: Caller, source: tuple[int, int], target: tuple[int, int], length: int
    ) -> Soon[int]:
        """Handles with offsets."""
        raise NotImplementedError
