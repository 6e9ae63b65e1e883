# SPDX-License-Identifier: Apache-2.0
"""What lies staged and what is noted of it, whoever changes it at the same moment."""

from __future__ import annotations

import errno
import inspect
import os
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import trio
from paddleflow_fuse.cache.memory import Memory
from paddleflow_fuse.files.read.ahead import Range
from paddleflow_fuse.files.system import FileSystem, Parts
from paddleflow_fuse.files.view import Settings
from paddleflow_fuse.files.written import headroom
from paddleflow_fuse.files.written import stage as module
from paddleflow_fuse.files.written.notes import Note, read_note, write_note
from paddleflow_fuse.files.written.present import Present
from paddleflow_fuse.files.written.stage import PIECE, Stage
from paddleflow_fuse.files.written.staging import Staging
from paddleflow_fuse.nodes.records import ROOT
from paddleflow_fuse.nodes.region import Region
from paddleflow_fuse.nodes.table import Nodes
from paddleflow_fuse.opens import Opens
from paddleflow_fuse.operations import Caller, Changes
from paddleflow_fuse.sources.memory import MemoryStore
from paddleflow_fuse.sources.objects import ObjectSource, Options

from tests.support.caches import opened
from tests.support.granted import until
from tests.support.source_suite import failing

PATIENCE = 30.0
WHO = Caller(0, 0, 1, 2)


async def answer(soon: Any) -> Any:
    return await soon if inspect.isawaitable(soon) else soon


def test_what_two_say_at_once_is_both_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread whose write failed, and the loop: a file that lacks a part would be stored."""
    stage = Staging(tmp_path).begin(Note(b"file"))
    writing, goes_on = threading.Event(), threading.Event()

    def write(folder: Path, number: int, note: Note) -> None:
        if threading.current_thread() is slow:
            writing.set()
            goes_on.wait(PATIENCE)
        write_note(folder, number, note)

    slow = threading.Thread(target=stage.poison, args=[OSError(errno.ENOSPC, "the disk took no more")])
    other = threading.Thread(target=lambda: stage.say(waits=True))
    monkeypatch.setattr(module, "write_note", write)
    slow.start()
    assert writing.wait(PATIENCE)
    other.start()
    other.join(0.2)  # it waits, or is done by now and overwritten by the slow one
    goes_on.set()
    for one in (slow, other):
        one.join(PATIENCE)
    for note in (stage.note, read_note(tmp_path, stage.number)):
        assert (note.poisoned, note.waits) == (errno.ENOSPC, True)
    stage.close()


def test_the_loop_does_not_wait_until_the_room_of_a_large_file_is_given_back(
    tmp_path: Path, region: Region, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[threading.Thread] = []
    close = Stage.close

    def closes(stage: Stage) -> None:
        closed.append(threading.current_thread())
        close(stage)

    async def write() -> None:
        async with trio.open_nursery() as nursery:
            source, staging = ObjectSource(MemoryStore(), ""), Staging(tmp_path)
            parts = Parts(Nodes(region), Opens(region, lambda _n: False), source, Memory(1 << 20), None, staging)
            files = FileSystem(nursery, parts, Settings())
            for ends in (files.flush, None):
                entry, handle = await answer(files.create(WHO, ROOT, b"file", 0o644, os.O_RDWR))
                await answer(files.write(WHO, entry.node, handle.number, 0, memoryview(bytes(PIECE)), 0))
                if ends:  # stored, and written again when its name is gone
                    await answer(ends(WHO, entry.node, handle.number))
                await answer(files.unlink(WHO, ROOT, b"file"))
                await answer(files.release(WHO, entry.node, handle.number))

    monkeypatch.setattr(Stage, "close", closes)
    trio.run(write)
    assert list(tmp_path.iterdir()) == []
    assert len(closed) == 2
    assert threading.main_thread() not in closed


def test_what_is_set_while_a_file_is_copied_to_be_written_is_stored_with_it(
    tmp_path: Path, region: Region, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = ObjectSource(MemoryStore(), "", Options(persist=True))
    copy = Stage.begin_as

    async def write() -> None:
        async with trio.open_nursery() as nursery:
            with opened(tmp_path / "cache") as disk:
                staging = Staging(tmp_path / "staging")
                parts = Parts(Nodes(region), Opens(region, lambda _n: False), source, Memory(1 << 20), disk, staging)
                files = FileSystem(nursery, parts, Settings(xattrs=True, conflict_fails=True))
                entry, handle = await answer(files.create(WHO, ROOT, b"file", 0o644, os.O_RDWR))
                await answer(files.setxattr(WHO, entry.node, b"user.before", b"1", 0))
                await answer(files.write(WHO, entry.node, handle.number, 0, memoryview(b"content"), 0))
                await answer(files.flush(WHO, entry.node, handle.number))
                await answer(files.release(WHO, entry.node, handle.number))
                await trio.to_thread.run_sync(until, "it is cached", lambda: not list(staging.left()))
                handle = await answer(files.open(WHO._replace(number=4), entry.node, os.O_RDONLY))
                await answer(files.release(WHO, entry.node, handle.number))

                def copied(stage: Stage, *args: Any) -> bool:
                    done = copy(stage, *args)
                    trio.from_thread.run(meanwhile)
                    return done

                async def meanwhile() -> None:
                    await answer(files.setxattr(WHO._replace(number=6), entry.node, b"user.now", b"2", 0))
                    await answer(files.rename(WHO._replace(number=8), (ROOT, b"file"), (ROOT, b"moved"), 0))

                monkeypatch.setattr(Stage, "begin_as", copied)
                handle = await answer(files.open(WHO._replace(number=10), entry.node, os.O_RDWR))
                (note,) = [read_note(staging.folder, number) for number in staging.left()]
                await answer(files.write(WHO, entry.node, handle.number, 0, memoryview(b"C"), 0))
                await answer(files.flush(WHO, entry.node, handle.number))
                await answer(files.release(WHO, entry.node, handle.number))
                assert (note.path, note.xattrs) == (b"moved", {b"user.before": b"1", b"user.now": b"2"})
                files.close()

    trio.run(write)
    assert source.xattrs(b"moved") == {b"user.before": b"1", b"user.now": b"2"}
    assert bytes(source.read(b"moved", b"", 0, 100)) == b"Content"


def test_another_worker_does_not_wait_until_what_was_written_is_cached(
    tmp_path: Path, region: Region, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To take it in is to read all of it; what is left over is stored, and nothing that the next one would store."""
    source = ObjectSource(MemoryStore(), "")
    size, reading, goes_on, steps = 16 << 20, trio.Event(), threading.Event(), list[int]()
    pread = os.pread

    def slow(descriptor: int, length: int, offset: int) -> bytes:
        steps.append(offset)
        trio.from_thread.run_sync(reading.set)
        goes_on.wait(PATIENCE)
        return pread(descriptor, length, offset)

    async def serve(work: Callable[[FileSystem], Awaitable[None]]) -> None:
        with opened(tmp_path / "cache") as disk:
            async with trio.open_nursery() as nursery:
                staging = Staging(tmp_path / "staging")
                parts = Parts(Nodes(region), Opens(region, lambda _n: False), source, Memory(1 << 20), disk, staging)
                await work(files := FileSystem(nursery, parts, Settings()))
                nursery.cancel_scope.cancel()
                goes_on.set()
            files.close()

    async def write(files: FileSystem) -> None:
        entry, handle = await answer(files.create(WHO, ROOT, b"file", 0o644, os.O_RDWR))
        await answer(files.setattr(WHO, entry.node, Changes(size=size)))
        await answer(files.flush(WHO, entry.node, handle.number))
        monkeypatch.setattr("paddleflow_fuse.cache.disk.os.pread", slow)
        await answer(files.release(WHO, entry.node, handle.number))
        await reading.wait()

    async def look(_files: FileSystem) -> None:
        def is_empty() -> bool:
            return not list((tmp_path / "staging").iterdir())

        await trio.to_thread.run_sync(until, "what was left is removed", is_empty)

    trio.run(serve, write)
    assert len(steps) == 1, "of many"
    monkeypatch.undo()
    version = source.find(b"file").version
    trio.run(serve, look)
    assert source.find(b"file").version == version


@pytest.mark.parametrize("flushed", [True, False])
def test_a_file_is_closed_and_stored_also_where_no_note_can_be_taken_of_it(
    tmp_path: Path, region: Region, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, flushed: bool
) -> None:
    """As on a full disk that copies what is written over."""
    source = ObjectSource(MemoryStore(), "")

    def fail(*_args: object) -> None:
        raise OSError(errno.EDQUOT, "Disk quota exceeded")

    async def write() -> None:
        async with trio.open_nursery() as nursery:
            opens, staging = Opens(region, lambda _n: False), Staging(tmp_path)
            files = FileSystem(nursery, Parts(Nodes(region), opens, source, Memory(1 << 20), None, staging), Settings())
            entry, handle = await answer(files.create(WHO, ROOT, b"file", 0o644, os.O_RDWR))
            await answer(files.write(WHO, entry.node, handle.number, 0, memoryview(b"content"), 0))
            monkeypatch.setattr(module, "write_note", fail)
            if flushed:
                await answer(files.flush(WHO, entry.node, handle.number))
            await answer(files.release(WHO, entry.node, handle.number))
            assert len(opens) == 0

    trio.run(write)
    assert bytes(source.read(b"file", b"", 0, 100)) == b"content"
    assert list(tmp_path.iterdir()) == []
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == [
        "what becomes of a staged file cannot be noted, so a worker after this one may not know it"
    ]


@pytest.mark.parametrize(("kind", "tells"), [(0xEF53, True), (0x9123683E, False)], ids=["ext4", "Btrfs"])
def test_whether_a_disk_is_full_is_tried_where_it_does_not_tell_of_quotas(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: int, tells: bool
) -> None:
    monkeypatch.setattr(headroom, "_type", lambda _folder: kind)
    room = headroom.Headroom(tmp_path)
    monkeypatch.setattr(room, "_free", lambda: (1 << 40, 1 << 41))
    assert room.is_roomy == tells
    monkeypatch.setattr(room, "_is_full", lambda: True)
    assert room.missed_since() > 0


def test_the_type_of_a_file_system_is_told() -> None:
    assert headroom._type(Path("/dev/shm")) == 0x01021994
    assert headroom._type(Path("/proc")) == 0x9FA0
    assert headroom._type(Path("/nowhere")) == 0


def test_where_it_cannot_be_noted_what_was_written_a_file_counts_as_torn_and_what_was_fetched_is_fetched_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a full Btrfs, where who writes to a mapping in place of that is killed."""
    staging = Staging(tmp_path / "staging", marks=tmp_path / "marks")
    stage = staging.begin(Note(b"file", base=4 * PIECE))

    def fail(*_args: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    stage.write(0, b"x" * PIECE)
    with monkeypatch.context() as patched:
        patched.setattr(Present, "_write", fail)
        stage.fill(PIECE, b"y" * PIECE)
        stage.write(5, b"noted already")
        assert not stage.poisoned
        with failing(errno.ENOSPC):
            stage.write(2 * PIECE, b"z" * PIECE)
        assert stage.poisoned == errno.ENOSPC
        with failing(errno.ENOSPC):
            stage.truncate(PIECE)
    assert [(one.offset, one.size) for one in stage.missing(Range(0, 4 * PIECE))] == []
    stage.close()
    again = staging.open(stage.number)
    assert again.poisoned == errno.ENOSPC
    assert [one.offset for one in again.missing(Range(0, 4 * PIECE))] == [PIECE, 2 * PIECE, 3 * PIECE]
    again.close()
