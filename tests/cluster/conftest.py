# SPDX-License-Identifier: Apache-2.0
"""One embedded cluster for the whole run, made by the product's own playbook from the installed collection.

It is made under difficulties: one quickstart only says what it would do, the next is killed at a random moment, the
third has to complete, the fourth has to find nothing to do. When the run ends, it is taken away, and the host has to be as it was.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from tests.support import checklogs, host_state, plays
from tests.support.binaries import ROOT, built
from tests.support.plays import Play

INSTANCE = "pfcluster"
LOGS = ROOT / "build/log"
VARIABLES = plays.embedded(INSTANCE, 204)


@dataclass(frozen=True)
class Platform:
    data: Path
    before: host_state.HostState  # there was anything of it
    bare: Play  # --check before anything was there
    left_by_check: dict[str, list[str]]
    first: Play
    second: Play
    home: Path  # of whoever made the second run
    said: list[str]  # by its programs until then, after which tests kill them and each complains of the others

    @property
    def node_json(self) -> Path:
        return self.data / "node.json"

    def kubectl(self, *arguments: str, stdin: str = "") -> str:
        done = self.try_kubectl(*arguments, stdin=stdin)
        assert done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr}{done.stdout}"
        return done.stdout

    def try_kubectl(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        command = [str(self.data / "bin/kubectl"), f"--kubeconfig={self.data}/pki/admin.conf", *arguments]
        return subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)

    def get(self, *arguments: str) -> Any:
        return json.loads(self.kubectl("get", *arguments, "--output=json"))

    def node_tool(self, verb: str) -> str:
        environment = {**os.environ, "PYTHONPATH": str(self.data / "lib"), "PYTHONDONTWRITEBYTECODE": "1"}
        command = ["python3", "-m", "paddleflow_node", verb, "--config", str(self.node_json)]
        return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout

    def services(self) -> dict[str, dict[str, str]]:
        return {row["service"]: row for row in json.loads(self.node_tool("status"))}


def reset() -> Play:
    return plays.run("paddleflow.core.reset", VARIABLES, log=LOGS / "cluster-reset.log", **plays.IN_PROCESS)


class EmbeddedTogether(LoadScopeScheduling):
    """Side by side (`pytest -n`): embedded clusters in one process, for each is compared with the host before it; every
    other file for itself. xdist's own groups do nothing under pytest 9."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return file if "test_k3s" in file else "embedded"


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> EmbeddedTogether:
    return EmbeddedTogether(config, log)


@pytest.fixture(scope="session")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    LOGS.mkdir(parents=True, exist_ok=True)
    reset().ok()
    before = host_state.look(f"/var/lib/{INSTANCE}")
    built("kube")  # what is killed below is the installation, not a compiler that would have to begin again
    built("volcano")
    bare = plays.run("paddleflow.core.quickstart", VARIABLES, "--check", "--diff", log=LOGS / "cluster-bare.log").ok()
    left_by_check = host_state.look(f"/var/lib/{INSTANCE}").left_by(before)
    task = random.SystemRandom().randrange(plays.QUICKSTART_TASKS // 2)  # all of them are for test_kills.py
    print(f"the first quickstart is killed in task {task}")
    try:
        plays.run_killed("paddleflow.core.quickstart", VARIABLES, task, log=LOGS / "cluster-killed.log")
        first = plays.run("paddleflow.core.quickstart", VARIABLES, log=LOGS / "cluster-quickstart.log").ok()
        home = tmp_path_factory.mktemp("home")
        second = plays.run(
            "paddleflow.core.quickstart", VARIABLES, log=LOGS / "cluster-second.log", HOME=str(home)
        ).ok()
        data = Path("/var/lib", INSTANCE)
        said = checklogs.unexpected(data)
        yield Platform(data, before, bare, left_by_check, first, second, home, said)
        assert checklogs.crashes(checklogs.programs(data)) == []
    finally:
        reset().ok()
    assert host_state.look(f"/var/lib/{INSTANCE}").left_by(before) == {}
