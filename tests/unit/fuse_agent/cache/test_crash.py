# SPDX-License-Identifier: Apache-2.0
"""What a killed process leaves, and what a machine that died leaves."""

from __future__ import annotations

import errno
import os
import random
import signal
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest
from paddleflow_fuse.cache import file as cached
from paddleflow_fuse.cache import index, store
from paddleflow_fuse.cache.keeper import Keeper
from paddleflow_fuse.cache.pieces import PIECE
from paddleflow_fuse.cache.store import Store

from tests.support.caches import (
    PATIENCE,
    Opened,
    compared,
    content,
    eventually,
    is_right,
    keep,
    key_of,
    killed,
    opened,
    taken,
)

FILES = {"small": 5000, "one": PIECE, "big": 5 * PIECE + 9}


def object_of(folder: Path, name: str, size: int) -> Path:
    hexed = key_of(name, size).hex()
    return folder / "objects" / hexed[:2] / hexed


def write_forever(folder: Path, seed: int, report: int) -> None:
    """Fills files at random from two threads, and says one byte for each that is done."""
    disk = Opened(folder).disk
    disk.settled.wait()

    def work(chance: random.Random) -> None:
        while True:
            number, size = chance.randrange(40), chance.choice([4096, 3 * PIECE + 5, 6 * PIECE])
            if size == 4096:
                keep(disk, f"{number}", size)
            else:
                file = disk.begin(key_of(f"{number}", size), size)
                offset = chance.randrange(-(-size // PIECE)) * PIECE
                file.fill(offset, content(f"{number}", size)[offset : offset + PIECE])
                file.close()
            os.write(report, b".")

    threads = [threading.Thread(target=work, args=(random.Random(seed + index),), daemon=True) for index in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.parametrize("seed", range(4))
def test_what_a_killed_process_wrote_is_right_byte_for_byte(folder: Path, seed: int) -> None:
    """It is killed at any point, and the next goes on in the same run of the machine; again and again."""
    whole = 0
    for life in range(3):
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            os.close(reading)
            write_forever(folder, seed * 100 + life * 10, writing)
            os._exit(1)
        os.close(writing)
        left = random.Random(seed * 7 + life).randrange(50, 300)
        while left > 0:
            done = len(os.read(reading, left))
            assert done, "the process ended by itself"
            left -= done
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(reading)
    with opened(folder) as disk:
        for number in range(40):
            for size in (4096, 3 * PIECE + 5, 6 * PIECE):
                whole += is_right(disk, f"{number}", size)
        there = taken(folder)
        assert disk.used.files == there[1]
        # A file of many pieces has a block more when the file system has written down where they lie.
        assert abs(disk.used.bytes - there[0]) <= 4096 * there[1]
        assert disk.status()["corrupt"] == 0
        assert {path.suffix for path in folder.glob("filling/*")} <= {"", ".map"}
    assert whole > 5


def die_after_writing(folder: Path, boot: str = "first") -> None:
    """Of three files the index knows, of one that is whole it does not; another is half there."""

    def work(die: Callable[[], None]) -> None:
        with opened(folder, boot=boot) as disk:
            for name, size in FILES.items():
                if size <= PIECE:
                    keep(disk, name, size)
                else:
                    file = disk.begin(key_of(name, size), size)
                    file.fill(0, content(name, size))
                    file.close()
        disk = Opened(folder, boot=boot).disk
        half = disk.begin(key_of("half", 4 * PIECE), 4 * PIECE)
        half.fill(0, content("half", 4 * PIECE)[: 2 * PIECE])
        keep(disk, "unknown", 100)
        die()

    killed(work)


def test_after_a_kill_all_is_there_at_once(folder: Path) -> None:
    die_after_writing(folder)
    with opened(folder, boot="first") as disk:
        assert all(is_right(disk, name, size) for name, size in {**FILES, "unknown": 100}.items())
        file = disk.get(key_of("half", 4 * PIECE), 4 * PIECE)
        assert file is not None
        assert (file.verified, file.missing(0, 4 * PIECE)) == (True, [(2 * PIECE, 2 * PIECE)])
        file.close()
        assert disk.used == taken(folder)


def test_after_a_kill_what_was_not_counted_yet_is_there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be nowhere else."""
    die_after_writing(folder)
    with monkeypatch.context() as patched:
        patched.setattr(Keeper, "_count", lambda _keeper: False)
        one = Opened(folder, boot="first")
        assert is_right(one.disk, "unknown", 100)
        assert not is_right(one.disk, "nothing", 100)
    assert one.disk.settled.wait(PATIENCE)
    assert is_right(one.disk, "unknown", 100)
    assert one.disk.used == taken(folder)
    one.close()


def test_after_the_machine_died_nothing_is_given_out_before_it_was_compared(folder: Path) -> None:
    die_after_writing(folder)
    with opened(folder, boot="second") as disk:
        for name, size in FILES.items():
            file = disk.get(key_of(name, size), size)
            assert file is not None
            assert (file.whole, file.verified, file.read(0, 1)) == (False, False, None)
            assert not file.has(0, size)
            assert compared(disk, name, size)
            assert (file.whole, file.verified, file.has(0, size)) == (True, True, True)
            assert os.pread(file.descriptor, size + 1, 0) == content(name, size)
            file.close()
        half = disk.begin(key_of("half", 4 * PIECE), 4 * PIECE)
        assert (half.verified, half.missing(0, PIECE)) == (False, [(0, PIECE)])
        assert compared(disk, "half", 4 * PIECE)
        assert (half.verified, half.missing(0, 4 * PIECE)) == (True, [(2 * PIECE, 2 * PIECE)])
        half.close()
        # Nothing tells whether it is right.
        assert disk.get(key_of("unknown", 100), 100) is None
        assert not object_of(folder, "unknown", 100).exists()
        assert disk.used == taken(folder)


def test_after_the_machine_died_a_part_is_compared_by_itself(folder: Path) -> None:
    die_after_writing(folder)
    size, wanted = FILES["big"], content("big", FILES["big"])
    with opened(folder, boot="second") as disk:
        file = disk.get(key_of("big", size), size)
        assert file is not None
        file.compare(2 * PIECE + 5, PIECE)
        assert file.missing(0, size) == [(0, 2 * PIECE), (4 * PIECE, PIECE + 9)]
        assert bytes(file.read(2 * PIECE, 2 * PIECE) or b"") == wanted[2 * PIECE : 4 * PIECE]
        assert (file.whole, file.doubts(2 * PIECE, 2 * PIECE), file.doubts(0, 1)) == (False, False, True)
        file.compare(0, PIECE)
        file.compare(PIECE, size)
        assert (file.whole, bytes(file.read(0, size) or b"")) == (True, wanted)
        file.close()
    with opened(folder, boot="second") as disk:
        assert is_right(disk, "big", size)


def test_a_damaged_piece_takes_the_whole_file_with_it_when_it_is_met(folder: Path) -> None:
    die_after_writing(folder)
    flip(object_of(folder, "big", FILES["big"]))
    size = FILES["big"]
    with opened(folder, boot="second") as disk:
        file = disk.get(key_of("big", size), size)
        assert file is not None
        file.compare(0, PIECE)
        assert bytes(file.read(0, PIECE) or b"") == content("big", size)[:PIECE]
        assert disk.status()["corrupt"] == 0
        file.compare(0, size)
        assert (file.read(size - 1, 1), file.whole, file.entry) == (None, False, 0)
        assert disk.status()["corrupt"] == 1
        assert disk.get(key_of("big", size), size) is None
        file.close()


def test_what_was_pushed_out_before_it_was_compared_stays_doubtful(folder: Path) -> None:
    die_after_writing(folder)
    size = FILES["big"]
    with opened(folder, boot="second") as disk:
        file = disk.get(key_of("big", size), size)
        assert file is not None
        disk.drop(key_of("big", size))
        file.compare(0, size)
        assert (file.doubts(0, size), file.read(0, 1)) == (True, None)
        file.close()


def zero(path: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


def empty(path: Path) -> None:
    os.truncate(path, 0)


@pytest.mark.parametrize("damage", [zero, flip, cut, empty, Path.unlink])
@pytest.mark.parametrize("name", FILES)
def test_what_a_machine_that_died_damaged_is_not_there(folder: Path, name: str, damage: Callable[[Path], None]) -> None:
    die_after_writing(folder)
    damage(object_of(folder, name, FILES[name]))
    with opened(folder, boot="second") as disk:
        found = disk.get(key_of(name, FILES[name]), FILES[name])
        if found:
            assert not found.whole
            assert not compared(disk, name, FILES[name])
            found.close()
        assert disk.get(key_of(name, FILES[name]), FILES[name]) is None
        assert disk.status()["corrupt"] == 1
        assert not object_of(folder, name, FILES[name]).exists()
        others = set(FILES) - {name}
        assert all(compared(disk, other, FILES[other]) for other in others)
        file = disk.begin(key_of(name, FILES[name]), FILES[name])
        file.fill(0, content(name, FILES[name]))
        file.close()
        assert all(is_right(disk, one, FILES[one]) for one in FILES)
        assert eventually(lambda: disk.used == taken(folder))


def test_of_a_file_that_was_filling_what_is_damaged_is_fetched_again(folder: Path) -> None:
    die_after_writing(folder)
    path = folder / "filling" / key_of("half", 4 * PIECE).hex()
    with path.open("r+b") as file:
        file.seek(PIECE + 5)
        file.write(bytes(20))
    with opened(folder, boot="second") as disk:
        assert compared(disk, "half", 4 * PIECE)
        half = disk.begin(key_of("half", 4 * PIECE), 4 * PIECE)
        assert half.missing(0, 4 * PIECE) == [(PIECE, 3 * PIECE)]
        assert disk.status()["corrupt"] == 1
        half.fill(PIECE, content("half", 4 * PIECE)[PIECE:])
        half.close()
        assert is_right(disk, "half", 4 * PIECE)


def test_what_is_damaged_is_not_believed_because_others_compared_the_rest(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it is noted still, and whoever is to take that back fails or dies over it."""
    die_after_writing(folder)
    size, damaged = 4 * PIECE, bytearray(content("half", 4 * PIECE)[PIECE : 2 * PIECE])
    damaged[5] ^= 1
    path = folder / "filling" / key_of("half", size).hex()
    with path.open("r+b") as file:
        file.seek(PIECE)
        file.write(damaged)

    with opened(folder, boot="second") as disk:
        half = disk.begin(key_of("half", size), size)

        def fails(_descriptor: int, _notes: object) -> NoReturn:
            monkeypatch.undo()
            half.compare(0, PIECE)
            raise OSError(errno.EIO, "its disk is ill")

        monkeypatch.setattr(cached, "note", fails)
        half.compare(PIECE, PIECE)
        half.close()
    with opened(folder, boot="second") as disk:
        half = disk.begin(key_of("half", size), size)
        assert bytes(half.read(PIECE, PIECE) or b"") != damaged
        half.close()


def test_what_was_written_and_not_noted_is_not_there_and_takes_no_room(folder: Path) -> None:
    """As by who is killed between the two."""
    die_after_writing(folder)
    path = folder / "filling" / key_of("half", 4 * PIECE).hex()
    with path.open("r+b") as file:
        file.seek(3 * PIECE)
        file.write(content("half", PIECE))
    with opened(folder, boot="first") as disk:
        half = disk.begin(key_of("half", 4 * PIECE), 4 * PIECE)
        assert half.missing(0, 4 * PIECE) == [(2 * PIECE, 2 * PIECE)]
        half.close()
        assert disk.used == taken(folder)


def test_what_was_not_compared_is_not_believed_after_another_kill(folder: Path) -> None:
    """In the second run nothing was compared before it was killed, and its files are still those of the first."""
    die_after_writing(folder)
    flip(object_of(folder, "small", FILES["small"]))

    def work(die: Callable[[], None]) -> None:
        disk = Opened(folder, boot="second").disk
        compared(disk, "one", FILES["one"])
        disk.settled.wait()
        die()

    killed(work)
    with opened(folder, boot="second") as disk:
        file = disk.get(key_of("small", FILES["small"]), FILES["small"])
        assert file is not None
        assert not file.whole
        file.close()
        assert not compared(disk, "small", FILES["small"])
        half = disk.begin(key_of("half", 4 * PIECE), 4 * PIECE)
        assert not half.verified
        half.close()


def test_files_that_nobody_knew_when_the_machine_died_are_not_believed_after_another_kill(folder: Path) -> None:
    """The second run was killed before it had counted."""
    die_after_writing(folder)
    flip(object_of(folder, "unknown", 100))

    state = (folder / "state").read_text()
    assert '"first"' in state
    # As it stands from when the second run has begun until it has counted.
    (folder / "state").write_text('{"boot": "second", "clean": false, "doubt": true}')
    with opened(folder, boot="second") as disk:
        assert disk.get(key_of("unknown", 100), 100) is None
    assert '"doubt": false' in (folder / "state").read_text()


def waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dirty: int, under_way: int) -> None:
    """So many kilobytes for the disks of the machine, whoever wrote them."""
    told = tmp_path / "meminfo"
    told.write_text(f"MemTotal: 4096 kB\nDirty:  {dirty} kB\nWriteback:  {under_way} kB\nHugePages_Total:       0\n")
    monkeypatch.setattr(store, "_MEMORY", told)


@pytest.mark.parametrize("much", [(300_000, 0), (0, 300_000), (150_000, 150_000)])
def test_an_end_does_not_wait_for_what_others_write_and_then_a_machine_that_died_is_asked_for_checksums(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, much: tuple[int, int]
) -> None:
    waits(tmp_path, monkeypatch, *much)
    monkeypatch.setattr(store._LIBC, "syncfs", lambda _root: pytest.fail("the disk is waited for"))
    with opened(folder, boot="first") as disk:
        keep(disk, "small", FILES["small"])
        keep(disk, "one", FILES["one"])
    with monkeypatch.context() as patched:
        patched.setattr(Keeper, "_count", lambda _keeper: pytest.fail("what ended well was counted"))
        with opened(folder, boot="first") as disk:
            assert is_right(disk, "small", FILES["small"])
    flip(object_of(folder, "small", FILES["small"]))
    with opened(folder, boot="second") as disk:
        assert not is_right(disk, "small", FILES["small"])
        assert not compared(disk, "small", FILES["small"])
        assert compared(disk, "one", FILES["one"])
        assert is_right(disk, "one", FILES["one"])


def test_an_end_does_not_wait_for_the_disk_of_the_index(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waited = list[bool]()

    class Connection(sqlite3.Connection):
        def close(self) -> None:
            """Which writes the one file from the log."""
            waited.append(self.execute("PRAGMA synchronous").fetchone() != (0,))
            super().close()

    def connect(path: Path) -> sqlite3.Connection:
        return sqlite3.connect(path, isolation_level=None, factory=Connection)

    folder.mkdir()
    monkeypatch.setattr(index, "_connect", connect)
    index.Index(folder, 1, False, threading.Lock(), lambda error: pytest.fail(str(error))).close()
    assert waited[-1] is False


def test_a_clean_end_is_believed_by_the_next_run_of_the_machine(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits(tmp_path, monkeypatch, 5000, 300)
    with opened(folder, boot="first") as disk:
        keep(disk, "small", FILES["small"])
        half = disk.begin(key_of("half", 4 * PIECE), 4 * PIECE)
        half.fill(0, content("half", 4 * PIECE)[:PIECE])
        half.close()
    with opened(folder, boot="second") as disk:
        assert is_right(disk, "small", FILES["small"])
        file = disk.begin(key_of("half", 4 * PIECE), 4 * PIECE)
        assert file.has(0, PIECE)
        file.close()


def test_what_another_worker_goes_on_with_need_not_be_on_the_disk(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Clients wait for that one: what is believed in the same run of the machine is not brought to the disk first, nor counted."""
    write, lasting = Store.write_state, list[bool]()

    def writes(store: Store, state: dict[str, Any], lasts: bool) -> None:
        lasting.append(lasts)
        write(store, state, lasts)

    with opened(folder, boot="first") as disk:
        keep(disk, "small", FILES["small"])
    one = Opened(folder, boot="first")
    keep(one.disk, "one", FILES["one"])
    with monkeypatch.context() as patched:
        patched.setattr(Store, "write_state", writes)
        patched.setattr(Store, "sync", lambda _store: pytest.fail("it waits for all that is written to that disk"))
        patched.setattr(Keeper, "_count", lambda _keeper: pytest.fail("it counts"))
        one.disk.close(lasts=False)
        one.claim.release()
        one = Opened(folder, boot="first")
        assert one.disk.settled.wait(PATIENCE)
        assert lasting == [False, False]
    assert all(is_right(one.disk, name, FILES[name]) for name in ("small", "one"))
    one.disk.close(lasts=False)
    one.claim.release()
    flip(object_of(folder, "one", FILES["one"]))
    with opened(folder, boot="second") as disk:
        assert not compared(disk, "one", FILES["one"])
