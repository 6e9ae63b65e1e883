# SPDX-License-Identifier: Apache-2.0
"""roles/k3s on one server, against a stand-in for K3s, with real files, real processes and a real runit.

What is proven: files, tokens, idempotence, change, failure paths, removal, and how roles/kubernetes finds an installation
again. What is not: K3s itself.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.support.k3s_standin import (
    AGENT_SECRET,
    ARCH,
    ASSET,
    MIRROR_SECRET,
    NEW,
    OLD,
    REGISTRY_SECRET,
    RESET,
    S3_SECRET,
    SECRET,
    UPGRADE,
    VARIABLE_SECRET,
    Run,
    Site,
    planted,
    sha256,
    wait_for,
)


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
    # Somebody's own, which K3s reads from here as well.
    (single.folder("s1") / "etc").mkdir(parents=True)
    (single.folder("s1") / "etc" / "registries.yaml").write_text("mirrors: {}\n")
    single.run()
    assert (single.folder("s1") / "etc" / "registries.yaml").read_text() == "mirrors: {}\n"
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


def test_a_machine_alone_is_upgraded_without_groups_and_none_of_another_provider(single: Site) -> None:
    inventory = json.loads(single.inventory.read_text())
    host = inventory["all"]["children"]["servers"]["hosts"]["s1"]
    alone = single.base / "alone.json"
    alone.write_text(json.dumps({"all": {"vars": inventory["all"]["vars"], "hosts": {"localhost": host}}}))
    settings: dict[str, Any] = {"artifacts_k3s_version": NEW, "k3s_binary_file": str(single.binary(NEW))}
    given, single.inventory = single.inventory, alone
    try:
        assert f"upgrade s1 from {OLD} to {NEW}" in single.run(UPGRADE, "--check", **settings).text
        others = single.run(UPGRADE, cluster_provider="embedded", **settings)
        assert others.changed() == {"localhost": 0}
        elsewhere = {name: f"{single.base}/none/{name}" for name in ("data", "config", "bin", "run", "systemd")}
        none: dict[str, Any] = {f"k3s_{name}_dir": folder for name, folder in elsewhere.items()}
        assert single.run(UPGRADE, **settings, **none).changed() == {"localhost": 0}
    finally:
        single.inventory = given


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
    "registries": (
        {"k3s_registries": {"mirrors": {}}},
        "registries.yaml from before K3s, and this role would write over it",
    ),
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
    assert left == [f"{single.folder('s1')}/etc/registries.yaml"], "it was there before K3s"
    assert sorted(path.name for path in single.folder("s1").iterdir()) == ["bin", "etc"]
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


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """The folder's files over HTTP, and the paths that were asked for."""
    asked: list[str] = []

    class Files(SimpleHTTPRequestHandler):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments, directory=str(folder))

        def log_request(self, *_: object) -> None:
            asked.append(self.path)

    with ThreadingHTTPServer(("127.0.0.1", 0), Files) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()
            thread.join()


def test_download_with_a_wrong_checksum_is_refused(fresh: Site) -> None:
    release = fresh.binary(OLD)
    with served(release.parent) as (url, asked):
        download_from(fresh, f"{url}/{release.name}")
    assert set(asked) == {f"/{release.name}"}


def download_from(fresh: Site, url: str) -> None:
    settings: dict[str, Any] = {"k3s_binary_file": "", "artifacts_k3s_url": url}
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


def test_without_facts_and_a_given_name_a_node_takes_the_name_of_its_host(fresh: Site) -> None:
    inventory = json.loads(fresh.inventory.read_text())
    for name in ("k3s_node_name", "k3s_node_address"):
        del inventory["all"]["children"]["servers"]["hosts"]["s1"][name]
    fresh.inventory.write_text(json.dumps(inventory))
    cluster: dict[str, Any] = {"cluster_provider": "k3s", "preflight_images": False, "preflight_ports_k3s": []}
    assert "would start k3s on s1" in fresh.run("cluster.yml", "--check", **cluster).text
    fresh.run("cluster.yml", **cluster)
    assert list(fresh.nodes()) == [socket.gethostname().lower()]
    fresh.run(RESET)
    assert fresh.processes() == []


# ---- through roles/kubernetes ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A server whose installation is killed when K3s runs and is not Ready."""
    site = Site(tmp_path_factory.mktemp("whole"), ["s1"], [])
    site.variables = {**planted(), "k3s_environment": {"A": VARIABLE_SECRET}, "preflight_ports_k3s": []}
    site.variables["preflight_images"] = False  # a cluster only
    (site.shared / "unready-s1").touch()
    site.run_killed("cluster.yml", lambda: ("ready", "s1") in site.events())
    yield site
    site.stop()
    assert site.processes() == []


def marker(site: Site) -> dict[str, str]:
    content: dict[str, str] = json.loads((site.folder("s1") / "paddleflow" / "install.json").read_text())
    return content


def test_reset_sees_an_installation_that_was_killed(whole: Site) -> None:
    assert (marker(whole)["provider"], marker(whole)["state"]) == ("k3s", "installing")
    # Without the file that made `auto` choose K3s: by the marker alone.
    assert "would stop k3s and remove" in whole.run(RESET, "--check", k3s_binary_file="").text
    assert whole.processes() != []


def test_an_installation_that_was_killed_is_resumed_and_shows_no_secret(whole: Site) -> None:
    (whole.shared / "unready-s1").unlink()
    state = json.loads((whole.shared / "cluster").read_text())
    state["nodes"]["s1"]["ready"] = True
    (whole.shared / "cluster").write_text(json.dumps(state))
    # A K3s that runs listens on its port, which the stand-in does not.
    with socket.create_server(("127.0.0.1", whole.ports["s1"])):
        text = whole.run("cluster.yml", "--diff", "-vvvv").text
    assert "was not finished by an earlier run and is resumed" in text
    assert marker(whole)["state"] == "ready"
    for secret in (SECRET, AGENT_SECRET, REGISTRY_SECRET, S3_SECRET, MIRROR_SECRET, VARIABLE_SECRET):
        assert secret not in text
    assert S3_SECRET in (whole.folder("s1") / "etc" / "config.yaml").read_text()


NOT_TAKEN_AWAY: dict[str, tuple[dict[str, str], str]] = {
    "other provider": ({"cluster_provider": "embedded"}, "an earlier run made a cluster of provider k3s here"),
    "named cluster": (
        {"kubernetes_kubeconfig": "/other"},
        "never stopped or taken away, and nothing was changed on s1",
    ),
}


@pytest.mark.parametrize("case", NOT_TAKEN_AWAY)
def test_reset_takes_away_nothing_but_what_the_marker_says(whole: Site, case: str) -> None:
    variables, message = NOT_TAKEN_AWAY[case]
    result = whole.run(RESET, fails=True, **variables)
    assert message in " ".join(result.text.split())
    assert result.changed() == {"s1": 0}
    assert marker(whole)["state"] == "ready"


def test_reset_removes_the_cluster_and_its_marker_and_nothing_else(whole: Site) -> None:
    other = whole.folder("s1") / "paddleflow" / "somebody's"
    other.write_text("not ours\n")
    # What the installation prints as its kubeconfig names no other cluster.
    named = marker(whole)["kubeconfig"]
    assert named == f"{whole.folder('s1')}/etc/k3s.yaml"
    whole.run(RESET, k3s_binary_file="", kubernetes_kubeconfig=named)
    assert whole.processes() == []
    assert [path for path in (whole.base / "hosts").rglob("*") if not path.is_dir()] == [other]
