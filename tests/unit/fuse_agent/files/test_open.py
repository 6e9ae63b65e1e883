# SPDX-License-Identifier: Apache-2.0
"""Opens of what was replaced, as the kernel goes about it: it looks the name up again, but only once. And sizes that are set without one."""

from __future__ import annotations

import errno
import inspect
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
import trio
from paddleflow_fuse.cache.memory import Memory
from paddleflow_fuse.files.system import FileSystem, Parts
from paddleflow_fuse.files.view import Settings
from paddleflow_fuse.files.written.staging import Staging
from paddleflow_fuse.nodes.records import ROOT
from paddleflow_fuse.nodes.region import Region
from paddleflow_fuse.nodes.table import Nodes
from paddleflow_fuse.opens import Opens
from paddleflow_fuse.operations import Caller, Changes
from paddleflow_fuse.sources.memory import MemoryStore
from paddleflow_fuse.sources.objects import ObjectSource

from tests.support.asked_files import asked
from tests.support.granted import until
from tests.support.source_suite import failing

SIZE = 2 << 20


async def done(found: Any) -> Any:
    return await found if inspect.isawaitable(found) else found


def test_what_is_replaced_again_and_again_is_opened_all_the_same(region: Region) -> None:
    who, source = Caller(0, 0, 1, 2), ObjectSource(MemoryStore(), "")

    def replace(by: bytes) -> None:
        with tempfile.TemporaryFile() as file:
            file.write(by * SIZE)
            file.flush()
            source.store(b"file", file.fileno(), SIZE)

    async def test() -> None:
        async with trio.open_nursery() as nursery:
            parts = Parts(Nodes(region), Opens(region, lambda _number: False), source, Memory(1 << 24))
            files = FileSystem(nursery, parts, Settings(attributes_hold=0, names_hold=0))
            replace(b"1")
            first = (await done(files.lookup(who, 1, b"file"))).node
            replace(b"2")
            with pytest.raises(OSError, match="is gone") as refused:
                await done(files.open(who, first, os.O_RDONLY))
            assert refused.value.errno == errno.ESTALE
            second = (await done(files.lookup(who, 1, b"file"))).node
            assert second != first
            replace(b"3")
            handle = await done(files.open(who, second, os.O_RDONLY))
            # What it opened is gone, and nothing else is given in its place.
            with pytest.raises(OSError, match="replaced") as refused:
                await done(files.read(who, second, handle.number, 0, 4096))
            assert refused.value.errno == errno.ESTALE

    trio.run(test)


@pytest.mark.parametrize("flags", [os.O_CREAT, os.O_CREAT | os.O_EXCL])
def test_what_cannot_be_staged_has_no_name(
    region: Region, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: int
) -> None:
    begin, failures = Staging.begin, [errno.ENOSPC]

    def begins(staging: Staging, *given: Any) -> Any:
        if failures:
            raise OSError(failures.pop(), "the disk is full")
        return begin(staging, *given)

    monkeypatch.setattr(Staging, "begin", begins)

    async def test() -> None:
        async with asked(region, tmp_path, ObjectSource(MemoryStore(), "")) as ask:
            with failing(errno.ENOSPC):
                await ask("create", ROOT, b"file", 0o644, os.O_WRONLY | flags)
            assert not await ask.is_there(b"file")
            await ask("create", ROOT, b"file", 0o644, os.O_WRONLY | flags)
            assert await ask.is_there(b"file")

    trio.run(test)


def test_nothing_stays_staged_for_a_size_that_no_file_can_have(region: Region, tmp_path: Path) -> None:
    who, source = Caller(0, 0, 1, 2), ObjectSource(MemoryStore(), "")
    source.store(b"file", -1, 0)

    async def test() -> None:
        async with trio.open_nursery() as nursery:
            parts = Parts(
                Nodes(region), Opens(region, lambda _number: False), source, Memory(1 << 20), staging=Staging(tmp_path)
            )
            files = FileSystem(nursery, parts, Settings())
            node = (await done(files.lookup(who, 1, b"file"))).node
            for size in (1 << 63) - 1, 1 << 63:
                with failing(errno.EFBIG):
                    await done(files.setattr(who, node, Changes(size=size)))
            handle = (await done(files.open(who, node, os.O_WRONLY))).number
            with failing(errno.EFBIG):
                await done(files.write(who, node, handle, (1 << 63) - 1, memoryview(b"x"), 0))
            await done(files.release(who, node, handle))
            await trio.to_thread.run_sync(until, "nothing stays", lambda: not list(tmp_path.iterdir()))
            nursery.cancel_scope.cancel()  # of what watches over what is staged

    trio.run(test)
    assert source.find(b"file").size == 0
