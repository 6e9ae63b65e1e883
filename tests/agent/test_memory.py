# SPDX-License-Identifier: Apache-2.0
"""What a mount costs in memory, of real processes. `make bench-agent` has a million names."""

from __future__ import annotations

import os
import re
from pathlib import Path

from paddleflow_fuse.sources.s3.options import Options

from tests.support.agent_command import Command

MIB = 1 << 20
NAMES = 5_000


def share(process: int) -> int:
    """Bytes; what it has in common with others counted in part."""
    told = re.search(r"(?m)^Pss: +(\d+)", Path("/proc", str(process), "smaps_rollup").read_text(encoding="ascii"))
    assert told
    return int(told[1]) << 10


def table(process: int) -> int:
    """Bytes of the memory in which the nodes are."""
    found = [
        file for file in Path("/proc", str(process), "fd").iterdir() if "memfd:paddleflow-nodes" in os.readlink(file)
    ]
    return found[0].stat().st_blocks * 512


def test_an_idle_mount_of_a_bucket_is_small(agent: Command, bucket: Options) -> None:
    agent.mount_bucket(bucket)
    assert not os.listdir(agent.point)
    worker = agent.status()["worker_pid"]
    supervisor = int(Path("/proc", str(worker), "stat").read_text(encoding="ascii").rpartition(")")[2].split()[1])
    assert share(worker) < 60 * MIB
    assert share(supervisor) < 20 * MIB


def test_a_name_that_was_listed_and_looked_at_costs_at_most_250_bytes(agent: Command, source: Path) -> None:
    for number in range(NAMES):
        (source / f"{number:07d}").touch()
    agent.mount(f"local:/{source}")
    worker = agent.status()["worker_pid"]
    before = table(worker)
    with os.scandir(agent.point) as entries:
        assert sum(entry.stat().st_size == 0 for entry in entries) == NAMES
    assert (table(worker) - before) / NAMES <= 250
