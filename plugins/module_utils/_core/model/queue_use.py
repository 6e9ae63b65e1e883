# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""Who uses a queue: the gangs (PodGroups) in it, and what they belong to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

_ENDED = ("Completed",)
_READ = {
    "metadata": ("name", "namespace", "uid", "creationTimestamp", "ownerReferences"),
    "spec": ("queue", "priorityClassName", "minResources"),
    "status": ("phase", "conditions"),
}
# The classes that the platform installs; a class of somebody else counts as the middle.
PRIORITIES = {"very-low": -2000, "low": -10, "normal": 0, "high": 100, "very-high": 2000}
# By which a pod says which gang it belongs to.
GROUP = "scheduling.k8s.io/group-name"


def kept(group: Mapping[str, Any]) -> dict[str, Any]:
    """What is read of a gang here; whole ones would be much to keep of tens of thousands."""
    return {
        **{key: group[key] for key in ("apiVersion", "kind") if key in group},
        **{
            part: {key: group[part][key] for key in keys if key in group[part]}
            for part, keys in _READ.items()
            if part in group
        },
    }


def users(groups: Iterable[Mapping[str, Any]], queues: Collection[str]) -> dict[str, list[Mapping[str, Any]]]:
    """The gangs that have not ended, by queue."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for group in groups:
        queue = group.get("spec", {}).get("queue", "default")
        if queue in queues and group.get("status", {}).get("phase") not in _ENDED:
            found.setdefault(queue, []).append(group)
    return found


def below(queues: Iterable[Mapping[str, Any]], leaving: Collection[str]) -> dict[str, list[str]]:
    """The queues that stay below some that leave."""
    found: dict[str, list[str]] = {}
    for one in queues:
        name, parent = one["metadata"]["name"], one.get("spec", {}).get("parent")
        if parent in leaving and name not in leaving:
            found.setdefault(parent, []).append(name)
    return found


class Owner(NamedTuple):
    """The Volcano Job of a gang."""

    name: str
    namespace: str
    uid: str


def waiting(groups: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Gangs that do not run yet, in the order in which the scheduler asks: by priority, then by age."""
    found = [one for one in groups if one.get("status", {}).get("phase") in (None, "Pending", "Inqueue")]
    found.sort(key=lambda one: (-_priority(one), one["metadata"].get("creationTimestamp", ""), one["metadata"]["name"]))
    return [
        {
            "position": position,
            "name": (job_of(one) or _itself(one)).name,
            "namespace": one["metadata"]["namespace"],
            "since": one["metadata"].get("creationTimestamp", ""),
            "resources": dict(one.get("spec", {}).get("minResources", {})),
            "reason": _reason(one),
        }
        for position, one in enumerate(found, 1)
    ]


def _priority(group: Mapping[str, Any]) -> int:
    return PRIORITIES.get(group.get("spec", {}).get("priorityClassName", ""), 0)


def _reason(group: Mapping[str, Any]) -> str:
    for condition in reversed(group.get("status", {}).get("conditions", [])):
        if condition.get("type") == "Unschedulable" and condition.get("status") == "True":
            text: str = condition.get("message") or condition.get("reason") or ""
            return text
    return ""


def job_of(group: Mapping[str, Any]) -> Owner | None:
    """None for a gang of pods that nobody declared as a job."""
    metadata = group["metadata"]
    for owner in metadata.get("ownerReferences", ()):
        if owner.get("kind") == "Job" and owner.get("apiVersion", "").startswith("batch.volcano.sh/"):
            return Owner(owner["name"], metadata["namespace"], owner["uid"])
    return None


def pods_of(group: Mapping[str, Any], pods: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Those among the pods of its namespace that belong to it."""
    name = group["metadata"]["name"]
    return [pod for pod in pods if pod["metadata"].get("annotations", {}).get(GROUP) == name]


def shown(groups: Iterable[Mapping[str, Any]], most: int = 3) -> str:
    """For messages: the jobs of some gangs, and how many more there are."""
    names = sorted({f"{one['metadata']['namespace']}/{(job_of(one) or _itself(one)).name}" for one in groups})
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _itself(group: Mapping[str, Any]) -> Owner:
    metadata = group["metadata"]
    return Owner(metadata["name"], metadata["namespace"], metadata.get("uid", ""))
