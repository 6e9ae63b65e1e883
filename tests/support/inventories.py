# SPDX-License-Identifier: Apache-2.0
"""Clusters to make an inventory of, and ansible-inventory as a user runs it, on the installed collection."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from paddleflow_core.kube.client import Client, Object

from tests.support import plays
from tests.support.binaries import ROOT, built
from tests.support.control_plane import ControlPlane
from tests.support.kube_api import define

GUIDE = ROOT / "docs/guides/inventory.md"
ROLE = "paddleflow-inventory"
FATAL = {"ANSIBLE_INVENTORY_UNPARSED_FAILED": "True"}


def guide(language: str) -> dict[str, str]:
    """The blocks of the guide, by the path in their first line."""
    text = GUIDE.read_text(encoding="utf-8")
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return {block.splitlines()[0].lstrip("#$ "): block for block in blocks}


# ---- what is in the cluster ----


def served(api: ControlPlane) -> None:
    """The kinds beside the nodes."""
    define(api, built("volcano") / "crds", ROOT / "crds")


def put(client: Client, wanted: Object) -> None:
    """An object with its status, which cannot be written at once."""
    client.apply({key: value for key, value in wanted.items() if key != "status"})
    if "status" in wanted:
        kept = {key: wanted[key] for key in ("apiVersion", "kind", "status")}
        identity = {key: value for key, value in wanted["metadata"].items() if key in ("name", "namespace")}
        client.apply({**kept, "metadata": identity}, subresource="status")


def node(name: str, address: str = "", **labels: str) -> Object:
    taints = [
        {"key": key, "value": value, "effect": "NoSchedule"} for key, value in labels.items() if "node-group" in key
    ]
    capacity = {"cpu": "16", "memory": "64Gi", "pods": "110"}
    if "paddleflow.org/hardware-type" in labels:
        capacity["nvidia.com/gpu"] = "4"
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {"taints": taints} if taints else {},
        "status": {
            "addresses": [{"type": "InternalIP", "address": address}] if address else [],
            "capacity": capacity,
            "allocatable": {**capacity, "cpu": "15500m"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def pod(name: str, namespace: str, on: str, job: str = "", phase: str = "Running") -> Object:
    asked = {"requests": {"cpu": "1500m", "memory": "2Gi"}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": {"volcano.sh/job-name": job} if job else {}},
        "spec": {"nodeName": on, "containers": [{"name": "main", "image": "none", "resources": asked}]},
        "status": {"phase": phase},
    }


def cache(name: str, **held: int) -> Object:
    entries = [
        {"fileSystem": file_system.replace("_", "/"), "cachedBytes": size, "cachedFiles": 1}
        for file_system, size in held.items()
    ]
    return {
        "apiVersion": "paddleflow.org/v1alpha1",
        "kind": "NodeCache",
        "metadata": {"name": name},
        "spec": {"nodeName": name},
        "status": {"fileSystems": entries},
    }


def queue(name: str, parent: str = "root", group: str = "", **status: Any) -> Object:
    affinity = {"nodeGroupAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [group]}}
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name, "labels": {"team": name}},
        "spec": {"parent": parent, "capability": {"cpu": "20"}, **({"affinity": affinity} if group else {})},
        **({"status": status} if status else {}),
    }


def of_the_guide() -> Iterator[Object]:
    for name in ("research",):
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        yield {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": name}}
    gpu = {
        "paddleflow.org/node-group": "a100",
        "paddleflow.org/hardware-type": "A100",
        "topology.kubernetes.io/zone": "east",
    }
    yield node("main", "10.1.0.1", **{"node-role.kubernetes.io/control-plane": ""})
    yield node("gpu-1", "10.1.0.2", **gpu)
    yield node("gpu-2", "10.1.0.3", **gpu)
    yield pod("train-worker-0", "research", "gpu-1", "train")
    yield pod("train-worker-1", "research", "gpu-1", "train")
    yield pod("done", "research", "gpu-2", "old", phase="Succeeded")
    yield cache("gpu-1", research_images=42 * 2**30)
    yield queue("team-a", group="a100")


# ---- who reads it ----


@dataclass(frozen=True)
class User:
    """A service account, by the variables that AWX sets for a bearer token."""

    token: str
    environment: dict[str, str]


def user(api: ControlPlane, name: str, role: str, ca: Path) -> User:
    """With the given cluster role, written as a manifest; without one, it may do nothing."""
    api.kubectl("create", "serviceaccount", name, "--namespace=default")
    if role:
        api.kubectl("apply", "--filename=-", stdin=role)
        role_name = yaml.safe_load(role)["metadata"]["name"]
        api.kubectl(
            "create", "clusterrolebinding", name, f"--clusterrole={role_name}", f"--serviceaccount=default:{name}"
        )
    token = api.kubectl("create", "token", name, "--namespace=default").strip()
    config = json.loads(api.kubectl("config", "view", "--raw", "-o", "json"))
    ca.write_bytes(base64.b64decode(config["clusters"][0]["cluster"]["certificate-authority-data"]))
    ours = {
        "K8S_AUTH_HOST": f"https://127.0.0.1:{api.port}",
        "K8S_AUTH_API_KEY": token,
        "K8S_AUTH_VERIFY_SSL": "True",
        "K8S_AUTH_SSL_CA_CERT": str(ca),
    }
    return User(token, ours)


# ---- what comes out ----


@dataclass(frozen=True)
class Listing:
    code: int
    output: str
    errors: str

    @property
    def data(self) -> dict[str, Any]:
        """It succeeded, and had nothing to say beside the inventory."""
        assert (self.code, self.errors) == (0, ""), self.errors
        found: dict[str, Any] = json.loads(self.output)
        return found

    @property
    def variables(self) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = self.data["_meta"]["hostvars"]
        return found

    def hosts(self, group: str) -> list[str]:
        """Of a group and all that are part of it."""
        entry = self.data.get(group, {})
        below = [host for child in entry.get("children", []) for host in self.hosts(child)]
        return sorted({*entry.get("hosts", []), *below})


def listing(source: Path, *arguments: str, through: Sequence[str] = (), **environment: str) -> Listing:
    """
    :param through: a program that runs the command it is given
    """
    kept = {key: None for key in os.environ if key.startswith(("K8S_AUTH_", "KUBE"))}
    env = {
        key: value for key, value in plays.environment(**environment).items() if key in environment or key not in kept
    }
    done = subprocess.run(
        [*through, "ansible-inventory", "-i", str(source), *(arguments or ("--list", "--export"))],
        env=env, cwd=source.parent, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return Listing(done.returncode, done.stdout, done.stderr)


def config(folder: Path, name: str = "site.paddleflow.yml", **options: Any) -> Path:
    path = folder / name
    path.write_text(yaml.safe_dump({"plugin": "paddleflow.core.paddleflow", **options}), encoding="utf-8")
    return path
