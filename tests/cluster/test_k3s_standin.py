# SPDX-License-Identifier: Apache-2.0
"""roles/k3s against a stand-in for K3s, with real files, real processes and a real runit.

Several inventory hosts live on this machine, each in folders of its own; their "K3s" is a Python program written here
that registers nodes in one shared file, answers kubectl from it and logs every call. What is proven: files, order, who
gets which token, idempotence, upgrade, failure paths, removal. What is not: K3s itself.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
OLD, NEW, NEXT_MINOR, FAR = "v1.34.3+k3s1", "v1.34.4+k3s1", "v1.35.0+k3s1", "v1.37.0+k3s1"
SECRET, AGENT_SECRET, REGISTRY_SECRET = "planted-server-token", "planted-agent-token", "planted-registry-password"
ARCH = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), "none")
ASSET = "k3s" if ARCH == "amd64" else f"k3s-{ARCH}"
RUNIT = shutil.which("runsvdir") and shutil.which("sv")
pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="the role acts as root"),
    pytest.mark.skipif(not RUNIT, reason="runit is not installed"),
]

STANDIN = r'''#!PYTHON
"""A stand-in for K3s."""
import fcntl, json, os, signal, sys, time
from pathlib import Path

VERSION = "@VERSION@"
SHARED = Path("@SHARED@")
ARGS = sys.argv[1:]


def log(**entry):
    entry.update(pid=os.getpid(), argv=sys.argv, version=VERSION)
    with open(SHARED / "calls", "a") as out:
        fcntl.flock(out, fcntl.LOCK_EX)
        out.write(json.dumps(entry) + "\n")


def cluster(change):
    with open(SHARED / "cluster", "a+") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        handle.seek(0)
        state = json.loads(handle.read() or '{"nodes": {}}')
        result = change(state)
        handle.seek(0)
        handle.truncate()
        json.dump(state, handle)
    return result


def config():
    found, key = {}, None
    for line in open(ARGS[ARGS.index("--config") + 1]):
        line = line.rstrip()
        if line.startswith("#") or not line:
            continue
        if line.lstrip().startswith("- "):
            found.setdefault(key, []).append(line.split("- ", 1)[1].strip("'\""))
        else:
            key, _, value = line.partition(":")
            if value.strip():
                found[key] = value.strip().strip("'\"")
    return found


def stop(state, name):
    if name in state["nodes"]:
        state["nodes"][name]["ready"] = False


def serve(role):
    conf = config()
    name = conf["node-name"]
    token = Path(conf["token-file"]).read_text().strip()
    env = {key: value for key, value in os.environ.items()}
    log(event="start", role=role, node=name, config=conf, env=env, agent_token="agent-token-file" in conf)
    data = Path(conf["data-dir"])
    if (SHARED / ("broken-" + name)).exists():
        log(event="broken", node=name)
        sys.exit("stand-in: told to fail")

    def join(state):
        if role == "server" and "server" not in conf:
            if state.get("token") not in (None, token):
                return "the token is not the one that the data was made with"
            state.update(token=token, agent_token=Path(conf["agent-token-file"]).read_text().strip())
            state.setdefault("url", "https://127.0.0.1:" + conf["https-listen-port"])
        else:
            if conf["server"] != state.get("url"):
                return "no cluster answers at " + conf["server"]
            wanted = "K10ca::server:" + state["token"] if role == "server" else "K10ca::node:" + state["agent_token"]
            if token != wanted:
                return "401 Unauthorized"
            if role == "server" and Path(conf["agent-token-file"]).read_text().strip() != state["agent_token"]:
                return "critical configuration differs: agent-token"
        etcd = "cluster-init" in conf or (role == "server" and "server" in conf)
        node = state["nodes"].setdefault(name, {"annotations": {}, "unschedulable": False})
        node.update(version=VERSION, role=role, etcd=etcd, ready=not (SHARED / ("unready-" + name)).exists())
        return None

    problem = cluster(join)
    if problem:
        log(event="refused", node=name, problem=problem)
        print("fatal:", problem, flush=True)
        time.sleep(1)
        sys.exit(1)
    if role == "server":
        state = cluster(dict)
        (data / "server").mkdir(parents=True, exist_ok=True)
        (data / "server" / "token").write_text("K10ca::server:" + state["token"] + "\n")
        (data / "server" / "agent-token").write_text("K10ca::node:" + state["agent_token"] + "\n")
        kubeconfig = Path(conf["write-kubeconfig"])
        kubeconfig.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "default",
            "clusters": [{"name": "default", "cluster": {"server": "https://127.0.0.1:6443", "certificate-authority-data": "Q0E="}}],
            "users": [{"name": "default", "user": {"client-certificate-data": "Q1JU", "client-key-data": "S0VZ"}}],
            "contexts": [{"name": "default", "context": {"cluster": "default", "user": "default"}}]}))
        kubeconfig.chmod(0o600)
    log(event="ready", node=name)

    def end(*_):
        cluster(lambda state: stop(state, name))
        log(event="stop", node=name)
        sys.exit(0)

    signal.signal(signal.SIGTERM, end)
    while True:
        signal.pause()


def shown(name, node):
    labels = {"kubernetes.io/hostname": name}
    if node["role"] == "server":
        labels["node-role.kubernetes.io/control-plane"] = "true"
    conditions = [{"type": "Ready", "status": str(node["ready"])}]
    if node["etcd"]:
        conditions.append({"type": "EtcdIsVoter", "status": str(node["ready"])})
    return {"metadata": {"name": name, "labels": labels, "annotations": node["annotations"]},
            "spec": {"unschedulable": True} if node["unschedulable"] else {},
            "status": {"conditions": conditions, "nodeInfo": {"kubeletVersion": node["version"]}}}


def kubectl():
    args = [arg for arg in ARGS[1:] if not arg.startswith("--request-timeout")]
    if not Path(args[args.index("--kubeconfig") + 1]).exists():
        sys.exit("no kubeconfig")
    del args[args.index("--kubeconfig"):args.index("--kubeconfig") + 2]
    verb, name = args[0], args[2] if args[1] == "node" and len(args) > 2 else args[1]

    def act(state):
        node = state["nodes"].get(name)
        if args[:2] == ["get", "nodes"]:
            print(json.dumps({"items": [shown(key, value) for key, value in sorted(state["nodes"].items())]}))
        elif verb == "get" and node:
            print(json.dumps(shown(name, node)))
        elif verb in ("cordon", "uncordon"):
            node["unschedulable"] = verb == "cordon"
        elif verb == "annotate":
            for change in [arg for arg in args[3:] if not arg.startswith("--")]:
                if change.endswith("-"):
                    node["annotations"].pop(change[:-1], None)
                else:
                    node["annotations"].update([change.split("=", 1)])
        elif verb == "drain":
            if (SHARED / ("pdb-" + name)).exists():
                return "error: Cannot evict pod as it would violate the pod's disruption budget."
        elif verb == "delete":
            state["nodes"].pop(name, None)
            print('node "%s" deleted' % name)
        else:
            return "Error from server (NotFound): nodes %s not found" % name
        return None

    problem = cluster(act)
    if verb != "get":
        log(event=verb, node=name)
    if verb == "drain" and (SHARED / ("hang-" + name)).exists():
        time.sleep(600)
    if problem:
        sys.exit(problem)


if ARGS == ["--version"]:
    print("k3s version %s (0123abcd)\ngo version go1.24.0" % VERSION)
elif ARGS[:1] in (["server"], ["agent"]):
    serve(ARGS[0])
elif ARGS[:1] == ["kubectl"]:
    kubectl()
else:
    sys.exit("stand-in: unknown call")
'''


class Site:
    """Five hosts on this machine, their shared stand-in cluster, and ansible-playbook to act on them."""

    def __init__(self, base: Path, servers: list[str], agents: list[str]) -> None:
        self.base = base
        self.hosts = [*servers, *agents]
        self.shared = base / "shared"
        self.shared.mkdir(parents=True)
        self.home = base / "home"
        self.home.mkdir()
        collections = base / "collections" / "ansible_collections" / "paddleflow"
        collections.mkdir(parents=True)
        (collections / "core").symlink_to(ROOT)
        self.inventory = base / "inventory.json"
        self.ports = free_ports(self.hosts)
        self.variables: dict[str, Any] = {}
        self.write_inventory(servers, agents)
        (base / "site.yml").write_text(
            textwrap.dedent("""\
            - hosts: servers:agents
              gather_facts: false
              roles: [paddleflow.core.k3s]
            """)
        )
        (base / "upgrade.yml").write_text(
            textwrap.dedent("""\
            - hosts: servers
              gather_facts: false
              serial: 1
              tasks: [{ansible.builtin.include_role: {name: paddleflow.core.k3s, tasks_from: upgrade}}]
            - hosts: agents
              gather_facts: false
              serial: 1
              tasks: [{ansible.builtin.include_role: {name: paddleflow.core.k3s, tasks_from: upgrade}}]
            """)
        )

    def write_inventory(self, servers: list[str], agents: list[str]) -> None:
        def host(name: str) -> dict[str, Any]:
            folder = self.folder(name)
            return {
                "k3s_node_name": name,
                "k3s_node_address": "127.0.0.1",
                "k3s_https_port": self.ports[name],
                "k3s_data_dir": f"{folder}/data",
                "k3s_config_dir": f"{folder}/etc",
                "k3s_bin_dir": f"{folder}/bin",
                "k3s_run_dir": f"{folder}/run",
                "k3s_systemd_dir": f"{folder}/systemd",
                "k3s_fixed_dirs": [f"{folder}/run", f"{folder}/kubelet"],
            }

        common = {
            "ansible_connection": "local",
            "ansible_python_interpreter": sys.executable,
            "artifacts_k3s_version": OLD,
            "artifacts_k3s_url": "https://127.0.0.1:9/none",
            "artifacts_k3s_sha256": {},
            "k3s_binary_file": str(self.binary(OLD)),
            "k3s_supervisor": "runit",
            "k3s_ready_timeout": 20,
            "k3s_stop_timeout": 10,
            "k3s_kubeconfig_dest": str(self.base / "fetched" / "config"),
            "k3s_cluster_name": "stand-in",
        }
        inventory = {
            "all": {
                "vars": common,
                "children": {
                    "servers": {"hosts": {name: host(name) for name in servers}},
                    "agents": {"hosts": {name: host(name) for name in agents}},
                },
            }
        }
        self.inventory.write_text(json.dumps(inventory))

    def folder(self, name: str) -> Path:
        return self.base / "hosts" / name

    def binary(self, version: str, note: str = "") -> Path:
        path = self.base / f"k3s-{version}{note}"
        if not path.exists():
            text = (
                STANDIN.replace("PYTHON", sys.executable)
                .replace("@VERSION@", version)
                .replace("@SHARED@", str(self.shared))
            )
            path.write_text(f"{text}# {note}\n")
            path.chmod(0o755)
        return path

    def run(self, play: str = "site.yml", *arguments: str, fails: bool = False, **variables: Any) -> Run:
        extra = {**self.variables, **variables}
        vars_file = self.base / "extra.json"
        vars_file.write_text(json.dumps(extra))
        argv = [
            str(Path(sys.executable).with_name("ansible-playbook")),
            "-i",
            str(self.inventory),
            "-e",
            f"@{vars_file}",
            *arguments,
            play,
        ]
        done = subprocess.run(
            argv, cwd=self.base, env=self.environment(), capture_output=True, text=True, timeout=900, check=False
        )
        result = Run(done.returncode, done.stdout + done.stderr)
        assert (result.code != 0) == fails, result.text[-6000:]
        return result

    def environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "LC_ALL": "C.UTF-8",
            "ANSIBLE_HOME": str(self.home / "ansible"),
            "ANSIBLE_COLLECTIONS_PATH": str(self.base / "collections"),
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_FORKS": "5",
            "ANSIBLE_PIPELINING": "1",
            "ANSIBLE_CALLBACK_RESULT_FORMAT": "json",
            "ANSIBLE_LOCALHOST_WARNING": "0",
        }

    def calls(self) -> list[dict[str, Any]]:
        path = self.shared / "calls"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def events(self, since: int = 0) -> list[tuple[str, str]]:
        return [(call["event"], call["node"]) for call in self.calls()[since:]]

    def nodes(self) -> dict[str, Any]:
        nodes: dict[str, Any] = json.loads((self.shared / "cluster").read_text())["nodes"]
        return nodes

    def processes(self) -> list[str]:
        """Command lines of everything that runs from this site's folders."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                try:
                    line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                except OSError:
                    continue
                if str(self.base / "hosts") in line:
                    found.append(line)
        return found

    def stop(self) -> None:
        helper = ROOT / "roles" / "k3s" / "files" / "k3s_node.py"
        for name in self.hosts:
            data = self.folder(name) / "data"
            plan = {"services": f"{data}/services", "pid_file": f"{data}/services.pid", "patience": 10}
            subprocess.run([sys.executable, str(helper), "stop", json.dumps(plan)], check=True, capture_output=True)


class Run:
    def __init__(self, code: int, text: str) -> None:
        self.code = code
        self.text = text

    def changed(self) -> dict[str, int]:
        recap = self.text.split("PLAY RECAP")[-1].splitlines()
        return {line.split()[0]: int(line.split("changed=")[1].split()[0]) for line in recap if "changed=" in line}


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def free_ports(names: list[str]) -> dict[str, int]:
    """Ports that nobody listens on now; the stand-in does not listen either, the role only checks that they are free."""
    sockets = {name: socket.socket() for name in names}
    try:
        for each in sockets.values():
            each.bind(("127.0.0.1", 0))
        return {name: each.getsockname()[1] for name, each in sockets.items()}
    finally:
        for each in sockets.values():
            each.close()


def planted() -> dict[str, Any]:
    return {
        "k3s_token": SECRET,
        "k3s_agent_token": AGENT_SECRET,
        "k3s_registries": {"configs": {"registry.example": {"auth": {"username": "u", "password": REGISTRY_SECRET}}}},
    }


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
    "upgrade": ({"artifacts_k3s_version": NEW}, "playbooks/upgrade.yml"),
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
        for name, (wrong, _) in BAD_INPUT.items()
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


def test_absent_leaves_nothing(single: Site) -> None:
    result = single.run("site.yml", "--check", k3s_state="absent")
    assert "would remove" in result.text
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
    mirror = fresh.base / "mirror" / OLD.replace("+", "%2B")
    plain = fresh.base / "mirror" / OLD
    for folder in (mirror, plain):
        folder.mkdir(parents=True)
        shutil.copy(fresh.binary(OLD), folder / ASSET)
    settings: dict[str, Any] = {"k3s_binary_file": "", "artifacts_k3s_url": f"file://{fresh.base}/mirror"}
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
    ha.inventory.write_text(json.dumps(inventory))
    ha.run()
    assert ha.events(before) == [("stop", "s2"), ("start", "s2"), ("ready", "s2")]


def test_upgrade_stops_at_a_node_that_cannot_be_drained(ha: Site) -> None:
    before = len(ha.calls())
    (ha.shared / "pdb-s2").touch()
    result = ha.run("upgrade.yml", fails=True, artifacts_k3s_version=NEW, k3s_binary_file=str(ha.binary(NEW)))
    assert "PodDisruptionBudget" in result.text
    versions = {name: node["version"] for name, node in ha.nodes().items()}
    assert versions == {"s1": NEW, "s2": OLD, "s3": OLD, "a1": OLD, "a2": OLD}
    assert not any(node["unschedulable"] or node["annotations"] for node in ha.nodes().values())
    assert [event for event in ha.events(before) if event[1] in ("s3", "a1", "a2")] == []


def test_agent_is_not_upgraded_before_the_servers(ha: Site) -> None:
    arguments = ("--limit", "a1")
    result = ha.run(
        "upgrade.yml", *arguments, fails=True, artifacts_k3s_version=NEW, k3s_binary_file=str(ha.binary(NEW))
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
        "upgrade.yml",
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
    ha.run("upgrade.yml", artifacts_k3s_version=NEW, k3s_binary_file=str(ha.binary(NEW)))
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
    ha.run("upgrade.yml", artifacts_k3s_version=version, k3s_binary_file=str(binary))
    assert {node["version"] for node in ha.nodes().values()} == {version}
    assert not any(node["unschedulable"] or node["annotations"] for node in ha.nodes().values())
    changed = ha.run("upgrade.yml", artifacts_k3s_version=version, k3s_binary_file=str(binary)).changed()
    assert set(changed.values()) == {0}


def test_foreign_cordon_is_kept(ha: Site) -> None:
    state = json.loads((ha.shared / "cluster").read_text())
    state["nodes"]["a2"]["unschedulable"] = True
    (ha.shared / "cluster").write_text(json.dumps(state))
    version = "v1.35.1+k3s1"
    settings: dict[str, Any] = {"artifacts_k3s_version": version, "k3s_binary_file": str(ha.binary(version))}
    check = ha.run("upgrade.yml", "--check", **settings).text
    assert "would drain, upgrade s1 from v1.35.0+k3s1 to v1.35.1+k3s1" in check
    assert ha.nodes()["s1"]["version"] == NEXT_MINOR
    ha.run("upgrade.yml", **settings)
    assert [name for name, node in ha.nodes().items() if node["unschedulable"]] == ["a2"]


@pytest.mark.parametrize(
    ("version", "message"),
    [(FAR, "one minor version at a time"), (OLD, "K3s' data cannot go back")],
)
def test_skipped_minor_and_downgrade_are_refused(ha: Site, version: str, message: str) -> None:
    before = len(ha.calls())
    result = ha.run("upgrade.yml", fails=True, artifacts_k3s_version=version, k3s_binary_file=str(ha.binary(version)))
    assert message in " ".join(result.text.split())
    assert ha.events(before) == []


def test_upgrade_waits_for_the_other_servers(ha: Site) -> None:
    state = json.loads((ha.shared / "cluster").read_text())
    state["nodes"]["s3"]["ready"] = False
    (ha.shared / "cluster").write_text(json.dumps(state))
    version = "v1.35.2+k3s1"
    result = ha.run("upgrade.yml", fails=True, artifacts_k3s_version=version, k3s_binary_file=str(ha.binary(version)))
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
