# SPDX-License-Identifier: Apache-2.0
"""What an index that is none leaves."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from paddleflow_fuse.cache.pieces import PIECE

from tests.support.caches import compared, content, eventually, is_right, key_of, opened, taken

FILES = {"small": 5000, "one": PIECE, "big": 5 * PIECE + 9}


def lost(index: Path) -> None:
    for path in index.parent.glob("index*"):
        path.unlink()


def garbage(index: Path) -> None:
    lost(index)
    index.write_bytes(os.urandom(5000))


def damaged(index: Path) -> None:
    """Within its pages, where only their own checksums tell."""
    with sqlite3.connect(index) as connection:
        connection.execute("UPDATE pages SET body = zeroblob(length(body))")
    connection.close()


def of_another_release(index: Path) -> None:
    with sqlite3.connect(index) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()


@pytest.mark.parametrize("damage", [lost, garbage, damaged, of_another_release])
def test_an_index_is_made_anew_from_the_files(folder: Path, damage: Callable[[Path], None]) -> None:
    with opened(folder, boot="first") as disk:
        for name, size in FILES.items():
            disk.put(key_of(name, size), content(name, size)).close()
        used = disk.used
    damage(folder / "index")
    with opened(folder, boot="first") as disk:
        assert all(is_right(disk, name, size) for name, size in FILES.items())
        assert disk.used == used == taken(folder)
    # Their checksums went with the index: after the machine died, nobody can tell.
    (folder / "state").unlink()
    with opened(folder, boot="second") as disk:
        assert not any(is_right(disk, name, size) for name, size in FILES.items())
        assert not any(compared(disk, name, size) for name, size in FILES.items())
        assert eventually(lambda: disk.used == (0, 0))


def test_no_index_after_the_machine_died_is_no_file(folder: Path) -> None:
    with opened(folder, boot="first") as disk:
        for name, size in FILES.items():
            disk.put(key_of(name, size), content(name, size)).close()
    (folder / "state").unlink()
    lost(folder / "index")
    with opened(folder, boot="second") as disk:
        assert not any(disk.get(key_of(name, size), size) for name, size in FILES.items())
        assert list(folder.glob("objects/*/*")) == []
