# SPDX-License-Identifier: Apache-2.0
"""Processes that are started, and those that outlived who started them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from paddleflow_fuse.nodes.region import Region
from paddleflow_fuse.supervisor import process
from paddleflow_fuse.supervisor.holders import holders


def reaped(pid: int) -> int:
    end = time.monotonic() + 60
    while (status := process.ended(pid)) is None:
        assert time.monotonic() < end
        time.sleep(0.01)
    return status


def is_handed_down(descriptor: int) -> bool:
    try:
        return os.get_inheritable(descriptor)
    except OSError:  # that of the listing itself
        return False


def test_who_is_started_has_the_descriptors_it_was_given_and_no_other(
    region: Region, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", "/nowhere")
    told = tmp_path / "told"
    script = f"""
import os
from pathlib import Path
mine = os.fstat({region.descriptor})
names = sorted(name for name in os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd/" + name))
Path({str(told)!r}).write_text(repr([mine.st_size, names, os.getpgid(0) == os.getpid(), os.environ.get("NOTIFY_SOCKET"), os.environ["GIVEN"]]))
"""
    other = os.memfd_create("other")
    # By who started the tests.
    handed_down = {one.name for one in Path("/proc/self/fd").iterdir() if is_handed_down(int(one.name))}
    pid = process.spawn([sys.executable, "-c", script], [region.descriptor], {"GIVEN": "1"})
    assert reaped(pid) == 0
    os.close(other)
    size = os.fstat(region.descriptor).st_size
    assert told.read_text() == repr(
        [size, sorted(handed_down | {"0", "1", "2", str(region.descriptor)}), True, None, "1"]
    )


def test_how_it_ended_is_said_once_it_has() -> None:
    pid = process.spawn(["sleep", "100"], [])
    assert process.ended(pid) is None
    process.end(pid)
    other = process.spawn(["sh", "-c", "exit 7"], [])
    assert reaped(other) == 7


def test_what_a_worker_leaves_behind_ends_with_it(tmp_path: Path) -> None:
    helper = tmp_path / "helper"
    pid = process.spawn(["sh", "-c", 'sleep 1000 & echo $! > "$0"', str(helper)], [])
    assert reaped(pid) == 0
    stat = Path(f"/proc/{int(helper.read_text())}/stat")
    end = time.monotonic() + 60
    while stat.exists() and ") Z" not in stat.read_text():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_no_such_program_is_said_at_once() -> None:
    with pytest.raises(FileNotFoundError):
        process.spawn(["/nowhere/program"], [])


HOLDER = """
import fcntl, sys
fcntl.lockf(int(sys.argv[1]), fcntl.LOCK_EX)
print("holds", flush=True)
sys.stdin.read()
"""


@contextmanager
def orphaned(region: Region) -> Iterator[subprocess.Popen[bytes]]:
    """A worker that serves it still."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(region.descriptor)], process_group=0,
        pass_fds=[region.descriptor], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as orphan:  # fmt: skip
        assert orphan.stdout is not None
        assert orphan.stdout.readline() == b"holds\n"
        yield orphan


def test_who_still_serves_what_another_takes_over_is_ended(region: Region) -> None:
    with orphaned(region) as orphan:
        process.end_orphan(region.descriptor)
        assert orphan.wait(60) == -signal.SIGKILL


def test_who_may_end_by_itself_has_time_for_that(region: Region) -> None:
    with orphaned(region) as orphan:
        ends = threading.Thread(target=process.end_orphan, args=(region.descriptor, 60))
        ends.start()
        orphan.communicate()
        ends.join(60)
        assert (ends.is_alive(), orphan.returncode) == (False, 0)


def test_where_nobody_serves_nobody_is_ended(region: Region) -> None:
    process.end_orphan(region.descriptor)


def waiting(where: Path, *descriptors: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", "import sys; print(flush=True); sys.stdin.read()"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=descriptors, cwd=where,
    )  # fmt: skip


def test_who_maps_what_has_an_odd_name_is_looked_at_too(tmp_path: Path) -> None:
    """The kernel escapes blanks and ends of lines alone."""
    process = tmp_path / "7"
    (process / "fdinfo").mkdir(parents=True)
    (process / "comm").write_text("reader\n")
    table = "30 1 0:9 / /a\vb rw - fuse.theirs x\ry rw\n31 1 0:7 / /mnt rw - fuse.paddleflow s3://b rw\n"
    (process / "mountinfo").write_text(table, newline="")
    maps = "7f00-7f01 r--p 00000000 0:9 5 /a\vb/c\rd\n7f02-7f03 r--p 00000000 00:07 5 /mnt/file\n"
    (process / "maps").write_text(maps, newline="")
    for name in ("cwd", "root"):
        (process / name).symlink_to("/")
    assert holders("0:7", tmp_path) == [(7, "reader", "maps /mnt/file")]


def test_who_uses_a_file_system_is_found_by_what_is_open_and_where_it_stands(tmp_path: Path) -> None:
    """Of one that the machine has anyway."""
    proc = Path("/proc")
    number = proc.stat().st_dev
    with (
        (proc / "version").open() as opened,
        waiting(tmp_path, opened.fileno()) as opens,
        waiting(proc) as stands,
        waiting(tmp_path) as neither,
    ):
        for one in (opens, stands, neither):
            assert one.stdout is not None
            one.stdout.readline()
        found = {one.pid: one.how for one in holders(f"{os.major(number)}:{os.minor(number)}")}
        for one in (opens, stands, neither):
            one.communicate()
    assert found[opens.pid] == "has /proc/version open"
    assert found[stands.pid] == "stands in /proc"
    assert neither.pid not in found
