# SPDX-License-Identifier: Apache-2.0
"""Small files of a folder that are opened in order: the next ones are fetched in rows, each once, and where an open asks anyway, by that alone."""

from __future__ import annotations

import errno
import inspect
import os
import tempfile
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio
from paddleflow_fuse.cache.memory import Memory
from paddleflow_fuse.files.system import FileSystem, Parts
from paddleflow_fuse.files.view import Settings
from paddleflow_fuse.nodes.region import Region
from paddleflow_fuse.nodes.table import Nodes
from paddleflow_fuse.opens import Opens
from paddleflow_fuse.operations import Caller
from paddleflow_fuse.sources.base import Data, Found
from paddleflow_fuse.sources.memory import MemoryStore
from paddleflow_fuse.sources.objects import ObjectSource

WHO = Caller(0, 0, 1, 2)
NAMES = [b"%03d" % number for number in range(100)]


class Asked(ObjectSource):
    """
    :ivar read_paths: each time that some of a file was read
    :ivar found_paths: each time that a file was looked for
    :ivar fails: paths that cannot be read now
    """

    def __init__(self, size: int) -> None:
        super().__init__(MemoryStore(), "")
        self.read_paths: list[bytes] = []
        self.found_paths: list[bytes] = []
        self.fails: set[bytes] = set()
        self._read = {name: threading.Event() for name in NAMES}
        for name in NAMES:
            with tempfile.TemporaryFile() as file:
                file.write(content(name, size))
                file.flush()
                self.store(name, file.fileno(), size)

    def read(self, path: bytes, version: bytes, offset: int, size: int) -> Data:
        failing = path in self.fails
        self.read_paths.append(path)
        self._read[path].set()
        if failing:
            raise OSError(errno.EIO, "not now", path)
        return super().read(path, version, offset, size)

    async def was_read(self, path: bytes) -> None:
        await trio.to_thread.run_sync(self._read[path].wait, 30)

    def find_file(self, path: bytes) -> Found:
        self.found_paths.append(path)
        return super().find_file(path)


def content(name: bytes, size: int) -> bytes:
    return (name * size)[:size]


async def done(found: Any) -> Any:
    return await found if inspect.isawaitable(found) else found


async def read(files: FileSystem, node: int, size: int) -> bytes:
    handle = await done(files.open(WHO, node, os.O_RDONLY))
    try:
        return bytes(await done(files.read(WHO, node, handle.number, 0, size)))
    finally:
        await done(files.release(WHO, node, handle.number))


def run(region: Region, source: Asked, test: Callable[[FileSystem, list[int]], Awaitable[None]], relaxed: bool) -> None:
    async def main() -> None:
        with trio.fail_after(60):
            async with trio.open_nursery() as nursery:
                parts = Parts(Nodes(region), Opens(region, lambda _number: False), source, Memory(1 << 27))
                settings = Settings(relaxed=relaxed, attributes_hold=600, names_hold=600)
                files = FileSystem(nursery, parts, settings)
                nodes = [(await done(files.lookup(WHO, 1, name))).node for name in NAMES]
                source.found_paths.clear()
                await test(files, nodes)
                nursery.cancel_scope.cancel()

    trio.run(main)


def test_each_is_fetched_once_and_before_it_is_wanted(region: Region) -> None:
    source = Asked(4096)

    async def test(files: FileSystem, nodes: list[int]) -> None:
        for node, name in zip(nodes[:3], NAMES, strict=False):
            assert await read(files, node, 4096) == content(name, 4096)
        await source.was_read(NAMES[5])  # for which nobody asked
        for node, name in zip(nodes, NAMES, strict=True):
            assert await read(files, node, 4096) == content(name, 4096)
        assert sorted(source.read_paths) == NAMES

    run(region, source, test, relaxed=True)


def test_what_could_not_be_fetched_ahead_is_fetched_by_who_wants_it(region: Region) -> None:
    source = Asked(4096)
    source.fails.add(NAMES[5])

    async def test(files: FileSystem, nodes: list[int]) -> None:
        for node in nodes[:5]:
            await read(files, node, 4096)
        await source.was_read(NAMES[5])
        source.fails.clear()
        for node, name in zip(nodes, NAMES, strict=True):
            assert await read(files, node, 4096) == content(name, 4096)

    run(region, source, test, relaxed=True)


@pytest.mark.parametrize(("size", "ahead"), [(4096, False), (128 << 10, True)])
def test_where_each_open_asks_a_small_file_is_asked_by_being_fetched_and_by_nothing_else(
    region: Region, size: int, ahead: bool
) -> None:
    source = Asked(size)

    async def test(files: FileSystem, nodes: list[int]) -> None:
        for node, name in zip(nodes, NAMES, strict=True):
            assert await read(files, node, size) == content(name, size)
        assert sorted(source.read_paths) == NAMES
        assert bool(source.found_paths) is ahead  # what is here already is asked for by itself

    run(region, source, test, relaxed=False)
