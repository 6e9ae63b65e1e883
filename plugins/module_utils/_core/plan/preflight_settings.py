# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""What an installation needs, as preflight is told by the roles' variables."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass, field, fields

Facts = Mapping[str, t.Any]
GIB = 1 << 30


@dataclass(frozen=True)
class Settings:
    """Defaults stand for tests; roles/preflight/defaults/main.yml says what is really asked for."""

    provider: str = "embedded"
    host: str = "localhost"
    instance: str = "paddleflow"
    # Of the Kubernetes that will run.
    version: str = ""
    data_dir: str = "/var/lib/paddleflow"
    run_dir: str = "/run/paddleflow"
    node_name: str = ""
    # Addresses that must be reached without a proxy, and {variable: address} of those the cluster brings along.
    node_addresses: tuple[str, ...] = ()
    own_addresses: Mapping[str, str] = field(default_factory=dict)
    link_prefix: int = 30
    pod_cidr: str = ""
    service_cidr: str = ""
    max_pods: int = 110
    api_hosts: tuple[str, ...] = ()
    own_interfaces: tuple[str, ...] = ()
    # [{port, protocol, purpose}]
    ports: tuple[Mapping[str, t.Any], ...] = ()
    nodes: int = 1
    # Whether the cluster reaches other machines.
    outbound: bool = False
    # The architecture of what the control node brings to the nodes; empty: it brings nothing.
    built_for: str = ""
    # Whether images are brought to the cluster, and the registry that its nodes pull them from.
    images: bool = False
    registry: str = ""
    # Whether the control node has to build or push some of them.
    images_built: bool = False
    compile: bool = False
    python_control: tuple[int, ...] = (3, 11)
    python_node: tuple[int, ...] = (3, 9)
    kernel: tuple[int, ...] = (5, 13)
    clock_skew_max: float = 60
    distributions: Mapping[str, str] = field(default_factory=dict)
    package_managers: tuple[str, ...] = ()
    data_gib: float = 4
    data_inodes: int = 100_000
    cache_gib: float = 2
    cache_inodes: int = 10_000
    build_gib: float = 12
    build_inodes: int = 250_000
    memory_cluster_gib: float = 1.8
    memory_build_gib: float = 3.5

    @classmethod
    def from_data(cls, data: Mapping[str, t.Any]) -> Settings:
        """Numbers may come as text (``-e`` on a command line gives nothing else), versions as ``3.11``.

        :raises ValueError: for a name that is not known, or a value that is no number
        """
        known = {item.name: item for item in fields(cls)}
        values: dict[str, t.Any] = {}
        for name, value in data.items():
            if name not in known:
                raise ValueError(f"preflight knows no setting {name!r}; it knows {', '.join(sorted(known))}")
            values[name] = _converted(name, known[name].type, value)
        return cls(**values)

    def installed(self, node: Facts | None) -> bool:
        marker = (node or {}).get("marker") or {}
        return bool(marker.get("state") == "ready" and marker.get("provider") == self.provider)

    def data_needs(self, node: Facts | None) -> tuple[float, int]:
        """(GiB, inodes) that must still be free; an installation that is there has taken its share already."""
        return (1.0, 10_000) if self.installed(node) else (self.data_gib, self.data_inodes)

    def cache_needs(self) -> tuple[float, int]:
        return (self.build_gib, self.build_inodes) if self.compile else (self.cache_gib, self.cache_inodes)


def _converted(name: str, kind: t.Any, value: t.Any) -> t.Any:
    kind = str(kind)
    try:
        if kind == "tuple[int, ...]":
            return tuple(int(part) for part in (value.split(".") if isinstance(value, str) else value))
        if kind.startswith("tuple"):
            return tuple(value)
        if kind == "bool":
            if str(value).lower() not in ("true", "false"):
                raise ValueError
            return str(value).lower() == "true"
        if kind in ("int", "float"):
            return int(value) if kind == "int" else float(value)
        return str(value) if kind == "str" else value
    except (TypeError, ValueError):
        raise ValueError(f"preflight's setting {name} is {value!r}, but it must be of the kind {kind}") from None
