# SPDX-License-Identifier: Apache-2.0
"""What every part needs: the configuration, the commands of the host, and the list of changes."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


class NodeError(Exception):
    """Says what could not be done on the node, and the remedy."""


@dataclass(frozen=True)
class Network:
    host_address: str
    node_address: str
    prefix: int
    pod_cidr: str
    service_cidr: str
    outbound: bool


@dataclass(frozen=True)
class Ready:
    """How a service shows that it answers: a TCP port, a unix socket, a path of the API server, or its health check
    (a URL inside the network namespace)."""

    kind: str
    target: str
    timeout: float = 120.0


@dataclass(frozen=True)
class Service:
    name: str
    argv: list[str]
    environment: dict[str, str] = field(default_factory=dict)
    watch: list[str] = field(default_factory=list)  # files whose change means a restart
    ready: Ready | None = None
    keeps_children: bool = False  # its children outlive a restart (containerd's shims)


@dataclass(frozen=True)
class Pki:
    kubeadm_config: str
    node_name: str
    node_address: str
    renew_days: int
    users: dict[str, str]  # kubeconfig file name -> user name


@dataclass(frozen=True)
class Config:
    instance: str
    data_dir: Path
    run_dir: Path
    supervisor: str
    binary: str
    applets: list[str]
    network: Network
    pki: Pki
    services: list[Service]

    @classmethod
    def load(cls, text: str) -> Config:
        raw: dict[str, Any] = json.loads(text)
        services = []
        for item in raw.pop("services"):
            ready = item.pop("ready", None)
            services.append(Service(**item, ready=Ready(**ready) if ready else None))
        return cls(
            network=Network(**raw.pop("network")),
            pki=Pki(**raw.pop("pki")),
            services=services,
            data_dir=Path(raw.pop("data_dir")),
            run_dir=Path(raw.pop("run_dir")),
            **raw,
        )


def canonical(part: Service | Pki) -> str:
    """The same text for the same configuration, in whatever order its keys were written."""
    return json.dumps(asdict(part), sort_keys=True)


class Host:
    """Runs commands; in check mode it only notes what they would have changed."""

    def __init__(self, check: bool = False) -> None:
        self.check = check
        self.changes: list[str] = []

    def change(self, what: str, *commands: Sequence[str]) -> bool:
        """Note a change and carry it out; True when it was carried out."""
        self.changes.append(what)
        if not self.check:
            for command in commands:
                self.run(command)
        return not self.check

    @staticmethod
    def run(command: Sequence[str]) -> str:
        try:
            done = subprocess.run(command, check=True, capture_output=True, text=True)
        except FileNotFoundError:
            raise NodeError(f"{command[0]} is not installed: install its package, then run again.") from None
        except subprocess.CalledProcessError as error:
            said = (error.stderr or error.stdout or "").strip()
            raise NodeError(f"`{' '.join(command)}` failed with exit code {error.returncode}: {said}") from None
        return done.stdout

    @staticmethod
    def succeeds(command: Sequence[str]) -> bool:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
