# SPDX-License-Identifier: Apache-2.0
"""What is no place for a mount, and how a table of mounts is read."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from paddleflow_fuse.session.mount import Mounted, MountError, Options, elsewhere, is_dead, mount, mounts, unmount

TABLE = r"""
24 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
90 24 0:52 / /mnt/a\040b rw,nosuid,nodev - fuse.paddleflow s3://bucket/one\054two rw,user_id=0
91 24 0:53 / /mnt/back\134slash ro,nosuid master:3 propagate_from:2 - fuse.paddleflow sftp://host/x ro
"""


def test_a_table_of_mounts_is_read_with_its_escapes(tmp_path: Path) -> None:
    table = tmp_path / "mountinfo"
    table.write_text(TABLE.lstrip())
    assert mounts(table) == [
        Mounted("8:1", "/", "ext4", "/dev/sda1", False),
        Mounted("0:52", "/mnt/a b", "fuse.paddleflow", "s3://bucket/one,two", False),
        Mounted("0:53", "/mnt/back\\slash", "fuse.paddleflow", "sftp://host/x", True),
    ]


@pytest.mark.parametrize("odd", ["\r", "\x0b", "\x85", "\u2028"])
def test_what_others_mount_under_odd_names_spoils_nothing(tmp_path: Path, odd: str) -> None:
    """The kernel escapes blanks and ends of lines alone."""
    table = tmp_path / "mountinfo"
    table.write_text(TABLE.lstrip().replace("bucket", f"buck{odd}et"), newline="")
    assert [one.point for one in mounts(table)] == ["/", "/mnt/a b", "/mnt/back\\slash"]
    assert mounts(table)[1].source == f"s3://buck{odd}et/one,two"


def test_who_sees_it_elsewhere_is_of_another_namespace_and_sees_the_same(tmp_path: Path) -> None:
    def see(process: str, namespace: str, source: str) -> None:
        (tmp_path / process / "ns").mkdir(parents=True)
        (tmp_path / process / "ns/mnt").symlink_to(f"mnt:[{namespace}]")
        line = f"90 24 0:52 / /mnt rw - fuse.paddleflow {source} rw\n"
        (tmp_path / process / "mountinfo").write_text(line)

    see("self", "1", "s3://bucket")
    see("1", "1", "s3://bucket")
    see("2", "2", "s3://that/has/its/number/now")
    (tmp_path / "3").mkdir()  # it has just ended
    assert elsewhere("0:52", "s3://bucket", tmp_path) == 0
    see("4", "2", "s3://bucket")
    assert elsewhere("0:52", "s3://bucket", tmp_path) == 4


def test_our_own_table_has_a_root() -> None:
    assert "/" in {one.point for one in mounts()}


@pytest.mark.parametrize(
    ("make", "code", "why"),
    [
        (None, errno.ENOENT, r"is not there\. Make it first: mkdir -p /"),
        ("file", errno.ENOTDIR, "is no folder"),
        ("full", errno.ENOTEMPTY, r"is not empty \(it holds there\)"),
    ],
)
def test_what_is_no_place_for_a_mount_is_refused_with_the_remedy(
    tmp_path: Path, make: str | None, code: int, why: str
) -> None:
    point = tmp_path / "point"
    if make == "file":
        point.touch()
    elif make:
        (point / "there").mkdir(parents=True)
    with pytest.raises(MountError, match=why) as refused:
        mount(point, "memory://", Options())
    assert refused.value.errno == code


def test_who_is_not_root_is_told_that_it_is_used_as_root_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "fusermount3"
    program.write_text('#!/bin/sh\necho "fusermount3: failed to unmount $3: Device or resource busy" >&2\nexit 1\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(MountError, match="resource busy") as refused:
        unmount(Path("/mnt/data"))
    assert refused.value.errno == errno.EBUSY


def test_a_place_that_is_taken_says_by_what() -> None:
    with pytest.raises(MountError, match=r"is mounted on /proc already\. Unmount it first: umount /proc") as refused:
        mount(Path("/proc"), "memory://", Options())
    assert refused.value.errno == errno.EBUSY


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts")
def test_a_mount_is_dead_when_its_server_is_gone_and_one_that_is_silent_holds_nobody(tmp_path: Path) -> None:
    device = mount(tmp_path, "silent", Options())
    try:
        assert not is_dead(tmp_path, 0.1)
        os.close(device)
        assert is_dead(tmp_path, 60)
    finally:
        unmount(tmp_path, lazily=True)
    assert not is_dead(tmp_path, 60)
