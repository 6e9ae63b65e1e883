# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""A SparkApplication: its operator has words of its own for pods."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from .. import quantity
from . import operators, pods, spark, tasks, templates

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .tasks import Job, Task

_VERSION = "3.0.0"
_MI = 1024**2 * quantity.UNIT


def build(job: Job, base: Mapping[str, Any]) -> dict[str, Any]:
    policy: dict[str, Any] = {
        "queue": tasks.queue(job.spec),
        "priorityClassName": tasks.PRIORITIES[tasks.priority(job.spec)],
    }
    spec: dict[str, Any] = {
        "mode": "cluster",
        "sparkVersion": _VERSION,
        "restartPolicy": {
            "type": "Never",
            "onSubmissionFailureRetries": 3,
            "onSubmissionFailureRetryInterval": 5,
        },
        **base,
        "batchScheduler": pods.scheduler(job),
    }
    for task in job.tasks:
        spec[task.role] = _pod(job, task, base.get(task.role, {}))
        if task.role == "driver":
            spec |= _application(task.spec, base)
            spec["driver"].setdefault("serviceAccount", "spark")
        else:
            spec["executor"]["instances"] = task.replicas
    if job.tasks:
        policy["resources"] = operators.least(job)
        volumes = {entry["name"]: entry for task in job.tasks for entry in _template(job, task).get("volumes", ())}
        volumes.update({entry["name"]: entry for entry in base.get("volumes", ())})
        if volumes:
            spec["volumes"] = list(volumes.values())
    return {**spec, "batchSchedulerOptions": {**base.get("batchSchedulerOptions", {}), **policy}}


def _application(spec: Mapping[str, Any], base: Mapping[str, Any]) -> dict[str, Any]:
    env = spec.get("env", {})
    found: dict[str, Any] = {"image": spec["image"]} if "image" in spec else {}
    if spark.MAIN in env:
        found["mainApplicationFile"] = env[spark.MAIN]
        found["type"] = "Python" if env[spark.MAIN].endswith(".py") else "Scala"
    if spark.CLASS in env:
        found["mainClass"] = env[spark.CLASS]
    words = [*spark.arguments(spec), *spec.get("args", ())]
    if words:
        found["arguments"] = words
    version = re.search(r":v?(\d+\.\d+\.\d+)", spec.get("image", ""))
    if version and "sparkVersion" not in base:
        found["sparkVersion"] = version[1]
    return found


def _template(job: Job, task: Task) -> dict[str, Any]:
    pod: dict[str, Any] = pods.template(job, task, {})["spec"]
    return pod


def _pod(job: Job, task: Task, base: Mapping[str, Any]) -> dict[str, Any]:
    template = pods.template(job, task, {})
    container = template["spec"]["containers"][0]
    asked = tasks.requests(task.spec, tasks.flavours(job.given))
    found: dict[str, Any] = {
        **base,
        "cores": spark.cores(job, task),
        "coreLimit": asked["cpu"],
        # Spark's G is Gi. The operator adds what a JVM needs beside its heap.
        "memory": quantity.text(quantity.parse(asked["memory"]) // _MI * _MI, binary=True).removesuffix("i"),
        "labels": {**template["metadata"]["labels"], **base.get("labels", {}), **pods.identity(job)},
        "annotations": {
            **template["metadata"]["annotations"],
            **base.get("annotations", {}),
            **pods.queue_annotations(job),
        },
    }
    found["env"] = templates.environment(container["env"], base.get("env", ()))
    mounts = templates.union(container.get("volumeMounts", ()), base.get("volumeMounts", ()), "mountPath")
    if mounts:
        found["volumeMounts"] = mounts
    device = next((resource for resource in asked if tasks.device(resource)), None)
    if device:
        found["gpu"] = {"name": device, "quantity": quantity.parse(asked[device]) // quantity.UNIT}
    if "tolerations" in template["spec"]:
        found["tolerations"] = [*template["spec"]["tolerations"], *base.get("tolerations", ())]
    return found
