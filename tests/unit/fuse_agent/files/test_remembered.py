# SPDX-License-Identifier: Apache-2.0
"""Listings that outlive a mount: who believes them, for how long, and what becomes of them."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from paddleflow_fuse.files import view
from paddleflow_fuse.files.known import remembered
from paddleflow_fuse.files.known.packed import Moment
from paddleflow_fuse.files.known.remembered import NAMES, WELL, LostError, Remembered, examine
from paddleflow_fuse.sources.base import Found, Kind, Listed, Page

from tests.support.caches import eventually, killed

HOLD = 100.0
FILE = Found(Kind.FILE, 5, 7, b"etag", 0o640, 1, 2)


class Clock:
    def __init__(self) -> None:
        self.now, self.boot = 1e9, "boot"

    def __call__(self) -> Moment:
        return Moment(self.now, self.boot, int((self.now - 1e8) * 1e9))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@contextmanager
def opened(folder: Path, clock: Clock, *, changes: bool = True, well: bool = True, **more: Any) -> Iterator[Remembered]:
    one = Remembered(folder, HOLD, changes=changes, clock=clock, **more)
    try:
        yield one
    finally:
        one.close(well)


def keep(names: Remembered, folder: bytes, *listed: bytes, pages: int = 1) -> None:
    draft = names.begin(folder)
    for number in range(pages):
        names.add(draft, Page([Listed(name, FILE) for name in listed[number::pages]]))
    names.end(draft, whole=True)


def settle(names: Remembered) -> None:
    assert eventually(lambda: names.off != "" or (names._tasks.empty() and not names._drafts and not names._gone))


def listed(names: Remembered, folder: bytes) -> list[bytes] | None:
    """Sorted; None of what is not believed."""
    settle(names)
    row = names.find(folder)
    if row is None:
        return None
    try:
        found = [one for number in range(row.pages) for one in names.page(row, number).listed]
    except LostError:
        return None
    assert {one.found for one in found} <= {FILE}
    assert len(found) == row.names
    return sorted(one.name for one in found)


def test_the_next_mount_finds_what_was_listed_for_the_rest_of_its_time(tmp_path: Path, clock: Clock) -> None:
    with opened(tmp_path, clock) as names:
        keep(names, b"a/b", *(b"%d" % number for number in range(10)), pages=4)
        clock.now += 30
        keep(names, b"", b"a")
        keep(names, b"empty", pages=0)
    clock.now += 30
    with opened(tmp_path, clock) as names:
        assert listed(names, b"a/b") == [b"%d" % number for number in range(10)]
        assert listed(names, b"") == [b"a"]
        assert listed(names, b"empty") == []
        assert listed(names, b"a") is None
        clock.now += 41
        assert listed(names, b"a/b") is None
        assert listed(names, b"") == [b"a"]
        clock.now -= 1000
        assert listed(names, b"") is None, "nothing is of the future"


def test_another_run_of_the_machine_goes_by_the_clock_on_the_wall(tmp_path: Path, clock: Clock) -> None:
    with opened(tmp_path, clock) as names:
        keep(names, b"a", b"file")
    clock.boot = "other"
    clock.now += 50
    with opened(tmp_path, clock) as names:
        row = names.find(b"a")
        assert row
        assert view.now() - row.moment >= 50 * 10**9
        clock.now += 50
        assert listed(names, b"a") is None


def test_a_listing_counts_when_it_is_whole_and_the_newest_does(tmp_path: Path, clock: Clock) -> None:
    with opened(tmp_path, clock) as names:
        keep(names, b"a", b"old")
        broken, begun = names.begin(b"a"), names.begin(b"a")
        for draft in (broken, begun):
            names.add(draft, Page([Listed(b"new", FILE)]))
        names.end(broken, whole=False)
        assert eventually(lambda: broken not in names._drafts)
        row = names.find(b"a")
        assert row
        assert names.page(row, 0).listed == [Listed(b"old", FILE)]
        names.end(begun, whole=True)
        assert listed(names, b"a") == [b"new"]
        with pytest.raises(LostError):
            names.page(row, 0)
        assert names.status()["folders"] == 1


FOLDERS = (b"", b"a", b"a/b", b"ab/c")


@pytest.mark.parametrize(
    ("changed", "gone"),
    [(b"a/file", {b"a"}), (b"a", {b"", b"a", b"a/b"}), (b"a/b/c/d", set()), (b"ab", {b"", b"ab/c"}), (b"", set(FOLDERS))],
)  # fmt: skip
def test_what_was_changed_here_is_forgotten(tmp_path: Path, clock: Clock, changed: bytes, gone: set[bytes]) -> None:
    with opened(tmp_path, clock) as names:
        for folder in FOLDERS:
            keep(names, folder, b"file")
        settle(names)
        names.forget(changed)
        assert {folder for folder in FOLDERS if names.find(folder) is None} == gone, "at once"
        assert {folder for folder in FOLDERS if listed(names, folder) is None} == gone
    with opened(tmp_path, clock) as names:
        assert {folder for folder in FOLDERS if listed(names, folder) is None} == gone
        assert names.status()["folders"] == len(FOLDERS) - len(gone)


@pytest.mark.parametrize("changed", [b"a/b/file", b"a/b", b"a"])
def test_a_listing_that_was_asked_for_before_a_change_is_not_kept(tmp_path: Path, clock: Clock, changed: bytes) -> None:
    with opened(tmp_path, clock) as names:
        draft = names.begin(b"a/b")
        names.add(draft, Page([Listed(b"file", FILE)]))
        names.forget(changed)
        names.end(draft, whole=True)
        assert listed(names, b"a/b") is None
        keep(names, b"a/b", b"after")
        assert listed(names, b"a/b") == [b"after"], "what is listed after it is"


def test_many_changes_while_the_disk_is_slow_forget_all(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remembered, "_MOST_GONE", 10)
    with opened(tmp_path, clock) as names:
        keep(names, b"a", b"file")
        settle(names)
        with names._reading, closing(sqlite3.connect(tmp_path / NAMES, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")  # the thread waits
            for number in range(20):
                names.forget(b"%d/file" % number)
            assert len(names._gone) <= 12
            other.execute("COMMIT")
        assert listed(names, b"a") is None


def work(folder: Path, clock: Clock, changes: bool) -> Callable[[Callable[[], None]], None]:
    def one(die: Callable[[], None]) -> None:
        names = Remembered(folder, HOLD, changes=changes, clock=clock)
        keep(names, b"a", b"file")
        begun = names.begin(b"b")
        names.add(begun, Page([Listed(b"half", FILE)]))
        assert eventually(lambda: not begun.waiting and names.folders == 1)
        die()

    return one


@pytest.mark.parametrize("changes", [True, False])
def test_after_a_kill_only_who_changes_nothing_believes_it(tmp_path: Path, clock: Clock, changes: bool) -> None:
    """What was changed may not have been forgotten yet."""
    killed(work(tmp_path, clock, changes))
    with opened(tmp_path, clock, changes=changes) as names:
        assert listed(names, b"a") == (None if changes else [b"file"])
        assert listed(names, b"b") is None
        with closing(sqlite3.connect(tmp_path / NAMES)) as other:
            assert other.execute("SELECT COUNT(*) FROM pages").fetchone() == (0 if changes else 1,)


@pytest.mark.parametrize("changes", [True, False])
def test_after_the_machine_died_nobody_believes_it(tmp_path: Path, clock: Clock, changes: bool) -> None:
    killed(work(tmp_path, clock, changes))
    clock.boot = "other"
    with opened(tmp_path, clock, changes=changes) as names:
        assert listed(names, b"a") is None


def test_who_ended_in_the_middle_of_something_is_not_believed(tmp_path: Path, clock: Clock) -> None:
    with opened(tmp_path, clock, well=False) as names:
        keep(names, b"a", b"file")
    with opened(tmp_path, clock) as names:
        assert listed(names, b"a") is None


def test_what_was_listed_longest_ago_makes_room(tmp_path: Path, clock: Clock) -> None:
    with opened(tmp_path, clock) as names:
        keep(names, b"first", b"file")
        settle(names)
        one = names.status()["bytes"]
    with opened(tmp_path, clock, largest=one * 5 // 2) as names:
        for number in range(4):
            clock.now += 1
            keep(names, b"%d" % number, b"file")
        assert [listed(names, b"%d" % number) is not None for number in range(4)] == [False, False, True, True]
        keep(names, b"large", *(os.urandom(200) for _name in range(10)))
        assert listed(names, b"large") is None
        assert listed(names, b"3") is not None
        clock.now += HOLD
        keep(names, b"new", b"file")
        settle(names)
        assert names.status()["folders"] == 1, "what is believed no more went"
    with opened(tmp_path, clock) as names:
        assert names.status()["folders"] == 1
        assert names.status()["bytes"] == one


def test_a_disk_that_is_full_keeps_none(tmp_path: Path, clock: Clock) -> None:
    with opened(tmp_path, clock, free=1.1) as names:
        keep(names, b"a", b"file")
        assert listed(names, b"a") is None
        assert not names.off


def test_a_disk_that_does_not_keep_up_keeps_none(tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembered, "_MOST_PAGES", 2)
    with opened(tmp_path, clock) as names:
        with closing(sqlite3.connect(tmp_path / NAMES, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            keep(names, b"a", b"file", pages=10)
            other.execute("COMMIT")
        assert listed(names, b"a") is None


def damage(folder: Path, query: str) -> None:
    with closing(sqlite3.connect(folder / NAMES, isolation_level=None)) as other:
        other.execute(query)


def test_a_damaged_page_is_told_and_lost(tmp_path: Path, clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    with opened(tmp_path, clock) as names:
        keep(names, b"a", b"file")
        keep(names, b"b", b"file")
    assert examine(tmp_path) == ""
    damage(tmp_path, "UPDATE pages SET body = X'00112233445566' WHERE folder = 1")
    assert examine(tmp_path) == "a part of a listing is not what was written"
    with opened(tmp_path, clock) as names:
        assert listed(names, b"a") is None
        assert listed(names, b"a") is None
        assert listed(names, b"b") == [b"file"]
    assert len(caplog.records) == 1
    assert examine(tmp_path) == ""


@pytest.mark.parametrize("content", [b"", b"x" * 5000])
def test_a_file_that_is_not_ours_is_made_anew(tmp_path: Path, clock: Clock, content: bytes) -> None:
    with opened(tmp_path, clock) as names:
        keep(names, b"a", b"file")
    (tmp_path / NAMES).write_bytes(content)
    for turn in range(2):
        with opened(tmp_path, clock) as names:
            assert listed(names, b"a") == ([b"file"] if turn else None)
            keep(names, b"a", b"file")
            assert listed(names, b"a") == [b"file"]


def test_a_file_that_is_torn_fails_nobody(tmp_path: Path, clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    with opened(tmp_path, clock) as names:
        keep(names, b"a", *(os.urandom(50) for _name in range(1000)), pages=10)
    whole = (tmp_path / NAMES).read_bytes()
    assert len(whole) > 10 * 4096
    (tmp_path / NAMES).write_bytes(whole[: 4096 * 2] + b"y" * (len(whole) - 4096 * 2))
    assert examine(tmp_path) != ""
    with opened(tmp_path, clock) as names:
        assert listed(names, b"a") is None
    assert caplog.records
    with opened(tmp_path, clock) as names:
        keep(names, b"a", b"file")
        assert listed(names, b"a") == [b"file"]


def test_a_file_of_another_layout_is_made_anew_and_said(
    tmp_path: Path, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    with opened(tmp_path, clock) as names:
        keep(names, b"a", b"file")
    damage(tmp_path, "PRAGMA user_version = 77")
    with opened(tmp_path, clock) as names:
        assert listed(names, b"a") is None
        keep(names, b"a", b"file")
        assert listed(names, b"a") == [b"file"]
    assert "layout 77, but this release reads 1" in caplog.text


@pytest.mark.parametrize("dies", [False, True])
def test_what_another_worker_goes_on_with_need_not_be_on_the_disk(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch, dies: bool
) -> None:
    with opened(tmp_path, clock) as names:
        keep(names, b"a", b"file")
    names = Remembered(tmp_path, HOLD, changes=True, clock=clock)
    monkeypatch.setattr(os, "fsync", lambda _file: pytest.fail("it waits for the disk"))
    names.close(well=True, lasts=False)
    if dies:
        clock.boot = "another"
    with opened(tmp_path, clock, well=False) as names:
        assert listed(names, b"a") == (None if dies else [b"file"])
    assert not (tmp_path / WELL).exists()


def test_where_nothing_can_be_written_nothing_is_kept_and_one_line_says_so(
    tmp_path: Path, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / NAMES).mkdir()
    with opened(tmp_path, clock) as names:
        keep(names, b"a", b"file")
        assert listed(names, b"a") is None
        names.forget(b"a")
        names.void(b"a")
        assert names.status()["off"] == "unable to open database file"
    assert len(caplog.records) == 1
    assert not (tmp_path / WELL).exists()


def test_a_disk_that_fails_later_turns_it_off(tmp_path: Path, clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    with opened(tmp_path, clock) as names:
        keep(names, b"a", b"file")
        settle(names)
        damage(tmp_path, "DROP TABLE pages")
        keep(names, b"b", b"file")
        assert listed(names, b"b") is None
        assert listed(names, b"a") is None
        assert "no such table: pages" in names.status()["off"]
    assert len(caplog.records) == 1
    assert not (tmp_path / NAMES).exists()
    with opened(tmp_path, clock) as names:
        keep(names, b"a", b"file")
        assert listed(names, b"a") == [b"file"]
