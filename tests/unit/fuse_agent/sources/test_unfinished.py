# SPDX-License-Identifier: Apache-2.0
"""What who died over a file left at the source."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from paddleflow_fuse.sources.base import quiet
from paddleflow_fuse.sources.make import Wanted, here
from paddleflow_fuse.sources.unfinished import UNFINISHED, Unfinished

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


def test_what_is_made_is_no_more_noted_and_its_other_tries_are_removed(tmp_path: Path) -> None:
    noted, removed = Unfinished(tmp_path), list[bytes]()
    with noted.making(b"folder/file", removed.append) as tries:
        first, second = tries.begin(), tries.begin()
        assert sorted(noted.left()) == sorted([first, second])
        assert tries.last == second != first
    assert all(one.startswith(b"folder/" + UNFINISHED) for one in (first, second))
    assert (removed, noted.left()) == ([first], [])


def test_what_fails_leaves_nothing_but_a_note_of_what_cannot_be_removed(tmp_path: Path) -> None:
    noted, begun = Unfinished(tmp_path), list[bytes]()

    def remove(place: bytes) -> None:
        raise FileNotFoundError if place == begun[0] else PermissionError

    def make() -> None:
        with noted.making(b"file", remove) as tries:
            begun.extend([tries.begin(), tries.begin()])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        make()
    assert noted.left() == begun[1:]


def test_a_folder_that_has_something_else_keeps_all(tmp_path: Path) -> None:
    noted, removed = Unfinished(tmp_path), list[bytes]()
    ours = [b"folder/" + UNFINISHED + b"1", b"folder/" + UNFINISHED + b"2"]
    assert not noted.forget_all([*ours, b"folder/file"], removed.append)
    assert removed == []
    assert noted.forget_all(ours, removed.append)
    assert removed == ours


def test_the_next_one_removes_what_who_died_left_and_nothing_of_others(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "folder").mkdir(parents=True)
    (root / "folder/.paddleflow-unfinished-0").touch()
    wanted = Wanted("local://here", {}, str(root), journal=str(tmp_path / "uploads"))

    def work(die: object) -> None:
        os.fsync = lambda _file: die()  # type: ignore[assignment, operator]
        store(here(wanted, quiet), b"folder/file", b"content")

    (root / "folder/file").write_bytes(b"before")
    killed(work)
    assert len(list((root / "folder").iterdir())) == 3
    source = here(wanted, quiet)
    assert sorted(path.name for path in (root / "folder").iterdir()) == [".paddleflow-unfinished-0", "file"]
    store(source, b"folder/file", b"content")
    with pytest.raises(OSError, match=os.strerror(errno.ENOTDIR)):
        store(source, b"folder/file/below", b"content")
    assert list((tmp_path / "uploads").iterdir()) == []
    source.close()
