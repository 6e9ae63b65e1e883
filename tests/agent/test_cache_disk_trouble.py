# SPDX-License-Identifier: Apache-2.0
"""The cache on a disk that is full, or that nothing can be written to: users notice nothing, and it comes back by itself.

Each disk is a small file system in memory, mounted where only the process that tries it sees it.
"""

from __future__ import annotations

import ctypes
import logging
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from paddleflow_fuse.cache.disk import Disk
from paddleflow_fuse.cache.errors import FullError
from paddleflow_fuse.cache.pieces import PIECE
from paddleflow_fuse.cache.room import Limits

from tests.support.caches import ROOMY, content, eventually, is_right, keep, key_of, killed, opened, taken
from tests.support.namespaces import LET_GO

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts")
NEW_MOUNTS = 0x00020000


def on_a_disk(folder: Path, options: str, work: Callable[[Path], None], kind: str = "tmpfs") -> None:
    """Does it in a process of its own, whose mounts go with it."""

    def alone(_die: object) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        assert libc.unshare(NEW_MOUNTS) == 0, os.strerror(ctypes.get_errno())
        subprocess.run(["mount", "--make-rprivate", "/"], check=True)
        subprocess.run(["sh", "-c", LET_GO], check=True)
        subprocess.run(["mount", "-t", kind, "-o", options, "cache", str(folder)], check=True)
        work(folder)

    killed(alone)


def lines() -> list[str]:
    """What is logged from now on."""
    found: list[str] = []

    class Lines(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.levelno >= logging.ERROR:
                found.append(record.getMessage())

    logging.getLogger("paddleflow_fuse.cache").addHandler(Lines())
    return found


def use(disk: Disk, name: str) -> bool:
    """As a file system does: whether all of it was taken. Nothing but a refusal comes through."""
    size = 3 * PIECE
    try:
        keep(disk, f"small {name}", 5000)
        file = disk.begin(key_of(name, size), size)
        try:
            file.fill(0, content(name, size))
        finally:
            file.close()
    except FullError:
        return False
    return is_right(disk, name, size) and is_right(disk, f"small {name}", 5000)


def test_a_full_disk_turns_it_off_until_there_is_room(tmp_path: Path) -> None:
    def work(folder: Path) -> None:
        said = lines()
        with opened(folder / "cache") as disk:
            assert use(disk, "before")
            with (folder / "others").open("wb") as others:
                os.posix_fallocate(others.fileno(), 0, 6 << 20)
            assert eventually(lambda: not all(use(disk, f"{number}") for number in range(20)))
            assert "No space left on device" in said[0]
            assert is_right(disk, "before", 3 * PIECE)
            (folder / "others").unlink()
            assert eventually(lambda: use(disk, "after"))
            assert said
            assert all(
                "Free space on its disk, or give it a smaller quota; it comes back by itself" in line for line in said
            )
            assert disk.status()["corrupt"] == 0
            assert eventually(lambda: disk.used == taken(folder / "cache"))

    on_a_disk(tmp_path, "size=8m", work)


def test_what_has_to_stay_free_stays_free(tmp_path: Path) -> None:
    def work(folder: Path) -> None:
        with opened(folder / "cache", ROOMY._replace(free_share=0.5)) as disk:
            for number in range(60):
                use(disk, f"{number}")
                status = os.statvfs(folder)
                assert status.f_bavail >= status.f_blocks * 0.4  # the index is not counted
            assert disk.status()["evictions"] > 0
            assert not disk.off

    on_a_disk(tmp_path, "size=32m", work)


def test_two_owners_share_what_has_to_stay_free(tmp_path: Path) -> None:
    def work(folder: Path) -> None:
        limits = Limits(1 << 30, 10_000, 0.5)
        with opened(folder / "one", limits) as one, opened(folder / "other", limits) as other:
            for number in range(60):
                use(one, f"{number}")
                use(other, f"{number}")
            status = os.statvfs(folder)
            assert status.f_bavail >= status.f_blocks * 0.4
            assert use(one, "more") or use(other, "more")

    on_a_disk(tmp_path, "size=32m", work)


def test_a_disk_that_nothing_can_be_written_to_is_read(tmp_path: Path) -> None:
    def work(folder: Path) -> None:
        said = lines()
        with opened(folder / "cache", Limits(60 * PIECE, 1000, 0.0)) as disk:
            assert use(disk, "before")
            parts = [str(folder / "cache" / part) for part in ("objects", "filling")]
            for part in parts:
                subprocess.run(["mount", "--bind", part, part], check=True)
                subprocess.run(["mount", "-o", "remount,bind,ro", part], check=True)
            assert not use(disk, "during")
            assert is_right(disk, "before", 3 * PIECE)
            disk.drop(key_of("before", 3 * PIECE))
            (line,) = said
            assert "Read-only file system" in line
            assert "Mount its disk writable; it comes back by itself" in line
            subprocess.run(["umount", *parts], check=True)
            assert eventually(lambda: use(disk, "after"))
            assert eventually(lambda: disk.used == taken(folder / "cache"))

    on_a_disk(tmp_path, "size=64m", work)


def test_a_file_system_that_gives_no_part_of_a_file_back_keeps_no_big_ones(tmp_path: Path) -> None:
    def work(folder: Path) -> None:
        with opened(folder / "cache", Limits(20 * PIECE, 1000, 0.0)) as disk:
            with pytest.raises(FullError, match="more than a quarter"):
                disk.begin(key_of("big", 6 * PIECE), 6 * PIECE)
            assert use(disk, "other")
            assert not disk.off
        with opened(folder / "cache", Limits(20 * PIECE, 1000, 0.0)) as disk:
            assert is_right(disk, "other", 3 * PIECE)

    on_a_disk(tmp_path, "mode=700", work, kind="ramfs")
