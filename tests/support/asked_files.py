# SPDX-License-Identifier: Apache-2.0
"""A file system over a bucket in memory, asked as a session asks it, with no kernel. What the test does to the bucket itself is done by others."""

from __future__ import annotations

import errno
import inspect
import os
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

import trio
from paddleflow_fuse.cache.disk import Disk
from paddleflow_fuse.cache.memory import Memory
from paddleflow_fuse.files.system import FileSystem, Parts
from paddleflow_fuse.files.view import Settings
from paddleflow_fuse.files.written.staging import Staging
from paddleflow_fuse.nodes.records import ROOT
from paddleflow_fuse.nodes.region import Region
from paddleflow_fuse.nodes.table import Nodes
from paddleflow_fuse.opens import Opens
from paddleflow_fuse.operations import Absent, Caller
from paddleflow_fuse.sources.base import Source

from tests.support.granted import until

# All that is known is believed for longer than a test takes, or nothing is.
HELD = Settings(attributes_hold=3600, names_hold=3600)
ASKED = Settings(attributes_hold=0, names_hold=0)
_NUMBERS = count(2, 2)


def put(source: Source, path: bytes, data: bytes) -> None:
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.flush()
        source.store(path, file.fileno(), len(data))


async def answered(soon: Any) -> Any:
    """Of an operation, whether it answers at once or later."""
    return await soon if inspect.isawaitable(soon) else soon


class Asked:
    """
    :ivar staging: the folder of what is staged
    """

    def __init__(self, files: FileSystem, staging: Path) -> None:
        self.files, self.staging = files, staging

    async def __call__(self, name: str, *given: Any) -> Any:
        """Of an operation what it answers to a caller."""
        found = getattr(self.files, name)(Caller(0, 0, 1, next(_NUMBERS)), *given)
        return await answered(found)

    async def names(self, folder: int = ROOT) -> set[bytes]:
        found: set[bytes] = set()
        after = 0
        while page := await self("readdir", folder, 0, after, 4096, True):
            found.update(one.name for one in page)
            after = page[-1].after
        return found - {b".", b".."}

    async def is_there(self, name: bytes) -> bool:
        if known := self.files.known_entry(ROOT, name):
            return any(known[:8])
        return not isinstance(await self("lookup", ROOT, name), Absent)

    @property
    def staged(self) -> list[Path]:
        return list(self.staging.iterdir())

    async def read(self, name: bytes) -> bytes:
        node = (await self("lookup", ROOT, name)).node
        handle = (await self("open", node, 0)).number
        data = bytes(await self("read", node, handle, 0, 4096))
        await self("release", node, handle)
        return data

    async def write(self, node: int, handle: int, data: bytes, offset: int = 0) -> None:
        assert await self("write", node, handle, offset, memoryview(data), 0) == len(data)

    async def nothing_stays(self) -> None:
        """Of what was staged."""
        await trio.to_thread.run_sync(until, "nothing stays", lambda: not self.staged)


Opened = tuple[int, int]  # node and handle


class Kernel:
    """What is asked when a program calls the system, and what the kernel does by itself. It outlives who serves it.

    :ivar below: files that it was given, by their numbers
    """

    def __init__(self) -> None:
        self.ask: Asked
        self.below: dict[int, int] = {}
        self._numbers = count(1)
        self._opened: dict[int, dict[int, int]] = {}  # of each node the numbers of the files below, by handles

    def bind(self, descriptor: int) -> int:
        number = next(self._numbers)
        self.below[number] = os.dup(descriptor)
        return number

    def unbind(self, number: int) -> bool:
        descriptor = self.below.pop(number, None)
        if descriptor is not None:
            os.close(descriptor)
        return descriptor is not None

    async def node(self, path: bytes) -> int:
        node = ROOT
        for name in path.split(b"/"):
            entry = await self.ask("lookup", node, name)
            if isinstance(entry, Absent):
                raise FileNotFoundError(errno.ENOENT, "", path)
            node = entry.node
        return node

    async def place(self, path: bytes) -> tuple[int, bytes]:
        folder, _slash, name = path.rpartition(b"/")
        return await self.node(folder) if folder else ROOT, name

    async def open(self, path: bytes, flags: int) -> Opened:
        folder, name = await self.place(path)
        entry = await self.ask("lookup", folder, name)
        if isinstance(entry, Absent):
            if not flags & os.O_CREAT:
                raise FileNotFoundError(errno.ENOENT, "", path)
            entry, handle = await self.ask("create", folder, name, 0o644, flags)
        elif flags & os.O_EXCL:
            raise FileExistsError(errno.EEXIST, "", path)
        else:
            handle = await self.ask("open", entry.node, flags & ~os.O_CREAT)
        opened = self._opened.setdefault(entry.node, {})
        assert set(opened.values()) <= {handle.backing}, "it would be EIO"
        opened[handle.number] = handle.backing
        return entry.node, handle.number

    async def close(self, opened: Opened) -> None:
        try:
            await self.ask("flush", *opened)
        finally:
            del self._opened[opened[0]][opened[1]]
            await self.ask("release", *opened)

    async def write(self, opened: Opened, data: bytes, offset: int = 0) -> None:
        below = self.below.get(self._opened[opened[0]][opened[1]])
        if below is None:
            await self.ask.write(*opened, data, offset)
            return
        # Whatever it was opened for when it was given.
        descriptor = os.open(f"/proc/self/fd/{below}", os.O_WRONLY)
        try:
            assert os.pwrite(descriptor, data, offset) == len(data)
        finally:
            os.close(descriptor)

    async def read(self, opened: Opened, offset: int, size: int) -> bytes:
        below = self.below.get(self._opened[opened[0]][opened[1]])
        return bytes(await self.ask("read", *opened, offset, size)) if below is None else os.pread(below, size, offset)

    async def unlink(self, path: bytes) -> None:
        await self.ask("unlink", *await self.place(path))

    async def rename(self, old: bytes, new: bytes) -> None:
        places = await self.place(old), await self.place(new)
        for path in (old, new):
            with suppress(FileNotFoundError):
                await self.node(path)
        await self.ask("rename", *places, 0)


@asynccontextmanager
async def asked(
    region: Region, staging: Path, source: Source, settings: Settings = HELD, disk: Disk | None = None,
    kernel: Kernel | None = None,
) -> AsyncIterator[Asked]:  # fmt: skip
    """
    :param kernel: that reads and writes what it is given by itself
    """
    opens = Opens(region, kernel.unbind if kernel else lambda _number: False)
    bind = kernel.bind if kernel else None
    async with trio.open_nursery() as nursery:
        parts = Parts(Nodes(region), opens, source, Memory(1 << 20), disk, Staging(staging), bind)
        files = FileSystem(nursery, parts, settings)
        try:
            yield Asked(files, staging)
        finally:
            files.close()
            nursery.cancel_scope.cancel()
