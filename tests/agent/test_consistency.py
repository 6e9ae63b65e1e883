# SPDX-License-Identifier: Apache-2.0
"""What a mount shows of what others write to its source behind its back."""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.behind import LARGE, LONG, QUICK, Begin, beginning, replace
from tests.support.granted import until
from tests.support.places import file
from tests.support.source_suite import failing


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Begin]:
    with beginning(tmp_path) as one:
        yield one


WAYS = {"in place": Path.write_bytes, "by another": replace}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("size", [10, LARGE])
def test_who_opens_a_file_finds_what_was_closed_before(begin: Begin, way: str, size: int) -> None:
    """Section 14: whatever the caches hold."""
    root, point = begin(**LONG)
    for turn in range(5):
        data = b"%d" % turn * size
        WAYS[way](root / "file", data)
        with file(point / "file", os.O_RDONLY) as one:
            assert os.fstat(one).st_size == size
            assert os.pread(one, size + 10, 0) == data
        data = b"%d" % turn * (size + turn + 1)
        WAYS[way](root / "file", data)
        assert (point / "file").read_bytes() == data


@pytest.mark.parametrize("way", WAYS)
def test_who_changes_a_file_changes_what_is_there_now(begin: Begin, way: str) -> None:
    root, point = begin(**LONG)
    (root / "file").write_bytes(b"0" * LARGE)
    assert (point / "file").read_bytes() == b"0" * LARGE
    WAYS[way](root / "file", b"1" * LARGE)
    with file(point / "file", os.O_WRONLY) as one:
        os.pwrite(one, b"x", 100)
    assert (root / "file").read_bytes() == b"1" * 100 + b"x" + b"1" * (LARGE - 101)
    until("it is closed", lambda: list((point.parent / "staging").iterdir()) == [])
    WAYS[way](root / "file", b"2" * 100)
    with file(point / "file", os.O_WRONLY | os.O_APPEND) as one:
        os.write(one, b"end")
    assert (root / "file").read_bytes() == b"2" * 100 + b"end"
    # The kernel tells of the last close later than it returns, and until then the file is open here.
    until("it is closed", lambda: list((point.parent / "staging").iterdir()) == [])
    WAYS[way](root / "file", b"3" * 100)
    os.truncate(point / "file", 3)
    assert (root / "file").read_bytes() == b"333"


def test_what_was_stored_here_is_seen_by_another_mount(begin: Begin) -> None:
    _root, point = begin(**QUICK)
    _root, other = begin(**QUICK)
    assert os.listdir(other) == []
    for turn in range(10):
        data = b"%d" % turn * (1000 + turn)
        (point / "file").write_bytes(data)
        until("the name is there", (other / "file").exists)
        assert (other / "file").read_bytes() == data
        assert (other / "file").stat().st_size == len(data), "who opened it asked"
        with file(other / "file", os.O_WRONLY | os.O_APPEND) as one:
            os.write(one, b"more")
        assert (point / "file").read_bytes() == data + b"more"


@pytest.mark.parametrize("way", WAYS)
def test_who_opens_what_was_written_here_finds_what_others_closed_since(begin: Begin, way: str) -> None:
    """Also while somebody has it open still who opened it before it was closed, and so what was staged."""
    root, point = begin(**LONG)
    with file(point / "file", os.O_WRONLY | os.O_CREAT) as writer:
        os.write(writer, b"ours")
        with file(point / "file", os.O_RDONLY) as reader:
            os.close(writer)
            assert (point / "file").read_bytes() == b"ours"
            WAYS[way](root / "file", b"theirs, and later")
            assert (point / "file").read_bytes() == b"theirs, and later"
            with (point / "file").open("ab") as one:
                one.write(b" appended")
            os.truncate(point / "file", 24)
            assert os.pread(reader, 100, 0) == b"ours"
    assert (root / "file").read_bytes() == (point / "file").read_bytes() == b"theirs, and later append"


@pytest.mark.parametrize("way", WAYS)
def test_who_writes_and_closes_last_wins_whatever_was_seen_meanwhile(begin: Begin, way: str) -> None:
    root, point = begin(**QUICK)
    (root / "file").write_bytes(b"before")
    with file(point / "file", os.O_WRONLY | os.O_TRUNC) as writer:
        os.write(writer, b"ours")
        WAYS[way](root / "file", b"theirs, meanwhile")
        for _time in range(3):
            assert (point / "file").stat().st_size == 4
            os.listdir(point)
            time.sleep(QUICK["names_hold"])  # it is not believed any more
    assert (root / "file").read_bytes() == (point / "file").read_bytes() == b"ours"


@pytest.mark.parametrize("way", WAYS)
def test_who_changes_a_mode_does_not_take_what_another_wrote_for_what_he_knows(begin: Begin, way: str) -> None:
    root, point = begin(**LONG)
    (root / "file").write_bytes(b"before")
    assert (point / "file").read_bytes() == b"before"
    WAYS[way](root / "file", b"later!")
    (point / "file").chmod(0o600)
    assert (point / "file").read_bytes() == b"later!"
    assert (root / "file").stat().st_mode & 0o777 == 0o600


def test_what_only_readers_have_open_is_changed_at_once(begin: Begin) -> None:
    """Nobody is left who stores it when he closes it."""
    root, point = begin(**QUICK)
    with file(point / "file", os.O_WRONLY | os.O_CREAT) as writer:
        os.write(writer, b"written")
        with file(point / "file", os.O_RDONLY) as reader:
            os.close(writer)
            (point / "file").chmod(0o640)
            assert (root / "file").stat().st_mode & 0o777 == (point / "file").stat().st_mode & 0o777 == 0o640
            os.truncate(point / "file", 3)
            assert (root / "file").read_bytes() == b"wri"
            replace(root / "file", b"theirs!")
            (point / "file").rename(point / "moved")
            assert (point / "moved").read_bytes() == (root / "moved").read_bytes() == b"theirs!"
            assert os.pread(reader, 100, 0) == b"wri"
    assert (point / "moved").read_bytes() == b"theirs!"


@pytest.mark.parametrize("way", WAYS)
def test_who_reads_a_file_never_gets_a_mix_of_versions(begin: Begin, way: str) -> None:
    """Section 14: what he opened, or ESTALE."""
    root, point = begin(**QUICK)
    before, after = b"0" * LARGE, b"1" * LARGE
    (root / "file").write_bytes(before)
    with file(point / "file", os.O_RDONLY) as one:
        assert os.pread(one, 1000, 0) == before[:1000]
        WAYS[way](root / "file", after)
        for offset in (1000, LARGE - 1000, 2 << 20, 0):
            try:
                found = os.pread(one, 1000, offset)
            except OSError as error:
                assert error.errno in (errno.ESTALE, errno.EIO)  # noqa: PT017 (it may, and need not)
            else:
                assert found == before[:1000]
        until("the new one is seen", lambda: (point / "file").read_bytes() == after)


def test_who_reads_whole_files_while_they_are_replaced_never_gets_a_mix(begin: Begin) -> None:
    root, point = begin(**QUICK)
    size = 300_000
    replace(root / "file", b"0" * size)
    stop = threading.Event()

    def churn() -> None:
        turn = 0
        while not stop.wait(0.02):  # or nobody is fast enough to read one
            turn += 1
            replace(root / "file", b"%d" % (turn % 10) * size)

    thread = threading.Thread(target=churn)
    thread.start()
    served = 0
    try:
        for _turn in range(100):
            try:
                found = (point / "file").read_bytes()
            except OSError as error:
                assert error.errno in (errno.ESTALE, errno.EIO)  # noqa: PT017 (it may, and need not)
            else:
                served += 1
                assert len(found) == size
                assert found == found[:1] * size
    finally:
        stop.set()
        thread.join()
    assert served


def test_who_reads_what_another_removed_is_told(begin: Begin) -> None:
    """D-40: ESTALE of an open handle; ENOENT of a name."""
    root, point = begin(**QUICK)
    (root / "file").write_bytes(b"0" * LARGE)
    with file(point / "file", os.O_RDONLY) as one:
        assert os.pread(one, 10, 0) == b"0" * 10
        (root / "file").unlink()
        try:
            assert os.pread(one, 10, LARGE - 10) == b"0" * 10
        except OSError as error:
            assert error.errno in (errno.ESTALE, errno.EIO)  # noqa: PT017 (it may, and need not)
        with failing(errno.ENOENT):
            os.open(point / "file", os.O_RDONLY)


def test_the_last_who_closes_wins(begin: Begin) -> None:
    """Section 14: one of both, whole."""
    root, point = begin(**QUICK)
    _root, other = begin(**QUICK)
    with file(point / "file", os.O_WRONLY | os.O_CREAT) as one:
        os.write(one, b"first, and longer")
        (other / "file").write_bytes(b"second")
        assert (root / "file").read_bytes() == b"second"
    assert (root / "file").read_bytes() == b"first, and longer"
    assert (point / "file").read_bytes() == b"first, and longer"
    assert (other / "file").read_bytes() == b"first, and longer"


def test_who_makes_a_file_only_if_it_is_not_there_asks(begin: Begin) -> None:
    root, point = begin(**LONG)
    assert not (point / "file").exists()
    (root / "file").write_bytes(b"theirs")
    with failing(errno.EEXIST):
        os.open(point / "file", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    assert (root / "file").read_bytes() == b"theirs"


def test_a_folder_is_not_removed_with_what_others_made_in_it(begin: Begin) -> None:
    root, point = begin(**LONG)
    (point / "folder").mkdir()
    assert os.listdir(point / "folder") == []
    (root / "folder" / "theirs").write_bytes(b"theirs")
    with failing(errno.ENOTEMPTY):
        (point / "folder").rmdir()
    (point / "other").mkdir()
    with failing(errno.ENOTEMPTY):
        (point / "other").rename(point / "folder")
    assert (root / "folder" / "theirs").read_bytes() == b"theirs"


def test_what_another_removed_already_is_said_so(begin: Begin) -> None:
    """D-32."""
    root, point = begin(**LONG)
    for name in ("a", "b"):
        (root / name).write_bytes(b"content")
        assert (point / name).read_bytes() == b"content"
        (root / name).unlink()
    with failing(errno.ENOENT):
        (point / "a").unlink()
    with failing(errno.ENOENT):
        (point / "b").rename(point / "c")
    assert os.listdir(root) == []


def test_names_that_stay_are_listed_while_others_come_and_go_behind(begin: Begin) -> None:
    root, point = begin(**dict.fromkeys(QUICK, 0.0))
    stays = [f"stays{index:03}" for index in range(300)]
    for name in stays:
        (root / name).touch()
    stop = threading.Event()

    def churn() -> None:
        while not stop.is_set():
            for index in range(30):
                (root / f"other{index}").touch()
            for index in range(30):
                (root / f"other{index}").unlink()

    thread = threading.Thread(target=churn)
    thread.start()
    try:
        for _turn in range(20):
            found = os.listdir(point)
            assert sorted(name for name in found if name.startswith("stays")) == stays
            assert len(found) == len(set(found))
    finally:
        stop.set()
        thread.join()
    assert sorted(os.listdir(point)) == stays


def test_numbers_of_files_are_the_same_for_every_mount(begin: Begin) -> None:
    """D-33."""
    root, point = begin(**QUICK)
    (root / "folder").mkdir()
    (root / "folder" / "file").write_bytes(b"content")
    (root / "file").write_bytes(b"content")
    _root, other = begin(**QUICK)
    for name in ("folder", "folder/file", "file"):
        assert (point / name).stat().st_ino == (other / name).stat().st_ino
    replace(root / "file", b"another")
    before = (other / "file").stat().st_ino
    until("it is seen", lambda: (point / "file").stat().st_size == 7 and (point / "file").read_bytes() == b"another")
    assert (point / "file").stat().st_ino == before


def test_a_folder_has_the_time_of_what_was_changed_in_it_last(begin: Begin) -> None:
    """Else tar finds that it was changed while it read it."""
    root, point = begin(**LONG | {"kernel_attributes_hold": 0.0})
    folder = point / "folder"
    folder.mkdir()
    for act in (
        (folder / "below").mkdir,
        lambda: (folder / "file").write_bytes(b"content"),
        lambda: (folder / "file").write_bytes(b"other content"),
        lambda: (folder / "file").rename(folder / "below/file"),
        lambda: (folder / "link").symlink_to("below"),
        (folder / "link").unlink,
        (folder / "below/file").unlink,
        (folder / "below").rmdir,
    ):
        act()
        for name in ("folder", "folder/below"):
            if (root / name).exists():
                assert (point / name).stat().st_mtime_ns == (root / name).stat().st_mtime_ns


def test_who_reads_what_the_kernel_wrote_by_itself_gets_no_page_of_before(begin: Begin) -> None:
    """Rule 5: pages of a file that was read by way of the agent know nothing of a write that went past it."""
    root, point = begin(**LONG)
    before = os.urandom(LARGE)
    (root / "file").write_bytes(before)
    path = point / "file"
    assert path.read_bytes() == before  # into pages, and whole onto the disk
    with file(path, os.O_RDWR) as one:
        os.pwrite(one, b"new", 10_000)
    expected = before[:10_000] + b"new" + before[10_003:]
    assert (root / "file").read_bytes() == expected
    assert path.read_bytes() == expected
