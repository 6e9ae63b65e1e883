# SPDX-License-Identifier: Apache-2.0
"""Playbooks of the installed collection, run as a user runs them."""

from __future__ import annotations

import contextlib
import os
import random
import re
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.support.binaries import ROOT

RECAP = re.compile(
    r"^\S+\s+: ok=(?P<ok>\d+)\s+changed=(?P<changed>\d+)\s+unreachable=(?P<unreachable>\d+)\s+failed=(?P<failed>\d+)",
    re.M,
)


TROUBLE = re.compile(r"\[(?:DEPRECATION )?WARNING\]|Traceback \(most recent call last\)")


# See callback/in_process.py.
IN_PROCESS = {
    "ANSIBLE_CALLBACK_PLUGINS": str(ROOT / "tests/support/callback"),
    "ANSIBLE_CALLBACKS_ENABLED": "in_process",
}


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
        """It succeeded, and neither Ansible nor a program of ours had anything to warn of."""
        assert self.code == 0, self.output[-6000:]
        assert [line for line in self.output.splitlines() if TROUBLE.search(line)] == []
        return self


def embedded(instance: str, first: int) -> dict[str, object]:
    """Variables of an embedded cluster with its own name and the three ranges from 10.first.0.0/16 on."""
    return {
        "cluster_provider": "embedded",
        "kubernetes_instance": instance,
        "kubernetes_host_address": f"10.{first}.0.1",
        "kubernetes_node_address": f"10.{first}.0.2",
        "kubernetes_pod_cidr": f"10.{first + 1}.0.0/16",
        "kubernetes_service_cidr": f"10.{first + 2}.0.0/16",
    }


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


# How many a quickstart surely begins, from nothing or over half of one.
QUICKSTART_TASKS = 200


def run_killed(playbook: str, variables: Mapping[str, object], task: int, log: Path) -> None:
    """SIGKILL to the whole session of the play, as a lost terminal would, at a random moment of the task of that number."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with (
        log.open("w", encoding="utf-8") as output,
        subprocess.Popen(
            command(playbook, variables), env=environment(), cwd=ROOT, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        ) as process,
    ):  # fmt: skip
        assert process.stdout is not None
        begun = -1
        for line in process.stdout:
            output.write(line)
            begun += line.startswith("TASK [")
            if begun == task:
                break
        assert begun == task, f"the play ended after {begun + 1} tasks, before it could be killed in task {task}"
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(random.SystemRandom().uniform(0, 3))
        # Ansible's workers lead sessions of their own, and one that has lost its play waits for ever.
        workers = [pid for pid in descendants(process.pid) if b"ansible-playbook" in command_line(pid)]
        for pid in (process.pid, *workers):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def descendants(pid: int) -> list[int]:
    parents = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
    found = [pid]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found[1:]


def command_line(pid: int) -> bytes:
    try:
        return Path("/proc", str(pid), "cmdline").read_bytes()
    except OSError:
        return b""
