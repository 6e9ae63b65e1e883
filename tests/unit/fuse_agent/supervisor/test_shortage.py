# SPDX-License-Identifier: Apache-2.0
"""Where the kernel says that it killed somebody for memory."""

from __future__ import annotations

from pathlib import Path

import pytest
from paddleflow_fuse.supervisor.shortage import Shortage

# What a process is told of its cgroups, and the file that counts.
PLACES = {
    "second version": ("0::/system.slice/a.service", "cgroups/system.slice/a.service/memory.events"),
    "second, from within a container": ("0::/", "cgroups/memory.events"),
    "first version": ("5:cpu,cpuacct:/a\n4:memory:/a:b\n0::/a", "cgroups/memory/a:b/memory.oom_control"),
    "first, from within a container": ("4:hugetlb,memory:/docker/abc", "cgroups/memory/memory.oom_control"),
    "second, of a group that goes on": ("0::/system.slice/a.service", "cgroups/system.slice/memory.events"),
    "not limited": ("0::/", "proc/vmstat"),
    "no cgroups": ("", "proc/vmstat"),
}


def counted(place: Path, count: int) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(f"oom {count + 7}\noom_kill_disable 0\noom_kill {count}\noom_group_kill 9\n")


def shortage(folder: Path, told: str) -> Shortage:
    (folder / "proc/self").mkdir(parents=True)
    (folder / "proc/self/cgroup").write_text(told)
    return Shortage(folder / "proc", folder / "cgroups")


@pytest.mark.parametrize("how", PLACES)
def test_whom_the_kernel_killed_since_then_is_known(tmp_path: Path, how: str) -> None:
    told, name = PLACES[how]
    counted(tmp_path / name, 3)
    one = shortage(tmp_path, told)
    assert one.told_by == str(tmp_path / name)
    assert not one.has_killed()
    counted(tmp_path / name, 4)
    assert one.has_killed()
    one.begin()
    assert not one.has_killed()


def test_its_own_group_tells_before_the_machine_does(tmp_path: Path) -> None:
    counted(tmp_path / "proc/vmstat", 100)
    counted(tmp_path / "cgroups/a/memory.events", 0)
    one = shortage(tmp_path, "0::/a")
    counted(tmp_path / "proc/vmstat", 101)
    assert not one.has_killed(), "that was somebody else"


def test_where_nothing_tells_nobody_was_killed(tmp_path: Path) -> None:
    one = shortage(tmp_path, "4:memory:/a\n0::/a")
    assert (one.told_by, one.has_killed()) == ("", False)


def test_a_group_that_goes_is_no_trouble(tmp_path: Path) -> None:
    counted(tmp_path / "cgroups/a/memory.events", 2)
    one = shortage(tmp_path, "0::/a")
    (tmp_path / "cgroups/a/memory.events").unlink()
    assert not one.has_killed()


def test_this_machine_tells() -> None:
    assert Path(Shortage().told_by).is_file()
