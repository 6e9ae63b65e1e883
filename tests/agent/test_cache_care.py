# SPDX-License-Identifier: Apache-2.0
"""Care of cache folders: removed at the end where that is wanted, checked, and removed later; what is stored nowhere else stays."""

from __future__ import annotations

import errno
import os
import signal
import tempfile
from pathlib import Path

import pytest

from tests.support.agent_command import Command
from tests.support.agent_mounts import is_alive
from tests.support.granted import until
from tests.support.source_suite import failing

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts")


@pytest.fixture
def source(source: Path) -> Path:
    (source / "file").write_bytes(b"x" * 1000)
    return source


def url(source: Path) -> str:
    return f"local:/{source}"


def warm(agent: Command, source: Path, **options: str) -> Path:
    """Mounted, with something in its cache, which is given."""
    agent.mount(url(source), options=options)
    agent("warmup", str(agent.point))
    return Path(agent.status()["worker"]["disk"]["folder"])


@pytest.mark.parametrize("way", ["umount", "signal"])
def test_a_cache_is_removed_at_a_clean_end_where_that_is_wanted(agent: Command, source: Path, way: str) -> None:
    other = warm(agent, source)
    agent("umount", str(agent.point))
    assert other.exists(), "not unless it is said"
    folder = warm(agent, source, **{"clean-cache": "true"})
    status = agent.status()
    os.kill(status["worker_pid"], signal.SIGKILL)
    assert (agent.point / "file").read_bytes() == b"x" * 1000
    assert folder.exists(), "the next worker goes on with it"
    (agent.point / "new").write_bytes(b"new")
    if way == "umount":
        agent("umount", str(agent.point))
    else:
        os.kill(status["pid"], signal.SIGTERM)
    until("it has ended", lambda: not is_alive(status["pid"]))
    assert not folder.exists()
    assert other.exists()
    assert (source / "new").read_bytes() == b"new"


def test_what_is_not_stored_stays_when_a_cache_is_removed_and_is_stored_by_the_next_mount(
    agent: Command, source: Path
) -> None:
    options = {"clean-cache": "true", "grace": "1"}
    folder = warm(agent, source, **options)
    agent_process = agent.status()["pid"]
    (agent.point / "folder").mkdir()
    (source / "folder").rename(source / "away")
    with failing(errno.ENOENT):
        (agent.point / "folder" / "new").write_bytes(b"new")
    os.kill(agent_process, signal.SIGTERM)
    until("it has ended", lambda: not is_alive(agent_process))
    assert (folder / "staging" / "1").read_bytes() == b"new"
    assert not (folder / "objects").exists()
    (source / "away").rename(source / "folder")
    agent.mount(url(source), options=options)
    until("it is stored", (source / "folder" / "new").exists)
    assert (source / "folder" / "new").read_bytes() == b"new"


def test_caches_of_earlier_mounts_are_told_and_removed_together(agent: Command, source: Path) -> None:
    first = warm(agent, source, **{"block-size": "10Mi"})
    agent("umount", str(agent.point))
    second = warm(agent, source)
    assert agent.status()["worker"]["left_behind"] == [str(first)]
    (agent.cache / "thesis").mkdir()
    (agent.cache / "thesis" / "chapter").mkdir()
    (agent.cache / "thesis" / "chapter" / "owner").write_text("me")
    assert agent("clean-cache", "--days", "1", str(agent.cache)).stdout == ""
    told = agent("clean-cache", str(agent.cache))
    assert told.stdout == f"{first} is removed\n"
    assert f"{second} is held by" in told.stderr
    assert not first.exists()
    assert agent.status()["worker"]["left_behind"] == []
    agent("umount", str(agent.point))
    old = second / "owner"
    os.utime(old, (old.stat().st_mtime - 3 * 86400,) * 2)
    assert agent("clean-cache", "--days", "2", str(agent.cache)).stdout == f"{second} is removed\n"
    assert [one.name for one in agent.cache.iterdir()] == ["thesis"]
    assert "is no cache" in agent("clean-cache", str(agent.cache), code=1).stderr


def test_a_cache_is_checked_by_command(agent: Command, source: Path) -> None:
    folder = warm(agent, source)
    assert "is held by" in agent("fsck", str(folder), code=1).stderr
    assert f"{folder} is not checked" in agent("fsck", str(agent.cache)).stdout
    agent("umount", str(agent.point))
    assert "all is right" in agent("fsck", str(agent.cache)).stdout
    (damaged,) = [one for one in (folder / "objects").rglob("*") if one.is_file()]
    damaged.chmod(0o600)
    damaged.write_bytes(b"y" * 1000)
    assert "all is right" in agent("fsck", "--quick", str(folder)).stdout
    assert "is not what was written" in agent("fsck", str(folder), code=1).stdout
    assert "it was removed" in agent("fsck", "--repair", str(folder)).stdout
    assert "all is right" in agent("fsck", str(folder)).stdout
    agent.mount(url(source))
    assert (agent.point / "file").read_bytes() == b"x" * 1000


def test_a_check_says_what_is_stored_nowhere_else_and_how_to_get_it_out(agent: Command, source: Path) -> None:
    folder = warm(agent, source, **{"attr-timeout": "2"})
    one = os.open(agent.point / "new", os.O_WRONLY | os.O_CREAT)
    os.write(one, b"written")
    agent.kill()
    with failing(errno.ENOTCONN):
        os.close(one)
    told = agent("fsck", str(folder), code=1).stdout
    assert f"{folder}/staging/1 becomes new, 7 bytes" in told
    how = next(line for line in told.splitlines() if "is stored by the next mount" in line).partition(": ")[2]
    assert how.startswith(f"paddleflow-fuse mount {url(source)} {agent.point} -o ")
    words = how.split()
    agent(*words[1:], "-d", "--log", str(agent.log))
    until("it is stored", (source / "new").exists)
    assert (source / "new").read_bytes() == b"written"
    agent("umount", str(agent.point))
    (folder / "staging" / "9").write_bytes(b"whose?")
    assert "nobody knows what it was to become" in agent("fsck", str(folder), code=1).stdout


def test_a_cache_may_lie_in_memory(agent: Command, source: Path) -> None:
    """Which cannot say whether a read would wait."""
    data = os.urandom(24 << 20)
    (source / "large").write_bytes(data)
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        agent.mount(url(source), options={"data-cache-path": folder, "block-size": "1Mi"})
        with (agent.point / "large").open("rb", buffering=0) as file:  # while it fills
            assert b"".join(iter(lambda: file.read(1 << 20), b"")) == data
        assert agent.status()["worker"]["disk"]["files"] >= 1
        agent("umount", str(agent.point))
