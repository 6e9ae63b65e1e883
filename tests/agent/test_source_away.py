# SPDX-License-Identifier: Apache-2.0
"""A real store that is killed under a mount and comes back: who asks meanwhile is told, and nothing that was written is lost."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from paddleflow_fuse.cli.ask import last

from tests.support.agent_command import Command
from tests.support.granted import until
from tests.support.minio import Minio, minio
from tests.support.ports import held_port
from tests.support.source_suite import refusal

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts")
MIB = 1 << 20


@pytest.mark.extended  # a store is given up after twenty seconds
def test_what_is_written_while_a_store_is_away_is_stored_when_it_is_back(agent: Command, tmp_path: Path) -> None:
    folder = tmp_path / "server"
    folder.mkdir()
    new, more = os.urandom(3 * MIB), os.urandom(MIB)
    with held_port() as port:
        with minio(folder, port) as server:
            bucket = server.bucket()
            for name in ("old", "other"):
                server.client.put_object(Bucket=bucket.bucket, Key=name, Body=name.encode())
            agent.mount_bucket(bucket)
            assert (agent.point / "old").read_bytes() == b"old"
            closed = os.open(agent.point / "new", os.O_WRONLY | os.O_CREAT)
            os.write(closed, new)
            synced = os.open(agent.point / "old", os.O_WRONLY | os.O_TRUNC)
            os.write(synced, more)
        asks: list[Callable[[], object]] = [
            lambda: os.fsync(synced),
            lambda: os.close(closed),
            (agent.point / "other").read_bytes,
            (agent.point / "folder").mkdir,
        ]
        with ThreadPoolExecutor(len(asks)) as pool:  # each waits until the store is given up
            assert list(pool.map(refusal, asks)) == ["ETIMEDOUT"] * len(asks)
        assert (agent.point / "new").read_bytes() == new
        assert (
            last(agent.run, agent.point, "status")["worker"]["files"]["unsaved"] == 2
        )  # no other process closes what is open here
        until("it is said", lambda: "is tried again until the source takes it" in agent.said())
        said = [line for line in agent.said().splitlines() if "is tried again until the source takes it" in line]
        assert len(said) == 1
        assert "path=b'new'" in said[0]
        assert f"127.0.0.1:{port}" in agent.said()
        assert "see whether the endpoint is right and can be reached from here" in agent.said()
        with minio(folder, port) as server:
            until("it is stored", lambda: "stored after all path=b'new'" in agent.said())
            os.fsync(synced)
            os.close(synced)
            assert _held(server, bucket.bucket) == {"new": new, "old": more, "other": b"other"}
            assert (agent.point / "other").read_bytes() == b"other"
            agent("umount", str(agent.point))


def _held(server: Minio, bucket: str) -> dict[str, bytes]:
    listed = server.client.list_objects_v2(Bucket=bucket)["Contents"]
    return {one["Key"]: server.client.get_object(Bucket=bucket, Key=one["Key"])["Body"].read() for one in listed}
