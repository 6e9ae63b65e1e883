# SPDX-License-Identifier: Apache-2.0
"""The command, from mount to umount, over a folder of the machine."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from paddleflow_fuse.cli.exporter import collected
from paddleflow_fuse.session.mount import mounts

from tests.support.agent_command import Command, command
from tests.support.agent_mounts import is_alive
from tests.support.caches import removed
from tests.support.granted import until
from tests.support.mapped import Memory
from tests.support.namespaces import ALONE, LET_GO
from tests.support.places import file
from tests.support.prometheus import read


def names(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.iterdir())


def url(source: Path) -> str:
    return f"local:/{source}"


def test_what_is_mounted_is_asked_cached_forgotten_and_unmounted(agent: Command, source: Path) -> None:
    (source / "folder").mkdir()
    for index in range(3):
        (source / "folder" / f"{index}").write_bytes(b"%d" % index * 1000)
    agent.mount(url(source))
    assert names(agent.point / "folder") == ["0", "1", "2"]
    status = agent.status()
    assert status["mount"]["point"] == str(agent.point)
    assert status["worker"]["disk"]["files"] == 0

    told = agent("warmup", str(agent.point), "folder")
    assert told.stderr.splitlines()[-1] == "3 files, 1 folders, 0.0 MB, 0 failed"
    assert agent.status()["worker"]["disk"]["files"] == 3
    assert (agent.point / "folder" / "2").read_bytes() == b"2" * 1000
    assert agent.status()["worker"]["disk"]["files"] == 3

    assert agent("clear", str(agent.point), "folder/1").stdout == "1 files will be fetched anew\n"
    assert agent.status()["worker"]["disk"]["files"] == 2
    agent("clear", str(agent.point))
    assert agent.status()["worker"]["disk"]["files"] == 0

    agent("umount", str(agent.point))
    assert names(agent.point) == []
    assert "error" not in agent.said()
    assert "No agent serves" in agent("status", str(agent.point), code=1).stderr


def test_a_cache_is_still_there_after_the_mount_was_made_anew(agent: Command, source: Path) -> None:
    (source / "file").write_bytes(b"x" * 1000)
    agent.mount(url(source))
    agent("warmup", str(agent.point))
    agent("umount", str(agent.point))
    agent.mount(url(source))
    assert agent.status()["worker"]["disk"]["files"] == 1
    assert (agent.point / "file").read_bytes() == b"x" * 1000
    found = read(agent("metrics", str(agent.point)).stdout)
    assert (found.sum("pfs_blockcache_hits"), found.sum("pfs_blockcache_miss")) == (1, 0)


def test_what_cannot_be_fetched_is_named_and_the_rest_is(agent: Command, source: Path) -> None:
    (source / "there").write_bytes(b"x")
    agent.mount(url(source))
    told = agent("warmup", str(agent.point), "missing", "there", "a/../b", code=1)
    assert "1 files, 0 folders, 0.0 MB, 2 failed" in told.stderr
    assert "missing: it is not there (paths are from the root of the mount)" in told.stderr
    told = agent("clear", str(agent.point), "missing", "there", code=1)
    assert told.stdout == "1 files will be fetched anew\n"
    assert told.stderr == "missing: it is not there (paths are from the root of the mount)\n"


def test_what_is_there_and_was_never_asked_for_has_nothing_to_forget(agent: Command, source: Path) -> None:
    (source / "folder").mkdir()
    (source / "folder/file").write_bytes(b"x")
    agent.mount(url(source))
    assert agent("clear", str(agent.point), "/folder/file").stdout == "0 files will be fetched anew\n"


def test_the_root_of_a_mount_is_all_of_it(agent: Command, source: Path) -> None:
    (source / "folder").mkdir()
    (source / "folder/file").write_bytes(b"x")
    agent.mount(url(source))
    agent("warmup", str(agent.point), "/")
    assert agent("clear", str(agent.point), "/").stdout == "1 files will be fetched anew\n"


def test_all_wrong_options_are_told_at_once_and_nothing_is_mounted(agent: Command, source: Path) -> None:
    wrong = {"blok-size": "1", "attr-timeout": "soon", "profile": "tiny"}
    said = agent.mount(url(source), options=wrong, code=2)
    for name in ("blok-size", "attr-timeout", "profile"):
        assert name in said
    assert not agent.run.exists()


def test_a_secret_on_the_command_line_is_refused(agent: Command) -> None:
    said = agent.mount("s3://bucket", endpoint="http://store", accessKey="a", secretKey="hidden", code=2)
    assert "--secrets FILE" in said
    assert "hidden" not in said


def test_a_folder_that_is_not_empty_or_missing_or_mounted_is_refused(agent: Command, source: Path) -> None:
    (agent.point / "something").write_bytes(b"")
    assert "is not empty (it holds something)" in agent.mount(url(source), code=1)
    (agent.point / "something").unlink()
    agent.mount(url(source))
    assert "Another agent serves" in agent.mount(url(source), code=1)
    assert (agent.point / "nothing").exists() is False


@pytest.mark.parametrize("place", ["mount/cache", "link/cache"])
def test_a_cache_on_the_mount_itself_is_refused(agent: Command, source: Path, place: str) -> None:
    """Rule 11: who serves a mount opens no path of it."""
    (agent.folder / "link").symlink_to(agent.point)
    said = agent.mount(url(source), options={"data-cache-path": str(agent.folder / place)}, code=2)
    assert f"{agent.point}/cache, which is on the mount point" in said
    assert names(agent.point) == []


def test_a_source_that_holds_the_mount_point_is_refused(agent: Command, tmp_path: Path) -> None:
    assert "within one another" in agent.mount(url(tmp_path), code=2)
    assert "within one another" in agent.mount(url(agent.point), code=2)


def test_a_second_agent_on_the_same_cache_is_told_who_holds_it(agent: Command, source: Path, tmp_path: Path) -> None:
    agent.mount(url(source))
    (tmp_path / "other").mkdir()
    other = Command(tmp_path / "other")
    other.cache = agent.cache
    said = other.mount(url(source), code=1)
    assert f"is held by process {agent.status()['worker_pid']}, which serves {agent.point}" in said
    assert names(other.point) == []


def test_a_second_agent_with_other_settings_has_a_part_of_the_cache_of_its_own(
    agent: Command, source: Path, tmp_path: Path
) -> None:
    (source / "file").write_bytes(b"content")
    agent.mount(url(source))
    (tmp_path / "other").mkdir()
    with command(tmp_path / "other") as other:
        other.cache = agent.cache
        other.mount(url(source), options={"block-size": "4Mi"})
        for one in (agent, other):
            assert (one.point / "file").read_bytes() == b"content"
            assert one.status()["worker"]["disk"]["files"] == 1
        assert len(list(agent.cache.glob("*/*"))) == 2


def test_no_more_bytes_a_second_pass_than_may(agent: Command, source: Path) -> None:
    """However fast the machine is: what passes at once at first is the eighth part of a second's."""
    (source / "file").write_bytes(b"x" * (3 << 20))
    agent.mount(url(source), options={"rate-limit-read": "2Mi", "rate-limit-write": "2Mi"})
    began = time.monotonic()
    assert (agent.point / "file").read_bytes() == b"x" * (3 << 20)
    read = time.monotonic()
    (agent.point / "new").write_bytes(b"y" * (3 << 20))
    assert read - began > 1
    assert time.monotonic() - read > 1
    assert (source / "new").read_bytes() == b"y" * (3 << 20)
    agent("umount", str(agent.point))
    agent("clean-cache", str(agent.cache))
    assert list(agent.cache.glob("*/*")) == []


def test_a_mount_point_and_a_source_may_have_any_name(agent: Command, source: Path) -> None:
    odd = os.fsdecode(b"\xff\x1b[2J")
    agent.point, source = agent.folder / odd, source / odd[0]
    for folder in (agent.point, source):
        folder.mkdir()
    (source / odd).write_bytes(b"content")
    agent.mount(url(source))
    assert (agent.point / odd).read_bytes() == b"content"
    shown = [agent(verb, str(agent.point)).stdout for verb in ("status", "metrics")] + [collected(agent.run)]
    shown.append((agent.point / ".stats").read_text(encoding="utf-8"))
    assert all(r"\udcff" in one for one in shown)
    assert "\x1b" not in shown[0]
    assert "1 files, 0 folders" in agent("warmup", str(agent.point), odd).stderr
    os.kill(agent.status()["worker_pid"], signal.SIGKILL)
    assert (agent.point / odd).read_bytes() == b"content"
    agent("umount", str(agent.point))
    assert "\x1b" not in agent.said()


@pytest.mark.parametrize("there", [True, False])
def test_what_somebody_else_mounted_is_not_taken_away(agent: Command, there: bool) -> None:
    if there:
        subprocess.run(["mount", "-t", "tmpfs", "theirs", agent.point], check=True)
    try:
        said = agent("umount", "--force", str(agent.point), code=1).stderr
        assert agent.point.is_mount() == there
    finally:
        if there:
            subprocess.run(["umount", agent.point], check=True)
    assert f"is no mount of ours: {'theirs' if there else 'nothing'} is mounted there" in said


def test_a_source_that_is_gone_is_told_at_the_mount(agent: Command, tmp_path: Path) -> None:
    said = agent.mount(url(tmp_path / "missing"), code=1)
    assert "missing" in said
    assert names(agent.point) == []


def test_what_was_configured_is_there_no_longer_than_the_mount(agent: Command, source: Path) -> None:
    """Secrets are in it."""
    agent.mount(url(source))
    (file,) = agent.run.glob("*.json")
    assert file.stat().st_mode & 0o777 == 0o600
    agent("umount", str(agent.point))
    assert names(agent.run) == []
    agent.mount(url(source / "missing"), code=1)
    assert names(agent.run) == []


def test_nobody_else_can_say_that_it_is_mounted(agent: Command, source: Path) -> None:
    agent.mount(url(source))
    supervisor = agent.status()["pid"]
    environment = Path(f"/proc/{supervisor}/environ").read_bytes().split(b"\0")
    (address,) = [one for one in environment if one.startswith(b"NOTIFY_SOCKET=")]
    assert address.startswith(b"NOTIFY_SOCKET=" + os.fsencode(agent.run))


@contextmanager
def silence(agent: Command) -> Iterator[list[str]]:
    """Words that mount what takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        place = f"sftp://127.0.0.1:{silent.getsockname()[1]}/"
        options = f"user=x,insecureSkipVerify=true,data-cache-path={agent.cache}"
        yield ["mount", place, str(agent.point), "-o", options, "--log", str(agent.log)]


def test_who_waits_for_a_source_is_told_soon_and_ended_at_once(agent: Command) -> None:
    """Nobody has used the mount, and nothing is to be stored."""
    with silence(agent) as words, agent.begin(*words) as process:
        assert process.stderr
        line = next(line for line in process.stderr if "does not answer yet" in line)
        assert "it is asked for about a minute" in line
        assert words[1] in line
        process.terminate()
        assert process.wait(15) == 0
    assert not agent.point.is_mount()
    assert names(agent.run) == []


def test_who_waits_for_a_source_in_the_background_is_told_by_the_command(agent: Command) -> None:
    with silence(agent) as words, agent.begin(*words, "-d") as process:
        assert process.stderr
        said = process.stderr.readline()
        assert said.startswith(f"{words[1]} does not answer yet, and is waited for, at most 100 s. ")
        os.kill(agent.status()["pid"], signal.SIGTERM)
        assert process.wait(15) == 1
    assert names(agent.run) == []


def test_a_cache_folder_is_removed_when_nobody_holds_it(agent: Command, source: Path) -> None:
    (source / "file").write_bytes(b"x" * 1000)
    agent.mount(url(source))
    agent("warmup", str(agent.point))
    (folder,) = agent.cache.glob("*/*")
    assert "is held by" in agent("clean-cache", str(folder), code=1).stderr
    agent("umount", str(agent.point))
    agent("clean-cache", str(folder))
    assert not folder.exists()


def test_who_removes_the_cache_folder_takes_nothing_from_who_writes(agent: Command, source: Path) -> None:
    (source / "old").write_bytes(b"old")
    agent.mount(url(source))
    agent("warmup", str(agent.point))
    with file(agent.point / "open", os.O_WRONLY | os.O_CREAT) as one:
        os.write(one, b"before ")
        removed(agent.cache)
        os.write(one, b"and after")
        (agent.point / "new").write_bytes(b"new")
        (agent.point / "open").rename(agent.point / "moved")
    assert {name: (source / name).read_bytes() for name in names(source)} == {
        "moved": b"before and after", "new": b"new", "old": b"old",
    }  # fmt: skip
    until("it is used again", lambda: not agent.status()["worker"]["disk"]["off"])
    assert (agent.point / "old").read_bytes() == b"old"
    os.kill(agent.status()["worker_pid"], signal.SIGKILL)
    assert (agent.point / "new").read_bytes() == b"new", "the next worker goes on with the folder that is there now"
    (agent.point / "new").write_bytes(b"newer")
    assert (source / "new").read_bytes() == b"newer"
    (folder,) = agent.cache.glob("*/*")
    assert "is held by" in agent("clean-cache", str(folder), code=1).stderr


def test_a_cache_folder_that_is_gone_is_made_anew_by_the_next_worker(agent: Command, source: Path) -> None:
    (source / "old").write_bytes(b"old")
    agent.mount(url(source))
    worker = agent.status()["worker_pid"]
    os.kill(worker, signal.SIGSTOP)
    removed(agent.cache)
    os.kill(worker, signal.SIGKILL)
    assert (agent.point / "old").read_bytes() == b"old"
    (agent.point / "new").write_bytes(b"new")
    assert (source / "new").read_bytes() == b"new"


def test_umount_waits_until_everything_is_stored(agent: Command, source: Path) -> None:
    agent.mount(url(source))
    writes = (
        "import sys, os; f = open(sys.argv[1], 'wb'); f.write(b'x' * 3_000_000); f.flush(); print(flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", writes, str(agent.point / "file")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as writer:
        assert writer.stdout
        assert writer.stdin
        writer.stdout.readline()
        assert "All that was written is stored" in agent("umount", str(agent.point), code=1).stderr
        assert (source / "file").read_bytes() == b"x" * 3_000_000
        writer.stdin.write(b"\n")
    agent("umount", str(agent.point))


def test_what_is_copied_is_not_carried_through_a_program(agent: Command, source: Path) -> None:
    (source / "file").write_bytes(b"x" * 3000)
    agent.mount(url(source))
    subprocess.run(["cp", agent.point / "file", agent.point / "copy"], check=True)
    lines = agent("metrics", str(agent.point)).stdout.splitlines()
    assert any('op="COPY_FILE_RANGE",errno="0"' in line for line in lines)
    assert not any('op="READ"' in line or 'op="WRITE"' in line for line in lines)
    assert (source / "copy").read_bytes() == b"x" * 3000


def test_what_is_written_to_memory_is_stored_by_the_worker_after_the_one_that_saw_it_closed(
    agent: Command, source: Path
) -> None:
    agent.mount(url(source))
    path = agent.point / "mapped"
    path.write_bytes(b"before")
    memory = Memory(path, 6)
    worker = agent.status()["worker_pid"]
    os.kill(worker, signal.SIGKILL)
    assert path.read_bytes() == b"before"
    assert agent.status()["worker_pid"] != worker
    memory.write(0, b"after!")
    memory.end()
    until("it is stored", lambda: (source / "mapped").read_bytes() == b"after!")


HOLDS = f"""
{ALONE}
echo ready
read -r _
cat "$0/file"
"""


def test_who_unmounts_what_others_see_still_is_told_for_whom_he_waits(agent: Command, source: Path) -> None:
    """As of a container that began meanwhile."""
    agent.mount(f"local:/{source}")
    (agent.point / "file").write_bytes(b"content")
    status = agent.status()
    with subprocess.Popen(
        ["unshare", "--mount", "sh", "-c", HOLDS, agent.point],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as other:  # fmt: skip
        assert other.stdin
        assert other.stdout
        assert other.stdout.readline() == "ready\n"
        with agent.begin("umount", str(agent.point)) as unmounting:
            assert unmounting.stderr
            said = unmounting.stderr.readline()
            assert f"is unmounted here, but not in the mount namespace of process {other.pid}" in said
            assert not any(one.point == str(agent.point) for one in mounts())
            assert other.communicate("\n", timeout=60)[0] == "content", "it is served there"
            assert unmounting.wait(60) == 0
    assert not is_alive(status["pid"])


def test_a_namespace_of_a_test_holds_nobodys_mount(agent: Command, source: Path) -> None:
    agent.mount(f"local:/{source}")
    with subprocess.Popen(
        ["unshare", "--mount", "sh", "-c", f"{LET_GO}; echo ready; cat"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as other:  # fmt: skip
        assert other.stdout
        assert other.stdout.readline() == "ready\n"
        assert os.listdir(agent.point) == [], "its own view alone"
        assert agent("umount", str(agent.point)).stderr == ""
        assert other.poll() is None
        other.communicate("", timeout=60)
