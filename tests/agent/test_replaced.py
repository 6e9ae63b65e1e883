# SPDX-License-Identifier: Apache-2.0
"""What others put in a file's place, where the kernel goes on to believe its name."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.behind import LARGE, LONG, Begin, beginning, replace
from tests.support.places import file
from tests.support.source_suite import failing


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Begin]:
    with beginning(tmp_path) as one:
        yield one


@pytest.mark.parametrize("over", [False, True])
@pytest.mark.parametrize("size", [10, LARGE])
def test_who_moves_a_file_that_others_replaced_has_theirs_under_the_new_name(
    begin: Begin, size: int, over: bool
) -> None:
    """However long the kernel may believe what it knew under the old one."""
    root, point = begin(**LONG)
    for name in ["file", "moved"] if over else ["file"]:
        (root / name).write_bytes(b"1" * size)
        assert (point / name).read_bytes() == b"1" * size
    with file(point / "file", os.O_RDONLY) as before:
        replace(root / "file", b"2" * (size + 1))
        (point / "file").rename(point / "moved")
        assert (point / "moved").stat().st_size == size + 1
        assert (point / "moved").read_bytes() == b"2" * (size + 1)
        assert os.pread(before, size, 0) == b"1" * size
    assert [one.name for one in root.iterdir()] == os.listdir(point) == ["moved"]


@pytest.mark.parametrize("then", ["opened", "moved"])
def test_an_open_finds_what_a_listing_found_before(begin: Begin, then: str) -> None:
    """The kernel still believes that the name means what it knew."""
    root, point = begin(**LONG | {"names_hold": 0})
    (root / "file").write_bytes(b"before")
    assert (point / "file").read_bytes() == b"before"
    replace(root / "file", b"and after")
    os.listdir(point)
    name = "file"
    if then == "moved":
        name = "moved"
        (point / "file").rename(point / name)
    assert (point / name).read_bytes() == b"and after"
    (root / name).unlink()
    os.listdir(point)
    with failing(errno.ENOENT):
        (point / name).read_bytes()


def test_what_was_removed_or_moved_over_here_is_opened_again_by_who_has_it_open(begin: Begin) -> None:
    _root, point = begin(**LONG)
    for name in ("removed", "moved over"):
        (point / name).write_bytes(name.encode())
        with file(point / name, os.O_RDONLY) as one:
            if name == "removed":
                (point / name).unlink()
            else:
                (point / "other").write_bytes(b"other")
                (point / "other").rename(point / name)
            with file(Path(f"/proc/self/fd/{one}"), os.O_RDONLY) as again:
                assert os.pread(again, 100, 0) == name.encode()
