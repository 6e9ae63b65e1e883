# SPDX-License-Identifier: Apache-2.0
"""Large files that lay in the cache when the machine died: nobody waits until all of one was compared, and nobody gets what was not."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing
from paddleflow_fuse.cache.disk import Disk
from paddleflow_fuse.cache.file import File
from paddleflow_fuse.cache.pieces import PIECE
from paddleflow_fuse.files.read import content as contents
from paddleflow_fuse.nodes.records import ROOT
from paddleflow_fuse.nodes.region import Region
from paddleflow_fuse.sources.base import Data
from paddleflow_fuse.sources.memory import MemoryStore
from paddleflow_fuse.sources.objects import ObjectSource

from tests.support.asked_files import HELD, Asked, Kernel, asked, put
from tests.support.caches import PATIENCE, content, opened
from tests.support.granted import until
from tests.support.source_suite import failing

MIB = 1 << 20
SIZE = 3 * MIB + 5
WANTED = content("file", SIZE)


class Told(ObjectSource):
    """
    :ivar reads: places and sizes
    """

    def __init__(self) -> None:
        super().__init__(MemoryStore(), "")
        self.reads: list[tuple[int, int]] = []
        put(self, b"file", WANTED)

    def read(self, path: bytes, version: bytes, offset: int, size: int) -> Data:
        self.reads.append((offset, size))
        return super().read(path, version, offset, size)


@pytest.fixture
def source() -> Told:
    return Told()


@pytest.fixture
def dead(tmp_path: Path, source: Told, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a cache that had the file when the machine died."""
    monkeypatch.setattr(contents, "_AT_FIRST", MIB)
    monkeypatch.setattr(contents, "_STEP", PIECE)
    folder, region = tmp_path / "cache", Region.create()
    (tmp_path / "staging").mkdir()

    async def test() -> None:
        with opened(folder, boot="first") as disk:
            async with asked(region, tmp_path / "staging", source, HELD, disk) as ask:
                node = (await ask("lookup", ROOT, b"file")).node
                handle = (await ask("open", node, 0)).number
                assert await read(ask, (node, handle)) == WANTED

    trio.run(test)
    region.close()
    (folder / "state").unlink()
    source.reads.clear()
    return folder


@pytest.fixture
def late(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Set it, and more than the last piece can be compared."""
    may, compare = threading.Event(), File._sum

    def waits(file: File, piece: int) -> int | None:
        assert piece == SIZE // PIECE or may.wait(PATIENCE)
        return compare(file, piece)

    monkeypatch.setattr(File, "_sum", waits)
    yield may
    may.set()


async def read(ask: Asked, file: tuple[int, int]) -> bytes:
    return b"".join([bytes(await ask("read", *file, offset, PIECE)) for offset in range(0, SIZE, PIECE)])


def damage(folder: Path, offset: int) -> None:
    (path,) = [path for path in folder.glob("objects/*/*") if path.stat().st_size == SIZE]
    path.chmod(0o644)
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(b"\0")


def test_nobody_waits_for_what_he_does_not_read(
    region: Region, tmp_path: Path, source: Told, dead: Path, late: threading.Event
) -> None:
    """Once all was compared, the kernel reads it by itself for who opens it then."""

    async def test(disk: Disk) -> None:
        async with asked(region, tmp_path / "staging", source, HELD, disk, Kernel()) as ask:
            node = (await ask("lookup", ROOT, b"file")).node
            first = await ask("open", node, 0)
            assert not first.backing
            assert await ask("read", node, first.number, SIZE - 5, 5) == WANTED[-5:]
            late.set()
            assert await read(ask, (node, first.number)) == WANTED
            await ask("release", node, first.number)
            await trio.to_thread.run_sync(until, "all to be compared", lambda: ask.files._contents.of(node).whole)
            second = await ask("open", node, 0)
            assert second.backing
            await ask("release", node, second.number)

    with opened(dead, boot="second") as disk:
        trio.run(test, disk)
    assert source.reads == []


@pytest.mark.parametrize("place", [0, PIECE + 1, SIZE - 1])
def test_what_is_damaged_is_fetched_and_never_told(
    region: Region, tmp_path: Path, source: Told, dead: Path, place: int
) -> None:
    damage(dead, place)

    async def test(disk: Disk) -> None:
        async with asked(region, tmp_path / "staging", source, HELD, disk) as ask:
            node = (await ask("lookup", ROOT, b"file")).node
            handle = (await ask("open", node, 0)).number
            assert await read(ask, (node, handle)) == WANTED
            assert await read(ask, (node, handle)) == WANTED

    with opened(dead, boot="second") as disk:
        trio.run(test, disk)
        assert disk.status()["corrupt"] == 1
    assert source.reads


def test_what_is_damaged_and_replaced_since_is_no_mix(
    region: Region, tmp_path: Path, source: Told, dead: Path, late: threading.Event
) -> None:
    damage(dead, 0)

    async def test(disk: Disk) -> None:
        async with asked(region, tmp_path / "staging", source, HELD, disk) as ask:
            node = (await ask("lookup", ROOT, b"file")).node
            handle = (await ask("open", node, 0)).number
            assert await ask("read", node, handle, SIZE - 5, 5) == WANTED[-5:]
            put(source, b"file", content("another", SIZE))
            late.set()
            with failing(errno.ESTALE):
                await ask("read", node, handle, 0, 100)

    with opened(dead, boot="second") as disk:
        trio.run(test, disk)


def test_who_opens_it_gets_what_is_there_now(region: Region, tmp_path: Path, source: Told, dead: Path) -> None:
    async def test(disk: Disk) -> None:
        async with asked(region, tmp_path / "staging", source, HELD, disk) as ask:
            node = (await ask("lookup", ROOT, b"file")).node
            put(source, b"file", content("another", SIZE))
            with failing(errno.ESTALE):  # the kernel looks it up again
                await ask("open", node, 0)
            assert (await ask("lookup", ROOT, b"file")).node != node

    with opened(dead, boot="second") as disk:
        trio.run(test, disk)


def test_who_reads_what_is_held_no_more_gets_it_all_the_same(
    region: Region, tmp_path: Path, source: Told, dead: Path, late: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The descriptor of the cached file may be another file's by then."""

    async def test(disk: Disk) -> None:
        async with asked(region, tmp_path / "staging", source, HELD, disk) as ask:
            node = (await ask("lookup", ROOT, b"file")).node
            handle = (await ask("open", node, 0)).number
            held = ask.files._contents.of(node).file
            assert held is not None
            found: list[bytes] = []
            reads_at, read_later = os.preadv, list[int]()

            def told(descriptor: int, *given: Any) -> int:
                if descriptor == held.descriptor and not held.users:
                    read_later.append(descriptor)
                return reads_at(descriptor, *given)

            monkeypatch.setattr(os, "preadv", told)

            async def reads() -> None:
                found.append(bytes(await ask("read", node, handle, 0, 100)))

            async with trio.open_nursery() as nursery:
                nursery.start_soon(reads)
                await trio.testing.wait_all_tasks_blocked()
                ask.files._contents.drop(node)
                late.set()
            assert (found, read_later) == ([WANTED[:100]], [])

    with opened(dead, boot="second") as disk:
        trio.run(test, disk)


def test_what_nobody_waits_for_takes_no_thread_of_those_who_wait(
    region: Region, tmp_path: Path, source: Told, dead: Path, late: threading.Event
) -> None:
    async def test(disk: Disk) -> None:
        async with asked(region, tmp_path / "staging", source, HELD, disk) as ask:
            node = (await ask("lookup", ROOT, b"file")).node
            await ask("open", node, 0)
            await trio.testing.wait_all_tasks_blocked()
            work = ask.files._work
            assert (work._looks.borrowed_tokens, work._threads.borrowed_tokens) == (1, 0)
            late.set()

    with opened(dead, boot="second") as disk:
        trio.run(test, disk)
