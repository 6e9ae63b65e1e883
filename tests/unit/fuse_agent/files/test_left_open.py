# SPDX-License-Identifier: Apache-2.0
"""Cached files stay open for who opens them again, as far as neither descriptors nor the cache's room are wanted by others."""

from __future__ import annotations

import inspect
import os
import resource
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import trio
from paddleflow_fuse.cache.disk import Disk
from paddleflow_fuse.cache.memory import Memory
from paddleflow_fuse.cache.room import Limits
from paddleflow_fuse.files.system import FileSystem, Parts
from paddleflow_fuse.files.view import Settings
from paddleflow_fuse.nodes.region import Region
from paddleflow_fuse.nodes.table import Nodes
from paddleflow_fuse.opens import Opens
from paddleflow_fuse.operations import Caller
from paddleflow_fuse.sources.memory import MemoryStore
from paddleflow_fuse.sources.objects import ObjectSource

from tests.support.caches import opened

FILES, LEAST, SIZE = 320, 256, 8192
PLENTY = Limits(bytes=1 << 30, files=1 << 20, free_share=0.0)


@pytest.fixture
def folder() -> Iterator[Path]:
    """In memory: a disk takes its time to make thousands of files."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        yield Path(name)


class Mount:
    def __init__(self, files: FileSystem) -> None:
        self._files, self._requests = files, count(2, 2)

    async def ask(self, call: Callable[..., Any], *given: Any) -> Any:
        found = call(Caller(0, 0, 1, next(self._requests)), *given)
        return await found if inspect.isawaitable(found) else found

    async def open(self, number: int) -> tuple[int, int]:
        node = (await self.ask(self._files.lookup, 1, b"%d" % number)).node
        return node, (await self.ask(self._files.open, node, os.O_RDONLY)).number

    async def read(self, numbers: range) -> None:
        for number in numbers:
            node, handle = await self.open(number)
            await self.ask(self._files.release, node, handle)


def left_open(
    region: Region, folder: Path, limits: Limits, work: Callable[[Mount, Disk], Awaitable[None]], max_age: int = 0
) -> int:
    """Cached files, after the work."""
    source = ObjectSource(MemoryStore(), "")
    with tempfile.TemporaryFile() as file:
        file.write(bytes(SIZE))
        file.flush()
        for number in range(FILES):
            source.store(b"%d" % number, file.fileno(), SIZE)

    async def test() -> int:
        with opened(folder, limits, max_age=max_age) as disk:
            async with trio.open_nursery() as nursery:
                parts = Parts(Nodes(region), Opens(region, lambda _number: False), source, Memory(1 << 20), disk)
                files = FileSystem(nursery, parts, Settings())
                await work(Mount(files), disk)
                found = int(disk.status()["open"])
                files.close()
                nursery.cancel_scope.cancel()
            return found

    return trio.run(test)


async def all_read(mount: Mount, _disk: Disk) -> None:
    await mount.read(range(FILES))


def test_what_was_read_stays_open(region: Region, folder: Path) -> None:
    assert left_open(region, folder, PLENTY, all_read) == FILES


@pytest.mark.parametrize(
    ("limits", "most"),
    [
        (PLENTY._replace(files=8 * 300), 300),
        (PLENTY._replace(bytes=8 * 300 * SIZE), 300),
        (PLENTY._replace(files=8 * 100), LEAST),
    ],
    ids=["of its files", "of its bytes", "but a few"],
)
def test_no_more_stays_open_than_an_eighth_of_the_cache(
    region: Region, folder: Path, limits: Limits, most: int
) -> None:
    assert left_open(region, folder, limits, all_read) == most


def test_others_need_descriptors_too(region: Region, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _kind: (1200, 1200))
    assert left_open(region, folder, PLENTY, all_read) == 300


def test_what_may_grow_old_does_not_stay_open(region: Region, folder: Path) -> None:
    assert left_open(region, folder, PLENTY, all_read, max_age=3600) == LEAST


def test_where_room_is_scarce_it_is_let_go(region: Region, folder: Path) -> None:
    async def work(mount: Mount, disk: Disk) -> None:
        await all_read(mount, disk)
        disk.give_way(PLENTY.bytes * 97 // 100)  # so much is written beside
        await mount.read(range(FILES))

    assert left_open(region, folder, PLENTY, work) == LEAST


def test_who_has_a_file_open_keeps_it(region: Region, folder: Path) -> None:
    async def work(mount: Mount, _disk: Disk) -> None:
        for number in range(LEAST + 20):
            await mount.open(number)
        await mount.read(range(LEAST + 20, FILES))

    # Beside those there are a few that nobody has looked at again yet.
    assert 0 <= left_open(region, folder, PLENTY._replace(files=1000), work) - (LEAST + 20) < 40
