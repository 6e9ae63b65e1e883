# SPDX-License-Identifier: Apache-2.0
"""Our client against the real API server of a test run, as its administrator or anybody else."""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import yaml
from paddleflow_core.kube import config
from paddleflow_core.kube.client import Client, Object
from paddleflow_core.kube.declare import declare
from paddleflow_core.kube.discovery import Discovery
from paddleflow_core.kube.errors import KindNotServedError
from paddleflow_core.kube.kinds import Kind
from paddleflow_core.kube.transport import Transport
from paddleflow_core.kube.wanted import Run, Wanted

from tests.support.control_plane import ControlPlane


def kubeconfig(api: ControlPlane, user: str = "admin", *options: str) -> dict[str, Any]:
    """With a client certificate by the cluster's own authority. Only ``admin`` may do anything."""
    rights = ["--org=system:masters"] if user == "admin" else []
    command = [str(api.folder / "bin/kubeadm"), "kubeconfig", "user", f"--client-name={user}", *rights, *options]
    done = subprocess.run([*command, f"--config={api.folder}/kubeadm.yaml"], check=True, capture_output=True)
    made: dict[str, Any] = yaml.safe_load(done.stdout)
    return made


def changed(document: Mapping[str, Any], *, user: Mapping[str, Any] | None = None, **cluster: Any) -> dict[str, Any]:
    """A kubeconfig with other credentials, or other fields of its cluster."""
    (first,) = document["clusters"]
    (who,) = document["users"]
    entry = {**first["cluster"], **{name.replace("_", "-"): value for name, value in cluster.items()}}
    return {
        **document,
        "clusters": [{**first, "cluster": {name: value for name, value in entry.items() if value is not None}}],
        "users": [{**who, "user": who["user"] if user is None else user}],
    }


Result = TypeVar("Result")


class Session:
    """Clients that end with the test, each with the options that a module would have."""

    def __init__(self, api: ControlPlane) -> None:
        self.api = api
        self.admin = kubeconfig(api)
        self._transports: list[Transport] = []

    def transport(self, environment: Mapping[str, str] | None = None, /, **options: Any) -> Transport:
        options = options or {"kubeconfig": self.admin}
        made = Transport(config.resolve(options, environment or {}, service_account=self.api.folder / "nowhere"))
        self._transports.append(made)
        return made

    def client(self, environment: Mapping[str, str] | None = None, /, **options: Any) -> Client:
        transport = self.transport(environment, **options)
        return Client(transport, Discovery(transport, None))

    def close(self) -> None:
        for transport in self._transports:
            transport.close()


@contextlib.contextmanager
def session_in(api: ControlPlane, namespace: str) -> Iterator[Session]:
    """With a namespace that is there."""
    session = Session(api)
    try:
        session.client().apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        yield session
    finally:
        session.close()


def definition(group: str, version: str, kind: str, plural: str) -> Object:
    """Of a kind in namespaces that may say whatever it likes."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"},
            "versions": [{"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }


def define(api: ControlPlane, *paths: Path, objects: Sequence[Object] = ()) -> None:
    """Kinds, by files or folders of them, until they are served. `kubectl wait` fails on a definition that has no conditions yet."""
    files = [file for path in paths for file in (sorted(path.glob("*.yaml")) if path.is_dir() else [path])]
    session = Session(api)
    try:
        read = [yaml.safe_load(file.read_text(encoding="utf-8")) for file in files]
        wanted = [Wanted(one) for one in [*read, *objects]]
        client = session.client()
        outcomes = declare(Run(client, time.monotonic() + 60, force_conflicts=True), wanted)
        assert [str(one.error) for one in outcomes if one.error] == []
        for one in wanted:
            spec = one.object["spec"]
            version = next(each["name"] for each in spec["versions"] if each["served"])
            names, namespaced = spec["names"], spec["scope"] == "Namespaced"
            kind = Kind(f"{spec['group']}/{version}", names["kind"], names["plural"], namespaced)
            when_served(lambda asked=kind: client.list(asked))  # type: ignore[misc]
    finally:
        session.close()


def when_served(ask: Callable[[], Result]) -> Result:
    """A definition is Established a moment before its kind is served, and nothing tells when it is."""
    deadline = time.monotonic() + 60
    while True:
        try:
            return ask()
        except KindNotServedError:
            if time.monotonic() > deadline:
                raise


def config_map(namespace: str, name: str, **data: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace},
        "data": data,
    }
