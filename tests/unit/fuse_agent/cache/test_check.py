# SPDX-License-Identifier: Apache-2.0
"""What a check of a folder finds, and what it repairs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from paddleflow_fuse.cache.check import fsck
from paddleflow_fuse.cache.errors import HeldError
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
        assert dict(fsck(used, repair)) == said
    assert list(dict(fsck(used))) == ["objects/00/thesis.txt"]
    with opened(used) as disk:
        assert not any(disk.get(key_of(name, size), size) for name, size in FILES.items())
        assert disk.used == (0, 0)
        assert taken(used) == (0, 1)  # the one that is not ours


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
