# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""A queue: what a team is entitled to, what it may borrow, and where. It is a Volcano Queue; what Volcano has no field for
stands in annotations, which our scheduler plugins and the infos read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from . import names, own, quantity
from .check import Problem

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from .table import Noun, Ready

_NAME = f"^{names.LABEL}$"
_OPEN: Ready = {"path": "status.state", "values": ["Open"]}
_CLOSED: Ready = {"path": "status.state", "values": ["Closed"]}
# Volcano has taken it up.
_STATES: Ready = {"path": "status.state", "values": ["Open", "Closing", "Closed"]}

NOUN: Noun = {
    "api": "scheduling.volcano.sh/v1beta1",
    "kind": "Queue",
    "plural": "queues",
    "scope": "Cluster",
    "states": {"open": "opened", "closed": "closed", "drained": "drained"},
    "ready": {"present": _STATES, "open": _OPEN, "closed": _CLOSED, "drained": _CLOSED},
    "name": {"type": "string", "pattern": _NAME, "min": 1, "max": 63},
    "codes": {
        "quotaType": "QueueQuotaTypeIsNotSupported",
        "min": "QueueResourceNotMatch",
        "": "QueueInvalidField",
    },
    "spec": {
        "namespace": {"type": "string", "pattern": _NAME, "max": 63, "immutable": True},
        "quotaType": {
            "type": "string",
            "enum": ["elasticQuota", "volcanoCapabilityQuota"],
            "default": "elasticQuota",
            "immutable": True,
        },
        "max": {"type": "resources", "aliases": ["maxResources"]},
        "min": {"type": "resources", "aliases": ["minResources"]},
        "parent": {"type": "string", "pattern": _NAME, "max": 63, "default": "root"},
        "isolation": {"type": "string", "enum": ["logical", "physical"], "default": "logical", "immutable": True},
        "nodeGroup": {"type": "string", "pattern": _NAME, "max": 63},
        "location": {
            "type": "map",
            "pattern": f"^{names.KEY}$",
            "items": {"type": "string", "pattern": names.LABEL_VALUE, "max": 63},
        },
        "hardwareTypes": {"type": "list", "items": {"type": "string", "min": 1, "max": 63}},
        "schedulingPolicy": {"type": "list", "items": {"type": "string", "enum": ["priority"]}},
        "ordering": {"type": "string", "enum": ["Fair", "StrictFIFO", "BestEffortFIFO"], "default": "Fair"},
        "withinQueue": {"type": "string", "enum": ["Never", "LowerPriority"], "default": "Never"},
        "lendable": {"type": "bool", "default": True},
        "reclaimable": {"type": "bool", "default": True},
        "maxRunningJobs": {"type": "int", "min": 1, "max": 100000},
    },
}

# Fields that Volcano has no place for. What is at its default is not written.
_ANNOTATED = {
    "namespace": "namespace",
    "quotaType": "quota-type",
    "isolation": "isolation",
    "hardwareTypes": "hardware-types",
    "schedulingPolicy": "scheduling-policy",
    "ordering": "ordering",
    "withinQueue": "within-queue",
    "maxRunningJobs": "max-running-jobs",
    # Volcano's field for it, guarantee, also holds what queues below keep: see plan/guarantees.py.
    "lendable": "lendable",
}
LENDABLE = f"paddleflow.org/{_ANNOTATED['lendable']}"
_RESERVED = ("default", "root")


def problems(name: str, spec: Mapping[str, Any]) -> Iterator[Problem]:
    """What no single field can tell."""
    if name.lower() in _RESERVED:
        yield Problem(
            ("name",), f"'{name}'", "another name", "Volcano's own queues have these names.", "QueueNameDuplicated"
        )
    if spec.get("parent") == name:
        yield Problem(("parent",), f"'{name}', the queue itself", "another queue")
    entitled = _entitled(spec)
    if spec.get("lendable") is False and not entitled:
        yield Problem(("lendable",), "false", "true where there is no min", "Without an entitlement nothing is kept.")
    if spec.get("isolation") == "physical" and "nodeGroup" not in spec:
        yield Problem(("nodeGroup",), "missing", "the group of nodes that a queue with isolation physical owns")
    for resource, low in entitled.items():
        high = spec.get("max", {}).get(resource)
        if high is None and spec.get("max"):
            allowed = f"at least min.{resource}, {low}, as max names other resources"
            yield Problem(("max", resource), "missing", allowed, "To Volcano a limit that leaves it out is none of it.")
        if high is not None and quantity.parse(low) > quantity.parse(high):
            yield Problem(("min", resource), str(low), f"at most max.{resource}, {high}")


def absent_problems(name: str) -> Iterator[Problem]:
    if name.lower() in _RESERVED:
        yield Problem(("name",), f"'{name}'", "another name", "Volcano's own queues stay.")


def remarks(_name: str, spec: Mapping[str, Any]) -> list[str]:
    ignored = "min" in spec and not _entitled(spec)
    return ["min is ignored: a queue with quotaType volcanoCapabilityQuota guarantees nothing."] if ignored else []


def _entitled(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """What it is guaranteed."""
    elastic = spec.get("quotaType", "elasticQuota") == "elasticQuota"
    return spec.get("min", {}) if elastic else {}


def build(name: str, _namespace: str, spec: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The Volcano Queue of a declaration without problems."""
    fields: dict[str, Any] = {"weight": 1, "parent": spec.get("parent", "root")}
    if "max" in spec:
        fields["capability"] = _amounts(spec["max"])
    entitled = _entitled(spec)
    if entitled:
        fields["deserved"] = _amounts(entitled)
    if "reclaimable" in spec:
        fields["reclaimable"] = spec["reclaimable"]
    if "nodeGroup" in spec:
        fields["affinity"] = {
            "nodeGroupAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [spec["nodeGroup"]]}
        }
    queue = {
        "apiVersion": NOUN["api"],
        "kind": NOUN["kind"],
        "metadata": {
            "name": name,
            "labels": {**spec.get("location", {}), **own.MANAGED},
            "annotations": {
                f"paddleflow.org/{key}": _text(spec[field])
                for field, key in _ANNOTATED.items()
                if field in spec and spec[field] != NOUN["spec"][field].get("default")
            },
        },
        "spec": fields,
    }
    return [queue]


def needs(_namespace: str, spec: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What has to be there, and is made when it is not: never changed, never taken away."""
    if "namespace" not in spec:
        return []
    return [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": spec["namespace"]}}]


def judge(state: str, found: Mapping[str, Any], spec: Mapping[str, Any]) -> str | None:
    """Why a queue that is there cannot become what is declared. Volcano's definition knows nothing of these fields, and a
    queue is never taken away to be made anew: jobs may be in it."""
    if state == "absent" or not own.MANAGED.items() <= found["metadata"].get("labels", {}).items():
        return None
    before = declared(found)
    for field, rule in NOUN["spec"].items():
        if rule.get("immutable"):
            was, becomes = (one.get(field, rule.get("default", "none")) for one in (before, spec))
            if was not in (becomes, "none"):
                return (
                    f"its {names.option(field)} is {was} and cannot become {becomes}; remove the queue (state absent), "
                    "then declare it anew"
                )
    return None


def declared(queue: Mapping[str, Any]) -> dict[str, Any]:
    """The declaration that a live Queue says, whoever wrote it: the inverse of build."""
    meta, fields = queue.get("metadata", {}), queue.get("spec", {})
    annotations = meta.get("annotations", {})
    spec: dict[str, Any] = {}
    for field, key in _ANNOTATED.items():
        if f"paddleflow.org/{key}" in annotations:
            spec[field] = _read(field, annotations[f"paddleflow.org/{key}"])
    location = {k: v for k, v in meta.get("labels", {}).items() if k not in own.MANAGED}
    owners = (
        fields.get("affinity", {}).get("nodeGroupAffinity", {}).get("requiredDuringSchedulingIgnoredDuringExecution")
    )
    found = {
        "max": fields.get("capability"),
        "min": fields.get("deserved"),
        "parent": fields.get("parent") if fields.get("parent") != "root" else None,
        "lendable": False if fields.get("guarantee", {}).get("resource") and not own.is_ours(queue) else None,
        "reclaimable": fields.get("reclaimable"),
        "nodeGroup": owners[0] if owners else None,
        "location": location or None,
    }
    return {**{key: value for key, value in found.items() if value is not None}, **spec}


def beyond(queue: Mapping[str, Any]) -> Iterator[str]:
    """Where more of a live queue is in use than it may have [D-107]."""
    used = (queue.get("status") or {}).get("allocated") or {}
    for resource, high in queue.get("spec", {}).get("capability", {}).items():
        if quantity.parse(used.get(resource, 0)) > quantity.parse(high):
            yield (
                f"queue {queue['metadata']['name']}: max.{resource} is {high}, and {used[resource]} are in use: what runs "
                "goes on, and nothing new begins until enough of it has ended."
            )


def beyond_group(spec: Mapping[str, Any], nodes: Collection[Mapping[str, Any]]) -> Iterator[Problem]:
    """Where a declaration asks for more than all nodes of its group have, of which what they give to pods is kept."""
    for field in ("min", "max"):
        for resource, amount in spec.get(field, {}).items():
            there = sum(quantity.parse(node["allocatable"].get(resource, 0)) for node in nodes)
            if quantity.parse(amount) > there:
                shown = quantity.text(there, resource == "memory")
                allowed = f"at most {shown}, what the nodes of the group {spec['nodeGroup']} have"
                yield Problem((field, resource), str(amount), allowed)


def command(queue: Mapping[str, Any], state: str) -> dict[str, Any] | None:
    """What to tell Volcano so that a live queue comes into the state; nothing when it is there, or on its way."""
    now = queue.get("status", {}).get("state")
    if now in (("Open", None) if state == "open" else ("Closed", "Closing")):
        return None
    metadata = queue["metadata"]
    target = {
        "apiVersion": NOUN["api"],
        "kind": NOUN["kind"],
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
    }
    action = "OpenQueue" if state == "open" else "CloseQueue"
    return {
        "apiVersion": "bus.volcano.sh/v1alpha1",
        "kind": "Command",
        # Volcano takes it away once it has read it; with the queue it would go too.
        "metadata": {
            "generateName": f"{metadata['name']}-{action.lower()}-",
            "namespace": "default",
            "ownerReferences": [target],
        },
        "action": action,
        "target": target,
    }


def _amounts(resources: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(amount) for name, amount in resources.items()}


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def _read(field: str, text: str) -> Any:
    if NOUN["spec"][field]["type"] == "string":
        return text
    try:
        return json.loads(text)
    except ValueError:  # somebody else's hand: shown as it is
        return text
