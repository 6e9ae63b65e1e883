# SPDX-License-Identifier: Apache-2.0
"""Large files, by what the source is asked for and what a reader gets, on a disk, in memory, and where the disk takes no more."""

from __future__ import annotations

import inspect
import os
import random
import tempfile
from collections.abc import Awaitable, Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing
from paddleflow_fuse.cache.disk import Disk
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

from tests.support.caches import opened

MIB, PIECE = 1 << 20, 1 << 17
SIZE = 48 * MIB + 1000
BYTES = random.Random(1).randbytes(SIZE)


class Asked(ObjectSource):
    def __init__(self) -> None:
        super().__init__(MemoryStore(), "")
        self.reads: list[tuple[int, int]] = []
        with tempfile.TemporaryFile() as file:
            file.write(BYTES)
            file.flush()
            self.store(b"file", file.fileno(), SIZE)

    def read(self, path: bytes, version: bytes, offset: int, size: int) -> Data:
        self.reads.append((offset, size))
        return super().read(path, version, offset, size)


class Mount:
    """A file system with one file, which is open."""

    def __init__(self, nursery: trio.Nursery, files: FileSystem) -> None:
        self._nursery, self._files, self._numbers = nursery, files, count(2, 2)
        self._node = self._handle = 0

    async def begin(self) -> None:
        self._node = (await _done(self._files.lookup(self._who, 1, b"file"))).node
        self._handle = (await _done(self._files.open(self._who, self._node, os.O_RDONLY))).number

    @property
    def _who(self) -> Caller:
        return Caller(0, 0, 1, next(self._numbers))

    async def reads(self, offset: int, size: int) -> None:
        """What is there."""
        found = bytes(await _done(self._files.read(self._who, self._node, self._handle, offset, size)))
        assert found == BYTES[offset : offset + size], offset

    async def fetched(self) -> None:
        """Nothing is on its way any more."""
        while self._nursery.child_tasks:
            await trio.testing.wait_all_tasks_blocked(0.001)


async def _done(found: Any) -> Any:
    return await found if inspect.isawaitable(found) else found


def run(
    region: Region, act: Callable[[Mount], Awaitable[None]], *, disk: Disk | None = None, memory: int = 1 << 28,
    ahead: int = 16 * MIB,
) -> tuple[Asked, Memory]:  # fmt: skip
    source, kept = Asked(), Memory(memory)

    async def serve() -> None:
        with trio.fail_after(120):
            async with trio.open_nursery() as nursery:
                parts = Parts(Nodes(region), Opens(region, lambda _number: False), source, kept, disk)
                files = FileSystem(nursery, parts, Settings(read_ahead=ahead, block=20 * MIB))
                mount = Mount(nursery, files)
                await mount.begin()
                await act(mount)
                files.close()
                nursery.cancel_scope.cancel()

    trio.run(serve)
    return source, kept


async def in_order(mount: Mount) -> None:
    for offset in range(0, SIZE, MIB):
        await mount.reads(offset, MIB)
        await mount.fetched()  # so that there is always room for one more


@pytest.mark.parametrize("tier", ["disk", "memory"])
def test_who_reads_in_order_costs_few_large_requests(region: Region, tmp_path: Path, tier: str) -> None:
    if tier == "disk":
        with opened(tmp_path / "cache") as disk:
            source, _memory = run(region, in_order, disk=disk)
    else:
        source, _memory = run(region, in_order)
    assert sum(size for _offset, size in source.reads) == SIZE
    assert max(size for _offset, size in source.reads) <= 8 * MIB  # what is on its way lies in memory
    # When as much is fetched ahead as may be, a quarter of that is asked for at once, and not what one read more makes room for.
    late = [(offset / MIB, size / MIB) for offset, size in sorted(source.reads)]
    assert all(size == 4 for offset, size in late if 24 <= offset < 44), late


def test_after_the_machine_died_an_open_compares_what_is_there_and_fetches_nothing(
    region: Region, tmp_path: Path
) -> None:
    async def begin(mount: Mount) -> None:
        await mount.reads(0, MIB)
        await mount.fetched()

    async def again(mount: Mount) -> None:
        await mount.reads(0, MIB)

    with opened(tmp_path / "cache", boot="first") as disk:
        before, _memory = run(region, begin, disk=disk, ahead=0)
    (tmp_path / "cache/state").unlink()  # as it is of a machine that died before it was brought to the disk
    other = Region.create()
    with opened(tmp_path / "cache", boot="second") as disk:
        after, _memory = run(other, again, disk=disk, ahead=0)
    other.close()
    assert sum(size for _offset, size in before.reads) < SIZE / 2
    assert after.reads == []


def test_of_what_was_read_in_order_memory_keeps_a_share(region: Region) -> None:
    _source, memory = run(region, in_order, memory=64 * MIB)
    assert memory.used < 16 * MIB


def test_with_little_memory_it_is_right_all_the_same(region: Region) -> None:
    run(region, in_order, memory=10 * MIB)


def test_what_a_full_disk_refuses_is_never_mistaken_for_another_place(region: Region, tmp_path: Path) -> None:
    """What the disk lacks begins at any piece, and a block of memory does not."""

    async def act(mount: Mount) -> None:
        for place in (20, 4, 12, 8, 16):
            await mount.reads(place * MIB, 4096)
        for piece in (0, 11):
            await mount.reads(piece * PIECE, 4096)
        await mount.fetched()
        disk.give_way(1 << 40)
        await mount.reads(PIECE, 4096)  # is refused
        for offset in range(0, 4 * MIB, PIECE):
            await mount.reads(offset, PIECE)

    with opened(tmp_path / "cache") as disk:
        run(region, act, disk=disk)
        assert disk.status()["refused"]
