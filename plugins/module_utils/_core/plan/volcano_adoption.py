# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""What to do about a Volcano that somebody else installed: two schedulers of one name would fight over every pod."""

from __future__ import annotations

import typing as t
from collections.abc import Iterable, Mapping, Sequence

from ..model import quantity
from .finding import Finding

Object = Mapping[str, t.Any]

NAME_LABEL = "app.kubernetes.io/name"
MANAGED_LABEL = "app.kubernetes.io/managed-by"
MANAGER = "paddleflow"
PROGRAMS = {
    "scheduler": ("vc-scheduler", "agent-scheduler"),
    "controllers": ("vc-controller-manager",),
    "webhooks": ("vc-webhook-manager", "vc-admission"),
}
DEFAULT_SCHEDULER_NAME = "volcano"
WEBHOOK_PREFIX = "volcano-admission-service-"


def _ours(item: Object) -> bool:
    return (item["metadata"].get("labels") or {}).get(MANAGED_LABEL) == MANAGER


def _containers(deployment: Object) -> Sequence[Object]:
    containers: Sequence[Object] = deployment["spec"]["template"]["spec"].get("containers") or ()
    return containers


def _words(container: Object) -> list[str]:
    return [str(word) for word in [*(container.get("command") or ()), *(container.get("args") or ())]]


def _part(deployment: Object) -> str | None:
    """Which part of Volcano a workload runs: by the program or the image's name, whoever packaged it."""
    for container in _containers(deployment):
        image = str(container.get("image", "")).partition("@")[0].rpartition("/")[2].partition(":")[0]
        programs = {word.rsplit("/", 1)[-1] for word in _words(container)} | {image}
        for part, names in PROGRAMS.items():
            if programs & set(names):
                return part
    return None


def scheduler_names(deployment: Object) -> list[str]:
    """The scheduler names that a workload answers to."""
    names = []
    for container in _containers(deployment):
        words = _words(container)
        for i, word in enumerate(words):
            if word == "--scheduler-name" and i + 1 < len(words):
                names.append(words[i + 1])
            elif word.startswith("--scheduler-name="):
                names.append(word.partition("=")[2])
    return [name.strip("\"'") for name in names] or [DEFAULT_SCHEDULER_NAME]


def foreign(deployments: Iterable[Object], scheduler_name: str = DEFAULT_SCHEDULER_NAME) -> list[dict[str, str]]:
    """Parts of a Volcano that this collection did not install and that would work on the same objects.

    A scheduler of another name is left alone; controllers and webhooks have no name to tell them apart, so each counts.
    """
    found = []
    for item in deployments:
        part = None if _ours(item) else _part(item)
        if part is None or (part == "scheduler" and scheduler_name not in scheduler_names(item)):
            continue
        found.append(
            {
                "part": part,
                "kind": str(item.get("kind", "Deployment")),
                "namespace": str(item["metadata"]["namespace"]),
                "name": str(item["metadata"]["name"]),
                "image": str(_containers(item)[0].get("image", "")),
            }
        )
    return sorted(found, key=lambda row: (row["namespace"], row["name"]))


def foreign_webhooks(configurations: Iterable[Object]) -> list[dict[str, str]]:
    """Webhook configurations of another installation, by the names that Volcano's webhook server insists on."""
    return sorted(
        (
            {"kind": str(item["kind"]), "name": str(item["metadata"]["name"])}
            for item in configurations
            if str(item["metadata"]["name"]).startswith(WEBHOOK_PREFIX) and not _ours(item)
        ),
        key=lambda row: (row["kind"], row["name"]),
    )


def _made_by_role(labels: Mapping[str, str]) -> bool:
    """Other roles of this collection have the same manager."""
    return labels.get(MANAGED_LABEL) == MANAGER and labels.get(NAME_LABEL) == "volcano"


def _labels(item: Object) -> Mapping[str, str]:
    labels: Mapping[str, str] = item["metadata"].get("labels") or {}
    return labels


def kept_classes(found: Iterable[Object], wanted: Mapping[str, int]) -> list[str]:
    """Priority classes of somebody else that do for ours as they are: they are not touched, so they never become ours."""
    return sorted(
        str(item["metadata"]["name"])
        for item in found
        if item["metadata"]["name"] in wanted and not _made_by_role(_labels(item))
    )


def class_findings(found: Iterable[Object], wanted: Mapping[str, int]) -> list[Finding]:
    """Priority classes of our names and other values, which the API server would refuse in the middle of an installation."""
    findings = []
    for item in found:
        name, value = str(item["metadata"]["name"]), int(item["value"])
        if name not in wanted or value == int(wanted[name]):
            continue
        if _made_by_role(_labels(item)):
            remedy = f"remove it with: kubectl delete priorityclass {name} (pods keep the priority that they have)"
        else:
            remedy = f"give ours another name or the value {value} in volcano_priority_classes, or remove that one"
        needed = f"volcano_priority_classes says {wanted[name]}, and the value of a class cannot be changed"
        subject = f"The PriorityClass {name}"
        findings.append(Finding("error", "priority_class", subject, f"has the value {value}", needed, remedy))
    return findings


def class_problems(found: Iterable[Object], wanted: Mapping[str, int]) -> list[str]:
    return [finding.message for finding in class_findings(found, wanted)]


def foreign_objects(rows: Iterable[str], leases: Iterable[str] = ()) -> list[str]:
    """What a namespace holds besides what the role made and what follows from that or from being a namespace.

    :param rows: kind, name, uid, name label, manager label and the owners' uids of each object, between tabs
    :param leases: names under which Volcano's programs elect a leader; they make these without labels
    """
    objects = [[*row.split("\t"), *[""] * 6][:6] for row in rows if row.strip()]
    expected = {("ConfigMap", "kube-root-ca.crt"), ("ServiceAccount", "default"), *(("Lease", name) for name in leases)}
    left = objects
    known, size = {""}, 0  # what has no uid is computed and not stored (metrics)
    while len(known) > size:  # a pod's owner is a ReplicaSet, whose owner is a Deployment
        size = len(known)
        known |= {
            uid
            for kind, name, uid, label, manager, owners in left
            if (kind, name) in expected
            or _made_by_role({NAME_LABEL: label, MANAGED_LABEL: manager})
            or known.intersection(owners.split())
        }
        left = [row for row in left if row[2] not in known]
    return sorted(f"{row[0]} {row[1]}" for row in left)


def _milli(billionths: int) -> str:
    """Down to whole thousandths, the finest that a scheduler counts processors in."""
    return quantity.text(billionths // 10**6 * 10**6)


def _share(resource: str, total: int, weight: int, weights: int, ceiling: t.Any) -> str:
    value = total * weight // weights
    if ceiling is not None:
        value = min(value, quantity.parse(ceiling))
    return _milli(value) if resource == "cpu" else str(value // quantity.UNIT)


def queue_conversion(queues: Sequence[Object], total: Mapping[str, str]) -> list[dict[str, t.Any]]:
    """What each queue becomes when weights (plugin proportion) give way to `deserved` (plugin capacity).

    A queue with a weight could always have its share of the cluster back; the same share becomes its `deserved`, for the
    resources of `total`, never above its own `capability`. Queues that say `deserved` already are kept, and so are root
    and queues with a parent: their share is a matter of the hierarchy, which a person decides.
    """
    considered = [item for item in queues if item["metadata"]["name"] != "root"]
    flat = [item for item in considered if item["spec"].get("parent") in (None, "", "root")]
    weights = sum(int(item["spec"].get("weight") or 1) for item in flat)
    rows: list[dict[str, t.Any]] = []
    for item in considered:
        spec = item["spec"]
        row: dict[str, t.Any] = {"name": item["metadata"]["name"], "weight": int(spec.get("weight") or 1)}
        if spec.get("deserved"):
            rows.append({**row, "action": "keep", "reason": "has deserved", "deserved": dict(spec["deserved"])})
        elif item not in flat:
            rows.append({**row, "action": "keep", "reason": f"is a child of {spec['parent']}", "deserved": {}})
        elif row["name"] == "default":
            rows.append(
                {**row, "action": "keep", "reason": "the default queue gets what nobody is entitled to", "deserved": {}}
            )
        else:
            capability = spec.get("capability") or {}
            deserved = {
                resource: _share(resource, quantity.parse(amount), row["weight"], weights, capability.get(resource))
                for resource, amount in sorted(total.items())
            }
            rows.append(
                {**row, "action": "convert", "reason": f"weight {row['weight']} of {weights}", "deserved": deserved}
            )
    return rows


def schedulable(nodes: Iterable[Object]) -> list[Object]:
    """Nodes that take pods without a toleration."""
    result = []
    for node in nodes:
        taints = node["spec"].get("taints") or ()
        if node["spec"].get("unschedulable") or any(
            taint.get("effect") in ("NoSchedule", "NoExecute") for taint in taints
        ):
            continue
        result.append(node)
    return result


def allocatable(nodes: Iterable[Object]) -> dict[str, str]:
    """The sum of CPU and memory that schedulable nodes offer."""
    items = schedulable(nodes)
    cpu, memory = (
        sum(quantity.parse(node["status"]["allocatable"][resource]) for node in items) for resource in ("cpu", "memory")
    )
    return {"cpu": _milli(cpu), "memory": str(memory // quantity.UNIT)}
