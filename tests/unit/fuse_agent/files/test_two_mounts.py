# SPDX-License-Identifier: Apache-2.0
"""What another mount of the same bucket did meanwhile, while what was known here is believed still."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest
import trio
from paddleflow_fuse.nodes.records import ROOT, StaleError
from paddleflow_fuse.nodes.region import Region
from paddleflow_fuse.operations import Absent
from paddleflow_fuse.sources.base import Found
from paddleflow_fuse.sources.memory import MemoryStore
from paddleflow_fuse.sources.objects import ObjectSource

from tests.support.asked_files import ASKED, HELD, asked, put
from tests.support.source_suite import failing

LARGE = 3 << 20  # of which not all is fetched to change a byte
WRITE = os.O_WRONLY | os.O_CREAT


@pytest.fixture
def source() -> ObjectSource:
    return ObjectSource(MemoryStore(), "")


@pytest.mark.parametrize(
    "how", [("mkdir", ROOT, b"new", 0o755), ("symlink", ROOT, b"new", b"to"), ("mknod", ROOT, b"new", 0o100644, 0)]
)
def test_who_is_told_that_it_is_there_finds_it(
    region: Region, tmp_path: Path, source: ObjectSource, how: tuple[Any, ...]
) -> None:
    """As mkdir -p does, and whoever makes a folder that may be there."""

    async def test() -> None:
        async with asked(region, tmp_path, source) as ask:
            assert await ask.names() == set()
            source.make_folder(b"new")
            assert not await ask.is_there(b"new"), "it is believed that it is not"
            with pytest.raises(FileExistsError):
                await ask(*how)
            assert await ask.is_there(b"new")

    trio.run(test)


def test_who_is_told_that_a_folder_is_not_empty_sees_what_is_in_it(
    region: Region, tmp_path: Path, source: ObjectSource
) -> None:
    async def test() -> None:
        async with asked(region, tmp_path, source) as ask:
            folder = (await ask("mkdir", ROOT, b"folder", 0o755)).node
            put(source, b"folder/theirs", b"1")
            assert await ask.names(folder) == set()
            with failing(errno.ENOTEMPTY):
                await ask("rmdir", ROOT, b"folder")
            assert await ask.names(folder) == {b"theirs"}

    trio.run(test)


@pytest.mark.parametrize(("flags", "is_listed"), [(WRITE, False), (WRITE, True), (WRITE | os.O_TRUNC, True)])
@pytest.mark.parametrize("kind", ["folder", "link"])
def test_what_became_a_folder_or_a_link_is_not_written_to(
    region: Region, tmp_path: Path, source: ObjectSource, kind: str, flags: int, is_listed: bool
) -> None:
    """The kernel took the name for one that means nothing. It looks it up again, to refuse it or to follow it."""

    async def test() -> None:
        async with asked(region, tmp_path, source) as ask:
            if kind == "folder":
                source.make_folder(b"name")
            else:
                source.link(b"name", b"target")
            if is_listed:
                await ask.names()
            with pytest.raises(StaleError):
                await ask("create", ROOT, b"name", 0o644, flags)
            assert not ask.staged
            with pytest.raises(FileExistsError):
                await ask("create", ROOT, b"name", 0o644, WRITE | os.O_EXCL)
        if kind == "link":
            assert source.target(b"name") == b"target"

    trio.run(test)


async def _removed_with_its_folder(ask: Any, source: ObjectSource, store: bool) -> tuple[int, int]:
    """A file that is open here."""
    folder = (await ask("mkdir", ROOT, b"folder", 0o755)).node
    entry, handle = await ask("create", folder, b"file", 0o644, WRITE)
    await ask.write(entry.node, handle.number, b"data")
    if store:
        await ask("flush", entry.node, handle.number)
        source.remove(b"folder/file")
    source.remove_folder(b"folder")
    assert isinstance(await ask("lookup", ROOT, b"folder"), Absent)
    return entry.node, handle.number


def test_what_lost_its_folder_keeps_no_other_from_being_renamed(
    region: Region, tmp_path: Path, source: ObjectSource
) -> None:
    put(source, b"one", b"1")

    async def test() -> None:
        async with asked(region, tmp_path, source, ASKED) as ask:
            await _removed_with_its_folder(ask, source, store=False)
            await ask("rename", (ROOT, b"one"), (ROOT, b"other"), 0)
            assert await ask.names() == {b"other"}

    trio.run(test)


def test_of_what_was_stored_and_lost_its_folder_nothing_stays(
    region: Region, tmp_path: Path, source: ObjectSource
) -> None:
    async def test() -> None:
        async with asked(region, tmp_path, source, ASKED) as ask:
            await ask("release", *await _removed_with_its_folder(ask, source, store=True))
            await ask.nothing_stays()

    trio.run(test)


@pytest.mark.parametrize("without_open", [False, True])
@pytest.mark.parametrize("size", [4, 2 << 20])
def test_what_was_found_to_be_replaced_is_believed_no_longer(
    region: Region, tmp_path: Path, source: ObjectSource, size: int, without_open: bool
) -> None:
    """Else who opens it by what is known fails as long as that holds."""
    settings = HELD._replace(relaxed=True, without_open=without_open)

    async def test() -> None:
        async with asked(region, tmp_path, source, settings) as ask:

            async def read() -> bytes:
                node = (await ask("lookup", ROOT, b"file")).node
                handle = 0 if without_open else (await ask("open", node, os.O_RDONLY)).number
                return bytes(await ask("read", node, handle, 0, 1))

            put(source, b"file", b"1" * size)
            assert await ask.is_there(b"file")
            put(source, b"file", b"2" * size)
            with failing(errno.ESTALE):
                await read()
            assert await read() == b"2"

    trio.run(test)


@pytest.mark.parametrize("flags", [os.O_EXCL, 0])
def test_who_wrote_too_late_finds_what_others_wrote(
    region: Region, tmp_path: Path, source: ObjectSource, flags: int
) -> None:
    async def test() -> None:
        async with asked(region, tmp_path, source, HELD._replace(conflict_fails=True)) as ask:
            if not flags:
                put(source, b"file", b"before")
            await ask.names()
            entry, handle = await ask("create", ROOT, b"file", 0o644, WRITE | os.O_TRUNC | flags)
            await ask.write(entry.node, handle.number, b"ours")
            put(source, b"file", b"theirs")
            with failing(errno.ESTALE):
                await ask("flush", entry.node, handle.number)
            assert await ask.read(b"file") == b"theirs"
            assert await ask.names() == {b"file"}

    trio.run(test)


def test_what_others_wrote_is_not_replaced_where_it_was_moved_to(
    region: Region, tmp_path: Path, source: ObjectSource
) -> None:
    put(source, b"file", b"before")

    async def test() -> None:
        async with asked(region, tmp_path, source, HELD._replace(conflict_fails=True)) as ask:
            entry = await ask("lookup", ROOT, b"file")
            handle = (await ask("open", entry.node, WRITE)).number
            await ask.write(entry.node, handle, b"ours")
            put(source, b"file", b"theirs")
            await ask("rename", (ROOT, b"file"), (ROOT, b"moved"), 0)
            with failing(errno.ESTALE):
                await ask("flush", entry.node, handle)
            await ask("release", entry.node, handle)
            assert await ask.read(b"moved") == b"theirs"

    trio.run(test)


@pytest.mark.parametrize("place", ["file", "folder"])
@pytest.mark.parametrize("fails", [False, True])
def test_what_was_begun_from_one_version_is_not_mixed_with_another_that_was_moved(
    region: Region, tmp_path: Path, source: ObjectSource, fails: bool, place: str
) -> None:
    put(source, b"old/file", b"1" * LARGE)

    async def test() -> None:
        async with asked(region, tmp_path, source, HELD._replace(conflict_fails=fails)) as ask:
            folder = (await ask("lookup", ROOT, b"old")).node
            node = (await ask("lookup", folder, b"file")).node
            handle = (await ask("open", node, WRITE)).number
            await ask.write(node, handle, b"x")
            put(source, b"old/file", b"2" * LARGE)
            if place == "file":
                await ask("rename", (folder, b"file"), (folder, b"moved"), 0)
            else:
                await ask("rename", (ROOT, b"old"), (ROOT, b"new"), 0)
            with failing(errno.ESTALE):
                await ask("flush", node, handle)
            await ask("release", node, handle)
        path = b"old/moved" if place == "file" else b"new/file"
        assert bytes(source.read(path, b"", 0, LARGE)) == b"2" * LARGE

    trio.run(test)


def test_a_rename_of_what_cannot_be_asked_for_fails_as_that_does(
    region: Region, tmp_path: Path, source: ObjectSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(source, b"old/file", b"data")

    async def test() -> None:
        async with asked(region, tmp_path, source) as ask:
            folder = (await ask("lookup", ROOT, b"old")).node
            node = (await ask("lookup", folder, b"file")).node
            handle = (await ask("open", node, WRITE)).number
            find = source.find

            def away(path: bytes) -> Found:
                if path == b"old/file":
                    raise OSError(errno.ETIMEDOUT, "it is away")
                return find(path)

            with monkeypatch.context() as patched:
                patched.setattr(source, "find", away)
                with failing(errno.ETIMEDOUT):
                    await ask("rename", (ROOT, b"old"), (ROOT, b"new"), 0)
            await ask("rename", (ROOT, b"old"), (ROOT, b"new"), 0)
            await ask("release", node, handle)
            assert await ask.names() == {b"new"}

    trio.run(test)


def test_what_a_person_chose_is_seen_at_once(region: Region, tmp_path: Path, source: ObjectSource) -> None:
    async def test() -> None:
        async with asked(region, tmp_path, source) as ask:
            entry, handle = await ask("create", ROOT, b"file", 0o644, WRITE | os.O_EXCL)
            await ask.write(entry.node, handle.number, b"ours")
            put(source, b"file", b"theirs")
            with failing(errno.ESTALE):
                await ask("flush", entry.node, handle.number)
            await ask("release", entry.node, handle.number)
            assert await ask.read(b"file") == b"theirs"
            assert await ask.files.resolve(b"file", True) == 1
            assert await ask.read(b"file") == b"ours"

    trio.run(test)
