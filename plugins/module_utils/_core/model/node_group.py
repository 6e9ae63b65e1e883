# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""A group of nodes, which queues can be held to. It is a label and a taint of each of its nodes and no object of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .check import Problem
from .names import KEY, LABEL, SUBDOMAIN

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .table import Noun

# Label and taint. Pods of a queue with the group tolerate the taint, see jobs/pods.py.
KEY_OF_GROUP = "paddleflow.org/node-group"
# The label that Volcano's plugin nodegroup reads.
VOLCANO = "volcano.sh/nodegroup-name"
EFFECT = "NoSchedule"

NOUN: Noun = {
    "api": "v1",
    "kind": "Node",
    "plural": "nodes",
    "scope": "Cluster",
    "foreign": True,
    "name": {"type": "string", "pattern": f"^{LABEL}$", "min": 1, "max": 63},
    "spec": {
        "nodes": {"type": "list", "items": {"type": "string", "pattern": f"^{SUBDOMAIN}$", "max": 253}, "max": 5000},
        "selector": {"type": "map", "pattern": f"^{KEY}$", "items": {"type": "string", "max": 63}, "max": 64},
        "exclusive": {"type": "bool", "default": True},
    },
}


def problems(_name: str, spec: Mapping[str, Any]) -> Iterator[Problem]:
    if "nodes" not in spec and not spec.get("selector"):
        yield Problem(("nodes",), "missing", "given where no selector is", "An empty list is a group without nodes.")
    for key in (KEY_OF_GROUP, VOLCANO):
        if key in spec.get("selector", {}):
            yield Problem(("selector",), f"by {key}", "by other labels", "It is what makes a node one of the group.")


def group_of(node: Mapping[str, Any]) -> str:
    """Empty for a node of no group."""
    labels = node.get("metadata", {}).get("labels", {})
    found: str = labels.get(KEY_OF_GROUP) or labels.get(VOLCANO, "")
    return found


def build(node: Mapping[str, Any], group: str, exclusive: bool = True) -> dict[str, Any]:
    """A node as one of the group, or, without a group, as one of none. All else in it stays as it is."""
    metadata, spec = dict(node.get("metadata", {})), dict(node.get("spec", {}))
    labels = {key: value for key, value in metadata.pop("labels", {}).items() if key not in (KEY_OF_GROUP, VOLCANO)}
    taints = [taint for taint in spec.pop("taints", None) or () if taint.get("key") != KEY_OF_GROUP]
    if group:
        labels |= {KEY_OF_GROUP: group, VOLCANO: group}
    if group and exclusive:
        taints.append({"key": KEY_OF_GROUP, "value": group, "effect": EFFECT})
    if taints:
        spec["taints"] = taints
    if labels:
        metadata["labels"] = labels
    return {**node, "metadata": metadata, "spec": spec}


def declared(node: Mapping[str, Any]) -> dict[str, Any]:
    """Whether the group's nodes are its own, as a node of it says."""
    tainted = any(taint.get("key") == KEY_OF_GROUP for taint in node.get("spec", {}).get("taints") or ())
    return {"exclusive": tainted}
