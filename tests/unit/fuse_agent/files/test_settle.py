# SPDX-License-Identifier: Apache-2.0
"""When a large file counts as stored: that is told from its times, which may be those of two writes as long as they are young."""

from __future__ import annotations

import inspect
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import trio
from paddleflow_fuse.cache.memory import Memory
from paddleflow_fuse.files.system import FileSystem, Parts
from paddleflow_fuse.files.view import Settings
from paddleflow_fuse.files.written import storing
from paddleflow_fuse.files.written.stage import COMPARED, SETTLED
from paddleflow_fuse.files.written.staging import Staging
from paddleflow_fuse.nodes.region import Region
from paddleflow_fuse.nodes.table import Nodes
from paddleflow_fuse.opens import Opens
from paddleflow_fuse.operations import Caller
from paddleflow_fuse.sources.memory import MemoryStore
from paddleflow_fuse.sources.objects import ObjectSource


@pytest.mark.parametrize(("size", "age", "waits"), [
    (COMPARED + 1, SETTLED // 4, True), (COMPARED + 1, SETTLED * 2, False),
    (COMPARED, SETTLED // 4, False),  # told from its content
    (COMPARED + 1, -(10**12), False),  # a clock that was set back: the next write has another time
])  # fmt: skip
def test_a_large_file_is_stored_when_its_times_have_settled(
    tmp_path: Path, region: Region, monkeypatch: pytest.MonkeyPatch, size: int, age: int, waits: bool
) -> None:
    who = Caller(0, 0, 1, 2)

    async def done(found: Any) -> Any:
        return await found if inspect.isawaitable(found) else found

    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    async def write() -> None:
        async with trio.open_nursery() as nursery:
            source = ObjectSource(MemoryStore(), "")
            parts = Parts(
                Nodes(region),
                Opens(region, lambda _n: False),
                source,
                Memory(1 << 20),
                None,
                Staging(tmp_path / "staging"),
            )
            files = FileSystem(nursery, parts, Settings())
            entry, handle = await done(files.create(who, 1, b"file", 0o644, os.O_RDWR))
            await done(files.write(who, entry.node, handle.number, 0, memoryview(bytes(size)), 0))
            (staged,) = [one for one in (tmp_path / "staging").iterdir() if one.name.isdecimal()]
            now = staged.stat().st_mtime_ns + age
            monkeypatch.setattr("time.time_ns", lambda: now)
            monkeypatch.setattr(storing, "trio", SimpleNamespace(sleep=sleep))
            await done(files.flush(who, entry.node, handle.number))
            assert source.find(b"file").size == size
            await done(files.release(who, entry.node, handle.number))

    trio.run(write)
    assert bool(slept) == waits
