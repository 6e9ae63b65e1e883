# SPDX-License-Identifier: Apache-2.0
"""What open, read, write, seek and truncate do."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from tests.support.places import Place, file
from tests.support.source_suite import failing

ONLY_READ, ONLY_WRITE, BOTH = os.O_RDONLY, os.O_WRONLY, os.O_RDWR
CREATE = os.O_CREAT
PIECE = 128 << 10  # of a file that was there before, as the agent fetches it
LARGE = 3 * PIECE + 777


@pytest.fixture
def path(place: Place) -> Path:
    return place.root / "file"


# --- flags --------------------------------------------------------------------------------------


@pytest.mark.parametrize("flags", [ONLY_READ, ONLY_WRITE, BOTH])
def test_what_is_not_there_is_made_only_on_demand(path: Path, flags: int) -> None:
    with failing(errno.ENOENT):
        os.open(path, flags)
    with file(path, flags | CREATE) as one:
        assert os.fstat(one).st_size == 0
    assert path.read_bytes() == b""
    assert os.listdir(path.parent) == ["file"]


def test_create_leaves_what_is_there(path: Path) -> None:
    path.write_bytes(b"content")
    with file(path, BOTH | CREATE) as one:
        assert os.read(one, 100) == b"content"


def test_exclusive_create_makes_only_what_is_not_there(path: Path) -> None:
    with file(path, ONLY_WRITE | CREATE | os.O_EXCL) as one:
        os.write(one, b"content")
    with failing(errno.EEXIST):
        os.open(path, ONLY_WRITE | CREATE | os.O_EXCL)
    path.with_name("link").symlink_to("nothing")
    with failing(errno.EEXIST):
        os.open(path.with_name("link"), ONLY_WRITE | CREATE | os.O_EXCL)
    (path.parent / "folder").mkdir()
    with failing(errno.EEXIST):
        os.open(path.with_name("folder"), ONLY_WRITE | CREATE | os.O_EXCL)
    assert path.read_bytes() == b"content"


def test_create_follows_a_link_to_nothing(path: Path) -> None:
    path.with_name("link").symlink_to("file")
    path.with_name("link").write_bytes(b"content")
    assert path.read_bytes() == b"content"


@pytest.mark.parametrize("flags", [ONLY_WRITE, BOTH, ONLY_READ])
@pytest.mark.parametrize("size", [7, LARGE])
def test_truncating_open_empties(path: Path, flags: int, size: int) -> None:
    path.write_bytes(b"x" * size)
    with file(path, flags | os.O_TRUNC) as one:
        assert os.fstat(one).st_size == 0
        assert path.stat().st_size == 0
    assert path.read_bytes() == b""


def test_a_folder_is_opened_to_read_only(place: Place) -> None:
    folder = place.root / "folder"
    folder.mkdir()
    for flags in (ONLY_WRITE, BOTH, ONLY_WRITE | os.O_TRUNC, ONLY_READ | CREATE):
        with failing(errno.EISDIR):
            os.open(folder, flags)
    with file(folder, ONLY_READ) as one, failing(errno.EISDIR):
        os.read(one, 1)
    with file(folder, ONLY_READ | os.O_DIRECTORY) as one:
        assert os.listdir(one) == []


def test_who_wants_a_folder_is_given_no_file(path: Path) -> None:
    path.touch()
    with failing(errno.ENOTDIR):
        os.open(path, ONLY_READ | os.O_DIRECTORY)
    with failing(errno.ENOTDIR):
        os.open(path / "below", ONLY_READ)
    with failing(errno.ENOTDIR):
        os.open(f"{path}/", ONLY_READ)


def test_who_follows_no_link_is_given_none(path: Path) -> None:
    path.write_bytes(b"content")
    link = path.with_name("link")
    link.symlink_to("file")
    with failing(errno.ELOOP):
        os.open(link, ONLY_READ | os.O_NOFOLLOW)
    with file(path, ONLY_READ | os.O_NOFOLLOW) as one:
        assert os.read(one, 100) == b"content"


def test_a_handle_does_only_what_it_was_opened_for(path: Path) -> None:
    path.write_bytes(b"content")
    with file(path, ONLY_READ) as one, failing(errno.EBADF):
        os.write(one, b"x")
    with file(path, ONLY_READ) as one, failing(errno.EINVAL):
        os.ftruncate(one, 1)
    with file(path, ONLY_WRITE) as one, failing(errno.EBADF):
        os.read(one, 1)
    assert path.read_bytes() == b"content"


def test_a_file_without_a_name_works_or_is_refused_as_by_who_has_none(place: Place) -> None:
    """``tempfile`` asks for it, and takes a file with a name where it is refused so."""
    try:
        one = os.open(place.root, BOTH | os.O_TMPFILE, 0o600)
    except OSError as error:
        assert error.errno == errno.EOPNOTSUPP  # noqa: PT017 (it may, and need not)
    else:
        os.close(one)
    assert os.listdir(place.root) == []


# --- read, write, seek --------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1, 4095, 4096, 4097, PIECE - 1, PIECE, PIECE + 1, LARGE])
def test_what_was_written_is_read(path: Path, size: int) -> None:
    data = os.urandom(size)
    path.write_bytes(data)
    assert path.stat().st_size == size
    assert path.read_bytes() == data


def test_a_place_is_kept_by_each_handle(path: Path) -> None:
    with file(path, BOTH | CREATE) as one, file(path, BOTH) as other:
        assert os.write(one, b"0123456789") == 10
        assert os.lseek(one, 0, os.SEEK_CUR) == 10
        assert os.read(other, 4) == b"0123"
        assert os.read(other, 4) == b"4567"
        assert os.lseek(other, -3, os.SEEK_CUR) == 5
        assert os.write(other, b"xx") == 2
        assert os.lseek(one, -4, os.SEEK_END) == 6
        assert os.read(one, 100) == b"x789"
        assert os.read(one, 100) == b""
        with failing(errno.EINVAL):
            os.lseek(one, -1, os.SEEK_SET)
        assert os.pread(one, 3, 4) == b"4xx"
        assert os.pwrite(one, b"!", 0) == 1
        assert os.lseek(one, 0, os.SEEK_CUR) == 10
    assert path.read_bytes() == b"!1234xx789"


def test_beyond_the_end_is_nothing(path: Path) -> None:
    path.write_bytes(b"0123456789")
    with file(path, ONLY_READ) as one:
        assert os.pread(one, 100, 8) == b"89"
        assert os.pread(one, 100, 10) == b""
        assert os.pread(one, 100, 1 << 40) == b""


@pytest.mark.parametrize("gap", [1, 4096, PIECE, 5 * PIECE + 3])
@pytest.mark.parametrize("before", [b"", b"before", b"b" * (PIECE + 5)])
def test_a_gap_is_read_as_zeros(path: Path, before: bytes, gap: int) -> None:
    path.write_bytes(before)
    with file(path, BOTH) as one:
        os.pwrite(one, b"after", len(before) + gap)
        assert os.pread(one, 1 << 24, 0) == before + bytes(gap) + b"after"
    assert path.read_bytes() == before + bytes(gap) + b"after"


def test_who_appends_writes_at_the_end_whatever_is_said(path: Path) -> None:
    path.write_bytes(b"0")
    with file(path, BOTH | os.O_APPEND) as one, file(path, BOTH | os.O_APPEND) as other:
        os.write(one, b"1")
        os.write(other, b"2")
        os.lseek(one, 0, os.SEEK_SET)
        os.write(one, b"3")
        assert os.lseek(one, 0, os.SEEK_CUR) == 4
        assert os.pread(one, 10, 0) == b"0123"
        os.pwrite(one, b"4", 0)  # as Linux does
    assert path.read_bytes() == b"01234"


def test_a_large_file_is_appended_to(path: Path) -> None:
    data = os.urandom(LARGE)
    path.write_bytes(data)
    for turn in range(3):
        with file(path, ONLY_WRITE | os.O_APPEND) as one:
            os.write(one, b"%d" % turn)
    assert path.read_bytes() == data + b"012"


@pytest.mark.parametrize("offset", [0, 1, PIECE - 3, PIECE, 2 * PIECE + 100, LARGE - 2, LARGE])
def test_a_part_of_a_large_file_is_replaced(path: Path, offset: int) -> None:
    data = bytearray(os.urandom(LARGE))
    path.write_bytes(data)
    with file(path, BOTH) as one:
        os.pwrite(one, b"changed", offset)
        data[offset : offset + 7] = b"changed"
        assert os.pread(one, 100, max(offset - 50, 0)) == data[max(offset - 50, 0) :][:100]
        assert os.fstat(one).st_size == len(data)
    assert path.read_bytes() == data


def test_a_write_of_several_mebibytes_is_taken_whole(path: Path) -> None:
    data = os.urandom(5 << 20)
    with file(path, BOTH | CREATE) as one:
        assert os.write(one, data) == len(data)
        assert os.pread(one, len(data), 0) == data
    assert path.read_bytes() == data


def test_what_is_scattered_is_gathered(path: Path) -> None:
    with file(path, BOTH | CREATE) as one:
        assert os.writev(one, [b"one", b"", b"two", b"three"]) == 11
        buffers = [bytearray(2), bytearray(5), bytearray(20)]
        assert os.preadv(one, buffers, 0) == 11
    assert [bytes(buffers[0]), bytes(buffers[1]), bytes(buffers[2][:4])] == [b"on", b"etwot", b"hree"]


# --- truncate -----------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["path", "handle", "handle of an open file"])
@pytest.mark.parametrize("size", [0, 1, PIECE - 1, PIECE, PIECE + 1, LARGE - 1, LARGE, LARGE + 1, 2 * LARGE])
def test_truncate_cuts_and_adds_zeros(path: Path, size: int, by: str) -> None:
    data = os.urandom(LARGE)
    path.write_bytes(data)
    expected = data[:size] + bytes(max(size - LARGE, 0))
    if by == "path":
        os.truncate(path, size)
    else:
        with file(path, BOTH) as one:
            if by == "handle of an open file":
                os.pread(one, 10, PIECE)
            os.ftruncate(one, size)
            assert os.fstat(one).st_size == size
            assert os.pread(one, 3 * LARGE, 0) == expected
    assert path.stat().st_size == size
    assert path.read_bytes() == expected


def test_what_was_cut_off_does_not_come_back(path: Path) -> None:
    path.write_bytes(b"x" * LARGE)
    with file(path, BOTH) as one:
        os.ftruncate(one, 10)
        os.ftruncate(one, LARGE)
        os.pwrite(one, b"end", LARGE)
        assert os.pread(one, LARGE * 2, 0) == b"x" * 10 + bytes(LARGE - 10) + b"end"
    assert path.read_bytes() == b"x" * 10 + bytes(LARGE - 10) + b"end"


def test_only_files_are_truncated(place: Place) -> None:
    folder = place.root / "folder"
    folder.mkdir()
    with failing(errno.EISDIR):
        os.truncate(folder, 0)
    with failing(errno.ENOENT):
        os.truncate(folder / "none", 0)
    (place.root / "file").touch()
    with failing(errno.EINVAL):
        os.truncate(place.root / "file", -1)


def test_truncate_of_a_path_is_seen_by_who_has_it_open(path: Path) -> None:
    path.write_bytes(b"0123456789")
    with file(path, BOTH) as one:
        os.pwrite(one, b"x", 0)
        os.truncate(path, 4)
        assert os.fstat(one).st_size == 4
        assert os.pread(one, 100, 0) == b"x123"
    assert path.read_bytes() == b"x123"
