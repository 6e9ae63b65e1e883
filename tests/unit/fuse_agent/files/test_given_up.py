# SPDX-License-Identifier: Apache-2.0
"""Cached files that are let go while others use them: nobody closes what is another's, or reads by what was closed."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import trio
from paddleflow_fuse.cache.disk import Disk
from paddleflow_fuse.cache.file import File
from paddleflow_fuse.files.read.ahead import Range
from paddleflow_fuse.nodes.records import ROOT
from paddleflow_fuse.nodes.region import Region
from paddleflow_fuse.sources.memory import MemoryStore
from paddleflow_fuse.sources.objects import ObjectSource

from tests.support.asked_files import HELD, Asked, asked, put
from tests.support.caches import content, opened

MIB = 1 << 20
WANTED = content("file", 3 * MIB)
Use = Callable[[Asked, int], Awaitable[None]]


@pytest.fixture
def using(region: Region, tmp_path: Path) -> Callable[[Use], None]:
    """Does something with a file that is open, by its node."""
    source = ObjectSource(MemoryStore(), "")
    put(source, b"file", WANTED)

    async def test(disk: Disk, use: Use) -> None:
        async with asked(region, tmp_path / "staging", source, HELD, disk) as ask:
            node = (await ask("lookup", ROOT, b"file")).node
            await ask("open", node, os.O_RDONLY)
            await use(ask, node)

    def run(use: Use) -> None:
        with opened(tmp_path / "cache") as disk:
            trio.run(test, disk, use)

    return run


def held_by(ask: Asked, node: int) -> File:
    file = ask.files._contents.of(node).file
    assert file is not None
    return file


@pytest.mark.parametrize("again", [False, True], ids=["dropped", "dropped and opened again"])
def test_what_has_come_for_one_that_was_dropped_closes_it_once(using: Callable[[Use], None], again: bool) -> None:
    async def use(ask: Asked, node: int) -> None:
        contents, one = ask.files._contents, Range(0, MIB)
        dropped, file = contents.of(node), held_by(ask, node)
        assert file.use()  # as by another request that is still being written
        brought = await trio.to_thread.run_sync(contents._load, b"file", dropped, one, False)
        contents.drop(node)
        if again:
            assert held_by(ask, node) is file
        contents._loaded(dropped, one, brought)
        assert file.users == 1 + again
        assert os.pread(file.descriptor, 100, 0) == WANTED[:100]
        file.close()

    using(use)


def test_what_is_copied_from_is_let_go_meanwhile(using: Callable[[Use], None], monkeypatch: pytest.MonkeyPatch) -> None:
    async def use(ask: Asked, node: int) -> None:
        handle = (await ask("open", node, os.O_RDONLY)).number
        for place in range(0, len(WANTED), MIB):
            await ask("read", node, handle, place, MIB)
        assert ask.files._contents.of(node).whole
        taker, other = await ask("create", ROOT, b"copy", 0o644, os.O_RDWR)
        fill = ask.files.writing.fill

        async def lets_go(*given: object) -> None:
            ask.files._contents.drop(node)
            await fill(*given)  # type: ignore[arg-type]

        monkeypatch.setattr(ask.files.writing, "fill", lets_go)
        done = await ask("copy_file_range", (handle, 0), (other.number, 0), 100)
        assert bytes(await ask("read", taker.node, other.number, 0, 100)) == WANTED[:done]
        assert done == 100

    using(use)
