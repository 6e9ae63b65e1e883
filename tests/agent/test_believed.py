# SPDX-License-Identifier: Apache-2.0
"""How long a mount takes for granted what it knows of a source in which others write, too."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.behind import LONG, QUICK, Begin, beginning, replace
from tests.support.faulty_source import Faults
from tests.support.granted import until
from tests.support.source_suite import failing


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Begin]:
    with beginning(tmp_path) as one:
        yield one


def test_attributes_are_seen_when_what_was_known_holds_no_more(begin: Begin) -> None:
    root, point = begin(**QUICK)
    path, there = point / "file", root / "file"
    there.write_bytes(b"before")
    assert path.stat().st_size == 6
    there.write_bytes(b"after it")
    os.utime(there, ns=(5, 5))
    until("size and time are seen", lambda: (path.stat().st_size, path.stat().st_mtime_ns) == (8, 5))
    there.chmod(0o600)
    os.chown(there, 7, 8)
    until("owner and mode are seen", lambda: (path.stat().st_uid, path.stat().st_mode & 0o777) == (7, 0o600))


def test_names_are_seen_when_what_was_known_holds_no_more(begin: Begin) -> None:
    root, point = begin(**QUICK)
    (root / "goes").write_bytes(b"goes")
    (root / "kind").write_bytes(b"file")
    assert sorted(os.listdir(point)) == ["goes", "kind"]
    assert not (point / "comes").exists()
    (root / "comes").write_bytes(b"comes")
    (root / "goes").unlink()
    (root / "kind").unlink()
    (root / "kind").mkdir()
    (root / "kind" / "below").write_bytes(b"below")
    until("what came is there", (point / "comes").exists)
    until("what went is not", lambda: not (point / "goes").exists())
    until("another kind is seen", (point / "kind").is_dir)
    assert (point / "kind" / "below").read_bytes() == b"below"
    assert sorted(os.listdir(point)) == ["comes", "kind"]
    (root / "comes").rename(root / "kind" / "moved")
    until("the listing is new", lambda: os.listdir(point) == ["kind"])
    until("what moved is there", (point / "kind" / "moved").exists)


def test_what_is_known_answers_as_long_as_it_holds(begin: Begin) -> None:
    root, point = begin(**LONG)
    (root / "file").write_bytes(b"before")
    assert (point / "file").stat().st_size == 6
    assert os.listdir(point) == ["file"]
    (root / "file").write_bytes(b"after it")
    (root / "new").touch()
    assert (point / "file").stat().st_size == 6
    assert os.listdir(point) == ["file"]
    assert (point / "file").read_bytes() == b"after it"
    assert (point / "file").stat().st_size == 8, "who opened it asked"


def test_what_others_made_meanwhile_is_found_by_who_is_told_of_it(begin: Begin) -> None:
    """However long it is believed that it is not there: so a folder may be made by whoever needs it, on each machine."""
    root, point = begin(**LONG)
    assert os.listdir(point) == []
    for name in ("one", "two", "three"):
        (root / name).mkdir()
        (root / name / "file").touch()
        assert not (point / name).exists(), "what is known holds"
    os.makedirs(point / "one", exist_ok=True)
    with failing(errno.EISDIR):
        os.open(point / "two", os.O_WRONLY | os.O_CREAT)
    with failing(errno.EEXIST):
        (point / "three").symlink_to("file")
    assert [(point / name / "file").exists() for name in ("one", "two", "three")] == [True] * 3


def test_nothing_holds_where_that_is_said(begin: Begin) -> None:
    """Section 14: 0 is close-to-open for attributes and names too."""
    root, point = begin(**dict.fromkeys(QUICK, 0.0))
    for turn in range(20):
        (root / "file").write_bytes(b"x" * turn)
        assert (point / "file").stat().st_size == turn
        (root / f"new{turn}").touch()
        assert (point / f"new{turn}").exists()
        assert f"new{turn}" in os.listdir(point)
        (root / f"new{turn}").unlink()
        assert not (point / f"new{turn}").exists()
        assert os.listdir(point) == ["file"]


def test_who_is_relaxed_takes_what_is_known(begin: Begin, tmp_path: Path) -> None:
    """Section 14: relaxedOpen asks nobody for as long as that holds."""
    faults = Faults(tmp_path / "faults")
    root, point = begin(relaxed=True, read_only=True, faults=faults.folder, **LONG)
    (root / "file").write_bytes(b"before")
    assert (point / "file").read_bytes() == b"before"
    with faults.said("find", "error EIO"), faults.said("read", "error EIO"):
        for _turn in range(3):
            assert (point / "file").read_bytes() == b"before"
    replace(root / "file", b"after it")
    assert (point / "file").read_bytes() == b"before"


def test_a_mount_that_is_only_read_changes_nothing(begin: Begin) -> None:
    """Section 13: EROFS."""
    root, point = begin(read_only=True)
    (root / "file").write_bytes(b"content")
    for act in (
        lambda: (point / "file").write_bytes(b"x"), (point / "new").touch, (point / "file").unlink,
        (point / "folder").mkdir, lambda: (point / "file").rename(point / "new"),
        lambda: os.truncate(point / "file", 0), lambda: (point / "file").chmod(0o600), lambda: (point / "link").symlink_to("a"),
        lambda: os.utime(point / "file"),
    ):  # fmt: skip
        with failing(errno.EROFS):
            act()
    assert (point / "file").read_bytes() == b"content"
    assert os.listdir(root) == ["file"]
