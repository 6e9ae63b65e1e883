# SPDX-License-Identifier: Apache-2.0
"""roles/k3s against a stand-in for K3s, with real files, real processes and a real runit.

What is proven: files, order, who gets which token, idempotence, upgrade, failure paths, removal. What is not: K3s itself.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.k3s_standin import (
    AGENT_SECRET,
    ARCH,
    ASSET,
    FAR,
    NEW,
    NEXT_MINOR,
    OLD,
    REGISTRY_SECRET,
    RUNIT,
    SECRET,
    Run,
    Site,
    planted,
    sha256,
)

pytestmark = [
    pytest.mark.extended,  # dozens of plays, half an hour on two cores
    pytest.mark.skipif(os.geteuid() != 0, reason="the role acts as root"),
    pytest.mark.skipif(not RUNIT, reason="runit is not installed"),
]

UPGRADE = "paddleflow.core.upgrade_nodes"

# ---- one server alone: tokens made, idempotence, change, removal ----------------------------------------------------


@pytest.fixture(scope="module")
def single(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    site = Site(tmp_path_factory.mktemp("single"), ["s1"], [])
    yield site
    site.stop()
    assert site.processes() == []


def test_check_mode_on_a_bare_host_reports_and_does_nothing(single: Site) -> None:
    result = single.run("site.yml", "--check")
    assert result.changed()["s1"] > 0
    assert "would start k3s on s1" in result.text
    assert not single.folder("s1").exists()
    assert single.calls() == []


def test_single_server_comes_up_without_embedded_etcd(single: Site) -> None:
    single.run()
    start = next(call for call in single.calls() if call["event"] == "start")
    assert "cluster-init" not in start["config"]
    assert "server" not in start["config"]
    assert start["config"]["disable"] == ["traefik", "servicelb"]
    assert start["argv"][1:] == ["server", "--config", f"{single.folder('s1')}/etc/config.yaml"]
    assert single.nodes()["s1"]["ready"]


def test_tokens_are_made_once_for_the_owner_only(single: Site) -> None:
    etc = single.folder("s1") / "etc"
    tokens = [(etc / name).read_text().strip() for name in ("token", "agent-token")]
    assert all(len(token) == 48 for token in tokens)
    assert tokens[0] != tokens[1]
    for name in ("token", "agent-token", "config.yaml", "service.env", "paddleflow-node.json"):
        assert (etc / name).stat().st_mode & 0o777 == 0o600, name
    assert not any(token in (etc / "config.yaml").read_text() for token in tokens)


def test_second_run_and_check_on_a_converged_host_change_nothing(single: Site) -> None:
    before = len(single.calls())
    assert single.run().changed() == {"s1": 0}
    assert single.run("site.yml", "--check").changed() == {"s1": 0}
    assert single.events(before) == []


def test_fetched_kubeconfig_has_the_chosen_name_and_address(single: Site) -> None:
    path = single.base / "fetched" / "config"
    text = path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600
    assert "current-context: stand-in" in text
    assert f"server: https://127.0.0.1:{single.ports['s1']}" in text


def test_config_change_is_announced_by_check_mode_then_restarts_once(single: Site) -> None:
    single.variables = {"k3s_config": {"write-kubeconfig-group": "adm"}}
    before = len(single.calls())
    assert "would restart k3s on s1" in single.run("site.yml", "--check").text
    assert single.events(before) == []
    single.run()
    assert single.events(before) == [("stop", "s1"), ("start", "s1"), ("ready", "s1")]
    assert single.run().changed() == {"s1": 0}


def test_restart_that_was_cut_off_is_made_good(single: Site) -> None:
    before = len(single.calls())
    (single.folder("s1") / "data" / "paddleflow-applied").write_text("what an earlier run had started\n")
    single.run()
    assert single.events(before) == [("stop", "s1"), ("start", "s1"), ("ready", "s1")]


def test_killed_service_comes_back_by_itself(single: Site) -> None:
    before = len(single.calls())
    pid = next(call["pid"] for call in reversed(single.calls()) if call["event"] == "start")
    os.kill(pid, 9)
    wait_for(lambda: ("ready", "s1") in single.events(before))


def test_another_token_for_a_cluster_that_exists_is_refused(single: Site) -> None:
    result = single.run(fails=True, k3s_token="something-else")
    assert "k3s token rotate" in result.text
    assert "something-else" not in result.text


BAD_INPUT: dict[str, tuple[dict[str, Any], str]] = {
    "upgrade": ({"artifacts_k3s_version": NEW}, "paddleflow.core.upgrade"),
    "downgrade": ({"artifacts_k3s_version": "v1.33.9+k3s1"}, "is older, and K3s' data cannot go back"),
    "version": ({"artifacts_k3s_version": "1.34"}, "must be a release such as"),
    "token": ({"k3s_config": {"token": "x"}}, "Tokens belong into k3s_token"),
    "even": ({"k3s_server_hosts": ["even", "s2"]}, "odd number"),
    "outside": ({"k3s_server_hosts": ["s2"]}, "Put it into the inventory group"),
    "file": ({"k3s_binary_file": "/nonexistent/k3s"}, "the control node has no such file"),
    "two-sources": ({"k3s_airgap_dir": "/nonexistent"}, "k3s_binary_file and k3s_airgap_dir are both set"),
    "socket": ({"k3s_container_runtime_endpoint": "/nonexistent.sock"}, "has no socket there"),
    "quote": ({"k3s_environment": {"A": "it's"}}, "k3s_environment has a name"),
    "network": ({"k3s_cni_conflist": {"name": "own"}}, "Set k3s_flannel_backend: none"),
    "checksum": ({"k3s_binary_file": ""}, f"No checksum is known for K3s {OLD} on {ARCH}"),
}


@pytest.fixture(scope="module")
def refusals(single: Site) -> dict[str, str]:
    """What the role says to each bad input: one play over hosts that all stand for s1, each with its own mistake."""
    inventory = json.loads(single.inventory.read_text())
    right = inventory["all"]["children"]["servers"]["hosts"]["s1"]
    hosts = {
        name: {"k3s_server_hosts": [name], **right, **single.variables, "k3s_node_name": name, **wrong}
        for name, (wrong, _message) in BAD_INPUT.items()
    }
    inventory["all"]["children"] = {"servers": {"hosts": hosts}}
    # Extra variables would win over the mistakes, so the ones that s1 has been given go to the hosts.
    given, single.variables = single.variables, {}
    path = single.base / "bad.json"
    path.write_text(json.dumps(inventory))
    before, held = len(single.calls()), sha256(single.folder("s1") / "bin" / "k3s")
    text = single.run("site.yml", "-i", str(path), "--limit", ",".join(BAD_INPUT), fails=True).text
    single.variables = given
    assert single.events(before) == []
    assert sha256(single.folder("s1") / "bin" / "k3s") == held
    assert all(changed == 0 for changed in Run(1, text).changed().values())
    return {name: " ".join(text.split(f"fatal: [{name}]", 1)[-1].split("fatal: [")[0].split()) for name in BAD_INPUT}


@pytest.mark.parametrize("case", BAD_INPUT)
def test_bad_input_is_refused_before_anything_changes(refusals: dict[str, str], case: str) -> None:
    assert BAD_INPUT[case][1] in refusals[case]


def test_file_of_another_version_is_not_installed(single: Site) -> None:
    held = sha256(single.folder("s1") / "bin" / "k3s")
    result = single.run(fails=True, k3s_binary_file=str(single.binary(NEW)))
    assert "Nothing was replaced" in result.text
    assert sha256(single.folder("s1") / "bin" / "k3s") == held


def test_rebuilt_file_of_the_same_version_is_swapped_in(single: Site) -> None:
    before = len(single.calls())
    rebuilt = single.binary(OLD, "rebuilt")
    single.run(k3s_binary_file=str(rebuilt))
    assert sha256(single.folder("s1") / "bin" / "k3s") == sha256(rebuilt)
    assert single.events(before) == [("stop", "s1"), ("start", "s1"), ("ready", "s1")]


def test_stopped_runs_nothing_and_keeps_the_data(single: Site) -> None:
    data = single.folder("s1") / "data"
    assert "would stop k3s" in single.run("site.yml", "--check", k3s_state="stopped").text
    assert single.processes() != []
    single.run(k3s_state="stopped")
    assert single.processes() == []
    assert (data / "server" / "token").exists()
    assert single.run(k3s_state="stopped").changed() == {"s1": 0}
    single.run(k3s_binary_file=str(single.binary(OLD, "rebuilt")))
    assert single.nodes()["s1"]["ready"]


def test_absent_leaves_nothing(single: Site) -> None:
    result = single.run("site.yml", "--check", k3s_state="absent")
    assert "would stop k3s and remove" in result.text
    assert single.processes() != []
    single.run(k3s_state="absent")
    assert single.processes() == []
    left = [str(path) for path in single.folder("s1").rglob("*") if not path.is_dir()]
    assert left == []
    assert sorted(path.name for path in single.folder("s1").iterdir()) == ["bin"]
    assert single.run(k3s_state="absent").changed() == {"s1": 0}


def test_folder_in_use_by_something_else_is_refused(single: Site) -> None:
    kubelet = single.folder("s1") / "kubelet"
    kubelet.mkdir(parents=True)
    (kubelet / "config.yaml").write_text("another kubelet\n")
    result = single.run(fails=True)
    assert f"{kubelet} on s1 is in use" in result.text
    single.run(k3s_state="absent")
    assert (kubelet / "config.yaml").exists()
    shutil.rmtree(kubelet)


# ---- download and air-gap folder ------------------------------------------------------------------------------------


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Site]:
    site = Site(tmp_path, ["s1"], [])
    yield site
    site.stop()


def test_download_with_a_wrong_checksum_is_refused(fresh: Site) -> None:
    settings: dict[str, Any] = {"k3s_binary_file": "", "artifacts_k3s_url": f"file://{fresh.binary(OLD)}"}
    result = fresh.run(fails=True, artifacts_k3s_sha256={ARCH: "0" * 64}, **settings)
    assert "checksum" in result.text
    assert not (fresh.folder("s1") / "bin" / "k3s").exists()
    assert fresh.calls() == []
    fresh.run(artifacts_k3s_sha256={ARCH: sha256(fresh.binary(OLD))}, **settings)
    assert fresh.nodes()["s1"]["ready"]


def test_airgap_folder_is_verified_then_used(fresh: Site) -> None:
    folder = fresh.base / "airgap"
    folder.mkdir()
    shutil.copy(fresh.binary(OLD), folder / ASSET)
    images = folder / f"k3s-airgap-images-{ARCH}.tar.zst"
    images.write_bytes(b"images")
    sums = folder / f"sha256sum-{ARCH}.txt"
    settings: dict[str, Any] = {"k3s_binary_file": "", "k3s_airgap_dir": str(folder)}

    sums.write_text(f"{sha256(folder / ASSET)}  {ASSET}\n")
    assert f"Not in sha256sum-{ARCH}.txt: {images.name}" in " ".join(fresh.run(fails=True, **settings).text.split())
    sums.write_text(f"{sha256(folder / ASSET)}  {ASSET}\n{'0' * 64}  {images.name}\n")
    assert f"Checksum differs: {images.name}" in " ".join(fresh.run(fails=True, **settings).text.split())
    assert not (fresh.folder("s1") / "bin").exists()

    sums.write_text(f"{sha256(folder / ASSET)}  {ASSET}\n{sha256(images)}  {images.name}\n")
    fresh.run(**settings)
    assert (fresh.folder("s1") / "data/agent/images" / images.name).read_bytes() == b"images"
    assert fresh.run(**settings).changed() == {"s1": 0}


# ---- three servers and two agents -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ha(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    site = Site(tmp_path_factory.mktemp("ha"), ["s1", "s2", "s3"], ["a1", "a2"])
    site.variables = planted()
    yield site
    site.stop()
    assert site.processes() == []


def test_servers_join_one_at_a_time_and_agents_after(ha: Site) -> None:
    text = ha.run("site.yml", "-vvvv").text
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
    result = ha.run(
        UPGRADE, *arguments, fails=True, artifacts_k3s_version=NEW, k3s_binary_file=str(ha.binary(NEW))
    )
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
    ha.run("site.yml", "--limit", "s1", k3s_state="absent", **settings)
    assert "s1" not in ha.nodes()
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


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 240
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def kill_stray_drain(site: Site) -> None:
    """The hanging drain may outlive the playbook that was killed; it is known by the process id in its own log."""
    for call in site.calls():
        path = Path(f"/proc/{call['pid']}/cmdline")
        if call["event"] == "drain" and path.exists() and str(site.base).encode() in path.read_bytes():
            os.kill(call["pid"], 9)
