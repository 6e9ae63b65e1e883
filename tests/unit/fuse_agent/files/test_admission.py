# SPDX-License-Identifier: Apache-2.0
"""Why nobody begins to write is looked at until it is so no more, whatever a look itself meets."""

from __future__ import annotations

import errno
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import trio
import trio.testing
from paddleflow_fuse.cache.memory import Memory
from paddleflow_fuse.files.system import FileSystem, Parts
from paddleflow_fuse.files.view import Settings
from paddleflow_fuse.files.work import Work
from paddleflow_fuse.files.written.headroom import Headroom
from paddleflow_fuse.files.written.staging import Staging
from paddleflow_fuse.nodes.region import Region
from paddleflow_fuse.nodes.table import Nodes
from paddleflow_fuse.opens import Opens
from paddleflow_fuse.operations import Caller
from paddleflow_fuse.sources.memory import MemoryStore
from paddleflow_fuse.sources.objects import ObjectSource

from tests.support.asked_files import answered
from tests.support.source_suite import failing

WHO = Caller(0, 0, 1, 2)
PATIENCE = 30
GIB = 1 << 30


class Room(Headroom):
    """Of a disk that has as much free as a test says."""

    free = 9 * GIB
    is_broken = False

    def _free(self) -> tuple[int, int]:
        if self.is_broken:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return self.free, 10 * GIB


class Mount:
    def __init__(self, nursery: trio.Nursery, region: Region, folder: Path) -> None:
        staging = Staging(folder / "staging")
        self.room, self.source = Room(staging.folder), ObjectSource(MemoryStore(), "")
        parts = Parts(
            Nodes(region), Opens(region, lambda _node: False), self.source, Memory(1 << 20), None, staging,
            headroom=self.room,
        )  # fmt: skip
        self.files = FileSystem(nursery, parts, Settings())

    @property
    def refusal(self) -> str:
        return self.files.writing.admission.refusal

    async def create(self, name: bytes) -> tuple[int, int]:
        entry, handle = await answered(self.files.create(WHO, 1, name, 0o644, os.O_RDWR))
        return entry.node, handle.number

    async def close(self, node: int, handle: int) -> None:
        await answered(self.files.flush(WHO, node, handle))
        await answered(self.files.release(WHO, node, handle))

    async def until(self, what: Callable[[], object]) -> None:
        with trio.fail_after(PATIENCE):
            while not what():  # noqa: ASYNC110 (others say nothing when they have done it)
                await trio.sleep(0.01)


Run = Callable[[Callable[[Mount], Awaitable[None]]], None]


@pytest.fixture
def run(tmp_path: Path, region: Region) -> Run:
    def run(act: Callable[[Mount], Awaitable[None]]) -> None:
        async def whole() -> None:
            async with trio.open_nursery() as nursery:
                mount = Mount(nursery, region, tmp_path)
                await act(mount)
                nursery.cancel_scope.cancel()
            mount.source.close()

        trio.run(whole)

    return run


def test_a_refusal_goes_when_there_is_room_though_nobody_writes_or_asks(run: Run) -> None:
    async def act(mount: Mount) -> None:
        mount.room.free = 0
        with failing(errno.ENOSPC):
            await mount.create(b"file")
        assert "0 MiB free" in mount.refusal
        mount.room.free = 9 * GIB
        await mount.until(lambda: not mount.refusal)

    run(act)


def test_one_that_was_seen_while_the_last_file_was_written_goes_too(run: Run) -> None:
    async def act(mount: Mount) -> None:
        one = await mount.create(b"file")
        mount.room.free = 0
        await mount.until(lambda: mount.refusal)
        await mount.close(*one)
        mount.room.free = 9 * GIB
        await mount.until(lambda: not mount.refusal)

    run(act)


def test_a_disk_that_cannot_be_looked_at_is_the_reason_until_it_can(run: Run) -> None:
    async def act(mount: Mount) -> None:
        one = await mount.create(b"file")
        mount.room.is_broken = True
        await mount.until(lambda: mount.refusal)
        assert mount.refusal == "how much room there is cannot be seen (Input/output error)"
        with failing(errno.EIO):
            await mount.create(b"other")
        mount.room.is_broken = False
        await mount.until(lambda: not mount.refusal)
        await mount.close(*one)

    run(act)


def test_what_is_asked_anew_is_begun_after_it_was_asked() -> None:
    begun: list[trio.Event] = []

    async def look() -> int:
        begun.append(trio.Event())
        number = len(begun)
        await begun[-1].wait()
        return number

    async def whole() -> list[int]:
        found: list[int] = []

        async def ask(do: Callable[..., Awaitable[int]]) -> None:
            found.append(await do("key", look))

        async with trio.open_nursery() as nursery:
            work = Work(nursery)
            for do in (work.once, work.anew):
                for _one in range(2):
                    nursery.start_soon(ask, do)
                await trio.testing.wait_all_tasks_blocked()
            for looks in (1, 2):
                await trio.testing.wait_all_tasks_blocked()
                assert len(begun) == looks
                begun[-1].set()
        return found

    assert trio.run(whole) == [1, 1, 2, 2]
