# SPDX-License-Identifier: Apache-2.0
"""Plays over a cluster that is named to them: a real API server, with users who may do what a test says."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from paddleflow_core.plan.access import Need

from tests.support import plays
from tests.support.control_plane import ControlPlane
from tests.support.kube_api import changed, kubeconfig
from tests.support.plays import Play

# What a developer's own environment may say, in both spellings.
AMBIENT = [f"{protocol}_PROXY" for protocol in ("HTTPS", "HTTP", "ALL", "NO")]
AMBIENT += ["KUBECONFIG", "K8S_AUTH_KUBECONFIG", "K8S_AUTH_CONTEXT"]
NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "existing"},
    "status": {
        "conditions": [{"type": "Ready", "status": "True"}],
        "nodeInfo": {
            "operatingSystem": "linux",
            "containerRuntimeVersion": "containerd://1.7.1",
            "architecture": "riscv64",
        },
    },
}
RBAC = "rbac.authorization.k8s.io"


class Site:
    """A folder with kubeconfigs, and plays over hosts that all are this machine, each with variables of its own."""

    def __init__(self, api: ControlPlane, folder: Path) -> None:
        self.api, self.folder = api, folder
        self.admin = kubeconfig(api)
        old = folder / "old/kubectl"
        old.parent.mkdir()
        old.write_text("""#!/bin/sh\necho '{"clientVersion": {"gitVersion": "v1.29.0"}}'\n""", encoding="utf-8")
        old.chmod(0o755)

    def config_of(self, user: str, *options: str) -> dict[str, Any]:
        return kubeconfig(self.api, user, *options)

    def path(self, name: str) -> Path:
        return self.folder / f"{name}.conf"

    def named(self, name: str) -> dict[str, str]:
        return {"kubernetes_kubeconfig": str(self.path(name))}

    def write(self, name: str, config: Mapping[str, Any]) -> None:
        self.path(name).write_text(json.dumps(config), encoding="utf-8")

    def change(self, name: str, *, user: Mapping[str, str] | None = None, **cluster: str) -> None:
        """The administrator's kubeconfig with other credentials, or with other fields of its cluster."""
        self.write(name, changed(self.admin, user=user, **cluster))

    def run(self, playbook: str, hosts: Mapping[str, Mapping[str, Any]], *arguments: str, **environment: str) -> Play:
        """The text of a playbook over hosts, all of provider existing unless one says otherwise."""
        inventory, file = self.folder / "inventory.json", self.folder / "playbook.yml"
        common = {
            "ansible_connection": "local",
            "kubernetes_provider": "existing",
            "kubernetes_data_dir": f"{self.folder}/data",
            "preflight_images": False,  # no image is brought anywhere
            "path": self.search_path(self.api.folder / "bin"),
        }
        inventory.write_text(json.dumps({"all": {"vars": common, "hosts": hosts}}), encoding="utf-8")
        file.write_text(playbook, encoding="utf-8")
        environment = {**{name: "" for word in AMBIENT for name in (word, word.lower())}, **environment}
        log = self.folder / "last-play.log"
        environment |= plays.IN_PROCESS
        return plays.run(str(file), {}, f"--inventory={inventory}", *arguments, log=log, **environment)

    @staticmethod
    def search_path(first: Path) -> str:
        return f"{first}:{os.environ['PATH']}"

    @contextlib.contextmanager
    def node(self) -> Iterator[None]:
        """A node is there only for now: another test's scheduler would place pods on it."""
        self.api.kubectl("create", "--filename=-", stdin=json.dumps(NODE))
        try:
            yield
        finally:
            self.api.kubectl("delete", "node", NODE["metadata"]["name"])  # type: ignore[index]

    def create(self, *items: Mapping[str, Any]) -> None:
        bundle = {"apiVersion": "v1", "kind": "List", "items": items}
        self.api.kubectl("create", "--filename=-", stdin=json.dumps(bundle))

    def grant(self, user: str, needs: Iterable[Need], places: Mapping[str, str], name: str = "") -> None:
        """Let a user do this and nothing else: in the whole cluster, and in the namespaces that the needs are about."""
        rules: dict[str, list[dict[str, Any]]] = {}
        for need in needs:
            rule = {"apiGroups": [need.group], "resources": list(need.resources), "verbs": list(need.verbs)}
            rules.setdefault(places[need.place] if need.place else "", []).append(rule)
        for namespace, granted in rules.items():
            kind = "Role" if namespace else "ClusterRole"
            metadata = {"name": name or user, **({"namespace": namespace} if namespace else {})}
            role = {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": metadata, "rules": granted}
            binding = {
                "apiVersion": f"{RBAC}/v1",
                "kind": f"{kind}Binding",
                "metadata": metadata,
                "roleRef": {"apiGroup": RBAC, "kind": kind, "name": name or user},
                "subjects": [{"apiGroup": RBAC, "kind": "User", "name": user}],
            }
            self.create(role, binding)


def printed(play: Play, task: str, result: str) -> Any:
    """The message of one result of a task."""
    text = play.output.partition(f"TASK [{task}]")[2].partition(f"{result} => ")[2]
    return json.JSONDecoder().raw_decode(text)[0]["msg"]
