# SPDX-License-Identifier: Apache-2.0
"""What was done though nobody heard of it, since the answer was lost, and who goes before an answer comes."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trio
from paddleflow_fuse.files.plans import Plans
from paddleflow_fuse.files.written.staging import Staging
from paddleflow_fuse.nodes.records import ROOT
from paddleflow_fuse.nodes.region import Region
from paddleflow_fuse.sources.base import NOTHING, Found, Kept
from paddleflow_fuse.sources.memory import MemoryStore
from paddleflow_fuse.sources.objects import ObjectSource

from tests.support.asked_files import HELD, asked, put
from tests.support.caches import opened
from tests.support.source_suite import failing

ALONE = os.O_WRONLY | os.O_CREAT | os.O_EXCL


class Lossy(ObjectSource):
    """
    :ivar lost: what it is told to do is done, and who asked is told that it failed
    :ivar away: nothing is stored
    :ivar over: nothing is stored over what is there
    :ivar renamed: is called once when something was renamed and the next thing is asked
    """

    def __init__(self) -> None:
        super().__init__(MemoryStore(), "")
        self.lost = self.away = self.over = False
        self.renamed: Callable[[], None] | None = None
        self._next: Callable[[], None] | None = None

    def find(self, path: bytes) -> Found:
        then, self._next = self._next, None
        if then:
            then()
        return super().find(path)

    def store(self, path: bytes, descriptor: int, size: int, kept: Kept = NOTHING, over: bytes | None = None) -> Found:
        if self.away or (self.over and over):
            raise OSError(errno.EIO, "it is away")
        found = super().store(path, descriptor, size, kept, over)
        self._lose()
        return found

    def rename(self, old: bytes, new: bytes) -> None:
        super().rename(old, new)
        self._next = self.renamed
        self._lose()

    def make_folder(self, path: bytes, kept: Kept = NOTHING) -> Found:
        found = super().make_folder(path, kept)
        self._lose()
        return found

    def remove(self, path: bytes) -> None:
        super().remove(path)
        self._lose()

    def remove_folder(self, path: bytes) -> None:
        super().remove_folder(path)
        self._lose()

    def _lose(self) -> None:
        if self.lost:
            raise OSError(errno.EIO, "the answer is lost")


@pytest.fixture
def source() -> Lossy:
    return Lossy()


async def _stored_unheard(ask: Any, source: Lossy, data: bytes, flags: int = ALONE) -> tuple[int, int]:
    entry, handle = await ask("create", ROOT, b"file", 0o644, flags)
    await ask.write(entry.node, handle.number, data)
    source.lost = True
    with failing(errno.EIO):
        await ask("flush", entry.node, handle.number)
    source.lost = False
    return entry.node, handle.number


@pytest.mark.parametrize(
    ("more", "fails"), [(b"", ""), (b" and more", ""), *((b" and more", how) for how in ("lost", "away", "over"))]
)
def test_what_was_stored_unheard_is_no_other_s(
    region: Region, tmp_path: Path, source: Lossy, more: bytes, fails: str
) -> None:
    """So a file that is the first of its name is stored all the same, with what was written since.

    :param fails: what becomes of the next try
    """

    async def test() -> None:
        async with asked(region, tmp_path, source, HELD._replace(conflict_fails=True)) as ask:
            file = await _stored_unheard(ask, source, b"data")
            if more:
                await ask.write(*file, more, 4)
            if fails:
                setattr(source, fails, True)
                with failing(errno.EIO):
                    await ask("flush", *file)
                setattr(source, fails, False)
            await ask("flush", *file)
            await ask("release", *file)
            assert ask.files.status()["conflicts"] == []
            assert bytes(source.read(b"file", b"", 0, 100)) == b"data" + more
            await ask.nothing_stays()

    trio.run(test)


def test_what_was_stored_unheard_may_be_replaced(region: Region, tmp_path: Path, source: Lossy) -> None:
    async def test() -> None:
        async with asked(region, tmp_path, source) as ask:
            before = await _stored_unheard(ask, source, b"before")
            entry, handle = await ask("create", ROOT, b"new", 0o644, ALONE)
            await ask.write(entry.node, handle.number, b"data")
            await ask("rename", (ROOT, b"new"), (ROOT, b"file"), 0)
            await ask("flush", entry.node, handle.number)
            for file in (before, (entry.node, handle.number)):
                await ask("release", *file)
            assert await ask.names() == {b"file"}
            assert bytes(source.read(b"file", b"", 0, 100)) == b"data"
            await ask.nothing_stays()

    trio.run(test)


def test_what_others_made_is_theirs_whatever_became_of_ours(region: Region, tmp_path: Path, source: Lossy) -> None:
    async def test() -> None:
        for theirs, ours in ((b"theirs", b"data"), (b"", b"")):  # of two that are empty nobody knows whose it is
            async with asked(region, tmp_path, source) as ask:
                file = await _stored_unheard(ask, source, ours)
                source.remove(b"file")
                put(source, b"file", theirs)
                with failing(errno.ESTALE):
                    await ask("flush", *file)
                source.remove(b"file")
                await ask("release", *file)
                assert await ask.files.resolve(b"file", False) == 1

    trio.run(test)


@pytest.mark.parametrize("flags", [ALONE, os.O_WRONLY | os.O_CREAT])
@pytest.mark.parametrize(("data", "is_open"), [(b"data", False), (b"data", True), (b"", True)])
def test_what_was_stored_unheard_does_not_outlive_its_name(
    region: Region, tmp_path: Path, source: Lossy, flags: int, data: bytes, is_open: bool
) -> None:
    async def test() -> None:
        for new in (None, b"new"):
            async with asked(region, tmp_path, source) as ask:
                file = await _stored_unheard(ask, source, data, flags)
                if not is_open:
                    source.lost = True
                    await ask("release", *file)
                    source.lost = False
                if new:
                    await ask("rename", (ROOT, b"file"), (ROOT, new), 0)
                else:
                    await ask("unlink", ROOT, b"file")
                if is_open:
                    await ask("release", *file)
                await ask.nothing_stays()
            left = [one.name for page in source.list(b"") for one in page.listed]
            assert left == [new] * bool(new)

    trio.run(test)


@pytest.mark.parametrize(
    ("change", "left"),
    [
        (("mkdir", ROOT, b"new", 0o755), {b"file", b"folder", b"new"}),
        (("unlink", ROOT, b"file"), {b"folder"}),
        (("rmdir", ROOT, b"folder"), {b"file"}),
        (("rename", (ROOT, b"file"), (ROOT, b"new"), 0), {b"new", b"folder"}),
    ],
)
def test_after_a_failure_it_is_looked_what_is_there(
    region: Region, tmp_path: Path, source: Lossy, change: tuple[Any, ...], left: set[bytes]
) -> None:
    put(source, b"file", b"data")
    source.make_folder(b"folder")

    async def test() -> None:
        async with asked(region, tmp_path, source) as ask:
            assert await ask.names() == {b"file", b"folder"}
            folder = (await ask("lookup", ROOT, b"folder")).node
            put(source, b"folder/gone", b"")
            assert await ask.names(folder) == {b"gone"}
            source.remove(b"folder/gone")
            source.lost = True
            with failing(errno.EIO):
                await ask(*change)
            source.lost = False
            assert {name for name in (b"file", b"folder", b"new") if await ask.is_there(name)} == left
            assert await ask.names() == left

    trio.run(test)


@pytest.mark.parametrize("fails", [False, True])
def test_a_rename_that_is_done_is_told_as_done(region: Region, tmp_path: Path, source: Lossy, fails: bool) -> None:
    """Whoever asked is interrupted, or what is asked afterwards fails."""
    put(source, b"old", b"data")

    async def test() -> None:
        async with asked(region, tmp_path, source) as ask:
            with trio.CancelScope() as scope:

                def renamed() -> None:
                    if fails:
                        raise OSError(errno.EIO, "it is not told")
                    trio.from_thread.run_sync(scope.cancel)

                source.renamed = renamed
                await ask("rename", (ROOT, b"old"), (ROOT, b"new"), 0)
            assert not scope.cancelled_caught
            assert await ask.names() == {b"new"}
            assert await ask.read(b"new") == b"data"

    trio.run(test)


def test_a_rename_of_a_folder_that_nobody_waits_for_is_not_begun(
    region: Region, tmp_path: Path, source: Lossy, monkeypatch: pytest.MonkeyPatch
) -> None:
    source.make_folder(b"old")
    scope = trio.CancelScope()
    begin = Plans.begin

    def interrupted(plans: Plans, old: bytes, new: bytes) -> Any:
        plan = begin(plans, old, new)
        trio.from_thread.run_sync(scope.cancel)
        return plan

    monkeypatch.setattr(Plans, "begin", interrupted)

    async def test() -> None:
        async with asked(region, tmp_path, source) as ask:
            with scope:
                await ask("rename", (ROOT, b"old"), (ROOT, b"new"), 0)
            assert scope.cancelled_caught
            assert await ask.names() == {b"old"}
            await ask.nothing_stays()

    trio.run(test)


def test_who_does_not_wait_to_write_leaves_no_copy(
    region: Region, tmp_path: Path, source: Lossy, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(source, b"file", b"data")
    begin = Staging.begin

    async def test() -> None:
        with opened(tmp_path / "cache") as disk:
            async with asked(region, tmp_path / "staging", source, disk=disk) as ask:
                assert await ask.read(b"file") == b"data"  # it is cached now
                node = (await ask("lookup", ROOT, b"file")).node
                with trio.CancelScope() as scope:

                    def interrupted(staging: Staging, *given: Any) -> Any:
                        scope.cancel()
                        return begin(staging, *given)

                    monkeypatch.setattr(Staging, "begin", interrupted)
                    await ask("open", node, os.O_RDWR)
                assert scope.cancelled_caught
                await ask.nothing_stays()

    trio.run(test)
