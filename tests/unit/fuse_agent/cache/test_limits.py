# SPDX-License-Identifier: Apache-2.0
"""Limits hold at any moment, whoever writes, and whatever lay there before."""

from __future__ import annotations

import os
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import pytest
from paddleflow_fuse.cache.disk import Disk
from paddleflow_fuse.cache.errors import FullError
from paddleflow_fuse.cache.pieces import PIECE
from paddleflow_fuse.cache.room import Limits
from paddleflow_fuse.cache.store import Store

from tests.support.caches import ROOMY, content, eventually, is_right, keep, key_of, opened, taken

TIGHT = Limits(8 << 20, 60, 0.0)
SIZES = (10, 5000, 70_000, 2 * PIECE + 7, 5 * PIECE, 40 * PIECE)


def use(disk: Disk, seed: int) -> int:
    """Writes and reads files at random; how often it was refused. What it reads is right."""
    chance, refused = random.Random(seed), 0
    for _step in range(150):
        size = chance.choice(SIZES)
        name = f"{chance.randrange(30)}"
        try:
            if size <= PIECE:
                disk.put(key_of(name, size), content(name, size)).close()
            else:
                file = disk.begin(key_of(name, size), size)
                try:
                    for offset, length in file.missing(chance.randrange(size), 3 * PIECE):
                        file.fill(offset, content(name, size)[offset : offset + length])
                finally:
                    file.close()
            if chance.random() < 0.1:
                disk.drop(key_of(name, size))
        except FullError:
            refused += 1
        is_right(disk, name, size)
    return refused


def test_limits_hold_under_eight_threads(folder: Path) -> None:
    most = [0, 0]
    with opened(folder, TIGHT) as disk:
        ended = threading.Event()

        def watch() -> None:
            while not ended.is_set():
                used = disk.used
                most[0], most[1] = max(most[0], used.bytes), max(most[1], used.files)

        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            with ThreadPoolExecutor(8) as threads:
                refused = list(threads.map(lambda seed: use(disk, seed), range(8)))
        finally:
            ended.set()
            watcher.join()
        status = disk.status()
        assert status["corrupt"] == status["troubles"] == 0
        assert status["evictions"] > 50
        assert sum(refused) < 8 * 150 / 2
        assert status["open"] == 0
        assert eventually(lambda: disk.used == taken(folder))
    assert PIECE < most[0] <= TIGHT.bytes
    assert 20 < most[1] <= TIGHT.files


def test_room_is_given_back_before_it_is_needed(folder: Path) -> None:
    with opened(folder, Limits(100 * 4096, 1000, 0.0)) as disk:
        for number in range(96):
            keep(disk, f"{number}", 100)
        assert eventually(lambda: disk.used.bytes <= 90 * 4096)
        assert disk.used.bytes > 80 * 4096
        assert not is_right(disk, "0", 100)
        assert is_right(disk, "95", 100)


def test_files_are_limited_too(folder: Path) -> None:
    with opened(folder, Limits(1 << 30, 20, 0.0), interval=60) as disk:
        for number in range(100):
            keep(disk, f"{number}", 1)
            assert disk.used.files <= 20
        assert is_right(disk, "99", 1)


def test_what_stays_free_is_shared_by_all_on_a_disk(folder: Path) -> None:
    """No disk has more free than it has."""
    with opened(folder, Limits(1 << 30, 1000, 1.0)) as disk:
        with pytest.raises(FullError, match="full"):
            keep(disk, "a", 10)
        assert disk.status()["refused"] == 1
        assert disk.status()["troubles"] == 0


def test_a_disk_that_others_use_keeps_nothing_which_is_told_once_and_so_is_its_end(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    free = 186 << 20
    monkeypatch.setattr(Store, "free", lambda _store: (free, 1000 << 20))

    def said() -> list[str]:
        return [record.message for record in caplog.records if record.levelname == "WARNING"]

    with opened(folder, ROOMY._replace(free_share=0.3)) as disk:
        assert eventually(lambda: disk.status()["short"] != "")
        assert disk.status()["short"] == "its disk has 18.6% free, and free-space-ratio has 30.0% of it stay so"
        assert not disk.off
        for number in range(5):
            with pytest.raises(FullError):
                keep(disk, f"{number}", 10)
            disk.give_way(0)
        (line,) = said()
        assert "keeps nothing more: its disk has 18.6% free" in line
        assert "lower free-space-ratio" in line
        free = 305 << 20  # so little above it may go again at once
        disk.give_way(0)
        assert disk.status()["short"]
        free = 400 << 20
        assert eventually(lambda: not disk.status()["short"])
        keep(disk, "a", 10)
        assert len(said()) == 2
        assert "enough free again" in said()[1]
        free = 100 << 20
        assert eventually(lambda: "10.0% free" in disk.status()["short"])
        assert len(said()) == 3


def test_a_lower_share_of_free_space_gives_room_back_to_others(folder: Path) -> None:
    with opened(folder) as disk:
        keep(disk, "a", 10)
    with opened(folder, Limits(1 << 30, 1000, 1.0)) as disk:
        assert eventually(lambda: disk.used == (0, 0))


def test_what_is_open_never_goes(folder: Path) -> None:
    with opened(folder, Limits(40 * 4096, 1000, 0.0), interval=60) as disk:
        files = [disk.put(key_of(f"{number}", 10), content(f"{number}", 10)) for number in range(40)]
        with pytest.raises(FullError, match="full"):
            keep(disk, "more", 10)
        for number, file in enumerate(files):
            assert file.whole
            assert os.pread(file.descriptor, 10, 0) == content(f"{number}", 10)
        files.pop().close()
        # It would be the first to go as soon as nobody has it open.
        files.append(disk.put(key_of("more", 10), content("more", 10)))
        assert os.pread(files[-1].descriptor, 10, 0) == content("more", 10)
        for file in files:
            file.close()


def test_a_file_above_a_quarter_is_refused_at_once(folder: Path) -> None:
    with opened(folder, Limits(16 * PIECE, 1000, 0.0)) as disk:
        with pytest.raises(FullError, match="more than a quarter"):
            keep(disk, "a", 5 * PIECE)
        keep(disk, "a", 4 * PIECE)


def test_a_big_file_keeps_its_newest_pieces_and_is_never_whole(folder: Path) -> None:
    size = 30 * PIECE
    data = content("big", size)
    with opened(folder, Limits(40 * PIECE, 1000, 0.0)) as disk:
        keep(disk, "small", 10)
        file = disk.begin(key_of("big", size), size)
        for offset in range(0, size, PIECE):
            file.fill(offset, data[offset : offset + PIECE])
            found = file.read(offset, PIECE)
            assert found is not None
            assert bytes(found) == data[offset : offset + PIECE]
            assert disk.used.bytes <= 12 * PIECE
        assert not file.whole
        assert file.has(29 * PIECE, PIECE)
        assert (file.has(0, PIECE), file.read(0, PIECE)) == (False, None)
        assert taken(folder)[0] <= 12 * PIECE
        file.fill(0, data[:PIECE])
        assert file.has(0, PIECE)
        file.close()
        assert is_right(disk, "small", 10)
        used = disk.used
    with opened(folder, Limits(40 * PIECE, 1000, 0.0)) as disk:
        assert disk.used == used
        is_right(disk, "big", size)
        file = disk.begin(key_of("big", size), size)
        assert file.has(0, PIECE)
        file.close()


def test_big_files_make_room_for_others_when_they_are_open(folder: Path) -> None:
    """The pieces of the one that wants more go, before it is refused."""
    size = 30 * PIECE
    with opened(folder, Limits(40 * PIECE, 1000, 0.0)) as disk:
        files = [disk.begin(key_of(f"{number}", size), size) for number in range(6)]
        for offset in range(0, size, PIECE):
            for number, file in enumerate(files):
                file.fill(offset, content(f"{number}", size)[offset : offset + PIECE])
                assert disk.used.bytes <= 40 * PIECE
        for number, file in enumerate(files):
            file.close()
            assert not is_right(disk, f"{number}", size)


def test_who_reads_while_pieces_go_reads_what_was_written_or_nothing(folder: Path) -> None:
    size = 16 * PIECE
    data = content("big", size)
    with opened(folder, Limits(32 * PIECE, 1000, 0.0)) as disk:
        file = disk.begin(key_of("big", size), size)
        ended = threading.Event()
        reads = [0]

        def read() -> None:
            chance = random.Random(1)
            while not ended.is_set():
                offset = chance.randrange(size)
                found = file.read(offset, 5000)
                assert found is None or bytes(found) == data[offset : offset + 5000]
                reads[0] += found is not None

        with ThreadPoolExecutor(2) as threads:
            reading = [threads.submit(read) for _thread in range(2)]
            for number in range(200):
                offset = number % 16 * PIECE
                file.fill(offset, data[offset : offset + PIECE])
            ended.set()
            for one in reading:
                one.result()
        assert reads[0]
        assert disk.status()["punched_bytes"] > 50 * PIECE
        file.close()


def test_limits_hold_for_what_lay_there_before(folder: Path) -> None:
    with opened(folder) as disk:
        for number in range(50):
            keep(disk, f"{number}", 4096)
    with opened(folder, Limits(20 * 4096, 1000, 0.0)) as disk:
        assert eventually(lambda: disk.used.bytes <= 20 * 4096)
        keep(disk, "more", 100)
        assert eventually(lambda: disk.used == taken(folder))


def test_a_disk_with_much_room_is_not_asked_for_each_file_and_one_with_little_is(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free, asked = 100 << 30, 0

    def told(_store: Store) -> tuple[int, int]:
        nonlocal asked
        asked += 1
        return free, 100 << 30

    monkeypatch.setattr(Store, "free", told)
    with opened(folder, ROOMY._replace(free_share=0.5), interval=600) as disk:
        begin = time.monotonic()
        for number in range(40):
            keep(disk, str(number), 10)
        assert asked <= 2 * (2 + (time.monotonic() - begin) / 0.05)

        def is_taken(name: str) -> bool:
            try:
                keep(disk, name, 4096)
            except FullError:
                return False
            return True

        free = 50 << 30  # another took the rest
        names = (f"late {number}" for number in count())
        assert eventually(lambda: not is_taken(next(names)))
        free, asked = free + 4096, 0
        assert all(is_taken(f"again {number}") for number in range(5))
        assert asked >= 5
