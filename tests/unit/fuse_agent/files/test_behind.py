# SPDX-License-Identifier: Apache-2.0
"""Which files are sent while they are written, until when, and that they are in nobody's way."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Awaitable, Callable, Mapping
from itertools import count
from pathlib import Path

import pytest
import trio
from paddleflow_fuse.cache.memory import Memory
from paddleflow_fuse.files.system import FileSystem, Parts
from paddleflow_fuse.files.view import Settings
from paddleflow_fuse.files.written.staging import Staging
from paddleflow_fuse.metrics import Metrics
from paddleflow_fuse.nodes.region import Region
from paddleflow_fuse.nodes.table import Nodes
from paddleflow_fuse.opens import Opens
from paddleflow_fuse.operations import Caller, Changes
from paddleflow_fuse.sources.memory import MemoryStore
from paddleflow_fuse.sources.objects import Object, ObjectSource

from tests.support.asked_files import answered

PART = 16 << 10
PATIENCE = 30


class Store(MemoryStore):
    """Takes parts of a file when twice as much is there."""

    behind = 2 * PART

    def __init__(self) -> None:
        super().__init__()
        self.sent: dict[str, int] = {}
        self.dropped: list[str] = []
        self.put_now = threading.Event()
        self.put_now.set()
        self.putting = self.fails = False
        self._sending = threading.Lock()

    def send_behind(self, key: str, descriptor: int) -> int:
        if self.fails:
            raise OSError(errno.EIO, "the store is away")
        with self._sending:
            place = self.sent.get(key, 0)
            if os.fstat(descriptor).st_size < place + 2 * PART:
                return 0
            self.sent[key] = place + PART
        return PART

    def drop_behind(self, key: str) -> None:
        self.sent.pop(key, None)
        self.dropped.append(key)

    def put(
        self, key: str, descriptor: int, size: int, metadata: Mapping[str, str], over: bytes | None = None
    ) -> Object:
        self.putting = True
        self.put_now.wait(PATIENCE)
        self.putting = False
        return super().put(key, descriptor, size, metadata, over)


class Mount:
    """
    :ivar store: of its source
    """

    def __init__(self, nursery: trio.Nursery, region: Region, folder: Path) -> None:
        self.store, self.metrics = Store(), Metrics()
        self.source = ObjectSource(self.store, "")
        parts = Parts(
            Nodes(region), Opens(region, lambda _node: False), self.source, Memory(1 << 20), None,
            Staging(folder / "staging"), metrics=self.metrics,
        )  # fmt: skip
        self.files, self._numbers = FileSystem(nursery, parts, Settings()), count(2, 2)

    @property
    def who(self) -> Caller:
        return Caller(0, 0, 1, next(self._numbers))

    async def create(self, name: bytes = b"file") -> Written:
        entry, handle = await answered(self.files.create(self.who, 1, name, 0o644, os.O_RDWR))
        return Written(self, entry.node, handle.number)

    async def until(self, what: Callable[[], object]) -> None:
        with trio.fail_after(PATIENCE):
            while not what():  # noqa: ASYNC110 (others say nothing when they have done it)
                await trio.sleep(0.01)

    async def looked(self, times: int = 3) -> None:
        """What is staged was looked at so often."""
        seen: list[None] = []
        behind = self.files.writing.admission._behind
        look = behind.look

        def counted() -> None:
            seen.append(None)
            look()

        behind.look = counted  # type: ignore[method-assign]
        await self.until(lambda: len(seen) >= times)
        behind.look = look  # type: ignore[method-assign]


class Written:
    def __init__(self, mount: Mount, node: int, handle: int) -> None:
        self._mount, self.node, self._handle = mount, node, handle
        self._files = mount.files

    async def write(self, size: int, offset: int = 0) -> None:
        await answered(self._files.write(self._mount.who, self.node, self._handle, offset, memoryview(bytes(size)), 0))

    async def sync(self) -> None:
        await answered(self._files.fsync(self._mount.who, self.node, self._handle, False))

    async def close(self) -> None:
        await answered(self._files.flush(self._mount.who, self.node, self._handle))
        await answered(self._files.release(self._mount.who, self.node, self._handle))


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


def test_a_file_is_sent_while_it_grows_and_anew_when_it_grows_after_it_was_stored(run: Run) -> None:
    async def act(mount: Mount) -> None:
        one = await mount.create()
        await one.write(4 * PART)
        await mount.until(lambda: mount.store.sent == {"file": 3 * PART})
        await one.write(2 * PART, 4 * PART)
        await mount.until(lambda: mount.store.sent == {"file": 5 * PART})
        await mount.until(lambda: mount.metrics.value("behind_bytes_total") == 5 * PART)
        await one.sync()
        await mount.until(lambda: mount.store.dropped == ["file"])
        await one.write(2 * PART - 1, 6 * PART)
        await mount.looked()
        assert mount.store.sent == {}
        await one.write(PART, 8 * PART)
        await mount.until(lambda: mount.store.sent == {"file": 8 * PART})
        await one.close()
        assert mount.source.find(b"file").size == 9 * PART

    run(act)


Happen = Callable[[Mount, Written], Awaitable[None]]


async def grows_little(_mount: Mount, one: Written) -> None:
    await one.write(2 * PART - 1)


async def is_changed_after_it_was_stored(mount: Mount, one: Written) -> None:
    await one.write(4 * PART)
    await one.sync()
    await mount.until(lambda: mount.store.sent == {})
    await one.write(4 * PART, PART)


@pytest.mark.parametrize("happen", [grows_little, is_changed_after_it_was_stored])
def test_what_has_little_that_is_new_is_left_alone(run: Run, happen: Happen) -> None:
    async def act(mount: Mount) -> None:
        one = await mount.create()
        await happen(mount, one)
        await mount.looked()
        assert mount.store.sent == {}
        await one.close()

    run(act)


async def is_removed(mount: Mount, one: Written) -> None:
    await answered(mount.files.unlink(mount.who, 1, b"file"))
    await one.write(9 * PART)


async def is_cut_off(mount: Mount, one: Written) -> None:
    await answered(mount.files.setattr(mount.who, one.node, Changes(size=1)))


@pytest.mark.parametrize("happen", [is_removed, is_cut_off])
def test_what_was_sent_of_what_is_not_stored_so_is_dropped(run: Run, happen: Happen) -> None:
    async def act(mount: Mount) -> None:
        one = await mount.create()
        await one.write(4 * PART)
        await mount.until(lambda: mount.store.sent)
        await happen(mount, one)
        await mount.until(lambda: mount.store.dropped == ["file"])
        await mount.looked()
        assert mount.store.sent == {}
        await one.close()

    run(act)


def test_a_file_that_is_renamed_is_sent_anew(run: Run) -> None:
    async def act(mount: Mount) -> None:
        one = await mount.create()
        await one.write(4 * PART)
        await mount.until(lambda: mount.store.sent)
        await answered(mount.files.rename(mount.who, (1, b"file"), (1, b"other"), 0))
        await mount.until(lambda: mount.store.sent.get("other") == 3 * PART)
        assert "file" not in mount.store.sent
        await one.close()
        await mount.until(lambda: mount.store.dropped[-1] == "other")

    run(act)


def test_nothing_is_begun_while_somebody_waits_for_what_he_stores(run: Run) -> None:
    async def act(mount: Mount) -> None:
        large, small = await mount.create(), await mount.create(b"small")
        await small.write(5)
        mount.store.put_now.clear()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(small.close)
            await mount.until(lambda: mount.store.putting)
            await large.write(4 * PART)
            await mount.looked()
            assert mount.store.sent == {}
            mount.store.put_now.set()
        await mount.until(lambda: mount.store.sent)
        await large.close()

    run(act)


def test_a_store_that_does_not_take_parts_now_fails_nobody_and_is_tried_again(run: Run) -> None:
    async def act(mount: Mount) -> None:
        one = await mount.create()
        mount.store.fails = True
        await one.write(4 * PART)
        await mount.looked()
        mount.store.fails = False
        await mount.until(lambda: mount.store.sent == {"file": 3 * PART})
        mount.store.fails = True
        await one.write(9 * PART)
        await one.close()
        assert mount.source.find(b"file").size == 9 * PART

    run(act)
