# SPDX-License-Identifier: Apache-2.0
"""What people see of a mount: its status, a live table, an endpoint for all mounts, and measurements."""

from __future__ import annotations

import errno
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from paddleflow_fuse.cli.exporter import ListenError, endpoint

from tests.support.agent_command import Command, command
from tests.support.granted import until
from tests.support.prometheus import Metrics, read


@pytest.fixture
def agent(agent: Command, source: Path) -> Command:
    agent.mount(f"local:/{source}")
    return agent


def started(agent: Command, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-u", "-m", "paddleflow_fuse.cli.__main__", "--run", str(agent.run), *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def test_a_status_for_people_says_what_the_kernel_granted(agent: Command, source: Path) -> None:
    (agent.point / "file").write_bytes(b"x")
    said = agent("status", str(agent.point)).stdout
    assert said.splitlines()[0] == f"{agent.point}  local:/{source}"
    for line in (
        r"kernel +yes passthrough",
        r"yes has_resend",
        r"no +no_open_support",
        r"session +direct",
        r"disk +.* of .*/cache/",
    ):
        assert re.search(line, said), said
    features = {one["name"]: one["granted"] for one in agent.status()["mount"]["features"]}
    assert (features["passthrough"], features["no_open_support"]) == (True, False)


def test_a_live_table_goes_on_over_a_new_worker_and_ends_with_the_mount(agent: Command) -> None:
    with started(agent, "stats", str(agent.point), "--schema", "ufmcog", "-l", "1", "--interval", "0.1") as table:
        assert table.stdout
        lines = [table.stdout.readline() for _line in range(3)]
        assert [word.strip("-") for word in lines[0].split()] == ["usage", "fuse", "meta", "cache", "object", "agent"]
        assert lines[1].split()[:3] == ["cpu%", "mem", "dirty"]
        assert len(lines[2].split()) == len(lines[1].split())
        os.kill(agent.status()["worker_pid"], signal.SIGKILL)
        until("it is served again", lambda: bool(agent.status()["serves"]))
        table.stdout.readline()
        agent("umount", str(agent.point))
        _out, error = table.communicate(timeout=30)
    assert table.returncode == 0
    assert error.endswith(f"{agent.point} is not mounted any more.\n")


def test_a_live_table_that_nobody_reads_ends(agent: Command) -> None:
    with started(agent, "stats", str(agent.point), "--interval", "0.05") as table:
        assert table.stdout
        table.stdout.readline()
        table.stdout.close()
        assert table.wait(30) == 0
        assert table.stderr
        assert table.stderr.read() == ""


def test_so_many_lines_and_no_more(agent: Command) -> None:
    said = agent("stats", str(agent.point), "--interval", "0.01", "--count", "2").stdout
    assert len(said.splitlines()) == 4
    assert "No agent serves" in agent("stats", str(agent.folder), code=1).stderr


def test_a_mount_is_measured_as_any_folder(agent: Command, source: Path) -> None:
    sizes = ("--big-file-size", "2Mi", "--small-file-size", "1Ki", "--small-file-count", "3")
    said = agent("bench", str(agent.point), *sizes).stdout
    assert len(said.splitlines()) == 5
    assert list(source.iterdir()) == []


# --- the endpoint --------------------------------------------------------------------------------


EXPORTER = """
import sys
from pathlib import Path
from paddleflow_fuse.cli.exporter import endpoint
with endpoint(Path(sys.argv[1]), "127.0.0.1:0") as server:
    print(server.server_port, flush=True)
    server.serve_forever()
"""


@contextmanager
def exported(run: Path) -> Iterator[str]:
    """At a port that nobody else has."""
    words = [sys.executable, "-u", "-c", EXPORTER, str(run)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}/metrics"
        finally:
            process.terminate()


def scraped(url: str) -> Metrics:
    with urllib.request.urlopen(url, timeout=60) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        return read(answer.read().decode())


def test_one_endpoint_tells_of_all_mounts_and_of_those_that_do_not_answer(
    agent: Command, source: Path, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    with command(tmp_path / "other") as other, exported(agent.run) as url:
        other.run = agent.run
        other.mount(f"local:/{source}")
        found = scraped(url)
        assert [found("pfs_up", mp=str(one.point)) for one in (agent, other)] == [1, 1]
        assert found.sum("pfs_mount_recoveries_total") == 0
        assert len(found.all("pfs_uptime")) == 2
        worker = other.status()["worker_pid"]
        os.kill(worker, signal.SIGSTOP)
        try:
            found = scraped(url)
        finally:
            os.kill(worker, signal.SIGCONT)
        assert [found("pfs_up", mp=str(one.point)) for one in (agent, other)] == [1, 0]
        with pytest.raises(urllib.error.HTTPError, match="404"):
            scraped(url.replace("metrics", "secrets"))
    with exported(agent.run) as url:
        assert len(scraped(url).all("pfs_up")) == 1


def test_where_nobody_can_listen_is_told(tmp_path: Path) -> None:
    with (
        endpoint(tmp_path, "127.0.0.1:0") as server,
        pytest.raises(ListenError, match=r"Address already in use.*ss -ltnp"),
    ):
        endpoint(tmp_path, f"127.0.0.1:{server.server_port}")
    for wrong in ("8993", ":8993", "host:", "host:70000"):
        with pytest.raises(ListenError, match="is no address"):
            endpoint(tmp_path, wrong)


# --- what cannot be ------------------------------------------------------------------------------


def test_secrets_on_the_mount_point_are_refused(source: Path, tmp_path: Path) -> None:
    (tmp_path / "agent").mkdir()
    with command(tmp_path / "agent") as one:
        words = ("mount", f"local:/{source}", str(one.point), "--secrets")
        (one.point / "secrets").write_text("{}")
        assert "would wait for itself" in one(*words, str(one.point / "secrets"), code=2).stderr
        (tmp_path / "secrets").write_text("hunter2")
        said = one(*words, str(tmp_path / "secrets"), code=2).stderr
        assert "is no object of JSON" in said
        assert "hunter2" not in said
        (one.point / "secrets").unlink()


def test_options_of_older_commands_are_told_and_the_mount_is_made(source: Path, tmp_path: Path) -> None:
    (tmp_path / "agent").mkdir()
    with command(tmp_path / "agent") as one:
        said = one.mount(f"local:/{source}", options={"path-cache-expire": "1s"}, code=0)
        assert "path-cache-expire has no effect." in said
        agent_log = one.status()
        assert agent_log["serves"]


def test_a_level_of_the_log_holds_in_all_processes(source: Path, tmp_path: Path) -> None:
    (tmp_path / "agent").mkdir()
    with command(tmp_path / "agent") as one:
        one.mount(f"local:/{source}", options={"log-level": "WARNING"})
        assert " info " not in one.said()
        one("umount", str(one.point))
        one.mount(f"local:/{source}", options={"log-level": "DEBUG"})
        with pytest.raises(FileNotFoundError):
            os.rmdir(one.point / "missing")
        with pytest.raises(OSError, match=os.strerror(errno.EPERM)):
            os.mkfifo(one.point / "pipe")
        assert " debug " in one.said()
