# SPDX-License-Identifier: Apache-2.0
"""Secrets are nowhere but where they have to be, and a store that is away does not fill the log."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest
from paddleflow_fuse.sources.s3.options import Options

from tests.support.agent_command import Command, command
from tests.support.minio import KEYS, Minio, minio

READERS = 300
WRONG = "neither-this-nor-that-0123456789"


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Command]:
    (tmp_path / "agent").mkdir()
    with command(tmp_path / "agent") as one:
        yield one


def mounted(agent: Command, server: Minio, bucket: Options, secret: str, code: int = 0, level: str = "DEBUG") -> str:
    given = {"endpoint": server.url, "s3ForcePathStyle": "true", "log-level": level, "deadline": "5"}
    return agent.mount(
        f"s3://{bucket.bucket}", options=given, secrets={"accessKey": KEYS.key, "secretKey": secret}, code=code
    )


def processes(agent: Command) -> list[Path]:
    """All that serve the mount: the supervisor, and what was started from there."""
    supervisor = int(agent.status()["pid"])
    found, new = set[int](), {supervisor}
    while new:
        found |= new
        lists = [file for parent in new for file in Path(f"/proc/{parent}/task").glob("*/children")]
        new = {int(child) for file in lists for child in file.read_text().split()}
    return [Path("/proc", str(number)) for number in found]


def test_no_secret_is_shown_anywhere(agent: Command, server: Minio, bucket: Options) -> None:
    """While it lists, reads, writes and fails, and all of it is logged."""
    mounted(agent, server, bucket, KEYS.secret)
    (agent.point / "file").write_bytes(b"content")
    assert (agent.point / "file").read_bytes() == b"content"
    assert os.listdir(agent.point) == ["file"]
    server.client.delete_bucket_policy(Bucket=bucket.bucket)
    with pytest.raises(PermissionError):
        os.mkfifo(agent.point / "pipe")
    there = processes(agent)
    assert len(there) >= 3  # a supervisor, a worker and its helper
    shown = {
        "log": agent.said(),
        "status": agent("status", str(agent.point)).stdout,
        "status --json": agent("status", "--json", str(agent.point)).stdout,
        "metrics": agent("metrics", str(agent.point)).stdout,
        ".stats": (agent.point / ".stats").read_text(),
        "mounts": Path("/proc/self/mountinfo").read_text(),
    }
    for one in there:
        shown |= {
            f"{one}/{name}": (one / name).read_bytes().decode(errors="replace") for name in ("cmdline", "environ")
        }
    assert " debug MKNOD of node" in shown["log"]
    for place, text in shown.items():
        for word in (KEYS.secret, "Signature=", "Security-Token"):
            assert word not in text, place
    for path in agent.run.glob("*.json"):
        assert path.stat().st_mode & 0o077 == 0


def test_keys_that_are_wrong_are_told_without_them(agent: Command, server: Minio, bucket: Options) -> None:
    said = mounted(agent, server, bucket, WRONG, code=1)
    assert WRONG not in said
    assert WRONG not in agent.said()


def test_a_store_that_is_away_is_a_few_lines_however_many_read(agent: Command, tmp_path: Path) -> None:
    (tmp_path / "server").mkdir()
    with ExitStack() as stack:
        server = stack.enter_context(minio(tmp_path / "server"))
        bucket = server.bucket()
        for index in range(50):
            server.client.put_object(Bucket=bucket.bucket, Key=f"file-{index}", Body=b"x" * 1000)
        mounted(agent, server, bucket, KEYS.secret, level="INFO")
        assert len(os.listdir(agent.point)) == 50
        before = len(agent.said().splitlines())
        stack.close()  # it goes away
        with ThreadPoolExecutor(100) as pool:
            failed = list(pool.map(lambda index: failure(agent.point / f"file-{index % 50}"), range(READERS)))
    assert all(failed)
    lines = agent.said().splitlines()[before:]
    assert 1 <= len(lines) <= 30, "\n".join(lines[:40])
    assert any(server.url.rpartition(":")[2] in line or bucket.bucket in line for line in lines), lines
    subprocess.run(["umount", "--lazy", str(agent.point)], check=True)


def failure(path: Path) -> int:
    try:
        path.read_bytes()
    except OSError as error:
        return error.errno or 0
    return 0
