# SPDX-License-Identifier: Apache-2.0
"""What nobody should do to an agent, on mounts as users have them: who asks is told by an errno, and whoever looks after it by a line."""

from __future__ import annotations

import os
import resource
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from paddleflow_fuse.cli.ask import last
from paddleflow_fuse.sources.s3.options import Options

from tests.support.agent_command import Command, command
from tests.support.agent_mounts import until
from tests.support.caches import removed
from tests.support.minio import Minio
from tests.support.source_suite import refusal

FILES = 200


@pytest.fixture
def source(source: Path) -> Path:
    for index in range(FILES):
        (source / f"file-{index}").write_bytes(b"content")
    return source


@pytest.fixture
def agent(agent: Command, source: Path) -> Command:
    agent.mount(f"local:/{source}")
    return agent


@contextmanager
def few_descriptors(agent: Command, count: int) -> Iterator[None]:
    worker = int(last(agent.run, agent.point, "status")["worker_pid"])
    before = resource.prlimit(worker, resource.RLIMIT_NOFILE)
    resource.prlimit(worker, resource.RLIMIT_NOFILE, (count, before[1]))
    try:
        yield
    finally:
        resource.prlimit(worker, resource.RLIMIT_NOFILE, before)


def test_who_writes_too_many_files_at_a_time_is_told_and_what_was_written_is_stored(
    agent: Command, source: Path
) -> None:
    opened: list[int] = []

    def begin(index: int) -> None:
        opened.append(os.open(agent.point / f"file-{index}", os.O_RDWR | os.O_APPEND))

    with few_descriptors(agent, 160):
        refused = Counter(refusal(partial(begin, index)) for index in range(FILES))
        assert set(refused) == {"", "ENFILE"}
        for one in opened:
            os.write(one, b" and more")
            os.close(one)
        for index in range(refused[""]):
            assert (source / f"file-{index}").read_bytes() == b"content and more"
        assert "raise LimitNOFILE=" in agent.said()
        (agent.point / "new").write_bytes(b"new")
        assert (source / "new").read_bytes() == b"new"


def test_who_removes_what_belongs_to_an_agent_is_told_and_harms_nobody(agent: Command, source: Path) -> None:
    writes = os.open(agent.point / "written", os.O_RDWR | os.O_CREAT)
    os.write(writes, b"before")
    removed(agent.cache)
    os.write(writes, b" and after")
    os.fsync(writes)
    os.close(writes)
    assert (source / "written").read_bytes() == b"before and after"
    for index in range(3):
        (agent.point / f"file-{index}").write_bytes(b"new")
        assert (source / f"file-{index}").read_bytes() == b"new"
        assert (agent.point / f"file-{index}").read_bytes() == b"new"
    assert (agent.point / "file-9").read_bytes() == b"content"
    assert "was removed, and is made anew" in agent.said()
    until(lambda: not agent.status()["worker"]["disk"]["off"], "the cache to be used again")


def test_ways_that_are_longer_than_any_path_are_gone_step_by_step(agent: Command) -> None:
    here = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.chdir(agent.point)
        for _step in range(25):
            os.mkdir("x" * 200)
            os.chdir("x" * 200)
        Path("file").write_bytes(b"deep")
        Path("file").rename("other")
        assert Path("other").read_bytes() == b"deep"
        assert os.listdir(".") == ["other"]
    finally:
        os.fchdir(here)
        os.close(here)
    assert refusal((agent.point / "/".join(["x" * 200] * 25)).stat) == "ENAMETOOLONG"
    shutil.rmtree(agent.point / ("x" * 200))
    assert not (agent.point / ("x" * 200)).exists()


def test_a_store_that_does_not_answer_is_told_at_the_mount(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    with command(tmp_path / "other") as agent:
        said = agent.mount(
            "s3://bucket",
            options={"endpoint": "http://127.0.0.1:1", "region": "us-east-1"},
            secrets={"accessKey": "a", "secretKey": "b"},
            code=1,
        )
        assert "127.0.0.1:1" in said
        assert os.listdir(agent.point) == []


def test_a_name_that_a_bucket_cannot_have_is_refused_before_anything_is_written(
    tmp_path: Path, server: Minio, bucket: Options
) -> None:
    (tmp_path / "other").mkdir()
    with command(tmp_path / "other") as agent:
        agent.mount_bucket(bucket)
        folder = agent.point / "/".join(["x" * 200] * 5)
        folder.mkdir(parents=True)
        longest, longer = folder / ("y" * 19), folder / ("y" * 20)
        for act in (longer.touch, longer.mkdir, partial(longer.symlink_to, "target"), longest.mkdir):
            assert refusal(act) == "ENAMETOOLONG"
        longest.write_bytes(b"content")
        assert refusal(partial(longest.rename, longer)) == "ENAMETOOLONG"
        assert os.listdir(folder) == [longest.name]
        agent("umount", str(agent.point))
    key = str(longest.relative_to(agent.point))
    assert server.client.get_object(Bucket=bucket.bucket, Key=key)["Body"].read() == b"content"
