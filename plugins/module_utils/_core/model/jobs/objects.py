# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""A declaration as an object, whatever its kind, and an object as a declaration."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from .. import own
from . import pods, tasks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .tasks import Given, Job

# The declaration as it was given: what the object no longer says, such as a flavour's name, is read from here.
DECLARATION = "paddleflow.org/declaration"
DISPLAY_NAME = "paddleflow.org/display-name"
PREEMPTABLE = "volcano.sh/preemptable"
# Labels and annotations that a declaration may not give.
RESERVED = (*own.MANAGED, *pods.IDENTITY, "scheduling.volcano.sh/queue-name", DECLARATION, DISPLAY_NAME)
# What programs write, and nobody declared.
_PROGRAMS = ("paddleflow.org/", "volcano.sh/", "scheduling.volcano.sh/", "kubectl.kubernetes.io/")
_WORDS = {name: word for word, name in tasks.PRIORITIES.items()}


def job(name: str, namespace: str, spec: Mapping[str, Any], given: Given) -> Job:
    return tasks.Job(name, namespace, spec, given, tasks.tasks(spec))


def build(name: str, namespace: str, spec: Mapping[str, Any], given: Given) -> dict[str, Any]:
    this = job(name, namespace, spec, given)
    wanted = tasks.kind(spec)
    kind, _dot, api = wanted.partition(".")
    if wanted == tasks.VOLCANO:
        from . import volcano

        body: dict[str, Any] = volcano.build(this)
    else:
        from . import operators

        body = operators.build(this, wanted)
    return {"apiVersion": api, "kind": kind, "metadata": _metadata(this), "spec": body}


def _metadata(this: Job) -> dict[str, Any]:
    return {
        "name": this.name,
        "namespace": this.namespace,
        "labels": _labels(this),
        "annotations": {
            **_annotations(this),
            DECLARATION: json.dumps(this.spec, separators=(",", ":")),
        },
    }


def _labels(this: Job) -> dict[str, str]:
    template = this.spec.get("extensionTemplate", {}).get("metadata", {}).get("labels", {})
    ours = {**own.MANAGED, **pods.identity(this)}
    if tasks.kind(this.spec).startswith("RayJob."):
        # By these KubeRay makes a gang of its pods [D-151].
        ours["ray.io/scheduler-name"] = pods.scheduler(this)
        ours["ray.io/priority-class-name"] = tasks.PRIORITIES[tasks.priority(this.spec)]
    return {**tasks.kept(this.spec.get("labels", {})), **template, **ours}


def _annotations(this: Job) -> dict[str, str]:
    template = this.spec.get("extensionTemplate", {}).get("metadata", {}).get("annotations", {})
    ours = pods.queue_annotations(this)
    if this.spec.get("displayName"):
        ours[DISPLAY_NAME] = this.spec["displayName"]
    if this.spec.get("schedulingPolicy", {}).get("preemptable") is False:
        ours[PREEMPTABLE] = "false"
    return {**tasks.kept(this.spec.get("annotations", {})), **template, **ours}


def declared(found: Mapping[str, Any]) -> dict[str, Any]:
    metadata = found.get("metadata", {})
    try:
        spec = json.loads(metadata.get("annotations", {})[DECLARATION])
    except (KeyError, ValueError):
        return _foreign(found)
    return _changed(spec, found) if isinstance(spec, dict) else _foreign(found)


def _changed(spec: dict[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
    """With what may be changed while the job lives, as it is now."""
    metadata, body = found["metadata"], found.get("spec", {})
    this = job(metadata["name"], metadata.get("namespace", ""), spec, {})
    for field, expected in (("labels", _labels(this)), ("annotations", _annotations(this))):
        now = _told(spec.get(field, {}), expected, metadata.get(field, {}))
        if now != spec.get(field, {}):
            spec[field] = now
    if found.get("kind") != "Job":
        return spec
    word = _WORDS.get(body.get("priorityClassName", ""))
    if word and word != tasks.priority(spec):
        spec["schedulingPolicy"] = {**spec.get("schedulingPolicy", {}), "priority": word}
    live = {task.get("name"): task for task in body.get("tasks", ())}
    for task, member in zip(this.tasks, spec.get("members", ()), strict=False):
        replicas = live.get(task.name, {}).get("replicas", task.replicas)
        if replicas != task.replicas:
            member["replicas"] = replicas
        low = live.get(task.name, {}).get("minAvailable", task.low)
        if low != task.low:
            member["minAvailable"] = low
    available = body.get("minAvailable")
    if this.tasks and available is not None and available != tasks.available(spec, tasks.tasks(spec)):
        spec["minAvailable"] = available
    return spec


def _told(stated: Mapping[str, str], expected: Mapping[str, str], live: Mapping[str, str]) -> dict[str, str]:
    """What is stated, without what somebody took away and with what somebody added or changed."""
    changed = {
        key: value
        for key, value in live.items()
        if expected.get(key) != value and key not in RESERVED and not key.startswith(_PROGRAMS)
    }
    # One that is stated as empty is not there when it is as stated.
    return {key: value for key, value in stated.items() if key in live or not value} | changed


# Where kinds name their queue: Volcano's, Paddle's, Kubeflow's, Spark's; and what all others are marked with.
_QUEUES = (
    ("queue",),
    ("schedulingPolicy", "queue"),
    ("runPolicy", "schedulingPolicy", "queue"),
    ("batchSchedulerOptions", "queue"),
)
_MARKS = ("volcano.sh/queue-name", "scheduling.volcano.sh/queue-name")


def _queue(found: Mapping[str, Any]) -> str:
    for path in _QUEUES:
        value: Any = found.get("spec", {})
        for part in path:
            value = value.get(part) if isinstance(value, dict) else None
        if isinstance(value, str) and value:
            return value
    metadata = found.get("metadata", {})
    marks = [metadata.get(part, {}).get(mark) for part in ("labels", "annotations") for mark in _MARKS]
    return str(next(filter(None, marks), ""))


def _foreign(found: Mapping[str, Any]) -> dict[str, Any]:
    """Somebody else's job: it is its own template."""
    metadata, body = found.get("metadata", {}), found.get("spec", {})
    kept = {name: metadata[name] for name in ("labels", "annotations") if metadata.get(name)}
    policy = {"queue": _queue(found), "priority": _WORDS.get(body.get("priorityClassName", ""))}
    return {
        "kind": "distributed",
        "framework": "standalone",
        "schedulingPolicy": {name: value for name, value in policy.items() if value},
        "extensionTemplate": {
            **{name: found[name] for name in ("apiVersion", "kind") if name in found},
            **({"metadata": kept} if kept else {}),
            "spec": body,
        },
    }
