# SPDX-License-Identifier: Apache-2.0
"""Names that are changed while what a dead worker left for them is not stored yet, or is not known to be."""

from __future__ import annotations

import errno
import inspect
import tempfile
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing
from paddleflow_fuse.cache.memory import Memory
from paddleflow_fuse.files.system import FileSystem, Parts
from paddleflow_fuse.files.view import Settings
from paddleflow_fuse.files.written.notes import Note
from paddleflow_fuse.files.written.staging import Staging
from paddleflow_fuse.nodes.records import ROOT, Known
from paddleflow_fuse.nodes.region import Region
from paddleflow_fuse.nodes.table import Nodes
from paddleflow_fuse.opens import Opens
from paddleflow_fuse.operations import Caller
from paddleflow_fuse.sources.base import NOTHING, Found, Kept, Source
from paddleflow_fuse.sources.memory import MemoryStore
from paddleflow_fuse.sources.objects import ObjectSource

from tests.support.granted import until
from tests.support.source_suite import failing

WHO = Caller(0, 0, 1, 2)
DATA = b"was written"


class Gated(ObjectSource):
    """Stores when it may."""

    def __init__(self) -> None:
        super().__init__(MemoryStore(), "")
        self.may = threading.Event()

    def store(self, path: bytes, descriptor: int, size: int, kept: Kept = NOTHING, over: bytes | None = None) -> Found:
        assert self.may.wait(60)
        return super().store(path, descriptor, size, kept, over)


@pytest.fixture
def source() -> Gated:
    return Gated()


def put(source: Source, path: bytes) -> None:
    with tempfile.TemporaryFile() as file:
        file.write(DATA)
        file.flush()
        ObjectSource.store(source, path, file.fileno(), len(DATA))  # type: ignore[arg-type]


def leave(staging: Path, path: bytes) -> int:
    """As a worker does that dies while it stores a new file."""
    stage = Staging(staging).begin(Note(path, waits=True))
    stage.write(0, DATA)
    stage.close()
    return stage.number


def names(source: Source) -> dict[bytes, bytes]:
    found = [told.name for page in source.list(b"") for told in page.listed]
    return {name: bytes(source.read(name, b"", 0, 100)) for name in found}


async def done(soon: Any) -> Any:
    return await soon if inspect.isawaitable(soon) else soon


def serve(region: Region, source: Gated, staging: Path, act: Callable[[FileSystem], Awaitable[None]]) -> None:
    async def run() -> None:
        with trio.fail_after(60):
            async with trio.open_nursery() as nursery:
                opens = Opens(region, lambda _number: False)
                parts = Parts(Nodes(region), opens, source, Memory(1 << 20), staging=Staging(staging))
                await act(FileSystem(nursery, parts, Settings()))
                nursery.cancel_scope.cancel()

    trio.run(run)


async def at_once(source: Gated, change: Callable[[], Any]) -> None:
    """While what was left is being stored."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lambda: done(change()))
        await trio.testing.wait_all_tasks_blocked(0.05)
        source.may.set()


def test_what_is_removed_is_not_stored_after_that(region: Region, tmp_path: Path, source: Gated) -> None:
    put(source, b"file")  # the worker died over it, and had stored it
    leave(tmp_path, b"file")

    async def act(files: FileSystem) -> None:
        await at_once(source, lambda: files.unlink(WHO, ROOT, b"file"))

    serve(region, source, tmp_path, act)
    assert names(source) == {}
    assert list(tmp_path.iterdir()) == []


def test_what_is_renamed_is_stored_where_it_is(region: Region, tmp_path: Path, source: Gated) -> None:
    put(source, b"file")
    put(source, b"other")
    leave(tmp_path, b"file")
    leave(tmp_path, b"other")

    async def act(files: FileSystem) -> None:
        await at_once(source, lambda: files.rename(WHO, (ROOT, b"file"), (ROOT, b"other"), 0))
        await trio.to_thread.run_sync(until, "all is stored", lambda: not list(tmp_path.iterdir()))

    serve(region, source, tmp_path, act)
    assert names(source) == {b"other": DATA}


def test_a_folder_for_which_something_is_left_is_not_empty(region: Region, tmp_path: Path, source: Gated) -> None:
    source.make_folder(b"folder")
    leave(tmp_path, b"folder/file")

    async def act(files: FileSystem) -> None:
        with failing(errno.ENOTEMPTY):
            await done(files.rmdir(WHO, ROOT, b"folder"))
        source.may.set()

    serve(region, source, tmp_path, act)


@pytest.mark.parametrize("change", ["unlink", "rename"])
def test_what_somebody_has_open_may_be_stored_already(
    region: Region, tmp_path: Path, source: Gated, change: str
) -> None:
    number = leave(tmp_path, b"file")
    put(source, b"file")
    source.may.set()
    node = Nodes(region).add(ROOT, b"file", Known(0o100644))
    Opens(region, lambda _number: False).open(node, 1, writes=True, stage=number)

    async def act(files: FileSystem) -> None:
        if change == "unlink":
            await done(files.unlink(WHO, ROOT, b"file"))
        else:
            await done(files.rename(WHO, (ROOT, b"file"), (ROOT, b"other"), 0))

    serve(region, source, tmp_path, act)
    assert names(source) == ({} if change == "unlink" else {b"other": DATA})
