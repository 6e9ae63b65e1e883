# SPDX-License-Identifier: Apache-2.0
"""What users see, and what is lost, when a source fails or waits, or the server of a mount is killed: of what was written, nothing."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.support.faulty_source import Faults
from tests.support.granted import until
from tests.support.mounted import Mounted, mounted
from tests.support.places import client, file
from tests.support.source_suite import failing

LARGE = 3 << 20
QUICK: dict[str, Any] = {
    "attributes_hold": 0.05, "names_hold": 0.05, "kernel_attributes_hold": 0.05, "kernel_names_hold": 0.05,
}  # fmt: skip


class Case(NamedTuple):
    """
    :ivar root: what the source is
    """

    root: Path
    faults: Faults
    mount: Mounted

    @property
    def point(self) -> Path:
        return self.mount.point

    def staged(self) -> list[str]:
        return sorted(one.name for one in self.mount.staging.iterdir() if one.name.isdecimal())


@pytest.fixture(params=[1, 0], ids=["passthrough", "cached"])
def passthrough(request: pytest.FixtureRequest) -> int:
    one: int = request.param
    return one


@pytest.fixture
def case(tmp_path: Path, passthrough: int) -> Iterator[Case]:
    yield from made(tmp_path, passthrough, QUICK)


@pytest.fixture
def steady(tmp_path: Path, passthrough: int) -> Iterator[Case]:
    """Where what is known holds, so that whoever asks the source does so for a reason."""
    yield from made(tmp_path, passthrough, dict.fromkeys(QUICK, 3600.0))


def made(tmp_path: Path, passthrough: int, holds: dict[str, Any], session: str = "direct") -> Iterator[Case]:
    root, folder = tmp_path / "root", tmp_path / "first"
    root.mkdir()
    folder.mkdir()
    faults = Faults(tmp_path / "faults")
    source = {"kind": "local", "root": str(root)}
    with mounted(folder, source, passthrough=passthrough, faults=faults.folder, session=session, **holds) as mount:
        yield Case(root, faults, mount)


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


# --- stores that fail ---------------------------------------------------------------------------


@pytest.mark.parametrize("code", ["ENOSPC", "EACCES", "EIO", "ETIMEDOUT"])
def test_who_closes_is_told_why_it_was_not_stored_and_nothing_is_lost(case: Case, code: str) -> None:
    """D-41."""
    path, data = case.point / "file", os.urandom(100_000)
    with case.faults.said("store", f"error {code}"):
        one = os.open(path, os.O_WRONLY | os.O_CREAT)
        os.write(one, data)
        with failing(getattr(errno, code)):
            os.close(one)
        assert names(case.root) == []
        assert path.read_bytes() == data, "whoever reads it here finds it"
        assert len(case.staged()) == 1
        until("the failure is told", lambda: "could not be stored" in case.mount.said())
    until("it is stored without anybody's help", (case.root / "file").exists)
    assert (case.root / "file").read_bytes() == data
    until("what was staged is gone", lambda: case.staged() == [])
    assert path.read_bytes() == data


def test_who_syncs_is_told_and_may_try_again(case: Case) -> None:
    """D-27."""
    path = case.point / "file"
    with file(path, os.O_RDWR | os.O_CREAT) as one:
        os.write(one, b"content")
        with case.faults.said("store", "error EIO"):
            for _turn in range(2):
                with failing(errno.EIO):
                    os.fsync(one)
            assert os.pread(one, 100, 0) == b"content"
        os.fsync(one)
        assert (case.root / "file").read_bytes() == b"content"
        os.write(one, b" and more")
    assert (case.root / "file").read_bytes() == b"content and more"


def test_a_synced_file_is_at_the_source(case: Case) -> None:
    with file(case.point / "file", os.O_RDWR | os.O_CREAT) as one:
        for turn in range(5):
            os.pwrite(one, b"%d" % turn * 10_000, 0)
            os.fsync(one)
            assert (case.root / "file").read_bytes() == b"%d" % turn * 10_000


def test_what_was_there_stays_until_the_new_is_stored(case: Case) -> None:
    path = case.point / "file"
    path.write_bytes(b"before")
    with case.faults.said("store", "error EIO"):
        with pytest.raises(OSError, match="Input/output"):
            path.write_bytes(b"after")
        assert (case.root / "file").read_bytes() == b"before"
        assert path.read_bytes() == b"after"
    until("the new is stored", lambda: (case.root / "file").read_bytes() == b"after")


def test_who_opens_what_waits_to_be_stored_goes_on_with_it(case: Case) -> None:
    path = case.point / "file"
    with case.faults.said("store", "error EIO"):
        with pytest.raises(OSError, match="Input/output"):
            path.write_bytes(b"first")
        assert path.stat().st_size == 5
        assert names(case.point) == ["file"]
        one = os.open(path, os.O_WRONLY | os.O_APPEND)
        os.write(one, b" second")
    os.close(one)
    assert (case.root / "file").read_bytes() == b"first second"
    assert path.read_bytes() == b"first second"


def test_what_waits_to_be_stored_is_renamed_and_removed(case: Case) -> None:
    with case.faults.said("store", "error EIO"):
        for name in ("stays", "goes"):
            with pytest.raises(OSError, match="Input/output"):
                (case.point / name).write_bytes(name.encode())
        (case.point / "stays").rename(case.point / "new")
        (case.point / "goes").unlink()
        assert names(case.point) == ["new"]
        assert (case.point / "new").read_bytes() == b"stays"
    until("it is stored where it is now", (case.root / "new").exists)
    until("nothing else is left", lambda: case.staged() == [])
    assert names(case.root) == ["new"]
    assert (case.root / "new").read_bytes() == b"stays"


# --- names that fail ----------------------------------------------------------------------------


@pytest.mark.parametrize("code", ["EACCES", "EIO"])
def test_what_the_source_refuses_did_not_happen(case: Case, code: str) -> None:
    """D-31, D-32: the source first, and what is known here follows it."""
    (case.point / "file").write_bytes(b"content")
    (case.point / "folder").mkdir()
    for call, act in (
        ("remove", (case.point / "file").unlink),
        ("rename", lambda: (case.point / "file").rename(case.point / "new")),
        ("make_folder", (case.point / "other").mkdir),
        ("remove_folder", (case.point / "folder").rmdir),
        ("link", lambda: (case.point / "link").symlink_to("file")),
        ("keep", lambda: (case.point / "file").chmod(0o600)),
        ("rename", lambda: (case.point / "folder").rename(case.point / "new")),
    ):
        with case.faults.said(call, f"error {code}"), failing(getattr(errno, code)):
            act()
        assert names(case.point) == ["file", "folder"], call
        assert (case.point / "file").read_bytes() == b"content"
        assert not (case.point / "new").exists()
        assert (case.point / "file").stat().st_mode == (case.root / "file").stat().st_mode


def test_a_question_that_fails_is_no_answer(case: Case) -> None:
    (case.root / "file").write_bytes(b"content")
    with case.faults.said("find", "error EACCES"), failing(errno.EACCES):
        (case.point / "file").stat()
    assert (case.point / "file").read_bytes() == b"content"


def test_a_listing_that_breaks_off_is_none(case: Case) -> None:
    """D-49."""
    (case.root / "folder").mkdir()
    expected = [f"{index:03}" for index in range(400)]
    for name in expected:
        (case.root / "folder" / name).touch()
    with case.faults.said("list", "short folder"), pytest.raises(OSError) as refused:  # noqa: PT011 (told by its errno)
        os.listdir(case.point / "folder")
    assert refused.value.errno in (errno.EIO, errno.ECONNRESET)
    assert names(case.point / "folder") == expected
    (case.root / "folder" / "new").touch()
    until("it is listed anew", lambda: "new" in names(case.point / "folder"))
    with case.faults.said("list", "short folder"):
        until("what was known is no answer", lambda: _fails(lambda: os.listdir(case.point / "folder")))
    assert names(case.point / "folder") == [*expected, "new"]


def _fails(act: Callable[[], object]) -> bool:
    try:
        act()
    except OSError:
        return True
    return False


# --- reads that fail ----------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1000, LARGE])
def test_fewer_bytes_than_there_are_is_an_error(case: Case, size: int) -> None:
    data = os.urandom(size)
    (case.root / "file").write_bytes(data)
    with case.faults.said("read", "short"), failing(errno.EIO):
        (case.point / "file").read_bytes()
    with case.faults.said("read", "error EACCES"), failing(errno.EACCES):
        (case.point / "file").read_bytes()
    assert (case.point / "file").read_bytes() == data


def test_who_changes_a_part_of_what_cannot_be_read_is_told(case: Case) -> None:
    data = os.urandom(LARGE)
    (case.root / "file").write_bytes(data)
    with file(case.point / "file", os.O_RDWR) as one:
        with case.faults.said("read", "error EIO"):
            with failing(errno.EIO):
                os.pwrite(one, b"x", 1000)
            with failing(errno.EIO):
                os.pread(one, 10, 0)
        os.pwrite(one, b"x", 1000)
        with case.faults.said("read", "error EIO"), failing(errno.EIO):
            os.fsync(one)
    assert (case.root / "file").read_bytes() == data[:1000] + b"x" + data[1001:]


# --- a source that waits ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "code"),
    [
        ("find", "os.stat(sys.argv[1])"),
        ("read", "open(sys.argv[1], 'rb').read()"),
        ("list", "os.listdir(os.path.dirname(sys.argv[1]))"),
    ],
)
def test_who_waits_for_an_answer_can_be_killed_and_holds_up_nobody(case: Case, call: str, code: str) -> None:
    """Rule 10."""
    (case.root / "slow").mkdir()
    (case.root / "slow" / "file").write_bytes(b"content")
    (case.root / "other").write_bytes(b"other")
    (case.point / "known").write_bytes(b"known")
    with case.faults.waiting(call, f"wait before slow{'/file' if call != 'list' else ''}") as somebody_waits:
        waits = client(code, case.point / "slow" / "file")
        try:
            somebody_waits()
            assert (case.point / "other").read_bytes() == b"other"
            assert (case.point / "known").read_bytes() == b"known"
            (case.point / "new").write_bytes(b"new")
            assert (case.root / "new").read_bytes() == b"new"
            assert names(case.point) == ["known", "new", "other", "slow"]
            assert waits.poll() is None
        finally:
            waits.kill()
            waits.communicate(timeout=20)
        assert waits.returncode == -signal.SIGKILL
    assert (case.point / "slow" / "file").read_bytes() == b"content"


def test_who_is_interrupted_may_ask_again(case: Case) -> None:
    """Ctrl-C while a file is looked up ends the wait, and spoils nothing. (Within a read the kernel hears of a kill only.)"""
    (case.root / "file").write_bytes(b"content")
    code = "try: open(sys.argv[1], 'rb').read()\nexcept KeyboardInterrupt: print('interrupted')"
    with case.faults.waiting("find", "wait before file") as somebody_waits:
        waits = client(code, case.point / "file")
        somebody_waits()
        waits.send_signal(signal.SIGINT)
        assert waits.communicate(timeout=20)[0] == "interrupted\n"
    assert (case.point / "file").read_bytes() == b"content"


def test_a_store_ends_before_who_waits_for_it_is_killed(case: Case) -> None:
    code = "one = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT); os.write(one, b'content'); os.close(one); print('closed')"
    with case.faults.waiting("store") as somebody_waits:
        waits = client(code, case.point / "file")
        somebody_waits()
        waits.kill()
        (case.point / "folder").mkdir()
        assert names(case.root) == ["folder"]
    waits.communicate(timeout=20)
    until("it is stored", lambda: names(case.root) == ["file", "folder"])
    assert (case.point / "file").read_bytes() == b"content"
    until("what was staged is gone", lambda: case.staged() == [])


@pytest.mark.parametrize("way", ["rename", "rename of the folder", "unlink"])
def test_a_name_is_changed_when_what_is_being_stored_is_stored(case: Case, way: str) -> None:
    folder = case.point / "folder"
    folder.mkdir()
    code = "one = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT); os.write(one, b'content'); os.close(one)"
    act = {
        "rename": "os.rename(sys.argv[1] + '/folder/old', sys.argv[1] + '/folder/new')",
        "rename of the folder": "os.rename(sys.argv[1] + '/folder', sys.argv[1] + '/other')",
        "unlink": "os.unlink(sys.argv[1] + '/folder/old')",
    }[way]
    with case.faults.waiting("store") as somebody_waits:
        stores = client(code, folder / "old")
        somebody_waits()
        changes = client(f"print('begun', flush=True); {act}", case.point)
        assert changes.stdout
        assert changes.stdout.readline() == "begun\n"
        assert (folder / "old").read_bytes() == b"content"
    assert stores.communicate(timeout=20)[1] == ""
    assert changes.communicate(timeout=20)[1] == ""
    expected = {"rename": ["folder/new"], "rename of the folder": ["other/old"], "unlink": []}[way]
    for root in (case.root, case.point):
        assert sorted(str(one.relative_to(root)) for one in root.glob("*/*")) == expected
    until("what was staged is gone", lambda: case.staged() == [])


def test_an_answer_that_is_older_than_what_was_done_here_is_dropped(steady: Case) -> None:
    path = steady.point / "file"
    path.write_bytes(b"before")
    until("it is stored", lambda: steady.staged() == [])
    assert path.read_bytes() == b"before"  # what is cached is asked for, and not fetched
    with steady.faults.waiting("find", "wait after file") as somebody_waits:
        waits = client("os.close(os.open(sys.argv[1], os.O_RDONLY))", path)
        somebody_waits()
        with file(path, os.O_WRONLY | os.O_TRUNC) as one:
            os.write(one, b"after it")
        late = client("print(open(sys.argv[1]).read())", path)
    assert waits.communicate(timeout=20)[1] == ""
    assert late.communicate(timeout=20) == ("after it\n", "")
    assert path.stat().st_size == 8


# --- a server that is killed --------------------------------------------------------------------


def again(case: Case, tmp_path: Path) -> AbstractContextManager[Mounted]:
    folder = tmp_path / "second"
    folder.mkdir()
    return mounted(folder, {"kind": "local", "root": str(case.root)}, staging=case.mount.staging, **QUICK)


def test_what_was_not_stored_is_stored_by_the_next_mount(case: Case, tmp_path: Path) -> None:
    data = os.urandom(300_000)
    before = os.urandom(LARGE)
    (case.root / "large").write_bytes(before)
    os.chmod(case.root / "large", 0o640)
    case.faults.say("store", "error EIO")
    with pytest.raises(OSError, match="Input/output"):
        (case.point / "closed").write_bytes(data)
    opened = os.open(case.point / "opened", os.O_WRONLY | os.O_CREAT, 0o604)
    os.write(opened, b"never closed")
    part = os.open(case.point / "large", os.O_WRONLY)
    os.pwrite(part, b"changed", 200_000)
    moved = os.open(case.point / "old", os.O_WRONLY | os.O_CREAT)
    os.write(moved, b"moved")
    os.rename(case.point / "old", case.point / "new")
    case.mount.kill()
    for one in (opened, part, moved):
        with failing(errno.ENOTCONN):
            os.close(one)
    case.mount.end()
    assert names(case.root) == ["large"]
    with again(case, tmp_path) as mount:
        until("all is stored", lambda: list(mount.staging.iterdir()) == [])
        assert names(mount.point) == ["closed", "large", "new", "opened"]
        assert (mount.point / "closed").read_bytes() == data
        assert (mount.point / "opened").read_bytes() == b"never closed"
        assert (mount.point / "large").read_bytes() == before[:200_000] + b"changed" + before[200_007:]
        assert (mount.point / "new").read_bytes() == b"moved"
    assert (case.root / "large").stat().st_mode & 0o7777 == 0o640
    assert (case.root / "opened").stat().st_mode & 0o7777 == 0o604


def test_what_was_cut_off_is_not_there_again_after_a_crash(case: Case, tmp_path: Path) -> None:
    (case.root / "file").write_bytes(b"x" * LARGE)
    case.faults.say("store", "error EIO")
    one = os.open(case.point / "file", os.O_WRONLY)
    os.ftruncate(one, 1000)
    case.mount.kill()
    with failing(errno.ENOTCONN):
        os.close(one)
    case.mount.end()
    with again(case, tmp_path) as mount:
        until("it is stored", lambda: list(mount.staging.iterdir()) == [])
    assert (case.root / "file").read_bytes() == b"x" * 1000


def test_what_was_only_opened_is_as_it_was_after_a_crash(case: Case, tmp_path: Path) -> None:
    data = os.urandom(LARGE)
    (case.root / "file").write_bytes(data)
    before = (case.root / "file").stat()
    one = os.open(case.point / "file", os.O_RDWR)
    assert os.pread(one, 1000, 5000) == data[5000:6000]
    case.mount.kill()
    with failing(errno.ENOTCONN):
        os.close(one)
    case.mount.end()
    with again(case, tmp_path) as mount:
        assert list(mount.staging.iterdir()) == []
    after = (case.root / "file").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


@pytest.mark.parametrize("way", ["unlink", "rename"])
@pytest.mark.parametrize("stored", [True, False])
def test_what_was_removed_is_not_there_again_after_a_crash(case: Case, tmp_path: Path, way: str, stored: bool) -> None:
    one = os.open(case.point / "file", os.O_WRONLY | os.O_CREAT)
    os.write(one, b"content")
    if stored:
        os.fsync(one)
        os.write(one, b"and more")
    if way == "rename":
        (case.point / "other").write_bytes(b"other")
        (case.point / "other").rename(case.point / "file")
    else:
        (case.point / "file").unlink()
    case.mount.kill()
    with failing(errno.ENOTCONN):
        os.close(one)
    case.mount.end()
    with again(case, tmp_path) as mount:
        until("nothing is left", lambda: list(mount.staging.iterdir()) == [])
        assert "overtaken" not in mount.said()
    assert names(case.root) == (["file"] if way == "rename" else [])
    assert all((case.root / name).read_bytes() == b"other" for name in names(case.root))


def test_a_newer_version_wins_and_the_other_is_kept_and_named(case: Case, tmp_path: Path) -> None:
    (case.root / "file").write_bytes(b"before")
    case.faults.say("store", "error EIO")
    with pytest.raises(OSError, match="Input/output"):
        (case.point / "file").write_bytes(b"ours")
    case.mount.kill()
    case.mount.end()
    (case.root / "file").write_bytes(b"theirs, and newer")
    with again(case, tmp_path) as mount:
        until("it is told", lambda: "overtaken by a newer version" in mount.said())
        assert (mount.point / "file").read_bytes() == b"theirs, and newer"
    line = next(line for line in mount.said().splitlines() if "overtaken" in line)
    number = line.rpartition("staged=")[2]
    assert "path=b'file'" in line
    assert (mount.staging / number).read_bytes() == b"ours"


def test_what_fails_to_be_stored_after_a_crash_is_tried_again(case: Case, tmp_path: Path) -> None:
    case.faults.say("store", "error EIO")
    with pytest.raises(OSError, match="Input/output"):
        (case.point / "file").write_bytes(b"content")
    case.mount.kill()
    case.mount.end()
    folder = tmp_path / "second"
    folder.mkdir()
    source = {"kind": "local", "root": str(case.root)}
    with mounted(folder, source, staging=case.mount.staging, faults=case.faults.folder, **QUICK) as mount:
        until("it is tried", lambda: "is not stored yet" in mount.said())
        case.faults.mend("store")
        until("it is stored", (case.root / "file").exists)
        until("it is seen", (mount.point / "file").exists)
        assert (mount.point / "file").read_bytes() == b"content"


def test_what_could_not_be_stored_when_the_mount_ends_is_stored_by_the_next(case: Case, tmp_path: Path) -> None:
    case.faults.say("store", "error EIO")
    with pytest.raises(OSError, match="Input/output"):
        (case.point / "file").write_bytes(b"content")
    case.mount.end()
    assert len(case.staged()) == 1
    with again(case, tmp_path) as mount:
        until("it is stored", lambda: list(mount.staging.iterdir()) == [])
        assert (mount.point / "file").read_bytes() == b"content"
