# SPDX-License-Identifier: Apache-2.0
"""What the source is asked for, by how files are read and by how many want the same of it."""

from __future__ import annotations

import errno
import inspect
import os
import tempfile
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing
from paddleflow_fuse.cache.memory import Memory
from paddleflow_fuse.files.system import FileSystem, Parts
from paddleflow_fuse.files.view import Settings
from paddleflow_fuse.metrics import Metrics
from paddleflow_fuse.nodes.region import Region
from paddleflow_fuse.nodes.table import Nodes
from paddleflow_fuse.opens import Opens
from paddleflow_fuse.operations import Caller
from paddleflow_fuse.sources.base import Data, Found, Page
from paddleflow_fuse.sources.memory import MemoryStore
from paddleflow_fuse.sources.objects import ObjectSource

from tests.support.caches import opened

MIB = 1 << 20
SIZES = {"small": 5000, "large": 64 * MIB}
READERS = 5


class Asked(ObjectSource):
    """Says what it was asked, and answers nobody as long as it is shut."""

    def __init__(self) -> None:
        store = MemoryStore()
        super().__init__(store, "")
        with tempfile.TemporaryFile() as file:
            file.truncate(max(SIZES.values()))
            for name, size in SIZES.items():
                store.put(name, file.fileno(), size, {})
        self.reads: list[tuple[int, int]] = []
        self.others: list[str] = []
        self.gate = threading.Event()
        self.gate.set()
        self.is_away = False

    def read(self, path: bytes, version: bytes, offset: int, size: int) -> Data:
        self.reads.append((offset, size))
        is_away = self.is_away
        if offset or not is_away:
            self.gate.wait(60)
        if is_away:
            raise OSError(errno.EIO, "the source is away", path)
        return super().read(path, version, offset, size)

    def find(self, path: bytes) -> Found:
        self.others.append("find")
        self.gate.wait(60)
        return super().find(path)

    def list(self, path: bytes) -> Iterator[Page]:
        self.others.append("list")
        self.gate.wait(60)
        yield from super().list(path)


class Mount:
    """What a session asks, and nobody in between."""

    def __init__(self, nursery: trio.Nursery, files: FileSystem, parts: Parts, source: Asked) -> None:
        self._nursery, self._files, self.source, self.metrics = nursery, files, source, parts.metrics
        self._requests = count(2, 2)

    @property
    def _who(self) -> Caller:
        return Caller(0, 0, 1, next(self._requests))

    async def node(self, name: str) -> int:
        found: int = (await _done(self._files.lookup(self._who, 1, name.encode()))).node
        return found

    async def open(self, node: int) -> int:
        handle: int = (await _done(self._files.open(self._who, node, os.O_RDONLY))).number
        return handle

    async def read(self, node: int, handle: int, offset: int, size: int) -> None:
        assert bytes(await _done(self.ask(node, handle, offset, size))) == bytes(size)

    def ask(self, node: int, handle: int, offset: int, size: int) -> Any:
        return self._files.read(self._who, node, handle, offset, size)

    async def fetched(self) -> None:
        """Nothing is on its way any more."""
        while self._nursery.child_tasks:
            await trio.testing.wait_all_tasks_blocked(0.001)

    async def list(self) -> None:
        after = 0
        while page := await _done(self._files.readdir(self._who, 1, 0, after, 4096, True)):
            after = page[-1].after

    async def all_at_once(self, ask: Callable[[], Awaitable[object]]) -> None:
        """Each asks while the source has answered none of them."""

        async def one() -> None:
            await ask()

        self.source.reads.clear()
        self.source.others.clear()
        self.source.gate.clear()
        async with trio.open_nursery() as nursery:
            for _reader in range(READERS):
                nursery.start_soon(one)
            try:
                await trio.testing.wait_all_tasks_blocked()
            finally:
                self.source.gate.set()


async def _done(found: Any) -> Any:
    return await found if inspect.isawaitable(found) else found


Mounted = Callable[[Callable[[Mount], Awaitable[None]]], None]


@pytest.fixture(params=["disk", "memory"])
def mounted(request: pytest.FixtureRequest, region: Region, tmp_path: Path) -> Iterator[Mounted]:
    with ExitStack() as stack:
        disk = stack.enter_context(opened(tmp_path / "cache")) if request.param == "disk" else None

        def run(act: Callable[[Mount], Awaitable[None]]) -> None:
            async def serve() -> None:
                async with trio.open_nursery() as nursery:
                    source = Asked()
                    parts = Parts(Nodes(region), Opens(region, lambda _number: False), source, Memory(1 << 27), disk)
                    parts = parts._replace(metrics=Metrics())
                    files = FileSystem(nursery, parts, Settings())
                    await act(Mount(nursery, files, parts, source))
                    files.close()

            trio.run(serve)

        yield run


def test_for_who_jumps_no_more_is_fetched_than_he_asks_for(mounted: Mounted) -> None:
    """D-39. What is asked for is rounded up to pieces, of 1 MiB at most."""

    async def act(mount: Mount) -> None:
        node = await mount.node("large")
        handle = await mount.open(node)
        for number, place in enumerate((50, 10, 30, 5, 60, 20, 40)):
            if number == 3:
                mount.source.reads.clear()
            await mount.read(node, handle, place * MIB, 4096)
            await mount.fetched()
        assert len(mount.source.reads) == 4
        assert all(size <= MIB for _offset, size in mount.source.reads), mount.source.reads
        # Another who reads in order is read ahead for.
        other = await mount.open(node)
        mount.source.reads.clear()
        await mount.read(node, other, 0, 4096)
        await mount.fetched()
        assert sum(size for _offset, size in mount.source.reads) > MIB

    mounted(act)


def test_what_was_fetched_ahead_counts_as_used_also_for_who_asked_at_that_moment(mounted: Mounted) -> None:
    """As the kernel does, which reads ahead by several requests at once."""

    async def act(mount: Mount) -> None:
        node = await mount.node("large")
        handle = await mount.open(node)
        for offset in range(0, SIZES["large"], MIB):
            for one in [mount.ask(node, handle, offset + part, MIB // 8) for part in range(0, MIB, MIB // 8)]:
                await _done(one)
        fetched = mount.metrics.total("prefetch_bytes_total")
        assert 0 < fetched == mount.metrics.total("prefetch_used_bytes_total")

    mounted(act)


def test_what_fails_before_anybody_wants_it_is_asked_for_again(mounted: Mounted) -> None:
    """It was begun while the source was away, and ends when that is well again."""

    async def act(mount: Mount) -> None:
        node = await mount.node("large")
        handle, source = await mount.open(node), mount.source
        await mount.read(node, handle, 0, 4096)
        await mount.fetched()
        source.is_away = True
        source.gate.clear()
        source.reads.clear()
        try:
            await mount.read(node, handle, 4096, MIB // 2)  # which is there, and has what follows fetched
            await trio.testing.wait_all_tasks_blocked(0.05)
            ahead = source.reads[0][0]
            source.is_away = False
            async with trio.open_nursery() as nursery:
                nursery.start_soon(mount.read, node, handle, ahead, 4096)
                await trio.testing.wait_all_tasks_blocked()
                source.gate.set()
        finally:
            source.gate.set()

    mounted(act)


def test_who_open_a_small_file_at_the_same_time_fetch_it_once(mounted: Mounted) -> None:
    async def act(mount: Mount) -> None:
        node = await mount.node("small")

        async def read() -> None:
            await mount.read(node, await mount.open(node), 0, SIZES["small"])

        await mount.all_at_once(read)
        assert mount.source.reads == [(0, SIZES["small"])]

    mounted(act)


def test_who_read_a_block_at_the_same_time_fetch_it_once(mounted: Mounted) -> None:
    async def act(mount: Mount) -> None:
        node = await mount.node("large")
        handles = iter([await mount.open(node) for _reader in range(READERS)])
        await mount.all_at_once(lambda: mount.read(node, next(handles), 0, 4096))
        fetched = [offset for offset, _size in mount.source.reads]
        assert 0 in fetched
        assert sorted(fetched) == sorted(set(fetched))

    mounted(act)


@pytest.mark.parametrize(
    ("ask", "question"), [(lambda one: one.node("small"), "find"), (Mount.list, "list")], ids=["find", "list"]
)
def test_who_want_to_know_the_same_at_the_same_time_ask_once(
    mounted: Mounted, ask: Callable[[Mount], Awaitable[object]], question: str
) -> None:
    async def act(mount: Mount) -> None:
        await mount.all_at_once(lambda: ask(mount))
        assert mount.source.others == [question]

    mounted(act)
