# SPDX-License-Identifier: Apache-2.0
"""What a file system takes over from the process that served the mount before it."""

from __future__ import annotations

import errno
import logging
import os
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
import trio
from paddleflow_fuse.cache.memory import Memory
from paddleflow_fuse.files import view
from paddleflow_fuse.files.system import FileSystem, Parts
from paddleflow_fuse.files.view import Settings
from paddleflow_fuse.files.written.marks import Marks
from paddleflow_fuse.files.written.notes import Note
from paddleflow_fuse.files.written.stage import Stage
from paddleflow_fuse.files.written.staging import Staging
from paddleflow_fuse.nodes.records import ROOT, Known
from paddleflow_fuse.nodes.region import Region
from paddleflow_fuse.nodes.table import Nodes
from paddleflow_fuse.opens import Opens
from paddleflow_fuse.sources.base import NOTHING, Found, Kept, Kind
from paddleflow_fuse.sources.memory import MemoryStore
from paddleflow_fuse.sources.objects import ObjectSource

from tests.support.asked_files import HELD, asked
from tests.support.granted import until


def test_a_file_below_that_nobody_has_open_is_given_back(region: Region) -> None:
    """It would keep the space of what was evicted for as long as the mount lives."""
    bound = {1, 2}

    def unbind(number: int) -> bool:
        there = number in bound
        bound.discard(number)
        return there

    before, nodes = Opens(region, unbind), Nodes(region)
    before.open(nodes.add(ROOT, b"file", Known(0o100644)), 1, bind=lambda: 1)
    # It was killed before it could say to whom it gave the other one.

    async def take_over() -> None:
        async with trio.open_nursery() as nursery:
            source = ObjectSource(MemoryStore(), "")
            parts = Parts(Nodes(region), Opens(region, unbind), source, Memory(1 << 20), bind=lambda _file: 0)
            FileSystem(nursery, parts, Settings())

    trio.run(take_over)
    assert bound == {1}


@pytest.fixture
def source() -> ObjectSource:
    return ObjectSource(MemoryStore(), "")


def put(source: ObjectSource, path: bytes, data: bytes) -> bytes:
    """Its version."""
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.flush()
        return source.store(path, file.fileno(), len(data)).version


def begin_anew(
    region: Region, source: ObjectSource, staging: Path, open_: int = 0, marks: Path | None = None
) -> list[str]:
    """What waits for a person, when all else is stored.

    :param open_: how many stay, since somebody has them open
    """

    def is_stored() -> bool:
        return len({one.stem for one in staging.iterdir()}) <= open_

    async def begin() -> list[str]:
        async with trio.open_nursery() as nursery:
            opens = Opens(region, lambda _number: False)
            parts = Parts(Nodes(region), opens, source, Memory(1 << 20), staging=Staging(staging, marks=marks))
            files = FileSystem(nursery, parts, Settings())
            await trio.to_thread.run_sync(until, "all else is stored", is_stored)
            nursery.cancel_scope.cancel()
        return [one["path"] for one in files.status()["conflicts"]]

    return trio.run(begin)


def content(source: ObjectSource, path: bytes) -> bytes:
    return bytes(source.read(path, b"", 0, 100))


def test_a_copy_that_was_not_finished_is_nothing_that_was_written(
    region: Region, tmp_path: Path, source: ObjectSource
) -> None:
    version = put(source, b"file", b"all of it")
    stage = Staging(tmp_path).begin(Note(b"file", version, unfinished=True))
    os.write(stage.descriptor, b"all")
    stage.close()
    assert begin_anew(region, source, tmp_path) == []
    assert content(source, b"file") == b"all of it"
    assert list(tmp_path.iterdir()) == []


def test_what_was_stored_is_not_stored_again_over_a_newer_one(
    region: Region, tmp_path: Path, source: ObjectSource
) -> None:
    version = put(source, b"file", b"ours")
    stage = Staging(tmp_path).begin(Note(b"file"))
    stage.write(0, b"ours")
    stage.say(before=version, stored=stage.settle())
    stage.close()
    put(source, b"file", b"theirs, and newer")
    assert begin_anew(region, source, tmp_path) == []
    assert content(source, b"file") == b"theirs, and newer"
    assert list(tmp_path.iterdir()) == []


def test_what_was_written_after_the_last_close_is_stored_by_another_worker(
    region: Region, tmp_path: Path, source: ObjectSource
) -> None:
    """By a mapping: the worker was told that all have closed it, and killed before it stored that."""
    staging, nodes = Staging(tmp_path), Nodes(region)
    version = put(source, b"file", b"before")
    stage = staging.begin(Note(b"file", version))
    stage.write(0, b"before")
    stage.say(stored=stage.settle())
    stage.write(0, b"after")
    stage.close()
    never = staging.begin(Note(b"never opened"))
    other = staging.begin(Note(b"open"))
    Opens(region, lambda _number: False).open(
        nodes.add(ROOT, b"open", Known(0o100644)), 1, writes=True, stage=other.number
    )
    for one in (never, other):
        one.close()
    assert begin_anew(region, source, tmp_path, open_=1) == []
    assert content(source, b"file") == b"aftere"
    assert [told.name for page in source.list(b"") for told in page.listed] == [b"file"]
    assert {one.stem for one in tmp_path.iterdir()} == {str(other.number)}


@pytest.mark.parametrize("before", ["old", ""])
@pytest.mark.parametrize("endures", [True, False])
def test_what_a_machine_that_died_may_have_torn_replaces_nothing_unasked(
    region: Region, tmp_path: Path, source: ObjectSource, before: str, endures: bool
) -> None:
    version = put(source, b"file", before.encode()) if before else b""
    stage = Staging(tmp_path, boot="before").begin(Note(b"file", version))
    stage.write(0, b"new")
    if endures:
        stage.say(boot="")
    stage.close()
    stays = bool(before) and not endures
    assert begin_anew(region, source, tmp_path, open_=stays) == ["file"] * stays
    assert content(source, b"file") == (b"old" if stays else b"new")
    stage = Staging(tmp_path).begin(Note(b"file", source.find(b"file").version))
    stage.write(0, b"newer")
    stage.close()
    begin_anew(region, source, tmp_path, open_=stays)
    assert content(source, b"file") == b"newer", "the agent alone died"


def test_what_tells_of_a_file_that_is_not_there_is_removed(tmp_path: Path) -> None:
    staging = Staging(tmp_path)
    staging.begin(Note(b"file")).close()
    (tmp_path / "7.json").touch()
    (tmp_path / "8.map").touch()
    (tmp_path / "9.plan").touch()
    Staging(tmp_path)
    assert {one.name for one in tmp_path.iterdir()} == {"1", "1.json", "9.plan"}


def test_an_empty_file_that_was_closed_is_stored_by_another_worker(
    region: Region, tmp_path: Path, source: ObjectSource
) -> None:
    stage = Staging(tmp_path).begin(Note(b"empty", waits=True))
    assert not stage.is_needless(asked_again=True)
    stage.close()
    assert begin_anew(region, source, tmp_path) == []
    assert source.find(b"empty").size == 0


def test_what_a_full_disk_cut_off_is_not_stored_after_a_crash(
    region: Region, tmp_path: Path, source: ObjectSource, caplog: pytest.LogCaptureFixture
) -> None:
    before = Staging(tmp_path)
    version = put(source, b"file", b"old")
    for path, over in ((b"file", version), (b"new", b"")):
        stage = before.begin(Note(path, over))
        stage.write(0, b"lacks a part")
        stage.poison(OSError(errno.ENOSPC, "the disk took no more"))
        stage.close()

    begin_anew(region, source, tmp_path)
    assert [told.name for page in source.list(b"") for told in page.listed] == [b"file"]
    assert bytes(source.read(b"file", version, 0, 100)) == b"old"
    assert list(tmp_path.iterdir()) == []
    said = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    assert [line.partition(" path=")[2] for line in said] == ["b'file'; write it again", "b'new'; write it again"]


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("code", [errno.EROFS, errno.ENOSPC, errno.EIO])
def test_what_no_note_could_be_taken_of_is_not_stored_after_a_crash(
    region: Region, tmp_path: Path, source: ObjectSource, monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture, code: int, kept: bool,
) -> None:  # fmt: skip
    """A disk that takes nothing more; ``kept`` where there is another."""

    def fail(*_args: object) -> None:
        raise OSError(code, os.strerror(code))

    marks = tmp_path / "run/lacking" if kept else None
    staging = Staging(tmp_path / "staging", marks=marks)
    version = put(source, b"file", b"old")
    stage = staging.begin(Note(b"file", version))
    stage.write(0, b"lacks a part")
    with monkeypatch.context() as patched:
        patched.setattr("paddleflow_fuse.files.written.stage.write_note", fail)
        stage.poison(OSError(errno.ENOSPC, "the disk took no more"))
    assert stage.poisoned == errno.ENOSPC, "for as long as this one lives"
    stage.close()
    (line,) = [record.getMessage() for record in caplog.records]
    assert f"path=b'file' file={stage.path}" in line
    assert ("not stored as long as this machine runs" if kept else "would be by the next one") in line
    again = Staging(tmp_path / "staging", marks=marks).open(stage.number)
    assert again.poisoned == (errno.ENOSPC if kept else 0)
    again.close()
    if marks is None:
        return
    begin_anew(region, source, tmp_path / "staging", marks=marks)
    assert content(source, b"file") == b"old"
    assert list(marks.iterdir()) == []


def test_a_mark_of_a_folder_that_was_removed_is_of_no_other_file(tmp_path: Path) -> None:
    marks, folder = tmp_path / "marks", tmp_path / "staging"
    Marks(marks, folder).put(1, errno.EROFS)
    with (
        closing(Staging(folder, marks=marks).begin(Note(b"file"))),
        closing(Staging(folder, marks=marks).open(1)) as stage,
    ):
        assert not stage.poisoned


@pytest.mark.parametrize("is_listed", [False, True])
def test_what_the_worker_before_could_not_store_is_seen_as_the_source_has_it(
    region: Region, tmp_path: Path, source: ObjectSource, is_listed: bool
) -> None:
    """However long what that worker knew of it is believed: it has no file here any more that tells more."""
    settings = HELD._replace(relaxed=True)
    file = Staging(tmp_path / "staging").begin(Note(b"file", waits=True))
    file.write(0, b"data")
    file.close()
    nodes = Nodes(region)
    if is_listed:
        nodes.complete(ROOT, view.now() // view.SECOND + 3600)
    else:
        nodes.add(ROOT, b"file", view.known(Found(Kind.FILE), 2, settings, view.now()))

    async def take_over() -> None:
        async with asked(region, tmp_path / "staging", source, settings) as ask:
            await ask.is_there(b"file")  # may be known anew before it is stored
            await ask.nothing_stays()
            assert await ask.read(b"file") == b"data"

    trio.run(take_over)


class Away(ObjectSource):
    """
    :ivar away: so many times more nothing is stored
    :ivar stored: how often something was
    """

    def __init__(self) -> None:
        super().__init__(MemoryStore(), "")
        self.away = self.stored = 0

    def store(self, path: bytes, descriptor: int, size: int, kept: Kept = NOTHING, over: bytes | None = None) -> Found:
        if self.away:
            self.away -= 1
            raise OSError(errno.EIO, "it is away")
        self.stored += 1
        return super().store(path, descriptor, size, kept, over)


@pytest.mark.parametrize("is_newer", [False, True])
def test_what_is_left_to_store_never_replaces_what_was_written_since_and_moved(
    region: Region, tmp_path: Path, is_newer: bool
) -> None:
    source = Away()
    version = put(source, b"file", b"before")
    left = Staging(tmp_path).begin(Note(b"file", version, waits=True))
    left.write(0, b"left")
    left.close()

    async def take_over() -> None:
        async with asked(region, tmp_path, source) as ask:
            source.away = 1
            await trio.to_thread.run_sync(until, "it was tried to store it", lambda: not source.away)
            if is_newer:
                put(source, b"file", b"newer")
            await ask("rename", (ROOT, b"file"), (ROOT, b"moved"), 0)
            if not is_newer:
                await ask.nothing_stays()
            else:
                conflicts = ask.files.writing.overtaken.status
                await trio.to_thread.run_sync(until, "it is told that it was overtaken", lambda: bool(conflicts()))

    trio.run(take_over)
    assert content(source, b"moved") == (b"newer" if is_newer else b"left")


def test_what_is_mapped_is_stored_again_only_when_it_was_changed(
    region: Region, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for pause in ("FIRST_PAUSE", "LONGEST_PAUSE"):
        monkeypatch.setattr(f"paddleflow_fuse.files.written.recovery.{pause}", 0.01)
    source, looks = Away(), [0]
    left = Staging(tmp_path).begin(Note(b"file", waits=True))
    left.write(0, b"first")
    is_mapped = Stage.is_mapped

    def looked(stage: Stage) -> bool:
        looks[0] += 1
        return is_mapped(stage)

    monkeypatch.setattr(Stage, "is_mapped", looked)

    async def seen(times: int) -> None:
        wanted = looks[0] + times
        await trio.to_thread.run_sync(until, "it is looked again", lambda: looks[0] >= wanted)

    async def take_over() -> None:
        async with asked(region, tmp_path, source) as ask:
            for count, data in enumerate((b"first", b"then "), 1):  # by a mapping, as far as that shows
                os.pwrite(left.descriptor, data, 0)
                await trio.to_thread.run_sync(until, "it is stored", lambda: source.stored == count)  # noqa: B023 (at once)
                await seen(3)
                assert (source.stored, content(source, b"file")) == (count, data)
            left.close()
            await ask.nothing_stays()

    trio.run(take_over)
    assert source.stored == 2
