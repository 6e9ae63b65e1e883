# SPDX-License-Identifier: Apache-2.0
"""What an agent counts, against what was done; and the file in which anybody finds it."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest
from paddleflow_fuse.cli.ask import ask, last
from paddleflow_fuse.metrics import FAMILIES

from tests.support.agent_command import Command
from tests.support.granted import until
from tests.support.prometheus import Metrics, read
from tests.support.source_suite import failing

MIB = 1 << 20
INODE = 0x7FFFFFFF00000001
# With and without opens, and with and without the kernel reading by itself.
PROFILES = {
    "large": {},
    "without-passthrough": {"passthrough": "false"},
    "small": {"read-only": "true", "profile": "small"},
    "pyfuse3": {"session": "pyfuse3"},
}


def counted(agent: Command) -> Metrics:
    """Asked without another process: at its begin, what is open here would be closed in it, and so stored."""
    found = read("".join(line.get("text", "") for line in ask(agent.run, agent.point, "metrics")))
    for name, told in found.helps.items():
        assert FAMILIES[name.removeprefix("pfs_")].help == told
    assert all(dict(labels)["mp"] == str(agent.point) for _name, labels in found.values)
    return found


def reads(agent: Command) -> tuple[float, float]:
    found = counted(agent)
    return found.sum("pfs_blockcache_hits"), found.sum("pfs_blockcache_miss")


def test_opens_of_what_the_kernel_reads_by_itself(agent: Command, source: Path) -> None:
    (source / "file").write_bytes(b"x" * 1000)
    agent.mount(f"local:/{source}")
    for _time in range(3):
        assert (agent.point / "file").read_bytes() == b"x" * 1000
    found = counted(agent)
    assert found("pfs_fuse_ops_total", op="OPEN", errno="0") == 3
    assert found("pfs_fuse_ops_durations_histogram_seconds_count", op="OPEN") == 3
    assert found("pfs_opens_total", mode="passthrough") == 3
    assert (found.sum("pfs_blockcache_hits"), found.sum("pfs_blockcache_miss")) == (2, 1)
    assert found.sum("pfs_blockcache_miss_bytes") == 1000
    assert found("pfs_blockcache_hit_rate") == pytest.approx(2 / 3)
    assert (found("pfs_blockcache_writes", tier="disk"), found("pfs_blockcache_write_bytes", tier="disk")) == (1, 1000)
    assert found("pfs_blockcache_write_hist_seconds_count", tier="disk") == 1
    assert found("pfs_cache_used_bytes", tier="disk") >= 1000
    assert found("pfs_meta_ops_durations_histogram_seconds_count", op="find") >= 1
    assert found("pfs_mount_recoveries_total") == 0


def test_reads_through_the_agent(agent: Command, source: Path) -> None:
    (source / "file").write_bytes(b"x" * 1000)
    agent.mount(f"local:/{source}", passthrough="false")
    with (agent.point / "file").open("rb", buffering=0) as file:
        assert len(file.read(1000)) == 1000
    assert reads(agent) == (0, 1)  # it was fetched for who opened it
    with (agent.point / "file").open("rb", buffering=0) as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        assert len(file.read(1000)) == 1000
    found = counted(agent)
    assert (found("pfs_blockcache_hits", tier="disk"), found("pfs_blockcache_miss", tier="disk")) == (1, 1)
    assert found("pfs_blockcache_hit_bytes", tier="disk") == 1000
    assert found("pfs_fuse_read_size_bytes_sum") == 2000
    assert found("pfs_blockcache_read_hist_seconds_count", tier="disk") == 2


@pytest.mark.parametrize("size", [1000, 3 * MIB])
def test_what_was_written_here_is_not_fetched(agent: Command, source: Path, size: int) -> None:
    agent.mount(f"local:/{source}")
    data = os.urandom(size)
    (agent.point / "file").write_bytes(data)
    until("it is cached", lambda: not any(agent.cache.glob("*/*/staging/*")))
    for turn in range(2):
        assert (agent.point / "file").read_bytes() == data
        with (agent.point / "file").open("r+b") as file:
            file.write(b"%d" % turn)
        data = b"%d" % turn + data[1:]
        until("it is cached again", lambda: not any(agent.cache.glob("*/*/staging/*")))
    assert (agent.point / "file").read_bytes() == (source / "file").read_bytes() == data
    assert reads(agent)[1] == 0
    agent("umount", str(agent.point))
    agent.mount(f"local:/{source}")
    assert (agent.point / "file").read_bytes() == data
    assert reads(agent) == (1, 0)


def test_what_is_fetched_before_anybody_wants_it(agent: Command, source: Path) -> None:
    size = 24 * MIB
    (source / "large").write_bytes(os.urandom(size))
    agent.mount(f"local:/{source}", options={"passthrough": "false", "block-size": "4Mi"})
    with (agent.point / "large").open("rb", buffering=0) as file:
        while file.read(MIB):
            pass
    found = counted(agent)
    fetched = found("pfs_prefetch_bytes_total")
    assert 0 < fetched < size
    assert found("pfs_prefetch_used_bytes_total") == fetched
    assert found.sum("pfs_blockcache_write_bytes") == size
    assert found("pfs_fuse_read_size_bytes_sum") == size
    assert found("pfs_queue_length", queue="fetch") == 0


def test_what_is_written_and_not_stored(agent: Command, source: Path) -> None:
    agent.mount(f"local:/{source}", passthrough="false")
    with (agent.point / "file").open("wb", buffering=0) as file:
        file.write(b"x" * 5000)
        found = counted(agent)
        assert (
            found("pfs_staging_bytes") == found("pfs_dirty_bytes") == found("pfs_fuse_written_size_bytes_sum") == 5000
        )
        assert found("pfs_dirty_handles") == 1
        staged = last(agent.run, agent.point, "status")["worker"]["files"]["staged"]
        assert staged == [{"path": "file", "bytes": 5000, "stored": False, "retried": False}]
    found = counted(agent)
    assert (found("pfs_dirty_bytes"), found("pfs_dirty_handles"), found("pfs_upload_failures_total")) == (0, 0, 0)


def test_workers_that_took_over(agent: Command, source: Path) -> None:
    agent.mount(f"local:/{source}")
    for count in (1, 2):
        os.kill(agent.status()["worker_pid"], 9)
        assert os.listdir(agent.point) == []  # waits for the next
        until("the supervisor knows", lambda: bool(last(agent.run, agent.point, "status")["serves"]))
        assert counted(agent)("pfs_mount_recoveries_total") == count


# --- .stats ------------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", PROFILES)
def test_anybody_reads_it_in_the_root(agent: Command, source: Path, profile: str) -> None:
    (source / "folder").mkdir()
    (source / "folder/file").write_bytes(b"x" * 1000)
    agent.mount(f"local:/{source}", options=PROFILES[profile])
    path = agent.point / ".stats"
    assert os.listdir(agent.point) == ["folder"]
    before = read(path.read_text())
    assert (agent.point / "folder/file").read_bytes() == b"x" * 1000
    after = read(path.read_text())
    assert (before.sum("pfs_blockcache_miss"), after.sum("pfs_blockcache_miss")) == (0, 1)
    found = path.stat()
    assert found.st_mode == stat.S_IFREG | 0o444
    takes_over = profile != "pyfuse3"  # where a node's number is what users see, too
    assert found.st_ino == INODE or not takes_over
    with path.open("rb") as file:  # one text, however it is read
        text = file.read(100)
        text += file.read()
        file.seek(0)
        assert file.read() == text
    assert not (agent.point / "folder/.stats").exists()
    if takes_over:
        os.kill(agent.status()["worker_pid"], 9)
        assert os.listdir(agent.point) == ["folder"]
        assert read(path.read_text())("pfs_mount_recoveries_total") == 1


def test_nobody_writes_it(agent: Command, source: Path) -> None:
    agent.mount(f"local:/{source}")
    path = agent.point / ".stats"
    (agent.point / "file").write_bytes(b"x")
    for code, act in (
        (errno.EACCES, lambda: path.write_bytes(b"x")),
        (errno.EACCES, lambda: os.open(path, os.O_RDWR)),
        (errno.EPERM, lambda: path.chmod(0o600)),
        (errno.EPERM, lambda: os.truncate(path, 0)),
        (errno.EPERM, path.unlink),
        (errno.EPERM, lambda: path.rename(agent.point / "other")),
        (errno.EPERM, lambda: (agent.point / "file").rename(path)),
        (errno.EEXIST, path.mkdir),
        (errno.EEXIST, lambda: path.symlink_to("file")),
        (errno.EEXIST, lambda: os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY)),
    ):
        with failing(code):
            act()
    assert sorted(os.listdir(source)) == ["file"]


def test_a_users_of_that_name_is_hidden_and_counted(agent: Command, source: Path) -> None:
    (source / ".stats").write_text("mine")
    (source / "other").write_text("mine")
    agent.mount(f"local:/{source}")
    for _time in range(2):
        assert os.listdir(agent.point) == ["other"]
    assert "mine" not in (agent.point / ".stats").read_text()
    status = agent.status()["worker"]["files"]
    assert (status["hidden_names"], status["hidden"]) == (1, [".stats"])
    assert counted(agent)("pfs_hidden_names") == 1
    assert agent.said().count("is left out of listings: rename it at the source to see it path=b'.stats'") == 1
