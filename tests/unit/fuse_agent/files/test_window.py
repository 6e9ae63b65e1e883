# SPDX-License-Identifier: Apache-2.0
"""A large file that is read in order: what is not begun is not looked for with each read."""

from __future__ import annotations

import inspect
import os
import tempfile
import threading
from typing import Any

import trio
from paddleflow_fuse.cache.memory import Memory
from paddleflow_fuse.files.system import FileSystem, Parts
from paddleflow_fuse.files.view import Settings
from paddleflow_fuse.nodes.region import Region
from paddleflow_fuse.nodes.table import Nodes
from paddleflow_fuse.opens import Opens
from paddleflow_fuse.operations import Caller
from paddleflow_fuse.sources.base import Data
from paddleflow_fuse.sources.memory import MemoryStore
from paddleflow_fuse.sources.objects import ObjectSource

MIB = 1 << 20
SIZE, GIVEN, AT_ONCE = 96 * MIB, 4 * MIB, 8


class Slow(ObjectSource):
    """Gives the begin of a file, and the rest when it may."""

    def __init__(self) -> None:
        super().__init__(MemoryStore(), "")
        self.may, self.waiting = threading.Event(), threading.Semaphore(0)
        with tempfile.TemporaryFile() as file:
            file.truncate(SIZE)
            self.store(b"file", file.fileno(), SIZE)

    def read(self, path: bytes, version: bytes, offset: int, size: int) -> Data:
        if offset >= GIVEN:
            self.waiting.release()
            self.may.wait(30)
        return super().read(path, version, offset, size)


class Counted(Memory):
    asked = 0

    def has(self, key: bytes, number: int) -> bool:
        self.asked += 1
        return super().has(key, number)


def test_nobody_looks_through_the_window_while_all_requests_are_on_their_way(region: Region) -> None:
    who, source, memory = Caller(0, 0, 1, 2), Slow(), Counted(256 * MIB)

    async def done(found: Any) -> Any:
        return await found if inspect.isawaitable(found) else found

    async def test() -> None:
        with trio.fail_after(60):
            async with trio.open_nursery() as nursery:
                parts = Parts(Nodes(region), Opens(region, lambda _number: False), source, memory)
                files = FileSystem(nursery, parts, Settings(relaxed=True, attributes_hold=600, block=MIB))
                node = (await done(files.lookup(who, 1, b"file"))).node
                handle = (await done(files.open(who, node, os.O_RDONLY))).number
                for offset in range(0, GIVEN, MIB):
                    assert len(await done(files.read(who, node, handle, offset, MIB))) == MIB
                waiting = 0
                while (
                    waiting < AT_ONCE
                ):  # the more in a row, the more is fetched ahead, once what brought the begin has come
                    assert len(await done(files.read(who, node, handle, GIVEN - MIB, MIB))) == MIB
                    waiting += await trio.to_thread.run_sync(source.waiting.acquire, True, 0.1)
                memory.asked = 0
                await done(files.read(who, node, handle, 3 * MIB, MIB))
                assert memory.asked <= 2
                source.may.set()
                assert len(await done(files.read(who, node, handle, GIVEN, MIB))) == MIB
                nursery.cancel_scope.cancel()

    trio.run(test)
