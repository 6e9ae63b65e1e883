# SPDX-License-Identifier: Apache-2.0
"""What is synced outlives the machine, also where a source has to be asked for that."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
import trio
from paddleflow_fuse.files.written.notes import Note
from paddleflow_fuse.files.written.staging import Staging
from paddleflow_fuse.nodes.records import ROOT, StaleError
from paddleflow_fuse.nodes.region import Region
from paddleflow_fuse.sources.base import NOTHING, Found, Kept
from paddleflow_fuse.sources.local import LocalSource

from tests.support.asked_files import asked
from tests.support.granted import until
from tests.support.source_suite import failing


class Synced(LocalSource):
    """
    :ivar synced: what was asked to be on the disk, with what it held then
    """

    def __init__(self, root: Path) -> None:
        root.mkdir()
        super().__init__(str(root))
        self._place = root
        self.synced: list[tuple[bytes, bytes]] = []
        self.fails = self.is_full = False
        self.failed = 0

    def store(self, path: bytes, descriptor: int, size: int, kept: Kept = NOTHING, over: bytes | None = None) -> Found:
        if self.is_full:
            raise OSError(errno.ENOSPC, "its disk is full")
        return super().store(path, descriptor, size, kept, over)

    def sync(self, path: bytes) -> None:
        if self.fails:
            self.failed += 1
            raise OSError(errno.EIO, "its disk is ill")
        super().sync(path)
        there = self._place / os.fsdecode(path)
        self.synced.append((path, there.read_bytes() if there.is_file() else b""))


def test_a_sync_waits_for_the_disk_and_a_close_does_not(region: Region, tmp_path: Path) -> None:
    source = Synced(tmp_path / "root")

    async def test() -> None:
        async with asked(region, tmp_path, source) as ask:
            entry, handle = await ask("create", ROOT, b"file", 0o644, os.O_RDWR)
            await ask.write(entry.node, handle.number, b"data")
            await ask("flush", entry.node, handle.number)
            assert source.synced == []
            await ask("fsync", entry.node, handle.number, False)  # of what is stored already
            await ask.write(entry.node, handle.number, b"more")
            await ask("fsync", entry.node, handle.number, True)
            await ask("release", entry.node, handle.number)
            await ask("fsyncdir", ROOT, 0, False)
            again = (await ask("open", entry.node, os.O_RDONLY)).number
            await ask("fsync", entry.node, again, False)
            await ask("unlink", ROOT, b"file")
            await ask("fsync", entry.node, again, False)  # nobody can lose it

    trio.run(test)
    source.close()
    assert source.synced == [(b"file", b"data"), (b"file", b"more"), (b"", b""), (b"file", b"more")]


def test_what_others_removed_is_lost_by_nobody(region: Region, tmp_path: Path) -> None:
    source = Synced(tmp_path / "root")

    async def test() -> None:
        async with asked(region, tmp_path, source) as ask:
            entry, handle = await ask("create", ROOT, b"file", 0o644, os.O_RDWR)
            await ask("flush", entry.node, handle.number)
            (tmp_path / "root/file").unlink()
            await ask("fsync", entry.node, handle.number, False)
            await ask("release", entry.node, handle.number)

    trio.run(test)
    source.close()


def test_what_lies_in_a_folder_without_a_name_is_lost_by_nobody(region: Region, tmp_path: Path) -> None:
    source = Synced(tmp_path / "root")

    async def test() -> None:
        async with asked(region, tmp_path, source) as ask:
            folder = (await ask("mkdir", ROOT, b"folder", 0o755)).node
            entry, handle = await ask("create", folder, b"file", 0o644, os.O_RDWR)
            await ask("flush", entry.node, handle.number)
            (tmp_path / "root/folder/file").unlink()
            (tmp_path / "root/folder").rmdir()
            ask.files._names.replaced(b"folder")  # as when it is found at a look
            await ask("lookup", ROOT, b"folder")
            with pytest.raises(StaleError):
                ask.files._names.path(entry.node)
            await ask("fsync", entry.node, handle.number, False)
            await ask("fsyncdir", folder, 0, False)
            await ask("release", entry.node, handle.number)

    trio.run(test)
    source.close()
    assert source.synced == []


@pytest.mark.parametrize("flags", [os.O_RDWR, os.O_RDWR | os.O_EXCL], ids=["any", "the first"])
def test_what_could_not_be_synced_is_kept_and_stored_anew(region: Region, tmp_path: Path, flags: int) -> None:
    """A disk says once that it failed, and then that all is well."""
    source = Synced(tmp_path / "root")
    source.fails = True

    async def test() -> None:
        async with asked(region, tmp_path / "staging", source) as ask:
            entry, handle = await ask("create", ROOT, b"file", 0o644, flags)
            await ask.write(entry.node, handle.number, b"data")
            with failing(errno.EIO):
                await ask("fsync", entry.node, handle.number, False)
            assert ask.staged
            lost = (tmp_path / "root/file").stat().st_ino
            source.fails = False
            await ask("fsync", entry.node, handle.number, False)
            assert source.synced == [(b"file", b"data")]
            assert (tmp_path / "root/file").stat().st_ino != lost
            await ask("release", entry.node, handle.number)

    trio.run(test)
    source.close()


def test_what_could_not_be_synced_after_it_was_stored_is_stored_anew(region: Region, tmp_path: Path) -> None:
    source, file = Synced(tmp_path / "root"), tmp_path / "root/file"

    async def test() -> None:
        async with asked(region, tmp_path / "staging", source) as ask:
            entry, handle = await ask("create", ROOT, b"file", 0o644, os.O_RDWR)
            await ask.write(entry.node, handle.number, b"data")
            await ask("flush", entry.node, handle.number)
            lost, source.fails = file.stat().st_ino, True
            with failing(errno.EIO):
                await ask("fsync", entry.node, handle.number, False)
            source.fails = False
            await ask("fsync", entry.node, handle.number, False)
            assert (source.synced, file.stat().st_ino != lost) == ([(b"file", b"data")], True)
            await ask("release", entry.node, handle.number)

    trio.run(test)
    source.close()


def test_what_a_close_could_not_store_is_synced_by_the_end_of_the_mount(region: Region, tmp_path: Path) -> None:
    source = Synced(tmp_path / "root")

    async def test() -> None:
        async with asked(region, tmp_path / "staging", source) as ask:
            entry, handle = await ask("create", ROOT, b"file", 0o644, os.O_RDWR)
            await ask.write(entry.node, handle.number, b"data")
            source.is_full = True
            with failing(errno.ENOSPC):
                await ask("flush", entry.node, handle.number)
            await ask("release", entry.node, handle.number)
            source.is_full = False
            await ask.files.save()

    trio.run(test)
    source.close()
    assert source.synced == [(b"file", b"data")]


def test_what_is_stored_after_a_crash_is_on_the_disk_before_it_is_dropped_here(region: Region, tmp_path: Path) -> None:
    source = Synced(tmp_path / "root")

    left = Staging(tmp_path / "staging").begin(Note(b"file", waits=True))
    left.write(0, b"data")
    left.close()

    async def test() -> None:
        async with asked(region, tmp_path / "staging", source) as ask:
            await ask.nothing_stays()

    trio.run(test)
    source.close()
    assert source.synced == [(b"file", b"data")]


def test_what_a_worker_that_died_had_stored_is_stored_anew_where_it_cannot_be_synced(
    region: Region, tmp_path: Path
) -> None:
    source, file = Synced(tmp_path / "root"), tmp_path / "root/file"
    file.write_bytes(b"data")
    lost, source.fails = file.stat().st_ino, True
    left = Staging(tmp_path / "staging").begin(Note(b"file", waits=True))
    left.write(0, b"data")
    left.close()

    async def test() -> None:
        async with asked(region, tmp_path / "staging", source) as ask:
            await trio.to_thread.run_sync(until, "it to fail", lambda: source.failed > 0)
            source.fails = False
            await ask.nothing_stays()

    trio.run(test)
    source.close()
    assert (source.synced, file.stat().st_ino != lost) == ([(b"file", b"data")], True)
