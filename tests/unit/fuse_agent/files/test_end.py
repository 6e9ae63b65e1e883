# SPDX-License-Identifier: Apache-2.0
"""A mount that ends for good, also while what was stored is about to leave the staging folder."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
import trio
from paddleflow_fuse.cache.claim import claim
from paddleflow_fuse.cache.disk import Disk
from paddleflow_fuse.cache.room import Limits
from paddleflow_fuse.nodes.records import ROOT
from paddleflow_fuse.nodes.region import Region
from paddleflow_fuse.sources.memory import MemoryStore
from paddleflow_fuse.sources.objects import ObjectSource

from tests.support.asked_files import Asked, asked

End = Callable[[Asked, int, int], Awaitable[None]]
Written = Callable[[End], list[Path]]


@pytest.fixture
def written(region: Region, tmp_path: Path) -> Iterator[Written]:
    """What is staged still when a mount has ended right after that was done with a file that was written, by its node and handle."""
    disk = Disk(claim(tmp_path / "cache", {}), Limits(1 << 20, 1000))

    async def write(end: End) -> list[Path]:
        async with asked(region, tmp_path / "staging", ObjectSource(MemoryStore(), ""), disk=disk) as ask:
            made, handle = await ask("create", ROOT, b"file", 0o644, os.O_RDWR)
            await ask.write(made.node, handle.number, b"content")
            await end(ask, made.node, handle.number)
        ask.files.close(for_good=True)
        return ask.staged

    yield lambda end: trio.run(write, end)
    disk.close()


@pytest.mark.parametrize("cut_off", ["what takes it into the cache", "its close"])
def test_what_is_stored_leaves(written: Written, cut_off: str) -> None:
    async def end(ask: Asked, node: int, handle: int) -> None:
        await ask("flush", node, handle)
        with trio.CancelScope() as scope:
            if cut_off == "its close":
                scope.cancel()
            await ask("release", node, handle)
        assert ask.staged

    assert not written(end)


def test_what_is_stored_nowhere_else_stays(written: Written) -> None:
    async def end(_ask: Asked, _node: int, _handle: int) -> None:
        pass

    assert written(end)
