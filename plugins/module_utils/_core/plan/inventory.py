# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""A cluster as an inventory: its nodes are the hosts; groups and variables follow from what was read.

What was read is kept small and plain (`node`, `usage`, `queue`), since a thousand nodes and their pods are held at once
and written into Ansible's cache. Nothing in it changes by itself, such as the time of a heartbeat: the same cluster is the same inventory.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from ..model import quantity
from ..model.jobs.pods import IDENTITY
from ..model.node_group import KEY_OF_GROUP, VOLCANO
from . import amounts, requests

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from typing import TypedDict

    Object = Mapping[str, Any]

    class Facts(TypedDict, total=False):
        """What was read; a part that could not be read is not there."""

        nodes: Sequence[Object]
        # By node.
        pods: Mapping[str, Object]
        caches: Mapping[str, Mapping[str, int]]
        queues: Sequence[Object]


# Parts beside the nodes, which a cluster may not have, or not show to everybody.
PARTS = ("pods", "queues", "caches")
# Pods that hold a place on a node.
PLACED = "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"

ALL = "paddleflow_nodes"
UNGROUPED = "nodes_without_group"
# The first is also the key of a taint.
_GROUP_LABELS = (KEY_OF_GROUP, VOLCANO)
_HARDWARE_LABELS = (
    "paddleflow.org/hardware-type",
    "paddleflow.baidu.com/hardware-type",
    "nvidia.com/gpu.product",
    "amd.com/gpu.product-name",
)
_ROLE = "node-role.kubernetes.io/"
_JOB_LABELS = ("volcano.sh/job-name", IDENTITY[1])
# Of an extended resource such as nvidia.com/gpu, huawei.com/Ascend910 or volcano.sh/vgpu-number; rdma/hca is none.
_ACCELERATOR = re.compile(
    r"(?<![a-z])[cv]?(?:gpu|npu|xpu|tpu|hpu|dcu|mlu|gcu|mig-|ascend|gaudi|neuron|fpga)", re.IGNORECASE
)
_SIMPLE = re.compile(r"[A-Za-z0-9]+(-[A-Za-z0-9]+)*")


class Host(NamedTuple):
    name: str
    groups: Sequence[str]
    variables: Mapping[str, Any]


class Inventory(NamedTuple):
    hosts: Sequence[Host]
    # Every group, with the groups that are part of it.
    groups: Mapping[str, Sequence[str]]


# ---- what is kept of each object ----


def node(found: Object) -> dict[str, Any]:
    spec, status = found.get("spec") or {}, found.get("status") or {}
    taints = [{key: taint.get(key, "") for key in ("key", "value", "effect")} for taint in spec.get("taints") or ()]
    addresses: dict[str, list[str]] = {}
    for one in status.get("addresses") or ():
        addresses.setdefault(one["type"], []).append(one["address"])
    return {
        "name": found["metadata"]["name"],
        "labels": _sorted(found["metadata"].get("labels")),
        "taints": sorted(taints, key=lambda taint: (taint["key"], taint["value"], taint["effect"])),
        "schedulable": not spec.get("unschedulable", False),
        "addresses": _sorted(addresses),
        "capacity": _sorted(status.get("capacity")),
        "allocatable": _sorted(status.get("allocatable")),
        "conditions": _sorted({one["type"]: one["status"] for one in status.get("conditions") or ()}),
    }


class Pod(NamedTuple):
    node: str
    # <namespace>/<name> of the job that runs it, when it runs.
    job: str
    requests: Mapping[str, int]


def pod(found: Object) -> Pod:
    metadata, spec = found["metadata"], found["spec"]
    labels = metadata.get("labels") or {}
    name = next((labels[key] for key in _JOB_LABELS if labels.get(key)), "")
    running = (found.get("status") or {}).get("phase") == "Running"
    job = f"{metadata['namespace']}/{name}" if name and running else ""
    return Pod(spec.get("nodeName", ""), job, requests.of(spec))


def usage(pods: Iterable[Pod]) -> dict[str, dict[str, Any]]:
    """By node: how many pods, what they ask for, and whose they are."""
    counts: dict[str, int] = {}
    sums: dict[str, dict[str, int]] = {}
    jobs: dict[str, set[str]] = {}
    for one in pods:
        counts[one.node] = counts.get(one.node, 0) + 1
        asked = sums.setdefault(one.node, {})
        for resource, amount in one.requests.items():
            asked[resource] = asked.get(resource, 0) + amount
        jobs.setdefault(one.node, set()).update({one.job} - {""})
    return {
        name: {
            "pods": counts[name],
            "requested": {resource: amounts.text(resource, asked[resource]) for resource in sorted(asked)},
            "jobs": sorted(jobs[name]),
        }
        for name, asked in sums.items()
    }


def queue(found: Object) -> dict[str, Any]:
    spec = found.get("spec") or {}
    affinity = (spec.get("affinity") or {}).get("nodeGroupAffinity") or {}
    return {
        "name": found["metadata"]["name"],
        "parent": spec.get("parent", ""),
        "groups": list(affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or ()),
    }


# ---- what follows ----


def inventory(facts: Facts) -> Inventory:
    nodes = sorted(facts["nodes"], key=lambda one: str(one["name"]))
    hosts = [Host(one["name"], _groups(one, facts), _variables(one, facts)) for one in nodes]
    queues = dict(_queue_groups(facts.get("queues", ())))
    # A queue's nodes are those of a group, so that a thousand queues are not told of a thousand nodes each.
    parts = {group: () for groups in (*queues.values(), *(host.groups for host in hosts)) for group in groups}
    return Inventory(hosts, _sorted({ALL: (), **parts, **queues}))


def unknown(given: Iterable[str], known: Collection[str]) -> str:
    """What is wrong with the names of options; empty when nothing is."""
    wrong = sorted(set(given) - set(known))
    return f"{', '.join(wrong)}: no such option; there are {', '.join(sorted(known))}." if wrong else ""


def _groups(one: Object, facts: Facts) -> list[str]:
    group, hardware = _node_group(one), _hardware(one)
    held = facts.get("caches", {}).get(one["name"], {})
    found = {ALL, _exact("node_group", group) if group else UNGROUPED}
    found |= {_plain("role", role) for role in _roles(one)}
    found |= {_plain("accelerator", resource) for resource in _accelerators(one)}
    found |= {_plain("hardware", hardware)} if hardware else set()
    found |= {_exact("cached", *file_system.split("/", 1)) for file_system, size in held.items() if size}
    return sorted(found)


def _variables(one: Object, facts: Facts) -> dict[str, Any]:
    addresses = one["addresses"]
    address = next((addresses[kind][0] for kind in ("InternalIP", "ExternalIP", "Hostname") if kind in addresses), "")
    found = told(one, facts)
    where = {"ansible_host": address} if address else {}
    return where | {f"paddleflow_{name}": found[name] for name in sorted(found)}


def told(one: Object, facts: Facts) -> dict[str, Any]:
    """What is said of a node, in the words that inventory and info modules have for it."""
    found = {
        "accelerators": _accelerators(one),
        "addresses": one["addresses"],
        "allocatable": one["allocatable"],
        "capacity": one["capacity"],
        "conditions": one["conditions"],
        "hardware_type": _hardware(one),
        "labels": one["labels"],
        "node_group": _node_group(one),
        "ready": one["conditions"].get("Ready") == "True",
        "roles": _roles(one),
        "schedulable": one["schedulable"],
        "taints": one["taints"],
    }
    if "pods" in facts:
        found |= facts["pods"].get(one["name"], {"pods": 0, "requested": {}, "jobs": []})
    if "caches" in facts:
        found["cached_bytes"] = facts["caches"].get(one["name"], {})
    return found


def _queue_groups(queues: Iterable[Object]) -> Iterator[tuple[str, Sequence[str]]]:
    known = {one["name"]: one for one in queues}
    for name in known:
        if name != "root":  # of which all others are part, and which takes no job
            yield _exact("queue", name), [_exact("node_group", group) for group in _bound(name, known)] or [UNGROUPED]


def _bound(name: str, queues: Mapping[str, Object]) -> Sequence[str]:
    """The groups of nodes of a queue: its own, else those of the nearest queue above it that has some."""
    seen: set[str] = set()
    while name in queues and name not in seen:
        if queues[name]["groups"]:
            groups: Sequence[str] = queues[name]["groups"]
            return groups
        seen.add(name)
        name = queues[name]["parent"]
    return ()


def _node_group(one: Object) -> str:
    tainted = {taint["key"]: taint["value"] for taint in one["taints"]}
    return (
        _first(one["labels"], _GROUP_LABELS[:1])
        or _first(tainted, _GROUP_LABELS[:1])
        or _first(one["labels"], _GROUP_LABELS)
    )


def _hardware(one: Object) -> str:
    return _first(one["labels"], _HARDWARE_LABELS)


def _first(found: Mapping[str, str], keys: Iterable[str]) -> str:
    return next((found[key] for key in keys if found.get(key)), "")


def _roles(one: Object) -> list[str]:
    return sorted(key.removeprefix(_ROLE) for key in one["labels"] if key.startswith(_ROLE) and key != _ROLE)


def _accelerators(one: Object) -> dict[str, int]:
    """Extended resources that are accelerators, with how many the node has."""
    counts = {
        name: quantity.parse(amount) // quantity.UNIT
        for name, amount in one["capacity"].items()
        if "/" in name and _ACCELERATOR.search(name)
    }
    return {name: count for name, count in counts.items() if count}


def _plain(kind: str, text: str) -> str:
    """A group's name, in the letters that one may have."""
    return f"{kind}_{re.sub('[^A-Za-z0-9_]', '_', text)}"


def _exact(kind: str, *parts: str) -> str:
    """As _plain, but never the same for two: what could be mistaken for another gets a digest of itself."""
    name = _plain(kind, "__".join(parts))
    if all(_SIMPLE.fullmatch(part) for part in parts):
        return name
    return f"{name}_{hashlib.sha256('/'.join(parts).encode()).hexdigest()[:8]}"


def _sorted(found: Mapping[str, Any] | None) -> dict[str, Any]:
    return {key: found[key] for key in sorted(found)} if found else {}
