# SPDX-License-Identifier: Apache-2.0
"""Room, holes, and copies that nobody carries through a program."""

from __future__ import annotations

import errno
import mmap
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.places import KINDS, Place, Places, file
from tests.support.ranges import COLLAPSE, INSERT, KEEP, PUNCH, ZERO, fallocate
from tests.support.source_suite import failing

PIECE = 128 << 10  # of a file that was there before, as the agent fetches it
LARGE = 3 * PIECE + 777
FAR = 2 << 20  # larger than what is fetched at once
BOTH = os.O_RDWR | os.O_CREAT


@pytest.fixture
def path(place: Place) -> Path:
    return place.root / "file"


@pytest.fixture(params=[name for name, kind in KINDS.items() if "fallocate" not in kind.lacks])
def roomy(request: pytest.FixtureRequest, places: Places) -> Path:
    return places.take(request.param).root / "file"


def written(path: Path, size: int) -> bytearray:
    data = bytearray(os.urandom(size))
    path.write_bytes(data)
    return data


# --- room ---------------------------------------------------------------------------------------

RANGES = [
    (0, 1), (1, 3), (0, 4096), (100, 2 * PIECE), (PIECE, PIECE), (PIECE - 1, PIECE + 2), (LARGE - 5, 5), (LARGE - 5, 100),
    (LARGE, 10), (LARGE + 100, 10), (0, LARGE), (0, LARGE + 1), (0, 1 << 40),
]  # fmt: skip


@pytest.mark.parametrize(("offset", "size"), RANGES[:-1])
@pytest.mark.parametrize("mode", [0, KEEP, PUNCH | KEEP, ZERO, ZERO | KEEP])
def test_room_is_made_and_ranges_are_zeroed(roomy: Path, mode: int, offset: int, size: int) -> None:
    data = written(roomy, LARGE)
    end = offset + size
    if mode & (PUNCH | ZERO):
        data[offset : min(end, LARGE)] = bytes(max(min(end, LARGE) - offset, 0))
    if not mode & KEEP:
        data += bytes(max(end - LARGE, 0))
    with file(roomy, os.O_RDWR) as one:
        fallocate(one, mode, offset, size)
        assert os.fstat(one).st_size == len(data)
        assert os.pread(one, 2 * LARGE, 0) == data
        os.pwrite(one, b"later", offset)
    data.extend(bytes(max(offset + 5 - len(data), 0)))
    data[offset : offset + 5] = b"later"
    assert roomy.read_bytes() == data


def test_a_hole_is_as_long_as_one_likes(roomy: Path) -> None:
    data = written(roomy, LARGE)
    with file(roomy, os.O_RDWR) as one:
        fallocate(one, PUNCH | KEEP, 10, 1 << 40)
    assert roomy.read_bytes() == data[:10] + bytes(LARGE - 10)


def test_what_was_zeroed_and_synced_is_zero_for_all(roomy: Path) -> None:
    path = roomy
    data = written(path, LARGE)
    with file(path, os.O_RDWR) as one:
        fallocate(one, PUNCH | KEEP, PIECE - 3, PIECE + 6)
        os.fsync(one)
    data[PIECE - 3 : 2 * PIECE + 3] = bytes(PIECE + 6)
    assert path.read_bytes() == data


def test_room_is_made_by_who_writes_and_within_what_a_file_can_be(roomy: Path) -> None:
    roomy.write_bytes(b"content")
    with file(roomy, os.O_RDONLY) as one, failing(errno.EBADF):
        fallocate(one, 0, 0, 100)
    with file(roomy, os.O_RDWR) as one:
        for mode, offset, size, code in (
            (0, 0, 0, errno.EINVAL), (0, -1, 10, errno.EINVAL), (PUNCH, 0, 1, errno.EOPNOTSUPP),
            (0, (1 << 63) - 10, 100, errno.EFBIG),
        ):  # fmt: skip
            with failing(code):
                fallocate(one, mode, offset, size)
        os.pwrite(one, b"C", 0)
    assert roomy.read_bytes() == b"Content"


def test_nothing_is_moved_within_a_file(ours: Place) -> None:
    path = ours.root / "file"
    data = written(path, 4 * 4096)
    with file(path, os.O_RDWR) as one:
        for mode in (COLLAPSE, INSERT):
            with failing(errno.EOPNOTSUPP):
                fallocate(one, mode, 4096, 4096)
    assert path.read_bytes() == data


# --- holes --------------------------------------------------------------------------------------


def told(one: int) -> list[tuple[int, int]]:
    """Where there are data."""
    found: list[tuple[int, int]] = []
    end = 0
    while True:
        try:
            start = os.lseek(one, end, os.SEEK_DATA)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            return found
        end = os.lseek(one, start, os.SEEK_HOLE)
        assert end > start
        found.append((start, end))


def test_holes_may_be_told_as_data_and_data_never_as_holes(path: Path) -> None:
    size = FAR + 7
    with file(path, BOTH) as one:
        os.pwrite(one, b"content", FAR)
        os.pwrite(one, b"x", PIECE)
        found = told(one)
        for place in (PIECE, *range(FAR, size)):
            assert any(start <= place < end for start, end in found)
        assert max(end for _start, end in found) <= size
        assert os.lseek(one, FAR, os.SEEK_HOLE) == size
        for offset in (size, size + 1, 1 << 50):
            for whence in (os.SEEK_DATA, os.SEEK_HOLE):
                with failing(errno.ENXIO):
                    os.lseek(one, offset, whence)
    with file(path, os.O_RDONLY) as one:
        assert any(start <= FAR < end for start, end in told(one))
        with failing(errno.ENXIO):
            os.lseek(one, size, os.SEEK_DATA)


def test_holes_are_told_where_the_kernel_writes_by_itself(place: Place) -> None:
    if place.mount and not place.kind.passthrough:
        pytest.skip("every file is told as data there")
    with file(place.root / "file", BOTH) as one:
        os.pwrite(one, b"x" * 4096, FAR)
        assert told(one) == [(FAR, FAR + 4096)]
        fallocate(one, PUNCH | KEEP, FAR, 4096)
        assert told(one) == []


def test_what_is_written_to_memory_is_no_hole(path: Path) -> None:
    with file(path, BOTH) as one:
        os.ftruncate(one, FAR)
        with mmap.mmap(one, FAR) as memory:
            memory[FAR // 2] = 7
            assert any(start <= FAR // 2 < end for start, end in told(one))


def test_what_was_there_before_is_no_hole(path: Path) -> None:
    written(path, LARGE)
    with file(path, os.O_RDWR) as one:
        assert told(one) == [(0, LARGE)]
        os.pwrite(one, b"x", 5)
        assert told(one) == [(0, LARGE)]


# --- copies -------------------------------------------------------------------------------------


@pytest.mark.parametrize("synced", [True, False])
@pytest.mark.parametrize("size", [7, LARGE, FAR + 5])
def test_the_kernel_copies(place: Place, size: int, synced: bool) -> None:
    data = written(place.root / "a", size)
    with file(place.root / "a", os.O_RDWR) as source, file(place.root / "b", BOTH) as target:
        if not synced:
            os.pwrite(source, b"new", 3)
            data[3:6] = b"new"
        done = 0
        while moved := os.copy_file_range(source, target, FAR):
            done += moved
        assert done == size
        assert os.pread(target, 2 * size, 0) == data
    assert (place.root / "b").read_bytes() == data
    with file(place.root / "a", os.O_RDONLY) as source, file(place.root / "c", BOTH) as target:
        done = 0
        while moved := os.sendfile(target, source, done, FAR):
            done += moved
    assert (place.root / "c").read_bytes() == data


@pytest.mark.parametrize(
    ("at", "to", "size"),
    [(0, 0, 1), (5, 2 * PIECE + 1, 100), (PIECE - 7, 3, PIECE + 9), (LARGE - 3, LARGE - 1, 100), (0, LARGE + 50, LARGE), (LARGE, 0, 1)],
)  # fmt: skip
def test_a_range_is_copied_into_a_file(place: Place, at: int, to: int, size: int) -> None:
    given, taken = written(place.root / "a", LARGE), written(place.root / "b", LARGE)
    with file(place.root / "a", os.O_RDONLY) as source, file(place.root / "b", os.O_RDWR) as target:
        done = 0
        while done < size and (moved := os.copy_file_range(source, target, size - done, at + done, to + done)):
            done += moved
        assert done == min(size, LARGE - at)
    taken += bytes(max(to + done - LARGE, 0)) if done else b""
    taken[to : to + done] = given[at : at + done]
    assert (place.root / "b").read_bytes() == taken
    assert (place.root / "a").read_bytes() == given


def test_a_range_is_copied_within_a_file(path: Path) -> None:
    data = written(path, LARGE)
    with file(path, os.O_RDWR) as one:
        assert os.copy_file_range(one, one, PIECE, 0, 2 * PIECE) == PIECE
        with failing(errno.EINVAL):
            os.copy_file_range(one, one, 100, 0, 99)
        with failing(errno.EINVAL):
            os.copy_file_range(one, one, 100, 50, 0)
    data[2 * PIECE : 3 * PIECE] = data[:PIECE]
    assert path.read_bytes() == data


def test_a_copy_is_made_by_who_may(place: Place) -> None:
    written(place.root / "a", 100)
    written(place.root / "b", 100)
    with (
        file(place.root / "a", os.O_RDONLY) as source,
        file(place.root / "b", os.O_RDONLY) as target,
        failing(errno.EBADF),
    ):
        os.copy_file_range(source, target, 10)
    with (
        file(place.root / "a", os.O_WRONLY) as source,
        file(place.root / "b", os.O_WRONLY) as target,
        failing(errno.EBADF),
    ):
        os.copy_file_range(source, target, 10)
    with (
        file(place.root / "a", os.O_RDONLY) as source,
        file(place.root / "b", os.O_WRONLY | os.O_APPEND) as target,
        failing(errno.EBADF),
    ):
        os.copy_file_range(source, target, 10)


def test_two_copy_from_each_other_at_once(place: Place) -> None:
    """Who waited for the one while it held the other would wait for ever."""
    data = written(place.root / "a", FAR)
    shutil.copyfile(place.root / "a", place.root / "b")
    code = (
        "import os, sys; one, other = (os.open(path, os.O_RDWR) for path in sys.argv[1:])\n"
        "for _turn in range(50): assert os.copy_file_range(one, other, 1 << 20, 0, 0) == 1 << 20"
    )
    names = (str(place.root / "a"), str(place.root / "b"))
    copying = [subprocess.Popen(["python3", "-I", "-S", "-c", code, *order]) for order in (names, names[::-1])]
    assert [one.wait(60) for one in copying] == [0, 0]
    assert (place.root / "a").read_bytes() == (place.root / "b").read_bytes() == data


@pytest.mark.parametrize("how", ["--reflink=auto", "--sparse=always", "--sparse=never"])
def test_cp_copies_what_has_holes(place: Place, how: str) -> None:
    with file(place.root / "a", BOTH) as one:
        os.pwrite(one, b"middle", FAR // 2)
        os.ftruncate(one, FAR)
    data = (place.root / "a").read_bytes()
    subprocess.run(["cp", how, place.root / "a", place.root / "b"], check=True, timeout=60)
    assert (place.root / "b").read_bytes() == data
    assert data == bytes(FAR // 2) + b"middle" + bytes(FAR - FAR // 2 - 6)
