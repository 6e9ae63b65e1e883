# SPDX-License-Identifier: Apache-2.0
"""Playbooks of the installed collection, run as a user runs them."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.support.binaries import ROOT

RECAP = re.compile(
    r"^\S+\s+: ok=(?P<ok>\d+)\s+changed=(?P<changed>\d+)\s+unreachable=(?P<unreachable>\d+)\s+failed=(?P<failed>\d+)",
    re.M,
)


@dataclass(frozen=True)
class Play:
    code: int
    output: str

    @property
    def recap(self) -> dict[str, int]:
        """Sums over all hosts; empty when the run did not come that far."""
        totals: dict[str, int] = {}
        for match in RECAP.finditer(self.output):
            for name, value in match.groupdict().items():
                totals[name] = totals.get(name, 0) + int(value)
        return totals

    def changed_tasks(self) -> list[str]:
        """Names of the tasks that reported a change."""
        task, found = "", []
        for line in self.output.splitlines():
            if line.startswith("TASK ["):
                task = line[6:].partition("]")[0]
            elif line.startswith("changed:"):
                found.append(task)
        return found

    def ok(self) -> Play:
        assert self.code == 0, self.output[-6000:]
        return self


def command(playbook: str, variables: Mapping[str, object], *arguments: str) -> list[str]:
    extra = [word for name, value in variables.items() for word in ("-e", f"{name}={value}")]
    return ["ansible-playbook", playbook, *extra, *arguments]


def environment(**more: str) -> dict[str, str]:
    """Nothing of the developer's own Ansible: the collection as installed by `make installed`, and its own home."""
    ours = {
        "ANSIBLE_COLLECTIONS_PATH": str(ROOT / "build/installed"),
        "ANSIBLE_HOME": str(ROOT / "build/ansible-home"),
        "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
        "ANSIBLE_NOCOLOR": "1",
        "PYTHONPATH": "",
    }
    return {**os.environ, **ours, **more}


def run(playbook: str, variables: Mapping[str, object], *arguments: str, log: Path | None = None, **more: str) -> Play:
    done = subprocess.run(
        command(playbook, variables, *arguments), env=environment(**more), cwd=ROOT,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    if log:
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(done.stdout, encoding="utf-8")
    return Play(done.returncode, done.stdout)
