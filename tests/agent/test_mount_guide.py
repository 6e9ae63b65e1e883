# SPDX-License-Identifier: Apache-2.0
"""What docs/guides/mount.md shows, as it stands there, against a bucket of our own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import guides
from tests.support.agent_command import Command, command
from tests.support.minio import KEYS, Minio

PAGE = "docs/guides/mount.md"
# Where the page means the whole machine, a test means its own folder.
OWN = """#!/bin/sh
case $1 in
  mount) shift; set -- mount "$@" --log {folder}/log -o data-cache-path={folder}/cache,free-space-ratio=0.1 ;;
esac
exec {python} -m paddleflow_fuse.cli.__main__ --run {folder}/run "$@"
"""


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Command]:
    (tmp_path / "agent").mkdir()
    with command(tmp_path / "agent") as one:
        one.point.rename(one.folder / "corpus")
        one.point = one.folder / "corpus"
        yield one


def shown(server: Minio) -> Iterator[str]:
    for block in guides.blocks(PAGE):
        if block.language == "console" and not block.note:
            yield from block.text.replace("https://minio.example.org", server.url).splitlines()


def test_the_page_is_right(agent: Command, server: Minio) -> None:
    server.client.create_bucket(Bucket="corpus")
    for key in ("2026/labels.csv", "2026/images/a.jpg", "2026/images/b.jpg"):
        server.client.put_object(Bucket="corpus", Key=key, Body=b"x" * 100)
    (agent.folder / "bin").mkdir()
    program = agent.folder / "bin/paddleflow-fuse"
    program.write_text(OWN.format(folder=agent.folder, python=sys.executable))
    program.chmod(0o755)
    (agent.folder / "keys.json").write_text(f'{{"accessKey": "{KEYS.key}", "secretKey": "{KEYS.secret}"}}')
    said = {}
    for line in shown(server):
        done = subprocess.run(
            ["sh", "-c", f"PATH={agent.folder}/bin:$PATH HOME={agent.folder}; {line}"],
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{line}: {done.stdout}{done.stderr}{agent.said()}"
        said[line.split("~")[0].strip()] = done.stdout + done.stderr
    assert said["ls"].split() == ["images", "labels.csv"]
    assert "s3://corpus/2026" in said["paddleflow-fuse status"]
    assert "3 files, 1 folders, 0.0 MB, 0 failed" in said["paddleflow-fuse warmup"]
    assert said["paddleflow-fuse clear"] == "1 files will be fetched anew\n"
    assert "# HELP pfs_up" in said["cat"] or "# HELP pfs_uptime" in said["cat"]
    assert list(agent.point.iterdir()) == []
