# SPDX-License-Identifier: Apache-2.0
"""Everything that anybody may see of a mount."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from tests.support.agent_command import Command


def processes(agent: Command) -> list[Path]:
    """All that serve the mount: the supervisor, and what was started from there."""
    supervisor = int(agent.status()["pid"])
    found, new = set[int](), {supervisor}
    while new:
        found |= new
        lists = [file for parent in new for file in Path(f"/proc/{parent}/task").glob("*/children")]
        new = {int(child) for file in lists for child in file.read_text().split()}
    return [Path("/proc", str(number)) for number in found]


def assert_nowhere(agent: Command, words: Iterable[str]) -> None:
    """What the agent keeps for itself may hold them, and is for nobody else."""
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
    files = [one / name for one in there for name in ("cmdline", "environ")]
    files += [path for path in agent.cache.rglob("*") if path.is_file()]
    for path in files:
        with suppress(FileNotFoundError, ProcessLookupError):  # it ended, or was removed, meanwhile
            shown[str(path)] = path.read_bytes().decode(errors="replace")
    for place, text in shown.items():
        for word in words:
            assert word not in text, place
    for path in agent.run.glob("*.json"):
        assert path.stat().st_mode & 0o077 == 0
