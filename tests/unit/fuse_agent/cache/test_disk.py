# SPDX-License-Identifier: Apache-2.0
"""The disk tier: what is there, what is not, and what it takes."""

from __future__ import annotations

import os
from pathlib import Path

import hypothesis
import pytest
from hypothesis import strategies as st
from paddleflow_fuse.cache.disk import Disk, key
from paddleflow_fuse.cache.errors import FullError, UsedError
from paddleflow_fuse.cache.pieces import PIECE
from paddleflow_fuse.cache.room import Limits, Used
from paddleflow_fuse.cache.store import cost

from tests.support.caches import compared, content, eventually, is_right, keep, key_of, opened, taken


def begin(disk: Disk, name: str, size: int, filled: int = 0) -> None:
    """The first bytes of it are there."""
    file = disk.begin(key_of(name, size), size)
    if filled:
        file.fill(0, content(name, size)[:filled])
    file.close()


def test_keys_tell_versions_objects_and_sizes_apart() -> None:
    keys = {
        key("fs", b"a", b"1", 10), key("fs", b"a", b"2", 10), key("fs", b"a", b"1", 11), key("fs", b"b", b"1", 10),
        key("f", b"sa", b"1", 10), key("fs", b"a1", b"", 10), key("fs", b"", b"a1", 10),
    }  # fmt: skip
    assert len(keys) == 7
    assert {len(one) for one in keys} == {16}
    assert key("fs", b"a", b"1", 10) in keys


@pytest.mark.parametrize("size", [0, 1, 4096, PIECE, PIECE + 1])
def test_what_is_put_at_once_is_whole(disk: Disk, size: int) -> None:
    file = disk.put(key_of("a", size), content("a", size))
    assert (file.whole, file.verified, file.size, file.missing(0, size)) == (True, True, size, [])
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.pwrite(file.descriptor, b"x", 0)
    found = file.read(0, size + 1)
    assert found is not None
    assert bytes(found) == content("a", size)
    file.close()
    assert is_right(disk, "a", size)
    assert disk.get(key_of("b", size), size) is None


def test_a_whole_file_that_nobody_else_uses_is_given_away(disk: Disk, folder: Path, tmp_path: Path) -> None:
    one, used = keep(disk, "a", 100), disk.used
    file, there = disk.get(one, 100), tmp_path / "written"
    assert file is not None
    number = os.fstat(file.descriptor).st_ino
    disk.give(one, file, there)
    assert (there.stat().st_ino, there.read_bytes()) == (number, content("a", 100))
    assert disk.get(one, 100) is None
    file.close()
    assert disk.used == Used(used.bytes - cost(100), used.files - 1)
    assert not [name for name in folder.glob("objects/*/*") if name.name == one.hex()]
    assert keep(disk, "a", 100) == one, "it may be fetched again"


def test_what_others_read_or_what_is_not_there_is_not_given_away(disk: Disk, tmp_path: Path) -> None:
    there = tmp_path / "written"
    one = keep(disk, "a", 100)
    first, second = disk.get(one, 100), disk.get(one, 100)
    filling = disk.begin(key_of("b", PIECE * 2), PIECE * 2)
    assert first is not None
    assert second is not None
    for wanted, file in ((one, first), (key_of("b", PIECE * 2), filling)):
        with pytest.raises(UsedError):
            disk.give(wanted, file, there)
    second.close()
    disk.drop(one)
    with pytest.raises(UsedError):
        disk.give(one, first, there)
    keep(disk, "a", 100)
    with pytest.raises(UsedError):
        disk.give(one, first, there)  # another file by now
    assert not there.exists()
    first.close()
    filling.close()
    last = disk.get(one, 100)
    assert last is not None
    with pytest.raises(FileNotFoundError):
        disk.give(one, last, tmp_path / "no" / "folder")
    last.close()
    assert is_right(disk, "a", 100)


@pytest.mark.parametrize("size", [0, 100, 9 * PIECE + 1])
def test_a_file_that_is_whole_already_is_taken_in(folder: Path, tmp_path: Path, size: int) -> None:
    there = tmp_path / "written"
    there.write_bytes(content("a", size))
    with opened(folder, boot="one") as disk, there.open("rb") as file:
        disk.adopt(key_of("a", size), there, file.fileno())
        assert not there.exists()
        assert is_right(disk, "a", size)
        assert disk.used == Used(cost(size), 1)
    with opened(folder, boot="another") as later:
        assert compared(later, "a", size)
        assert is_right(later, "a", size)


def test_a_file_that_there_is_no_room_for_or_is_there_is_not_taken_in(disk: Disk, tmp_path: Path) -> None:
    there = tmp_path / "written"
    one = keep(disk, "a", 100)
    there.write_bytes(b"." * 100)
    with there.open("rb") as file:
        disk.adopt(one, there, file.fileno())
    assert there.exists()
    assert is_right(disk, "a", 100)
    with there.open("rb") as file:
        there.unlink()
        disk.adopt(key_of("b", 100), there, file.fileno())
    assert disk.get(key_of("b", 100), 100) is None
    assert not disk.off
    there.touch()
    os.truncate(there, 1 << 40)
    with there.open("rb") as file, pytest.raises(FullError):
        disk.adopt(key_of("c", 1 << 40), there, file.fileno())
    assert disk.used.files == 1


def test_a_file_fills_and_is_whole_when_the_last_piece_is_there(disk: Disk, folder: Path) -> None:
    size = 3 * PIECE + 100
    data = content("a", size)
    file = disk.begin(key_of("a", size), size)
    again = disk.begin(key_of("a", size), size)
    assert file.missing(0, size) == [(0, size)]
    file.fill(PIECE, data[PIECE : 2 * PIECE])
    assert (file.has(PIECE, PIECE), file.has(PIECE - 1, 2), file.has(size, 10)) == (True, False, True)
    assert again.missing(0, size) == [(0, PIECE), (2 * PIECE, PIECE + 100)]
    assert file.read(0, 10) is None
    found = file.read(PIECE + 5, 10)
    assert found is not None
    assert bytes(found) == data[PIECE + 5 : PIECE + 15]
    file.fill(2 * PIECE, data[2 * PIECE :])
    assert not file.whole
    descriptor = file.descriptor
    file.fill(0, data[: 2 * PIECE])
    assert (file.whole, again.whole) == (True, True)
    assert file.descriptor != descriptor
    assert os.pread(descriptor, size + 1, 0) == data  # who read it goes on
    file.close()
    again.close()
    assert is_right(disk, "a", size)
    assert [path.stat().st_mode & 0o777 for path in folder.glob("objects/*/*")] == [0o444]
    assert list(folder.glob("filling/*")) == []


def test_a_buffer_is_read_into(disk: Disk) -> None:
    keep(disk, "a", 1000)
    file = disk.get(key_of("a", 1000), 1000)
    assert file is not None
    buffer = memoryview(bytearray(64))
    found = file.read(990, 64, buffer)
    assert found is not None
    assert bytes(buffer[:10]) == bytes(found) == content("a", 1000)[990:]
    file.close()


@hypothesis.given(data=st.data(), size=st.integers(1, 4 * PIECE + 9))
def test_a_file_against_a_model(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, size: int) -> None:
    wanted, there = content("a", size), set[int]()
    pieces = -(-size // PIECE)
    with opened(tmp_path_factory.mktemp("cache") / "cache") as disk:
        for _step in range(data.draw(st.integers(1, 6))):
            file = disk.begin(key_of("a", size), size)
            first = data.draw(st.integers(0, pieces - 1))
            last = data.draw(st.integers(first, pieces - 1))
            file.fill(first * PIECE, wanted[first * PIECE : (last + 1) * PIECE])
            there.update(range(first, last + 1))
            offset, length = data.draw(st.integers(0, size)), data.draw(st.integers(1, size))
            needed = set(range(offset // PIECE, -(-min(offset + length, size) // PIECE))) if offset < size else set()
            found = file.read(offset, length)
            assert file.has(offset, length) == (needed <= there) == (found is not None)
            assert found is None or bytes(found) == wanted[offset : offset + length]
            assert file.whole == (len(there) == pieces)
            file.close()


def test_what_was_there_is_there_after_it_was_closed(folder: Path) -> None:
    size = 3 * PIECE
    with opened(folder) as disk:
        keep(disk, "small", 10)
        begin(disk, "whole", size, size)
        begin(disk, "filling", size, PIECE)
        used = disk.used
    with opened(folder) as disk:
        assert disk.used == used
        assert is_right(disk, "small", 10)
        assert is_right(disk, "whole", size)
        file = disk.get(key_of("filling", size), size)
        assert file is not None
        assert (file.missing(0, size), file.verified) == ([(PIECE, 2 * PIECE)], True)
        file.fill(PIECE, content("filling", size)[PIECE:])
        file.close()
        assert is_right(disk, "filling", size)


def test_accounts_are_what_the_file_system_says(disk: Disk, folder: Path) -> None:
    for number in range(20):
        keep(disk, f"{number}", number * 1000)
    begin(disk, "filling", 10 * PIECE, 2 * PIECE)
    begin(disk, "whole", 2 * PIECE + 5, 2 * PIECE + 5)
    assert disk.used == taken(folder)
    for number in range(20):
        disk.drop(key_of(f"{number}", number * 1000))
    disk.drop(key_of("filling", 10 * PIECE))
    disk.drop(key_of("whole", 2 * PIECE + 5))
    assert disk.used == taken(folder) == (0, 0)


def test_what_is_dropped_while_it_is_open_takes_its_room_until_it_is_closed(disk: Disk, folder: Path) -> None:
    used = disk.used
    keep(disk, "a", 5000)
    file = disk.get(key_of("a", 5000), 5000)
    assert file is not None
    disk.drop(key_of("a", 5000))
    assert disk.get(key_of("a", 5000), 5000) is None
    assert taken(folder) == (0, 0)
    assert disk.used == (8192, 1)
    assert os.pread(file.descriptor, 5000, 0) == content("a", 5000)
    found = file.read(0, 5000)
    assert found is not None
    again = disk.put(key_of("a", 5000), content("a", 5000))
    file.close()
    assert disk.used == (8192, 1)
    again.close()
    disk.drop(key_of("a", 5000))
    assert disk.used == used


def test_a_file_that_was_dropped_takes_nothing_more(disk: Disk) -> None:
    size = 2 * PIECE
    file = disk.begin(key_of("a", size), size)
    disk.drop(key_of("a", size))
    with pytest.raises(FullError, match="removed"):
        file.fill(0, content("a", size))
    file.close()
    begin(disk, "a", size, size)
    assert is_right(disk, "a", size)


def test_what_is_shorter_than_it_was_or_gone_is_not_there(disk: Disk, folder: Path) -> None:
    for name in ("short", "gone"):
        keep(disk, name, 5000)
    os.truncate(folder / "objects" / key_of("short", 5000).hex()[:2] / key_of("short", 5000).hex(), 4999)
    (folder / "objects" / key_of("gone", 5000).hex()[:2] / key_of("gone", 5000).hex()).unlink()
    for name in ("short", "gone"):
        assert disk.get(key_of(name, 5000), 5000) is None
    assert disk.status()["corrupt"] == 2
    assert disk.used == taken(folder) == (0, 0)


def test_a_file_that_is_cut_while_it_is_open_is_not_there_any_more(disk: Disk, folder: Path) -> None:
    keep(disk, "a", 5000)
    file = disk.get(key_of("a", 5000), 5000)
    assert file is not None
    os.truncate(folder / "objects" / key_of("a", 5000).hex()[:2] / key_of("a", 5000).hex(), 10)
    assert file.read(0, 5000) is None
    file.close()
    assert disk.get(key_of("a", 5000), 5000) is None
    assert disk.status()["corrupt"] == 1


def test_what_is_older_than_its_age_is_not_there(folder: Path) -> None:
    now = [1_000_000.0]
    with opened(folder, max_age=60, clock=lambda: now[0]) as disk:
        keep(disk, "a", 10)
        now[0] += 60
        assert is_right(disk, "a", 10)
        now[0] += 1
        assert disk.get(key_of("a", 10), 10) is None
        assert disk.status()["expired"] == 1
        keep(disk, "a", 10)
        assert is_right(disk, "a", 10)


def test_a_part_that_cuts_a_piece_is_refused(disk: Disk) -> None:
    file = disk.begin(key_of("a", 3 * PIECE), 3 * PIECE)
    with pytest.raises(ValueError, match="no whole pieces"):
        file.fill(0, b"x")
    file.close()


def test_files_of_others_in_its_folders_are_left_alone(folder: Path) -> None:
    with opened(folder) as disk:
        keep(disk, "a", 10)
    strangers = [folder / "objects" / "00" / "thesis.txt", folder / "filling" / "thesis.txt", folder / "thesis.txt"]
    for path in strangers:
        path.touch()
    (folder / "index").unlink()  # so that all is counted
    with opened(folder, Limits(1, 1, 0.0)) as disk:
        assert eventually(lambda: disk.used == (0, 0))
    assert all(path.exists() for path in strangers)


def test_a_second_use_after_a_while_outlives_a_scan_and_a_restart(folder: Path) -> None:
    now = [1_000_000.0]
    limits = Limits(100 * 4096, 1000, 0.0)
    with opened(folder, limits, clock=lambda: now[0], interval=60) as disk:
        for number in range(40):
            keep(disk, f"often{number}", 100)
        now[0] += 10
        assert all(is_right(disk, f"often{number}", 100) for number in range(40))
    with opened(folder, limits, clock=lambda: now[0], interval=60) as disk:
        for number in range(500):
            keep(disk, f"scan{number}", 100)
        assert all(is_right(disk, f"often{number}", 100) for number in range(40))
