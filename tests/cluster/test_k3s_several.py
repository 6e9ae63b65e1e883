# SPDX-License-Identifier: Apache-2.0
"""roles/k3s on three servers and two agents, against a stand-in for K3s.

What is proven: order, who gets which token, upgrade one node at a time and what can go wrong in it, removal.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.k3s_standin import (
    AGENT_SECRET,
    FAR,
    MIRROR_SECRET,
    NEW,
    NEXT_MINOR,
    OLD,
    REGISTRY_SECRET,
    RESET,
    S3_SECRET,
    SECRET,
    UPGRADE,
    Site,
    planted,
    wait_for,
)

pytestmark = pytest.mark.extended  # a quarter of an hour of plays


@pytest.fixture(scope="module")
def ha(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    site = Site(tmp_path_factory.mktemp("ha"), ["s1", "s2", "s3"], ["a1", "a2"])
    site.variables = planted()
    yield site
    site.stop()
    assert site.processes() == []


def test_servers_join_one_at_a_time_and_agents_after(ha: Site) -> None:
    text = ha.run("site.yml", "-vvvv", "--diff").text
    (ha.base / "first.log").write_text(text)
    events = ha.events()
    assert events[:6] == [(event, name) for name in ("s1", "s2", "s3") for event in ("start", "ready")]
    assert sorted(events[6:]) == [("ready", "a1"), ("ready", "a2"), ("start", "a1"), ("start", "a2")]
    starts = {call["node"]: call["config"] for call in ha.calls() if call["event"] == "start"}
    assert starts["s1"]["cluster-init"] == "true"
    assert "server" not in starts["s1"]
    for name in ("s2", "s3", "a1", "a2"):
        assert starts[name]["server"] == f"https://127.0.0.1:{ha.ports['s1']}"
        assert "cluster-init" not in starts[name]


def test_planted_secrets_are_nowhere_but_in_their_files(ha: Site) -> None:
    log = (ha.base / "first.log").read_text()
    seen = "\n".join([log, *ha.processes(), *(json.dumps(call) for call in ha.calls())])
    for secret in (SECRET, AGENT_SECRET, REGISTRY_SECRET):
        assert secret not in seen
    for secret in (S3_SECRET, MIRROR_SECRET):  # the stand-in itself notes the configuration that it was given
        assert secret not in "\n".join([log, *ha.processes()])
    for path in (ha.base / "hosts").rglob("*"):
        if path.is_file() and any(
            secret.encode() in path.read_bytes() for secret in (SECRET, AGENT_SECRET, REGISTRY_SECRET)
        ):
            assert path.parent.name in ("etc", "server"), path
            assert path.parent.name == "server" or path.stat().st_mode & 0o777 == 0o600, path


def test_agents_never_get_the_servers_token(ha: Site) -> None:
    for name in ("a1", "a2"):
        etc = ha.folder(name) / "etc"
        assert (etc / "token").read_text() == f"K10ca::node:{AGENT_SECRET}\n"
        assert not (etc / "agent-token").exists()


def test_second_run_of_the_cluster_changes_nothing(ha: Site) -> None:
    before = len(ha.calls())
    assert set(ha.run().changed().values()) == {0}
    assert ha.events(before) == []


def test_change_on_one_host_restarts_that_host_only(ha: Site) -> None:
    before = len(ha.calls())
    inventory = json.loads(ha.inventory.read_text())
    inventory["all"]["children"]["servers"]["hosts"]["s2"]["k3s_node_labels"] = {"rack": "two"}
    inventory["all"]["children"]["servers"]["hosts"]["s2"]["k3s_environment"] = {
        "HTTPS_PROXY": "http://proxy.example:3128"
    }
    ha.inventory.write_text(json.dumps(inventory))
    ha.run()
    assert ha.events(before) == [("stop", "s2"), ("start", "s2"), ("ready", "s2")]
    start = ha.calls()[before + 1]
    assert start["config"]["node-label"] == ["rack=two"]
    assert start["env"]["HTTPS_PROXY"] == "http://proxy.example:3128"
    assert {"10.42.0.0/16", "10.43.0.0/16", ".svc", ".cluster.local", "127.0.0.1"} <= set(
        start["env"]["NO_PROXY"].split(",")
    )


def test_upgrade_stops_at_a_node_that_cannot_be_drained(ha: Site) -> None:
    before = len(ha.calls())
    (ha.shared / "pdb-s2").touch()
    result = ha.run(UPGRADE, fails=True, artifacts_k3s_version=NEW, k3s_binary_file=str(ha.binary(NEW)))
    assert "PodDisruptionBudget" in result.text
    versions = {name: node["version"] for name, node in ha.nodes().items()}
    assert versions == {"s1": NEW, "s2": OLD, "s3": OLD, "a1": OLD, "a2": OLD}
    assert not any(node["unschedulable"] or node["annotations"] for node in ha.nodes().values())
    assert [event for event in ha.events(before) if event[1] in ("s3", "a1", "a2")] == []


def test_agent_is_not_upgraded_before_the_servers(ha: Site) -> None:
    arguments = ("--limit", "a1")
    result = ha.run(UPGRADE, *arguments, fails=True, artifacts_k3s_version=NEW, k3s_binary_file=str(ha.binary(NEW)))
    assert "upgrade the servers first" in " ".join(result.text.split())


def test_upgrade_that_was_killed_is_finished_by_the_next(ha: Site) -> None:
    (ha.shared / "pdb-s2").unlink()
    hang = ha.shared / "hang-s3"
    hang.touch()
    extra = {**ha.variables, "artifacts_k3s_version": NEW, "k3s_binary_file": str(ha.binary(NEW))}
    vars_file = ha.base / "killed.json"
    vars_file.write_text(json.dumps(extra))
    argv = [
        str(Path(sys.executable).with_name("ansible-playbook")),
        "-i",
        str(ha.inventory),
        "-e",
        f"@{vars_file}",
        UPGRADE,
    ]
    before = len(ha.calls())
    with subprocess.Popen(
        argv,
        cwd=ha.base,
        env=ha.environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as run:
        wait_for(lambda: ("drain", "s3") in ha.events(before))
        os.killpg(run.pid, 9)
    kill_stray_drain(ha)
    assert ha.nodes()["s2"]["version"] == NEW
    assert ha.nodes()["s3"]["unschedulable"]
    hang.unlink()

    before = len(ha.calls())
    ha.run(UPGRADE, artifacts_k3s_version=NEW, k3s_binary_file=str(ha.binary(NEW)))
    assert {node["version"] for node in ha.nodes().values()} == {NEW}
    assert not any(node["unschedulable"] or node["annotations"] for node in ha.nodes().values())
    events = ha.events(before)
    assert [name for event, name in events if event == "drain"] == ["s3", "a1", "a2"]
    one = [event for event, name in events if name == "a1"]
    assert one == ["annotate", "cordon", "drain", "stop", "start", "ready", "uncordon", "annotate"]


def test_service_left_down_between_swap_and_start_is_resumed(ha: Site) -> None:
    version, binary = NEXT_MINOR, ha.binary(NEXT_MINOR)
    folder = ha.folder("s1")
    subprocess.run(["sv", "-w", "10", "down", str(folder / "data/services/k3s")], check=True, capture_output=True)
    shutil.copy(binary, folder / "bin" / "k3s")
    state = json.loads((ha.shared / "cluster").read_text())
    state["nodes"]["s1"].update(unschedulable=True, annotations={"paddleflow.org/cordoned-by": "upgrade"})
    (ha.shared / "cluster").write_text(json.dumps(state))
    ha.run(UPGRADE, artifacts_k3s_version=version, k3s_binary_file=str(binary))
    assert {node["version"] for node in ha.nodes().values()} == {version}
    assert not any(node["unschedulable"] or node["annotations"] for node in ha.nodes().values())
    changed = ha.run(UPGRADE, artifacts_k3s_version=version, k3s_binary_file=str(binary)).changed()
    assert set(changed.values()) == {0}


def test_foreign_cordon_is_kept(ha: Site) -> None:
    state = json.loads((ha.shared / "cluster").read_text())
    state["nodes"]["a2"]["unschedulable"] = True
    (ha.shared / "cluster").write_text(json.dumps(state))
    version = "v1.35.1+k3s1"
    settings: dict[str, Any] = {"artifacts_k3s_version": version, "k3s_binary_file": str(ha.binary(version))}
    check = ha.run(UPGRADE, "--check", **settings).text
    assert "would drain, upgrade s1 from v1.35.0+k3s1 to v1.35.1+k3s1" in check
    assert ha.nodes()["s1"]["version"] == NEXT_MINOR
    ha.run(UPGRADE, **settings)
    assert [name for name, node in ha.nodes().items() if node["unschedulable"]] == ["a2"]


@pytest.mark.parametrize(
    ("version", "message"),
    [(FAR, "one minor version at a time"), (OLD, "K3s' data cannot go back")],
)
def test_skipped_minor_and_downgrade_are_refused(ha: Site, version: str, message: str) -> None:
    before = len(ha.calls())
    result = ha.run(UPGRADE, fails=True, artifacts_k3s_version=version, k3s_binary_file=str(ha.binary(version)))
    assert message in " ".join(result.text.split())
    assert ha.events(before) == []


def test_upgrade_waits_for_the_other_servers(ha: Site) -> None:
    state = json.loads((ha.shared / "cluster").read_text())
    state["nodes"]["s3"]["ready"] = False
    (ha.shared / "cluster").write_text(json.dumps(state))
    version = "v1.35.2+k3s1"
    result = ha.run(UPGRADE, fails=True, artifacts_k3s_version=version, k3s_binary_file=str(ha.binary(version)))
    assert "s3 is not Ready" in result.text
    state["nodes"]["s3"]["ready"] = True
    (ha.shared / "cluster").write_text(json.dumps(state))


def test_lost_first_server_joins_and_does_not_start_a_second_cluster(ha: Site) -> None:
    version = "v1.35.1+k3s1"
    settings: dict[str, Any] = {"artifacts_k3s_version": version, "k3s_binary_file": str(ha.binary(version))}
    ha.run(RESET, "--limit", "s1", cluster_provider="k3s", **settings)
    assert "s1" not in ha.nodes()
    assert [str(path) for path in ha.folder("s1").rglob("*") if not path.is_dir()] == []
    state = json.loads((ha.shared / "cluster").read_text())
    state["url"] = f"https://127.0.0.1:{ha.ports['s2']}"
    (ha.shared / "cluster").write_text(json.dumps(state))
    before = len(ha.calls())
    ha.run("site.yml", "--limit", "s1", **settings)
    start = next(call for call in ha.calls()[before:] if call["event"] == "start" and call["node"] == "s1")
    assert start["config"]["server"] == state["url"]
    assert "cluster-init" not in start["config"]


def test_cluster_is_removed_as_a_whole(ha: Site) -> None:
    ha.run(k3s_state="absent")
    assert ha.processes() == []
    assert [str(path) for path in (ha.base / "hosts").rglob("*") if not path.is_dir()] == []


def test_failed_join_stops_the_servers_after_it(tmp_path: Path) -> None:
    site = Site(tmp_path, ["s1", "s2", "s3"], ["a1"])
    try:
        (site.shared / "unready-s2").touch()
        result = site.run(fails=True, k3s_ready_timeout=6)
        assert "s2 did not become Ready and a voting member of etcd" in result.text
        assert {name for event, name in site.events() if event == "start"} == {"s1", "s2"}
        (site.shared / "unready-s2").unlink()
        state = json.loads((site.shared / "cluster").read_text())
        state["nodes"]["s2"]["ready"] = True
        (site.shared / "cluster").write_text(json.dumps(state))
        site.run()
        assert set(site.nodes()) == {"s1", "s2", "s3", "a1"}
    finally:
        site.stop()


def kill_stray_drain(site: Site) -> None:
    """The hanging drain may outlive the playbook that was killed; it is known by the process id in its own log."""
    for call in site.calls():
        path = Path(f"/proc/{call['pid']}/cmdline")
        if call["event"] == "drain" and path.exists() and str(site.base).encode() in path.read_bytes():
            os.kill(call["pid"], 9)
