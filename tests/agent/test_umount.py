# SPDX-License-Identifier: Apache-2.0
"""`umount` where not all that was written is stored, and where nobody serves the mount any more."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from paddleflow_fuse.session.mount import mounts
from paddleflow_fuse.sources.s3.options import Options

from tests.support.agent_command import Command
from tests.support.agent_mounts import is_alive
from tests.support.granted import until
from tests.support.minio import Minio, minio
from tests.support.namespaces import ALONE
from tests.support.ports import held_port
from tests.support.source_suite import refusal

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts")


def is_mounted(agent: Command) -> bool:
    return any(one.point == str(agent.point) for one in mounts())


@contextmanager
def written(agent: Command, name: str) -> Iterator[None]:
    """Closed in vain at the end."""
    descriptor = os.open(agent.point / name, os.O_WRONLY | os.O_CREAT)
    os.write(descriptor, b"content")
    yield
    assert refusal(lambda: os.close(descriptor))


def test_what_the_store_does_not_take_stays_mounted(agent: Command, server: Minio, bucket: Options) -> None:
    agent.mount_bucket(bucket)
    with written(agent, "waits"):
        server.client.delete_bucket(Bucket=bucket.bucket)
    said = agent("umount", str(agent.point), code=4).stderr
    assert said.splitlines()[-1] == f"{agent.point} stays mounted, since the store does not take: waits"
    assert (agent.point / "waits").read_bytes() == b"content"
    server.client.create_bucket(Bucket=bucket.bucket)
    agent("umount", str(agent.point))
    assert not is_mounted(agent)
    assert server.client.get_object(Bucket=bucket.bucket, Key="waits")["Body"].read() == b"content"
    assert "the mount is unmounted" in agent.said()
    assert "by somebody else" not in agent.said()


@pytest.mark.extended  # a store is given up after twenty seconds
def test_what_a_store_that_is_away_does_not_take_is_named_once_while_it_is_waited_for(
    agent: Command, tmp_path: Path
) -> None:
    folder = tmp_path / "server"
    folder.mkdir()
    with held_port() as port:
        with ExitStack() as stack, minio(folder, port) as server:
            agent.mount_bucket(server.bucket())
            stack.enter_context(written(agent, "waits"))
        said = agent("umount", str(agent.point), code=4).stderr
        assert said.splitlines() == [
            "1 file is still to be stored, 7 B: waits",
            f"{agent.point} stays mounted, since the store does not take: waits",
        ]
        assert is_mounted(agent)
        with minio(folder, port):
            agent("umount", str(agent.point))


def test_who_takes_it_away_by_force_is_told_what_is_not_stored_and_where_it_lies(
    agent: Command, server: Minio, bucket: Options
) -> None:
    agent.mount_bucket(bucket)
    pid = agent.status()["pid"]
    with (agent.point / "opened").open("wb") as opened:
        with written(agent, "waits"):
            server.client.delete_bucket(Bucket=bucket.bucket)
        said = agent("umount", "--force", str(agent.point), code=4).stderr
        assert f"{agent.point} is unmounted, and not stored yet: opened, waits. " in said
        assert f"the cache folder {agent.cache}/" in said
        server.client.create_bucket(Bucket=bucket.bucket)
        opened.write(b"content")
    until("its agent has ended", lambda: not is_alive(pid))


WRITES = f"""
{ALONE}
echo ready
read -r _
exec 3> "$0/late"
echo opened
read -r _
echo late >&3
exec 3>&-
"""


def test_what_is_written_elsewhere_after_it_was_unmounted_and_not_stored_is_told_at_the_end(
    agent: Command, server: Minio, bucket: Options
) -> None:
    agent.mount_bucket(bucket)
    with subprocess.Popen(
        ["unshare", "--mount", "sh", "-c", WRITES, agent.point],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as other:  # fmt: skip
        assert other.stdin
        assert other.stdout
        assert other.stdout.readline() == "ready\n"
        with agent.begin("umount", str(agent.point)) as unmounting:
            assert unmounting.stderr
            assert f"namespace of process {other.pid}" in unmounting.stderr.readline()
            other.stdin.write("\n")
            other.stdin.flush()
            assert other.stdout.readline() == "opened\n"
            server.client.delete_bucket(Bucket=bucket.bucket)
            other.communicate("\n", timeout=60)
            said = unmounting.stderr.read()
            assert unmounting.wait(60) == 4
    assert f"{agent.point} is unmounted, and the store did not take: late" in said
    assert f"lies in the cache folder {agent.cache}/" in said


def test_a_mount_whose_agent_was_killed_is_taken_away(agent: Command, source: Path) -> None:
    agent.mount(f"local:/{source}")
    status = agent.status()
    for process in (status["pid"], status["worker_pid"]):
        os.kill(process, signal.SIGKILL)
    until("they are gone", lambda: not is_alive(status["pid"]) and not is_alive(status["worker_pid"]))
    remedy = f"It is mounted still though its agent is gone. Take it away: paddleflow-fuse umount {agent.point}"
    assert remedy in agent("status", str(agent.point), code=1).stderr
    assert "is unmounted now" in agent("umount", str(agent.point)).stderr
    assert not is_mounted(agent)
    assert "See what is mounted" in agent("umount", str(agent.point), code=1).stderr
