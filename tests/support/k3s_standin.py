# SPDX-License-Identifier: Apache-2.0
"""A stand-in for K3s, and a site of hosts on this machine that roles/k3s installs it on.

Several inventory hosts live on this machine, each in folders of its own; their "K3s" is a Python program written here
that registers nodes in one shared file, answers kubectl from it and logs every call.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support import plays
from tests.support.binaries import ROOT

OLD, NEW, NEXT_MINOR, FAR = "v1.34.3+k3s1", "v1.34.4+k3s1", "v1.35.0+k3s1", "v1.37.0+k3s1"
SECRET, AGENT_SECRET, REGISTRY_SECRET = "planted-server-token", "planted-agent-token", "planted-registry-password"
# Of k3s_config, k3s_containerd_config and k3s_environment: K3s is given them in files.
S3_SECRET, MIRROR_SECRET, VARIABLE_SECRET = "planted-s3-key", "planted-mirror-password", "planted-variable"
ARCH = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), "none")
ASSET = "k3s" if ARCH == "amd64" else f"k3s-{ARCH}"
UPGRADE, RESET = "paddleflow.core.upgrade_nodes", "paddleflow.core.reset"

STANDIN = r'''#!PYTHON
"""A stand-in for K3s."""
import fcntl, json, os, signal, sys, time
from pathlib import Path

VERSION = "@VERSION@"
SHARED = Path("@SHARED@")
# Under the name of a tool it is that tool, as K3s is.
ARGS = [name for name in [Path(sys.argv[0]).name] if name in ("kubectl", "ctr", "crictl")] + sys.argv[1:]


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
            key, _colon, value = line.partition(":")
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

    def end(*_signal):
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
        # The first play of paddleflow.core.install; the others need a Kubernetes.
        (base / "cluster.yml").write_text(
            textwrap.dedent("""\
            - hosts: servers:agents
              gather_facts: false
              roles: [paddleflow.core.kubernetes]
            """)
        )

    def write_inventory(self, servers: list[str], agents: list[str]) -> None:
        def host(name: str) -> dict[str, Any]:
            folder = self.folder(name)
            return {
                "kubernetes_data_dir": f"{folder}/paddleflow",
                "k3s_node_name": name,
                "k3s_node_address": "127.0.0.1",
                "k3s_https_port": self.ports[name],
                "k3s_data_dir": f"{folder}/data",
                "k3s_config_dir": f"{folder}/etc",
                "k3s_bin_dir": f"{folder}/bin",
                "k3s_run_dir": f"{folder}/run",
                "k3s_systemd_dir": f"{folder}/systemd",
                "k3s_fixed_dirs": [f"{folder}/run", f"{folder}/kubelet"],
                "k3s_log_dirs": [f"{folder}/log/pods", f"{folder}/log/containers"],
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

    def command(self, play: str, *arguments: str, **variables: Any) -> list[str]:
        vars_file = self.base / "extra.json"
        vars_file.write_text(json.dumps({**self.variables, **variables}))
        program = str(Path(sys.executable).with_name("ansible-playbook"))
        return [program, "-i", str(self.inventory), "-e", f"@{vars_file}", *arguments, play]

    def run(self, play: str = "site.yml", *arguments: str, fails: bool = False, **variables: Any) -> Run:
        argv = self.command(play, *arguments, **variables)
        done = subprocess.run(
            argv, cwd=self.base, env=self.environment(), capture_output=True, text=True, timeout=900, check=False
        )
        result = Run(done.returncode, done.stdout + done.stderr)
        assert (result.code != 0) == fails, result.text[-6000:]
        return result

    def run_killed(self, play: str, moment: Callable[[], bool], **variables: Any) -> None:
        """SIGKILL to the whole session of the play once the moment has come."""
        log = self.base / "killed.log"
        with log.open("wb") as output, subprocess.Popen(
            self.command(play, **variables), cwd=self.base, env=self.environment(),
            stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True,
        ) as process:  # fmt: skip
            wait_for(lambda: moment() or process.poll() is not None)
            assert process.poll() is None, log.read_text()[-6000:]
            os.killpg(process.pid, signal.SIGKILL)

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
            **plays.IN_PROCESS,  # which halves the time
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
        "k3s_config": {"etcd-s3-secret-key": S3_SECRET},
        "k3s_containerd_config": f"# {MIRROR_SECRET}",
        "k3s_token": SECRET,
        "k3s_agent_token": AGENT_SECRET,
        "k3s_registries": {"configs": {"registry.example": {"auth": {"username": "u", "password": REGISTRY_SECRET}}}},
    }


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 240
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)
