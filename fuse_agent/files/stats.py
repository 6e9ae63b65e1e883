# SPDX-License-Identifier: Apache-2.0
"""`.stats` in the root of a mount: what its agent counts, as a text that anybody may read who may read the mount.

Whoever looks the name up gets a text of that moment, under a node of its own that means no other ever: so the kernel may keep its
pages, also where it tells of no open.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from typing import TYPE_CHECKING, Final, NamedTuple

from ..nodes.records import ROOT, StaleError
from ..operations import Held
from ..protocol.replies import Attributes, Entry, Handle
from .known.listings import STATS
from .system import FileSystem

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import trio

    from ..operations import Absent, Caller, Changes, Soon
    from .system import Parts
    from .view import Settings

# What users see as its inode.
INODE: Final = 0x7FFFFFFF00000001
# Nodes of texts begin here, far from all others; a later worker's, which count from the clock, are others.
_FIRST: Final = 1 << 62
# Texts that are kept for who looked them up: a few dozen kilobytes each.
_KEPT: Final = 32
_READ_ONLY: Final = "the agent's own file can only be read"
_NOTHING_SAID: Final = "nobody says anything of the agent's own file"


class _Text(NamedTuple):
    made_ns: int
    text: bytes


class WithStats(FileSystem):
    """A file system with that file. A user's of the same name is hidden."""

    def __init__(self, nursery: trio.Nursery, parts: Parts, settings: Settings, text: Callable[[], str]) -> None:
        super().__init__(nursery, parts, settings)
        self._text = text
        self._texts: dict[int, _Text] = {}

    def lookup(self, caller: Caller, parent: int, name: bytes) -> Soon[Entry | Absent]:
        if name != STATS or parent != ROOT:
            return super().lookup(caller, parent, name)
        now = time.time_ns()
        node = max(_FIRST + now, next(reversed(self._texts), 0) + 1)
        self._texts[node] = _Text(now, self._text().encode())
        if len(self._texts) > _KEPT:
            del self._texts[next(iter(self._texts))]
        return Entry(node, self._attributes(node))

    def forget(self, nodes: Sequence[tuple[int, int]]) -> None:
        for node, _times in nodes:
            self._texts.pop(node, None)
        super().forget(nodes)

    def getattr(self, caller: Caller, node: int, handle: int | None) -> Soon[Held]:
        return Held(self._attributes(node), 0.0) if node > _FIRST else super().getattr(caller, node, handle)

    def setattr(self, caller: Caller, node: int, changes: Changes) -> Soon[Held]:
        if node > _FIRST:
            raise PermissionError(errno.EPERM, _READ_ONLY)
        return super().setattr(caller, node, changes)

    def open(self, caller: Caller, node: int, flags: int) -> Soon[Handle]:
        if node < _FIRST:
            return super().open(caller, node, flags)
        if flags & os.O_ACCMODE != os.O_RDONLY or flags & os.O_TRUNC:
            raise PermissionError(errno.EACCES, _READ_ONLY)
        return Handle(0)

    def read(self, caller: Caller, node: int, handle: int, offset: int, size: int) -> Soon[bytes | memoryview]:
        if node < _FIRST:
            return super().read(caller, node, handle, offset, size)
        return self._of(node).text[offset : offset + size]

    def flush(self, caller: Caller, node: int, handle: int) -> Soon[None]:
        return None if node > _FIRST else super().flush(caller, node, handle)

    def fsync(self, caller: Caller, node: int, handle: int, data_only: bool) -> Soon[None]:
        return None if node > _FIRST else super().fsync(caller, node, handle, data_only)

    def release(self, caller: Caller, node: int, handle: int) -> Soon[None]:
        return None if node > _FIRST else super().release(caller, node, handle)

    def setxattr(self, caller: Caller, node: int, name: bytes, value: bytes, flags: int) -> Soon[None]:
        if node > _FIRST:
            raise PermissionError(errno.EPERM, _READ_ONLY)
        return super().setxattr(caller, node, name, value, flags)

    def getxattr(self, caller: Caller, node: int, name: bytes) -> Soon[bytes]:
        if node > _FIRST:
            raise OSError(errno.ENODATA, _NOTHING_SAID)
        return super().getxattr(caller, node, name)

    def listxattr(self, caller: Caller, node: int) -> Soon[Sequence[bytes]]:
        return () if node > _FIRST else super().listxattr(caller, node)

    def removexattr(self, caller: Caller, node: int, name: bytes) -> Soon[None]:
        if node > _FIRST:
            raise OSError(errno.ENODATA, _NOTHING_SAID)
        return super().removexattr(caller, node, name)

    # Nothing is ever made, moved or removed under its name.

    def symlink(self, caller: Caller, parent: int, name: bytes, target: bytes) -> Soon[Entry]:
        _fit(parent, name)
        return super().symlink(caller, parent, name, target)

    def mknod(self, caller: Caller, parent: int, name: bytes, mode: int, device: int) -> Soon[Entry]:
        _fit(parent, name)
        return super().mknod(caller, parent, name, mode, device)

    def mkdir(self, caller: Caller, parent: int, name: bytes, mode: int) -> Soon[Entry]:
        _fit(parent, name)
        return super().mkdir(caller, parent, name, mode)

    def create(self, caller: Caller, parent: int, name: bytes, mode: int, flags: int) -> Soon[tuple[Entry, Handle]]:
        _fit(parent, name)
        return super().create(caller, parent, name, mode, flags)

    def unlink(self, caller: Caller, parent: int, name: bytes) -> Soon[None]:
        _fit(parent, name)
        return super().unlink(caller, parent, name)

    def rmdir(self, caller: Caller, parent: int, name: bytes) -> Soon[None]:
        _fit(parent, name)
        return super().rmdir(caller, parent, name)

    def rename(self, caller: Caller, old: tuple[int, bytes], new: tuple[int, bytes], flags: int) -> Soon[None]:
        _fit(*old)
        _fit(*new)
        return super().rename(caller, old, new, flags)

    def _of(self, node: int) -> _Text:
        """
        :raises StaleError: of what was looked up long ago, or by a worker before this one
        """
        try:
            return self._texts[node]
        except KeyError:
            raise StaleError(node) from None

    def _attributes(self, node: int) -> Attributes:
        made, text = self._of(node)
        return Attributes(
            INODE, stat.S_IFREG | 0o444, len(text), uid=self._settings.uid, gid=self._settings.gid,
            atime_ns=made, mtime_ns=made, ctime_ns=made,
        )  # fmt: skip


def _fit(parent: int, name: bytes) -> None:
    if name == STATS and parent == ROOT:
        raise PermissionError(errno.EPERM, "this name is the agent's own")
