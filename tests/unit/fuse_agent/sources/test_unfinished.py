# SPDX-License-Identifier: Apache-2.0
"""What who died over a file left at the source."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from paddleflow_fuse.sources.base import quiet
from paddleflow_fuse.sources.make import Wanted, here
from paddleflow_fuse.sources.unfinished import Unfinished

from tests.support.caches import killed
from tests.support.source_suite import store


def test_what_was_begun_and_not_ended_is_left(tmp_path: Path) -> None:
    noted = Unfinished(tmp_path / "uploads")
    assert noted.left() == []
    for place in (b"a", b"\xff/b\n", b"c"):
        noted.begun(place)
    noted.ended(b"c")
    noted.ended(b"never begun")
    assert sorted(Unfinished(tmp_path / "uploads").left()) == [b"a", b"\xff/b\n"]


def test_what_is_noted_in_part_names_nothing(tmp_path: Path) -> None:
    Unfinished(tmp_path).begun(b"folder/file")
    (note,) = tmp_path.iterdir()
    note.write_bytes(b"folder")
    assert Unfinished(tmp_path).left() == []


def test_a_disk_that_takes_no_notes_is_no_harm(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for noted in (Unfinished(tmp_path / "file"), Unfinished()):
        noted.begun(b"a")
        noted.ended(b"a")
        assert noted.left() == []


def test_the_next_one_removes_what_who_died_left_and_nothing_of_others(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "folder").mkdir(parents=True)
    (root / "folder/.paddleflow-unfinished-0").touch()
    wanted = Wanted("local://here", {}, str(root), journal=str(tmp_path / "uploads"))

    def work(die: object) -> None:
        os.fsync = lambda _file: die()  # type: ignore[assignment, operator]
        store(here(wanted, quiet), b"folder/file", b"content")

    killed(work)
    assert len(list((root / "folder").iterdir())) == 2
    source = here(wanted, quiet)
    assert [path.name for path in (root / "folder").iterdir()] == [".paddleflow-unfinished-0"]
    store(source, b"folder/file", b"content")
    with pytest.raises(OSError, match=os.strerror(errno.ENOTDIR)):
        store(source, b"folder/file/below", b"content")
    assert list((tmp_path / "uploads").iterdir()) == []
    source.close()
