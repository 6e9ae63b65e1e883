# SPDX-License-Identifier: Apache-2.0
"""What a check of a folder finds, and what it repairs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from paddleflow_fuse.cache.check import Finding, Progress, fsck
from paddleflow_fuse.cache.claim import owner_of
from paddleflow_fuse.cache.errors import ForeignError, HeldError
from paddleflow_fuse.cache.pieces import PIECE

from tests.support.caches import content, is_right, keep, key_of, opened, taken

FILES = {"small": 10, "empty": 0, "big": 2 * PIECE + 1}


@pytest.fixture
def used(folder: Path) -> Path:
    with opened(folder) as disk:
        for name, size in FILES.items():
            keep(disk, name, size)
        file = disk.begin(key_of("half", 3 * PIECE), 3 * PIECE)
        file.fill(0, content("half", 3 * PIECE)[:PIECE])
        file.close()
    return folder


def place(name: str, size: int) -> str:
    hexed = key_of(name, size).hex()
    return f"objects/{hexed[:2]}/{hexed}"


def test_a_cache_that_is_well_has_no_findings(used: Path) -> None:
    assert fsck(used) == []
    assert fsck(used, repair=True) == []
    with opened(used) as disk:
        assert all(is_right(disk, name, size) for name, size in FILES.items())


def test_damage_is_found_and_only_removed_when_asked(used: Path) -> None:
    (used / place("small", 10)).write_bytes(b"0123456789")
    os.truncate(used / place("big", FILES["big"]), PIECE + 1)
    (used / place("empty", 0)).unlink()
    half = used / "filling" / key_of("half", 3 * PIECE).hex()
    half.write_bytes(bytes(3 * PIECE))
    (used / place("unknown", 5)).parent.mkdir(exist_ok=True)
    (used / place("unknown", 5)).write_bytes(b"abcde")
    (used / "objects" / "00" / "thesis.txt").touch()
    said = {
        place("small", 10): "at 0 is not what was written",
        place("big", FILES["big"]): f"it has {PIECE + 1} bytes, which is not what was written",
        place("empty", 0): "it cannot be read: No such file or directory",
        f"filling/{half.name}": "at 0 is not what was written",
        place("unknown", 5): "the index does not know it",
        "objects/00/thesis.txt": "it is not of the cache, and is left alone",
    }
    for repair in (False, False, True):
        found = fsck(used, repair)
        assert {one.name: one.what for one in found} == said
        assert {one.name for one in found if not one.mended} == ({"objects/00/thesis.txt"} if repair else {*said})
    assert [one.name for one in fsck(used)] == ["objects/00/thesis.txt"]
    with opened(used) as disk:
        assert not any(disk.get(key_of(name, size), size) for name, size in FILES.items())
        assert disk.used == (0, 0)
        assert taken(used) == (0, 1)  # the one that is not ours


def test_quickly_sizes_alone_are_compared(used: Path) -> None:
    (used / place("small", 10)).write_bytes(b"0123456789")
    assert [one.name for one in fsck(used)] == [place("small", 10)]
    assert fsck(used, quick=True) == []
    os.truncate(used / place("big", FILES["big"]), PIECE + 1)
    assert [one.name for one in fsck(used, quick=True)] == [place("big", FILES["big"])]


def test_it_is_told_how_far_a_check_is(used: Path) -> None:
    told: list[Progress] = []
    fsck(used, tell=told.append)
    assert [one.done for one in told] == [1, 2, 3, 4]
    assert {one.of for one in told} == {4}
    assert told[-1].bytes == 4096 + (2 * PIECE + 4096)


def test_files_of_others_are_told_and_left_alone(used: Path) -> None:
    (used / "thesis.txt").write_bytes(b"mine")
    for repair in (False, True):
        assert fsck(used, repair) == [Finding("thesis.txt", "it is not of the cache, and is left alone", False)]
    assert (used / "thesis.txt").read_bytes() == b"mine"


def test_a_check_leaves_no_trace_of_itself(used: Path, tmp_path: Path) -> None:
    before = owner_of(used)
    fsck(used)
    assert owner_of(used) == before
    for folder in (tmp_path / "missing", tmp_path / "empty"):
        if folder.name == "empty":
            folder.mkdir()
        with pytest.raises(ForeignError, match="is no cache"):
            fsck(folder)
    assert not (tmp_path / "missing").exists()
    assert list((tmp_path / "empty").iterdir()) == []


def test_a_cache_in_use_is_not_checked(folder: Path) -> None:
    with opened(folder), pytest.raises(HeldError):
        fsck(folder)


def test_an_index_that_is_none_is_told_and_made_anew(used: Path) -> None:
    (used / "index").write_bytes(b"x" * 5000)
    for repair in (False, True):
        (finding,) = fsck(used, repair)
        assert (finding.name, "file is not a database" in finding.what) == ("index", True)
    (finding,) = fsck(used)
    assert "there is none" in finding.what
    with opened(used) as disk:
        assert all(is_right(disk, name, size) for name, size in FILES.items())
    assert {finding.what for finding in fsck(used)} == {"its checksums are not known, so it was not compared"}
