# SPDX-License-Identifier: Apache-2.0
"""The embedded provider on a real node."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import ssl
import stat
import struct
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.cluster.conftest import INSTANCE, LOGS, VARIABLES, Platform
from tests.support import host_state, plays

COMPONENTS = (
    "etcd", "containerd", "apiserver", "controller-manager", "scheduler", "kube-proxy", "coredns", "kubelet",
)  # fmt: skip


def test_check_mode_on_a_bare_host_says_what_it_would_do_and_does_none_of_it(platform: Platform) -> None:
    assert platform.bare.recap["changed"] > 5
    assert platform.left_by_check == {}
    for promise in (
        "etcd", "kube-apiserver", "scheduler", "queue",
        "Would be applied: Namespace volcano-system", "Check mode: nothing was changed.",
    ):  # fmt: skip
        assert promise in platform.bare.output
    assert not re.search(r"The cluster \S+ is ready", platform.bare.output)


def test_a_run_after_a_killed_one_completes_and_a_further_one_changes_nothing(platform: Platform) -> None:
    assert platform.first.recap["failed"] == 0
    assert platform.first.output.count("\nTASK [") > plays.QUICKSTART_TASKS
    assert platform.second.changed_tasks() == []
    assert platform.second.recap["changed"] == 0


def test_a_run_leaves_nothing_in_the_home_of_its_user(platform: Platform) -> None:
    assert {path.name for path in platform.home.iterdir()} <= {".ansible"}


@pytest.mark.usefixtures("platform")
def test_check_mode_on_the_finished_cluster_reports_no_change() -> None:
    play = plays.run(
        "paddleflow.core.quickstart", VARIABLES, "--check", "--diff", log=LOGS / "cluster-check.log", **plays.IN_PROCESS
    ).ok()
    assert play.changed_tasks() == []


def test_no_program_says_anything_unexpected(platform: Platform) -> None:
    assert platform.said == []


def test_the_node_is_ready_and_runs_what_was_compiled(platform: Platform) -> None:
    (node,) = platform.get("nodes")["items"]
    conditions = {item["type"]: item["status"] for item in node["status"]["conditions"]}
    assert conditions["Ready"] == "True"
    assert node["status"]["nodeInfo"]["kubeletVersion"].startswith("v1.34.")


def test_a_large_disk_may_be_nearly_full(platform: Platform) -> None:
    """A tenth of ten terabytes, which is the kubelet's own threshold, is much for everything that is kept here."""
    told = platform.kubectl("get", "--raw", f"/api/v1/nodes/{INSTANCE}/proxy/configz")
    kubelet = json.loads(told)["kubeletconfig"]
    disks = {name: kubelet["evictionHard"][name] for name in ("nodefs.available", "imagefs.available")}
    assert disks == dict.fromkeys(disks, "512Mi")


def test_all_components_run_under_supervision(platform: Platform) -> None:
    assert {name: row["state"] for name, row in platform.services().items()} == dict.fromkeys(COMPONENTS, "running")


@pytest.mark.parametrize("component", COMPONENTS)
def test_a_killed_component_is_back_by_itself(platform: Platform, component: str) -> None:
    pid = int(platform.services()[component]["pid"])
    os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + 120
    while not (back(platform, component, pid) and platform.try_kubectl("get", "--raw", "/readyz").stdout == "ok"):
        assert time.monotonic() < deadline, f"{component} did not come back: {platform.services()}"
        time.sleep(0.1)  # nothing announces it
    platform.kubectl("wait", "--for=condition=Ready", f"node/{INSTANCE}", "--timeout=60s")


def back(platform: Platform, component: str, killed: int) -> bool:
    """Another process took its place, and the others, of which some end without it, run too."""
    services = platform.services()
    return services[component]["pid"] != str(killed) and {row["state"] for row in services.values()} == {"running"}


def test_certificates_are_the_clusters_own_and_keys_are_private(platform: Platform) -> None:
    pki = platform.data / "pki"
    assert stat.S_IMODE(pki.stat().st_mode) == 0o700
    loose = [path for path in pki.rglob("*.key") if stat.S_IMODE(path.stat().st_mode) & 0o077]
    assert loose == []
    for name in ("apiserver.crt", "kubelet.crt"):
        checked = subprocess.run(
            ["openssl", "verify", "-CAfile", pki / "ca.crt", pki / name], capture_output=True, text=True, check=False
        )
        assert checked.returncode == 0, checked.stderr


def test_the_kubelet_is_held_to_its_own_node(platform: Platform) -> None:
    kubelet = f"--kubeconfig={platform.data}/pki/kubelet.conf"
    kubectl = str(platform.data / "bin/kubectl")
    own = subprocess.run(
        [kubectl, kubelet, "auth", "can-i", "get", f"nodes/{INSTANCE}"], capture_output=True, text=True, check=False
    )
    assert own.stdout.strip() == "yes"
    secrets = subprocess.run([kubectl, kubelet, "get", "secrets", "-A"], capture_output=True, text=True, check=False)
    assert "forbidden" in secrets.stderr


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer made-up"}], ids=["nobody", "somebody"])
@pytest.mark.usefixtures("platform")
def test_nobody_reads_without_a_name(headers: dict[str, str]) -> None:
    request = urllib.request.Request("https://10.204.0.2:6443/api/v1/nodes", headers=headers)
    anyone = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=ssl._create_unverified_context())
    )
    with pytest.raises(urllib.error.HTTPError) as refused:
        anyone.open(request, timeout=30)
    refused.value.close()
    assert refused.value.code == 401


@pytest.mark.usefixtures("platform")
def test_no_address_of_the_cluster_leaves_the_machine() -> None:
    inside = subprocess.run(
        ["ip", "-netns", INSTANCE, "route", "show", "default"], check=True, capture_output=True, text=True
    )
    assert inside.stdout == ""
    for address in ("10.205.77.7", "10.206.77.7"):
        route = subprocess.run(["ip", "route", "get", address], check=True, capture_output=True, text=True).stdout
        assert f"dev {INSTANCE} " in route


def test_a_service_answers_from_the_machine(platform: Platform) -> None:
    (address,) = platform.get("service", "kubernetes", "--namespace=default")["spec"]["clusterIPs"]
    deadline = time.monotonic() + 60
    while True:  # an API server that was killed a moment ago lists itself as its service's endpoint within seconds
        try:
            socket.create_connection((address, 443), timeout=10).close()
        except OSError:
            assert time.monotonic() < deadline, f"{address} does not answer"
            time.sleep(0.5)
        else:
            return


@pytest.mark.parametrize(
    ("name", "answer"),
    [("kubernetes.default.svc.cluster.local", 0), ("nobody.default.svc.cluster.local", 3), ("worker-0.gang", 3)],
)
@pytest.mark.usefixtures("platform")
def test_dns_knows_the_clusters_names_and_says_of_others_that_there_are_none(name: str, answer: int) -> None:
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    query = struct.pack(">6H", 7, 0x0100, 1, 0, 0, 0) + labels + b"\0" + struct.pack(">2H", 1, 1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(20)
        client.sendto(query, ("10.206.0.10", 53))
        assert client.recv(512)[3] & 0x0F == answer


def test_a_changed_setting_restarts_what_reads_it_and_nothing_else(platform: Platform) -> None:
    before = {name: row["pid"] for name, row in platform.services().items()}
    variables = {**VARIABLES, "kubernetes_max_pods": 100}
    plays.run("paddleflow.core.quickstart", variables, log=LOGS / "cluster-setting.log", **plays.IN_PROCESS).ok()
    after = {name: row["pid"] for name, row in platform.services().items()}
    assert [name for name in COMPONENTS if before[name] != after[name]] == ["kubelet"]


def test_what_was_stopped_leaves_its_data_alone_and_starts_again_with_it(platform: Platform) -> None:
    """The start also takes back what the test above has set."""
    uid = platform.get("namespace", "kube-system")["metadata"]["uid"]
    stopped = plays.run(
        "paddleflow.core.reset",
        {**VARIABLES, "cluster_state": "stopped"},
        log=LOGS / "cluster-stopped.log",
        **plays.IN_PROCESS,
    ).ok()
    assert "Start it again with paddleflow.core.install or paddleflow.core.quickstart" in " ".join(
        stopped.output.split()
    )
    plays.run(
        "paddleflow.core.quickstart", VARIABLES, "--check", log=LOGS / "cluster-stopped-check.log", **plays.IN_PROCESS
    ).ok()
    left = host_state.look(str(platform.data)).left_by(platform.before)
    assert left == {"folders": [str(platform.data)]}, "a process, a mount, an interface or the like"
    assert json.loads(platform.node_tool("stop")) == {"changed": False, "changes": []}
    plays.run("paddleflow.core.quickstart", VARIABLES, log=LOGS / "cluster-started.log", **plays.IN_PROCESS).ok()
    assert platform.get("namespace", "kube-system")["metadata"]["uid"] == uid
    assert {row["state"] for row in platform.services().values()} == {"running"}


def test_the_components_agree_on_the_marker(platform: Platform) -> None:
    marker = json.loads(Path(platform.data, "install.json").read_text())
    assert (marker["provider"], marker["state"]) == ("embedded", "ready")
