# SPDX-License-Identifier: Apache-2.0
"""What a quickstart leaves on the machine."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from testinfra.host import Host

DATA = "/var/lib/pfmolecule"
KUBECTL = f"{DATA}/bin/kubectl --kubeconfig {DATA}/pki/admin.conf"


def kubectl(host: Host, arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(host.check_output(f"{KUBECTL} get {arguments} -o json"))
    return found


def test_the_marker_says_ready(host: Host) -> None:
    assert json.loads(host.file(f"{DATA}/install.json").content_string)["state"] == "ready"


def test_no_program_said_anything_unexpected() -> None:
    root = Path(__file__).parents[3]
    command = [sys.executable, "-m", "tests.support.checklogs", DATA]  # this folder's name hides the tree's tests
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


def test_keys_are_roots_alone(host: Host) -> None:
    folder = host.file(f"{DATA}/pki")
    assert (folder.user, folder.mode) == ("root", 0o700)


def test_the_cluster_is_reached_through_its_own_interface_alone(host: Host) -> None:
    assert "10.207.0.1" in host.interface("pfmolecule").addresses  # beside the link-local one of IPv6
    assert host.addr("10.207.0.2").port("6443").is_reachable


def test_the_scheduler_runs(host: Host) -> None:
    deployments = {
        item["metadata"]["name"]: item["status"] for item in kubectl(host, "deployments -n volcano-system")["items"]
    }
    assert deployments
    assert [name for name, status in deployments.items() if status.get("readyReplicas", 0) != status["replicas"]] == []


def test_the_demonstration_ran(host: Host) -> None:
    phases = {
        item["metadata"]["name"]: item["status"]["state"] for item in kubectl(host, "jobs.batch.volcano.sh -A")["items"]
    }
    assert phases
    assert {phase["phase"] for phase in phases.values()} == {"Completed"}
