# SPDX-License-Identifier: Apache-2.0
"""What is written takes no more room than there is: who begins is refused in time, and what a full disk cut off is never stored.

Each case has a disk of its own.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from paddleflow_fuse.files.written.notes import Note
from paddleflow_fuse.files.written.stage import Stage
from paddleflow_fuse.files.written.staging import Staging

from tests.support.agent_command import Command, command
from tests.support.granted import until
from tests.support.places import file
from tests.support.small_disk import SmallDisk, small_disk
from tests.support.source_suite import failing

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts")
MIB = 1 << 20
ENOUGH = 48 * MIB  # free, so that anybody begins to write
# Writes in pieces what it is told to until it is done or is told no, and says how that and the close went.
WRITER = """
import os, sys
path, size = sys.argv[1], int(sys.argv[2])
one = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
print("opened", flush=True)
sys.stdin.readline()
written = closed = 0
try:
    for start in range(0, size, 1 << 20):
        done = os.write(one, path[-1].encode() * min(1 << 20, size - start))
        if done < min(1 << 20, size - start):
            os.write(one, b"x" * (1 << 20))
except OSError as error:
    written = error.errno
print("written", written, flush=True)
sys.stdin.readline()
try:
    os.close(one)
except OSError as error:
    closed = error.errno
print("closed", closed, flush=True)
"""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path, 320) as one:
        yield one


@pytest.fixture
def agent(tmp_path: Path, disk: SmallDisk) -> Iterator[Command]:
    (tmp_path / "source").mkdir()
    (tmp_path / "agent").mkdir()
    with command(tmp_path / "agent") as one:
        one.cache = disk.root / "cache"
        yield one


def mount(agent: Command, **options: str) -> Path:
    """Its source."""
    source = agent.folder.parent / "source"
    agent.mount(f"local:/{source}", options=options)
    return source


class Writer:
    def __init__(self, path: Path, size: int) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), str(size)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.hear() == ["opened"]

    def hear(self) -> list[str]:
        assert self._process.stdout
        return self._process.stdout.readline().split()

    def go(self) -> None:
        assert self._process.stdin
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def code(self) -> int:
        """Of what it did last, 0 when that went well."""
        return int(self.hear()[1])

    def ended(self) -> None:
        self._process.communicate(timeout=60)


def staged(agent: Command) -> list[Path]:
    return [one for one in agent.cache.glob("*/*/staging/*") if one.name.isdecimal()]


def test_nobody_begins_to_write_on_a_disk_that_is_almost_full_till_there_is_room(
    agent: Command, disk: SmallDisk
) -> None:
    source = mount(agent)
    (source / "old").write_bytes(b"old")
    with file(agent.point / "open", os.O_WRONLY | os.O_CREAT) as one:
        disk.fill(left=12 * MIB)
        until("it is seen", lambda: agent.status()["worker"]["files"]["begins_no_write"])
        for act in (
            (agent.point / "new").touch,
            lambda: (agent.point / "old").write_bytes(b"new"),
            lambda: os.truncate(agent.point / "old", 1),
        ):
            with failing(errno.ENOSPC):
                act()
        assert not (agent.point / "new").exists()
        assert (agent.point / "old").read_bytes() == b"old"
        os.write(one, b"goes on")
        (agent.point / "old").rename(agent.point / "other")
        (agent.point / "other").unlink()
    assert (source / "open").read_bytes() == b"goes on"
    (line,) = [line for line in agent.said().splitlines() if "nobody begins to write" in line]
    assert "12 MiB free" in line or "11 MiB free" in line
    assert "Free space on that disk or raise data-cache-quota" in line
    disk.empty()
    until("it goes on by itself", lambda: _writes(agent.point / "new"))
    assert (source / "new").read_bytes() == b"new"
    assert "there is room again" in agent.said()


def _writes(path: Path) -> bool:
    try:
        path.write_bytes(b"new")
    except OSError as error:
        assert error.errno == errno.ENOSPC  # noqa: PT017 (nothing else may be said)
        return False
    return True


def test_what_is_staged_counts_and_what_is_cached_goes_first(agent: Command) -> None:
    """D-42."""
    source = mount(agent, **{"data-cache-quota": "40Mi"})
    for number in range(30):
        (source / f"cached{number}").write_bytes(b"x" * MIB)
    agent("warmup", str(agent.point))

    def cached() -> int:
        found: int = agent.status()["worker"]["disk"]["bytes"]
        return found

    assert cached() > 25 * MIB
    with file(agent.point / "first", os.O_WRONLY | os.O_CREAT) as one:
        os.write(one, b"1" * (24 * MIB))
        until("the cache goes", lambda: cached() <= 16 * MIB)
        (agent.point / "small").write_bytes(b"nobody is refused")
        os.write(one, b"2" * (24 * MIB))
        until("all of the cache goes", lambda: cached() == 0)
        until("nobody begins", lambda: agent.status()["worker"]["files"]["begins_no_write"])
        with failing(errno.ENOSPC):
            (agent.point / "small").write_bytes(b"refused")
    assert (source / "first").stat().st_size == 48 * MIB
    until("there is room", lambda: _writes(agent.point / "small"))
    assert (agent.point / "cached1").read_bytes() == b"x" * MIB
    until("it is cached again", lambda: cached() >= MIB)


def test_that_others_fill_the_disk_of_a_cache_is_told(agent: Command, disk: SmallDisk) -> None:
    source = mount(agent, **{"free-space-ratio": "0.5"})
    (source / "one").write_bytes(b"1" * MIB)
    agent("warmup", str(agent.point))
    assert agent.status()["worker"]["disk"]["short"] == ""
    with file(agent.point / "open", os.O_WRONLY | os.O_CREAT):  # as long as anything is written, it is looked at often
        disk.fill(left=ENOUGH)
        until("it is seen", lambda: agent.status()["worker"]["disk"]["short"])
        assert (agent.point / "one").read_bytes() == b"1" * MIB
        assert " free, and free-space-ratio has 50.0% of it stay so" in agent("status", str(agent.point)).stdout
        disk.empty()
        until("files are kept", lambda: not agent.status()["worker"]["disk"]["short"])
    assert agent.said().count("keeps nothing more") == 1
    assert agent.said().count("has enough free again") == 1


def test_who_closed_what_filled_the_room_may_write_at_once(agent: Command) -> None:
    """A close says that it is stored: nothing of it waits, whenever that was looked at last."""
    source = mount(agent, **{"data-cache-quota": "40Mi"})
    for size in (8 * MIB, 48 * MIB):  # what the cache takes, and what it does not
        for number in range(3):
            with ExitStack() as closing:
                for part in range(48 * MIB // size):
                    one = closing.enter_context(file(agent.point / f"large{part}", os.O_WRONLY | os.O_CREAT))
                    os.write(one, bytes([number]) * size)
                until("nobody begins", lambda: agent.status()["worker"]["files"]["begins_no_write"])
            (agent.point / "small").write_bytes(b"%d of %d" % (number, size))
            assert (source / "small").read_bytes() == b"%d of %d" % (number, size)


@pytest.mark.parametrize("passthrough", ["true", "false"])
def test_what_a_full_disk_cut_off_is_not_stored_and_what_was_there_stays(
    agent: Command, disk: SmallDisk, passthrough: str
) -> None:
    source = mount(agent, passthrough=passthrough)
    sizes = {"a": 3 * MIB, "b": 80 * MIB, "c": 80 * MIB, "d": 80 * MIB}
    for name in "abc":
        (source / name).write_bytes(b"old " + name.encode())
    disk.fill(left=ENOUGH)
    writers = {name: Writer(agent.point / name, size) for name, size in sizes.items()}
    for _step in ("written", "closed"):
        writers["a"].go()
        assert writers["a"].code() == 0, "there was room"
    for step in ("written", "closed"):
        for name in "bcd":  # all at once, for more than there is
            writers[name].go()
        assert [writers[name].code() for name in "bcd"] == [errno.ENOSPC] * 3
        if step == "written":
            (agent.point / "c").rename(agent.point / "moved")
    for one in writers.values():
        one.ended()
    assert (source / "a").read_bytes() == b"a" * 3 * MIB
    assert (source / "b").read_bytes() == (agent.point / "b").read_bytes() == b"old b"
    assert (source / "moved").read_bytes() == b"old c"
    assert not (source / "d").exists()
    assert sorted(os.listdir(agent.point)) == ["a", "b", "moved"]
    until("nothing is left", lambda: staged(agent) == [])
    assert "a write to a file failed, so what the source has stays path=b'b'" in agent.said()
    until("there is room", lambda: _writes(agent.point / "b"))
    assert (source / "b").read_bytes() == b"new"


@pytest.mark.parametrize("passthrough", ["true", "false"])
def test_a_write_that_failed_is_told_at_the_close_also_with_room_again_and_by_another_worker(
    agent: Command, disk: SmallDisk, passthrough: str
) -> None:
    """Rule 6."""
    source = mount(agent, passthrough=passthrough)
    (source / "a").write_bytes(b"old")
    disk.fill(left=ENOUGH)
    writer = Writer(agent.point / "a", 80 * MIB)
    writer.go()
    assert writer.code() == errno.ENOSPC
    until("it is known", lambda: [_note(one)["poisoned"] for one in staged(agent)] == [errno.ENOSPC])
    disk.empty()
    with file(agent.point / "a", os.O_RDONLY):  # what is left of it stays for as long as that
        os.kill(agent.status()["worker_pid"], signal.SIGKILL)
        writer.go()
        assert writer.code() == errno.ENOSPC
        writer.ended()
        assert (source / "a").read_bytes() == (agent.point / "a").read_bytes() == b"old"
        (agent.point / "a").write_bytes(b"new")
    assert (source / "a").read_bytes() == (agent.point / "a").read_bytes() == b"new"
    until("nothing is left", lambda: staged(agent) == [])


def _note(staged: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(staged.with_suffix(".json").read_text())
    return found


@pytest.mark.parametrize(
    "act",
    [
        lambda stage: stage.write(8 * MIB, b"x" * 8 * MIB),
        lambda stage: stage.allocate(0, 8 * MIB, 8 * MIB),
        lambda stage: stage.copy(stage.descriptor, 0, 8 * MIB, 8 * MIB),
    ],
    ids=["write", "allocate", "copy"],
)
def test_whatever_the_disk_did_not_take_is_known_at_once_and_by_the_next(
    disk: SmallDisk, act: Callable[[Stage], object]
) -> None:
    staging = Staging(disk.root / "staging")
    stage = staging.begin(Note(b"file"))
    stage.write(0, os.urandom(8 * MIB))
    os.fsync(stage.descriptor)
    disk.fill(left=MIB)
    with failing(errno.ENOSPC):
        act(stage)
    other = staging.open(stage.number)
    assert stage.poisoned == other.poisoned == errno.ENOSPC
    stage.close()
    other.close()


def test_on_a_disk_that_became_read_only_all_is_read_and_what_was_written_is_stored(
    agent: Command, disk: SmallDisk
) -> None:
    source = mount(agent, passthrough="false")
    for name in ("cached", "torn"):
        (source / name).write_bytes(name.encode())
    assert (agent.point / "cached").read_bytes() == b"cached"
    torn = os.open(agent.point / "torn", os.O_WRONLY)
    with file(agent.point / "whole", os.O_WRONLY | os.O_CREAT) as whole:
        os.write(whole, b"written before")
        disk.spoil()
        (source / "other").write_bytes(b"other")
        for name in ("cached", "other"):
            assert (agent.point / name).read_bytes() == name.encode()
        with failing(errno.EROFS):
            (agent.point / "new").write_bytes(b"new")
        with failing(errno.EROFS):
            os.write(torn, b"never")
    with failing(errno.EROFS):
        os.close(torn)
    assert {one.name: one.read_bytes() for one in source.iterdir()} == {
        "cached": b"cached", "other": b"other", "torn": b"torn", "whole": b"written before",
    }  # fmt: skip
    assert sorted(os.listdir(agent.point)) == ["cached", "other", "torn", "whole"]
    said = agent.said()
    assert "worker ended" not in said
    worker = agent.status()["worker_pid"]
    os.kill(worker, signal.SIGKILL)
    for name in ("cached", "other", "whole"):
        assert (agent.point / name).read_bytes() == (source / name).read_bytes()
    with failing(errno.EROFS):
        (agent.point / "new").write_bytes(b"new")
    assert agent.status()["worker_pid"] != worker
    assert said.count("Mount its disk writable; it comes back by itself") == 1
    assert "a write to a file failed, so what the source has stays path=b'torn'" in said


def test_what_a_disk_that_became_read_only_cut_off_is_not_stored_by_the_next_mount(
    agent: Command, disk: SmallDisk
) -> None:
    """Of which nothing could be noted there, nor removed."""
    source = mount(agent, passthrough="false")
    (source / "torn").write_bytes(b"old, and whole")
    torn = os.open(agent.point / "torn", os.O_WRONLY | os.O_TRUNC)
    os.write(torn, b"new")
    disk.sync()
    disk.spoil()
    with failing(errno.EROFS):
        os.write(torn, b" and more")
    with failing(errno.EROFS):
        os.close(torn)
    assert (source / "torn").read_bytes() == b"old, and whole"
    assert agent.said().count("its disk takes no note of that: it is not stored as long as this machine runs") == 1
    agent("umount", str(agent.point))
    disk.repair()
    assert [one.read_bytes() for one in staged(agent)] == [b"new"]
    mount(agent, passthrough="false")
    until("nothing is left", lambda: staged(agent) == [])
    assert (source / "torn").read_bytes() == (agent.point / "torn").read_bytes() == b"old, and whole"
