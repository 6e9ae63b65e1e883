# SPDX-License-Identifier: Apache-2.0
"""Files that have no name any more, and are read on by who has them open: also when the worker that knew their names is gone."""

from __future__ import annotations

import errno
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import trio
from paddleflow_fuse.files.view import Settings
from paddleflow_fuse.nodes.records import ROOT
from paddleflow_fuse.nodes.region import Region
from paddleflow_fuse.opens import Opens
from paddleflow_fuse.sources.memory import MemoryStore
from paddleflow_fuse.sources.objects import ObjectSource

from tests.support.asked_files import ASKED, HELD, Asked, asked, put
from tests.support.caches import Opened, content, killed, opened
from tests.support.source_suite import failing

SMALL, LARGE = 5000, (3 << 20) + 7
Lose = Callable[[Asked, ObjectSource, int], Awaitable[object]]


async def unlinked(ask: Asked, _source: ObjectSource, folder: int) -> None:
    await ask("unlink", folder, b"file")


async def renamed_over(ask: Asked, _source: ObjectSource, folder: int) -> None:
    await ask("rename", (ROOT, b"other"), (folder, b"file"), 0)


async def replaced(ask: Asked, source: ObjectSource, folder: int) -> None:
    """By others."""
    put(source, b"folder/file", b"another")
    await ask("lookup", folder, b"file")


async def open_file(ask: Asked, size: int) -> tuple[int, int, int]:
    """Folder, node and handle, of what is in the cache."""
    folder = (await ask("lookup", ROOT, b"folder")).node
    node = (await ask("lookup", folder, b"file")).node
    handle = (await ask("open", node, os.O_RDONLY)).number
    for offset in range(0, size, 1 << 20):
        await ask("read", node, handle, offset, 1 << 20)
    return folder, node, handle


def source_with(size: int) -> ObjectSource:
    source = ObjectSource(MemoryStore(), "")
    put(source, b"folder/file", content("file", size))
    put(source, b"other", b"another")
    return source


async def read_on(ask: Asked, file: tuple[int, int], size: int) -> bytes:
    return b"".join([bytes(await ask("read", *file, offset, 1 << 20)) for offset in range(0, size, 1 << 20)])


@pytest.mark.parametrize("size", [SMALL, LARGE])
@pytest.mark.parametrize(("lose", "settings"), [(unlinked, HELD), (renamed_over, HELD), (replaced, ASKED)])
def test_the_next_worker_reads_it_on_from_the_cache(
    region: Region, tmp_path: Path, size: int, lose: Lose, settings: Settings
) -> None:
    """The one before was killed, and the store has it no more."""
    said = tmp_path / "opened"

    def work(die: Callable[[], None]) -> None:
        async def test() -> None:
            source = source_with(size)
            disk = Opened(tmp_path / "cache").disk
            disk.settled.wait()
            async with asked(region, tmp_path, source, settings, disk) as ask:
                folder, *file = await open_file(ask, size)
                await lose(ask, source, folder)
                said.write_text(f"{file[0]} {file[1]}")
                die()

        trio.run(test)

    killed(work)
    node, handle = map(int, said.read_text().split())

    async def test(work: Callable[[Asked], Awaitable[Any]]) -> None:
        with opened(tmp_path / "cache") as disk:
            async with asked(region, tmp_path, ObjectSource(MemoryStore(), ""), settings, disk) as ask:
                disk.give_way(1 << 40)  # nothing that nobody reads stays
                await work(ask)
                disk.give_way(0)  # before it is let go

    async def reads_all(ask: Asked) -> None:
        assert await read_on(ask, (node, handle), size) == content("file", size)

    async def closes(ask: Asked) -> None:
        await reads_all(ask)
        await ask("release", node, handle)

    trio.run(test, reads_all)
    trio.run(test, closes)
    assert not Opens(region, lambda _number: False).is_open(node)


def test_what_no_cache_has_is_gone_with_its_name(region: Region, tmp_path: Path) -> None:
    source = source_with(SMALL)
    file: list[int] = []

    async def before() -> None:
        async with asked(region, tmp_path, source) as ask:
            folder, *found = await open_file(ask, SMALL)
            file.extend(found)
            await unlinked(ask, source, folder)

    async def after() -> None:
        async with asked(region, tmp_path, source) as ask:
            with failing(errno.ESTALE):
                await ask("read", *file, 0, 100)

    trio.run(before)
    trio.run(after)
