# SPDX-License-Identifier: Apache-2.0
"""Listings that outlive a mount: what the next one need not ask for, and what it sees all the same."""

from __future__ import annotations

import os
import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from paddleflow_fuse.cli.ask import ask
from paddleflow_fuse.sources.s3.options import Options

from tests.support.agent_command import Command
from tests.support.granted import until
from tests.support.minio import Minio
from tests.support.prometheus import read

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts")

HOURS = {"meta-cache-driver": "disk", "meta-cache-expire": "7200", "entry-cache-expire": "7200"}
MANY = 2500  # names: of several pages
WAYS: dict[str, Callable[[Command], object]] = {
    "unmounted": lambda agent: agent("umount", str(agent.point)), "killed": Command.kill,
}  # fmt: skip


def asked(agent: Command) -> dict[str, float]:
    """What the source was asked of names since the mount."""
    found = read("".join(line.get("text", "") for line in ask(agent.run, agent.point, "metrics")))
    return {op: found.sum("pfs_meta_ops_durations_histogram_seconds_count", op=op) for op in ("find", "list")}


def kept(agent: Command) -> int:
    return int(agent.status()["worker"]["files"]["listings"]["folders"])


def walk(root: Path) -> dict[str, int]:
    """Sizes of all files, as one sees them who stats each."""
    return {
        str((Path(folder) / name).relative_to(root)): (Path(folder) / name).stat().st_size
        for folder, _folders, files in os.walk(root)
        for name in files
    }


def kept_file(agent: Command) -> Path:
    (file,) = agent.cache.glob("*/*/names")
    return file


def mount(agent: Command, source: Path, **options: str) -> None:
    agent.mount(f"local:/{source}", options={**HOURS, **options})


@pytest.mark.parametrize("way", WAYS)
def test_a_bucket_is_not_listed_again(agent: Command, server: Minio, bucket: Options, way: str) -> None:
    keys = [f"many/{number:05}" for number in range(MANY)] + ["few/deep/1", "few/2", "3"]
    for key in keys:
        server.client.put_object(Bucket=bucket.bucket, Key=key, Body=b"x" * 10)

    def mounts() -> None:
        agent.mount_bucket(bucket, options={**HOURS, "ro": "true"})

    there = dict.fromkeys(keys, 10)
    mounts()
    assert walk(agent.point) == there
    assert asked(agent)["list"] >= MANY // 1000
    until("all is kept", lambda: kept(agent) == 4)
    WAYS[way](agent)
    server.client.put_object(Bucket=bucket.bucket, Key="few/new", Body=b"new")
    server.client.put_object(Bucket=bucket.bucket, Key="3", Body=b"changed")
    mounts()
    assert kept(agent) == 4
    assert walk(agent.point) == there
    assert asked(agent) == {"find": 0, "list": 0}
    assert not (agent.point / "few" / "new").exists(), "it is not time yet"
    assert (agent.point / "3").read_bytes() == b"changed", "an open asks"
    with closing(sqlite3.connect(kept_file(agent))) as other:
        assert other.execute("SELECT COUNT(*) FROM folders WHERE path = ''").fetchone() == (0,), "it knows better now"


@pytest.mark.parametrize("way", WAYS)
def test_what_was_changed_here_is_seen_by_the_next_mount(agent: Command, source: Path, way: str) -> None:
    for name in ("stays", "goes", "changes", "moves"):
        (source / "folder" / "deep").mkdir(parents=True, exist_ok=True)
        (source / "folder" / name).write_bytes(b"before")
        (source / "folder" / "deep" / name).write_bytes(b"before")
    mount(agent, source)
    before = walk(agent.point)
    agent("umount", str(agent.point))
    mount(agent, source)
    assert kept(agent) == 3
    for folder in (agent.point / "folder", agent.point / "folder" / "deep"):
        (folder / "goes").unlink()
        (folder / "new").write_bytes(b"new")
        (folder / "changes").write_bytes(b"changed")
        (folder / "moves").rename(agent.point / f"moved-{folder.name}")
    (agent.point / "folder" / "deep").rename(agent.point / "elsewhere")
    WAYS[way](agent)
    there = walk(source)
    assert there != before
    mount(agent, source)
    assert walk(agent.point) == there
    assert (agent.point / "folder").stat().st_mtime_ns == (source / "folder").stat().st_mtime_ns
    agent("umount", str(agent.point))
    mount(agent, source)
    assert walk(agent.point) == there
    assert asked(agent)["list"] == 0


def test_what_others_changed_is_seen_when_it_is_time(agent: Command, source: Path) -> None:
    (source / "file").write_bytes(b"before")
    mount(agent, source)
    assert os.listdir(agent.point) == ["file"]
    agent("umount", str(agent.point))
    (source / "new").write_bytes(b"new")
    (source / "file").write_bytes(b"after it")
    mount(agent, source)
    assert os.listdir(agent.point) == ["file"]
    assert (agent.point / "file").stat().st_size == len(b"before")
    agent("umount", str(agent.point))
    with closing(sqlite3.connect(kept_file(agent), isolation_level=None)) as other:
        other.execute("UPDATE folders SET wall = wall - 7200")
    mount(agent, source)
    assert walk(agent.point) == {"file": len(b"after it"), "new": len(b"new")}


def test_a_worker_takes_over_what_is_kept_where_nobody_writes(agent: Command, source: Path) -> None:
    (source / "file").write_bytes(b"file")
    mount(agent, source, ro="true")
    assert os.listdir(agent.point) == ["file"]
    until("it is kept", lambda: kept(agent) == 1)
    worker = agent.status()["worker_pid"]
    os.kill(worker, signal.SIGKILL)
    assert os.listdir(agent.point) == ["file"]
    until("another serves", lambda: agent.status()["worker_pid"] != worker and agent.status()["serves"])
    assert kept(agent) == 1


def test_a_file_that_is_damaged_fails_nobody_and_is_told(agent: Command, source: Path) -> None:
    (source / "file").write_bytes(b"file")
    mount(agent, source)
    assert os.listdir(agent.point) == ["file"]
    agent("umount", str(agent.point))
    assert "all is right" in agent("fsck", str(agent.cache)).stdout
    with closing(sqlite3.connect(kept_file(agent), isolation_level=None)) as other:
        other.execute("UPDATE pages SET body = X'00112233'")
    told = agent("fsck", str(agent.cache), code=1).stdout
    assert "  names: a part of a listing is not what was written; " in told
    (source / "new").write_bytes(b"new")
    mount(agent, source)
    assert sorted(os.listdir(agent.point)) == ["file", "new"]
    assert agent.said().count("is damaged") == 1
    agent("umount", str(agent.point))
    kept_file(agent).write_bytes(b"not ours" * 1000)
    assert "; it was removed" in agent("fsck", "--repair", str(agent.cache)).stdout
    mount(agent, source)
    assert sorted(os.listdir(agent.point)) == ["file", "new"]
    assert kept_file(agent).exists()


def test_what_is_kept_is_shown_cleared_and_removed(agent: Command, source: Path) -> None:
    (source / "file").write_bytes(b"file")
    mount(agent, source)
    assert os.listdir(agent.point) == ["file"]
    until("it is kept", lambda: kept(agent) == 1)
    shown = agent("status", str(agent.point)).stdout
    assert "listings of 1 folders kept" in " ".join(shown.split())
    (source / "new").write_bytes(b"new")
    assert os.listdir(agent.point) == ["file"]
    agent("clear", str(agent.point))
    assert sorted(os.listdir(agent.point)) == ["file", "new"]
    agent("umount", str(agent.point))
    folder = kept_file(agent).parent
    assert {"names", "names-well"} <= set(os.listdir(folder))
    assert agent("clean-cache", str(agent.cache)).stdout == f"{folder} is removed\n"
    assert not folder.exists()


def test_nothing_is_kept_unless_it_is_said(agent: Command, source: Path) -> None:
    (source / "file").write_bytes(b"file")
    mount(agent, source, **{"meta-cache-driver": "mem"})
    assert os.listdir(agent.point) == ["file"]
    assert agent.status()["worker"]["files"]["listings"] == {}
    assert list(agent.cache.glob("*/*/names*")) == []
