# SPDX-License-Identifier: Apache-2.0
"""The command of a user who is not root, over the distribution's fusermount3."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator

import pytest

from tests.support.another_user import NOBODY, User, another_user

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="only root makes a machine for another user"),
    pytest.mark.skipif(shutil.which("fusermount3") is None, reason="fuse3 is not installed"),
]


@pytest.fixture
def user() -> Iterator[User]:
    with another_user() as one:
        for name in ("source", "mount"):
            one.run("mkdir", str(one.home / name)).check_returncode()
        yield one


@pytest.fixture
def mounted(user: User) -> User:
    source, point = user.home / "source", user.home / "mount"
    user.run("sh", "-c", f"echo content > {source}/file").check_returncode()
    assert user("mount", f"local:/{source}", str(point), "-d", "-o", "free-space-ratio=0.1") == ""
    return user


def test_he_mounts_reads_writes_and_unmounts(mounted: User) -> None:
    source, point = mounted.home / "source", mounted.home / "mount"
    assert mounted.run("cat", str(point / "file")).stdout == "content\n"
    mounted.run("sh", "-c", f"echo written > {point}/other").check_returncode()
    assert mounted.run("cat", str(source / "other")).stdout == "written\n"
    assert mounted.run("stat", "-c", "%u %n", str(source / "other")).stdout.startswith(f"{NOBODY} ")
    mounted("umount", str(point))
    assert mounted.run("ls", "-A", str(point)).stdout == ""
    assert str(point) not in mounted.run("cat", "/proc/mounts").stdout
    log = mounted.run("cat", str(mounted.home / ".local/state/paddleflow/fuse/log")).stdout
    assert "ERROR" not in log
    assert "No agent serves" in mounted("status", str(point), code=1)


def test_he_is_told_what_only_root_gets(mounted: User) -> None:
    point = mounted.home / "mount"
    said = mounted("status", str(point))
    assert "without reads at the speed of the disk below (only root gets passthrough)" in said
    status = json.loads(mounted("status", "--json", str(point)))
    granted = {one["name"]: one["granted"] for one in status["mount"]["features"]}
    assert (granted["passthrough"], granted["has_resend"]) == (False, True)
    assert status["worker"]["disk"]["folder"].startswith(str(mounted.home / ".cache/paddleflow/fuse"))
    mounted("umount", str(point))
    assert mounted("mount", f"local:/{mounted.home}/source", str(point), "-d", "-o", "passthrough=false") == ""
    assert "only root" not in mounted("status", str(point))


def test_his_mount_goes_on_after_its_worker_and_is_his_alone(mounted: User) -> None:
    point = mounted.home / "mount"
    worker = json.loads(mounted("status", "--json", str(point)))["worker_pid"]
    mounted.run("kill", "-9", str(worker)).check_returncode()
    assert mounted.run("cat", str(point / "file")).stdout == "content\n"
    for other in (0, NOBODY - 1):
        assert "Permission denied" in mounted.run("ls", str(point), uid=other).stderr


def test_what_his_machine_does_not_let_him_is_told(user: User) -> None:
    words = ["mount", f"local:/{user.home}/source", str(user.home / "mount"), "-d"]
    assert "Install the package fuse3" in user(*words, code=1, path="/nonexistent")
    assert "user_allow_other" in user(*words, "-o", "allow-other=true", code=1)
    user.run("chmod", "0600", "/dev/fuse", uid=0).check_returncode()
    assert "/dev/fuse: Permission denied" in user(*words, code=1)
    assert str(user.home) not in user.run("cat", "/proc/mounts").stdout
