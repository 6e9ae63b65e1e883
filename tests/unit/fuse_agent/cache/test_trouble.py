# SPDX-License-Identifier: Apache-2.0
"""A folder that is taken away under the cache: it is off with one line that says what to do, and comes back."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from paddleflow_fuse.cache.claim import claim
from paddleflow_fuse.cache.disk import Disk
from paddleflow_fuse.cache.errors import FullError
from paddleflow_fuse.cache.pieces import PIECE

from tests.support.caches import (
    WHO,
    Opened,
    content,
    eventually,
    exchanged,
    is_right,
    keep,
    key_of,
    opened,
    removed,
    taken,
)


def use(disk: Disk, name: str, size: int = 3000) -> bool:
    """As a file system does: whether it was taken. Nothing but a refusal comes through."""
    try:
        keep(disk, name, size)
    except FullError:
        return False
    return is_right(disk, name, size)


def the_folder(folder: Path) -> None:
    removed(folder)


def what_is_in_it(folder: Path) -> None:
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def its_objects(folder: Path) -> None:
    removed(folder / "objects")


def its_index(folder: Path) -> None:
    for path in folder.glob("index*"):
        path.unlink()


@pytest.mark.parametrize("remove", [the_folder, what_is_in_it, its_objects])
def test_who_removes_the_cache_by_hand_takes_it_from_nobody(
    folder: Path, remove: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    with opened(folder) as disk:
        held = disk.put(key_of("held", 5000), content("held", 5000))
        for number in range(20):
            keep(disk, f"before{number}", 3000)
        remove(folder)
        assert eventually(lambda: not use(disk, "during") or disk.status()["troubles"] > 0)
        found = held.read(0, 5000)
        assert found is None or bytes(found) == content("held", 5000)
        assert eventually(lambda: use(disk, "after"))
        assert is_right(disk, "after", 3000)
        held.close()
        assert eventually(lambda: disk.used == taken(folder))
    (line,) = [record.message for record in caplog.records if record.levelname == "ERROR"]
    assert str(folder) in line
    assert "Nobody but the agent should remove anything there; it comes back by itself" in line
    with opened(folder) as disk:
        assert is_right(disk, "after", 3000)


def test_a_folder_that_another_took_meanwhile_is_his(folder: Path) -> None:
    one = Opened(folder)
    assert one.disk.settled.wait(60)
    his = folder.with_name("his")
    other = claim(his, WHO)
    exchanged(folder, his)
    removed(his)
    assert eventually(lambda: not use(one.disk, "a"))
    assert one.disk.get(key_of("a", 3000), 3000) is None
    other.release()
    assert eventually(lambda: use(one.disk, "b"))
    one.close()


def test_an_index_that_is_removed_is_made_anew(folder: Path) -> None:
    with opened(folder) as disk:
        for number in range(20):
            keep(disk, f"before{number}", 3000)
        its_index(folder)
        assert eventually(lambda: use(disk, "more") and (folder / "index").exists())
        assert eventually(lambda: use(disk, "after"))
    with opened(folder) as disk:
        assert all(is_right(disk, f"before{number}", 3000) for number in range(20))
        assert disk.used == taken(folder)


def test_what_fills_while_its_folder_goes_is_refused_and_fills_again(folder: Path) -> None:
    size = 4 * PIECE
    with opened(folder) as disk:
        file = disk.begin(key_of("a", size), size)
        file.fill(0, content("a", size)[:PIECE])
        removed(folder)
        assert eventually(lambda: use(disk, "after") and not file.entry)
        with pytest.raises(FullError):
            file.fill(PIECE, content("a", size)[PIECE:])
        file.close()
        file = disk.begin(key_of("a", size), size)
        file.fill(0, content("a", size))
        file.close()
        assert is_right(disk, "a", size)
        assert disk.used == taken(folder)
