# SPDX-License-Identifier: Apache-2.0
"""What the probe says of a good host, and how a change of it is judged."""

from __future__ import annotations

import copy
import typing as t

from paddleflow_core.plan.preflight import evaluate
from paddleflow_core.plan.preflight_settings import GIB, Settings

Facts = dict[str, t.Any]


def place_facts(path: str, **other: t.Any) -> Facts:
    place = {
        "path": path,
        "real": path,
        "existing": "/var",
        "is_directory": True,
        "device": 1,
        "mount": "/",
        "source": "/dev/sda",
    }
    place |= {"fstype": "ext4", "options": ["rw"], "free": 100 * GIB, "size": 200 * GIB}
    place |= {"inodes": 10_000_000, "inodes_free": 9_000_000, "names_have_types": True}
    return place | other


FEATURES = [
    "netns",
    "mountns",
    "overlay",
    "veth",
    "bridge",
    "vxlan",
    "nftables",
    "nftables_masq",
    "nftables_numgen",
    "nftables_fib",
    "fuse",
]
NODE: Facts = {
    "time": 1790000000.0,
    "sent": 1790000000.0,
    "python": {"version": [3, 11, 2], "executable": "/usr/bin/python3"},
    "uid": 0,
    "capabilities": {"net_admin": True, "sys_admin": True, "sys_resource": True},
    "hostname": "n1",
    "machine": "m1",
    "system": "Linux",
    "kernel": "6.1.0-13-amd64",
    "architecture": "x86_64",
    "os": {"id": "debian", "like": [], "version": "12", "name": "Debian GNU/Linux 12 (bookworm)"},
    "package_managers": ["apt-get"],
    "memory": {"total": 8 * GIB, "available": 7 * GIB, "limit": None},
    "paths": {
        "data": place_facts("/var/lib/paddleflow"),
        "run": place_facts("/run/paddleflow", fstype="tmpfs", device=2),
    },
    "marker": None,
    "cgroup": {"version": 2, "controllers": ["cpu", "cpuset", "memory", "pids"], "read_only": []},
    "addresses": [{"interface": "eth0", "address": "192.0.2.2", "prefix": 24}],
    "routes": [
        {"destination": "0.0.0.0/0", "interface": "eth0"},
        {"destination": "192.0.2.0/24", "interface": "eth0"},
        {"destination": "10.201.0.0/30", "interface": "paddleflow"},
    ],
    "listeners": [],
    "proxies": {},
    "features": dict.fromkeys(FEATURES),
    "problems": {},
}
CONTROL: Facts = {
    "python": {"version": [3, 11, 7], "executable": "/venv/bin/python"},
    "machine": "m1",
    "memory": NODE["memory"],
    "paths": {"cache": place_facts("/var/cache/paddleflow")},
    "proxies": {},
    "problems": {},
}
SETTINGS: dict[str, t.Any] = {
    "host": "n1",
    "version": "1.34.4",
    "own_addresses": {"kubernetes_host_address": "10.201.0.1", "kubernetes_node_address": "10.201.0.2"},
    "pod_cidr": "10.202.0.0/16",
    "service_cidr": "10.203.0.0/16",
    "own_interfaces": ["paddleflow"],
    "distributions": {"debian": "12", "ubuntu": "22.04"},
    "package_managers": ["apt-get"],
    "compile": True,
    "built_for": "x86_64",
}
K3S: dict[str, t.Any] = {
    "provider": "k3s",
    "own_addresses": {},
    "ports": [
        {"port": 6443, "protocol": "tcp", "purpose": "K3s' API server"},
        {"port": 8472, "protocol": "udp", "purpose": "flannel"},
    ],
}
NO_PROXY = "localhost,127.0.0.1,10.201.0.1,10.201.0.2,10.202.0.0/16,10.203.0.0/16,.svc,.cluster.local"
GOOD_PYTHON = "install Python 3.9 or newer there and set ansible_python_interpreter to it."


def changed(facts: Facts, changes: Facts) -> Facts:
    """A copy with ``{"paths.data.free": 1}`` applied; what a dotted name leads through is made a dict when it is none."""
    facts = copy.deepcopy(facts)
    for name, value in changes.items():
        *way, last = name.split(".")
        place = facts
        for step in way:
            place = place[step]
        place[last] = value
    return facts


def judged(node: Facts | None = None, control: Facts | None = None, **settings: t.Any) -> list[str]:
    found = evaluate(
        changed(NODE, node or {}), changed(CONTROL, control or {}), Settings.from_data({**SETTINGS, **settings})
    )
    return [f"{finding.severity}: {finding.message}" for finding in found]
