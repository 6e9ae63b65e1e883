# SPDX-License-Identifier: Apache-2.0
"""One embedded cluster for the whole run, made by the product's own playbook from the installed collection.

It is made under difficulties: the first quickstart is killed at a random moment, the second has to complete, the third
has to find nothing to do. When the run ends, it is taken away, and the host has to be as it was.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support import host_state, plays
from tests.support.binaries import ROOT, built
from tests.support.host_state import HostState
from tests.support.plays import Play

INSTANCE = "pfcluster"
LOGS = ROOT / "build/log"
VARIABLES: dict[str, object] = {
    "cluster_provider": "embedded",
    "kubernetes_instance": INSTANCE,
    "kubernetes_host_address": "10.204.0.1",
    "kubernetes_node_address": "10.204.0.2",
    "kubernetes_pod_cidr": "10.205.0.0/16",
    "kubernetes_service_cidr": "10.206.0.0/16",
}


@dataclass(frozen=True)
class Platform:
    data: Path
    before: HostState
    killed_after: float
    first: Play
    second: Play
    seconds: tuple[float, float]  # of the run that completed, and of the run that found nothing to do

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
    return plays.run("paddleflow.core.reset", VARIABLES, log=LOGS / "cluster-reset.log")


def quickstart_killed_after(seconds: float) -> None:
    """SIGKILL to the whole session of the play, as a lost terminal or an impatient person would."""
    with (LOGS / "cluster-killed.log").open("wb") as log:
        process = subprocess.Popen(
            plays.command("paddleflow.core.quickstart", VARIABLES), env=plays.environment(), cwd=ROOT,
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.fixture(scope="session")
def platform() -> Iterator[Platform]:
    LOGS.mkdir(parents=True, exist_ok=True)
    reset().ok()
    before = host_state.look(f"/var/lib/{INSTANCE}")
    built("kube")  # what is killed below is the installation, not a compiler that would have to begin again
    built("volcano")
    moment = random.SystemRandom().uniform(5, 90)
    print(f"the first quickstart is killed after {moment:.1f} s")
    try:
        quickstart_killed_after(moment)
        started = time.monotonic()
        first = plays.run("paddleflow.core.quickstart", VARIABLES, log=LOGS / "cluster-quickstart.log").ok()
        between = time.monotonic()
        second = plays.run("paddleflow.core.quickstart", VARIABLES, log=LOGS / "cluster-second.log").ok()
        seconds = (between - started, time.monotonic() - between)
        yield Platform(Path("/var/lib", INSTANCE), before, moment, first, second, seconds)
    finally:
        reset().ok()
    assert host_state.look(f"/var/lib/{INSTANCE}").left_by(before) == {}
