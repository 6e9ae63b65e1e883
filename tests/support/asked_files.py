# SPDX-License-Identifier: Apache-2.0
"""A file system over a bucket in memory, asked as a session asks it, with no kernel. What the test does to the bucket itself is done by others."""

from __future__ import annotations

import inspect
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

import trio
from paddleflow_fuse.cache.disk import Disk
from paddleflow_fuse.cache.memory import Memory
from paddleflow_fuse.files.staging import Staging
from paddleflow_fuse.files.system import FileSystem, Parts
from paddleflow_fuse.files.view import Settings
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


class Asked:
    """
    :ivar staging: the folder of what is staged
    """

    def __init__(self, files: FileSystem, staging: Path) -> None:
        self.files, self.staging = files, staging

    async def __call__(self, name: str, *given: Any) -> Any:
        """Of an operation what it answers to a caller."""
        found = getattr(self.files, name)(Caller(0, 0, 1, next(_NUMBERS)), *given)
        return await found if inspect.isawaitable(found) else found

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


@asynccontextmanager
async def asked(
    region: Region, staging: Path, source: Source, settings: Settings = HELD, disk: Disk | None = None
) -> AsyncIterator[Asked]:
    async with trio.open_nursery() as nursery:
        parts = Parts(
            Nodes(region), Opens(region, lambda _number: False), source, Memory(1 << 20), disk, Staging(staging)
        )
        files = FileSystem(nursery, parts, settings)
        try:
            yield Asked(files, staging)
        finally:
            files.close()
            nursery.cancel_scope.cancel()
