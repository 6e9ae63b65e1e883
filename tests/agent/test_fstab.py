# SPDX-License-Identifier: Apache-2.0
"""A line of a table of file systems, mounted by mount(8) itself, in a mount namespace where our helper lies in /sbin."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from paddleflow_fuse.cli.helper import main

from tests.support.agent_command import Command
from tests.support.namespaces import LET_GO

SCRIPT = rf"""
set -eu
{LET_GO}
cd "$1"
mkdir work
sbin=$(realpath /sbin)
# A folder of an overlay can hold no other overlay's changes; one in memory can.
mount -t tmpfs tmpfs work; mkdir work/upper work/work
mount -t overlay -o "lowerdir=$sbin,upperdir=$1/work/upper,workdir=$1/work/work" overlay "$sbin"
cp helper /sbin/mount.paddleflow
mount --fstab "$1/fstab" "$1/point"
findmnt --noheadings --output FSTYPE,SOURCE "$1/point"
cat point/file
echo written > point/other
mount --fstab "$1/fstab" --all -t paddleflow; findmnt --noheadings "$1/point" | wc -l
"$2" -m paddleflow_fuse.cli.__main__ --run "$1/run" umount "$1/point"
"""


def test_a_line_of_a_table_is_mounted_by_mount(tmp_path: Path) -> None:
    for name in ("source", "point"):
        (tmp_path / name).mkdir()
    (tmp_path / "source/file").write_text("content\n")
    helper = tmp_path / "helper"
    helper.write_text(f'#!/bin/sh\nexec {sys.executable} -m paddleflow_fuse.cli.helper "$@"\n')
    helper.chmod(0o755)
    options = f"_netdev,nofail,x-systemd.automount,rw,data-cache-path={tmp_path}/cache,free-space-ratio=0.1,log={tmp_path}/log,run={tmp_path}/run"
    source = f"local:/{tmp_path}/source"
    (tmp_path / "fstab").write_text(f"{source} {tmp_path}/point paddleflow {options} 0 0\n")
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", SCRIPT, "sh", str(tmp_path), sys.executable],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.split() == ["fuse.paddleflow", source, "content", "1"]
    assert (tmp_path / "source/other").read_text() == "written\n"


def test_without_a_name_its_log_lies_in_the_folder_of_the_installation(agent: Command, source: Path) -> None:
    helper = [
        sys.executable,
        "-m",
        "paddleflow_fuse.cli.helper",
        "--run",
        str(agent.run),
        "--logs",
        f"{agent.folder}/logs",
    ]
    options = f"data-cache-path={agent.cache},free-space-ratio=0.1"
    subprocess.run([*helper, f"local:/{source}", agent.point, "-o", options], check=True)
    assert "the worker serves" in (agent.folder / "logs/mount.log").read_text()
    agent("umount", str(agent.point))


@pytest.mark.parametrize("option", ["suid", "dev", "noexec", "remount", "sync"])
def test_what_cannot_be_kept_is_refused(tmp_path: Path, option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["local:///source", str(tmp_path), "-o", f"rw,{option}"]) == 1
    assert f"{option}: " in capsys.readouterr().err


def test_mount_is_told_as_it_expects_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["local:///source", str(tmp_path), "-s", "-v", "-o", "_netdev,blok-size=1"]) == 32
    assert "block-size" in capsys.readouterr().err
    assert main(["local:///source", str(tmp_path), "-f"]) == 0
