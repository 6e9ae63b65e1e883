# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""A RayJob: KubeRay starts the cluster, so the pods' own commands are left to it, and submits the entrypoint."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

from . import operators, pods, ray, shell, tasks, templates

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .tasks import Job, Task


def build(job: Job, base: Mapping[str, Any], kind: str) -> dict[str, Any]:
    cluster = base.get("rayClusterSpec", {})
    if not job.tasks:
        return {**base, "rayClusterSpec": _marked(job, cluster)}
    head = next(task for task in job.tasks if task.role == "master")
    env = head.spec.get("env", {})
    spec: dict[str, Any] = {"shutdownAfterJobFinishes": True, **base, "entrypoint": _entrypoint(job, head)}
    spec |= tasks.lasts(job.spec)
    environment = ray.runtime_env(env)
    if environment is not None:
        # v1 wants YAML, of which JSON is a part; v1alpha1 what the declaration has.
        text = json.dumps(environment) if kind.endswith("/v1") else env["RAY_JOB_RUNTIME_ENV"]
        spec["runtimeEnvYAML" if kind.endswith("/v1") else "runtimeEnv"] = text
    groups = cluster.get("workerGroupSpecs", [])
    workers = [task for task in job.tasks if task.role == "worker"]
    spec["rayClusterSpec"] = {
        **cluster,
        **_autoscaling(env),
        "headGroupSpec": _group(job, head, cluster.get("headGroupSpec", {})),
        "workerGroupSpecs": [
            _workers(job, task, groups[number] if number < len(groups) else {}) for number, task in enumerate(workers)
        ],
    }
    return spec


def _marked(job: Job, cluster: Mapping[str, Any]) -> dict[str, Any]:
    def mark(group: Mapping[str, Any]) -> dict[str, Any]:
        return {**group, "template": templates.mark(group.get("template", {}), job)}

    return {
        **cluster,
        "headGroupSpec": mark(cluster.get("headGroupSpec", {})),
        "workerGroupSpecs": [mark(group) for group in cluster.get("workerGroupSpecs", [])],
    }


def _entrypoint(job: Job, head: Task) -> str:
    text = shell.compose(pods.directory(job, head), "", ray.entrypoint(head.spec), ())
    # A line of a shell, where KubeRay expects words.
    return text if text == ray.entrypoint(head.spec) else shlex.join(["sh", "-c", text])


def _group(job: Job, task: Task, base: Mapping[str, Any]) -> dict[str, Any]:
    plain = task._replace(spec={key: value for key, value in task.spec.items() if key not in ("command", "args")})
    template = operators.pod(job, plain, base.get("template", {}))
    stop = task.spec.get("env", {}).get("RAY_JOB_HEADER_PRE_STOP")
    if stop and task.role == "master":
        template["spec"]["containers"][0]["lifecycle"] = {"preStop": {"exec": {"command": ["sh", "-c", stop]}}}
    return {
        **base,
        "rayStartParams": {**base.get("rayStartParams", {}), **ray.parameters(task.spec)},
        "template": template,
    }


def _workers(job: Job, task: Task, base: Mapping[str, Any]) -> dict[str, Any]:
    found = _group(job, task, base)
    name = task.spec.get("env", {}).get("RAY_JOB_WORKER_GROUP_NAME") or base.get("groupName", task.name)
    return {
        **found,
        "groupName": name,
        "replicas": task.replicas,
        "minReplicas": task.low,
        "maxReplicas": task.high,
    }


def _autoscaling(env: Mapping[str, str]) -> dict[str, Any]:
    if env.get("RAY_JOB_ENABLE_AUTOSCALING", "").lower() != "true":
        return {}
    options: dict[str, Any] = {}
    if "RAY_JOB_AUTOSCALING_MODE" in env:
        options["upscalingMode"] = env["RAY_JOB_AUTOSCALING_MODE"]
    if env.get("RAY_JOB_AUTOSCALING_IDLE_TIMEOUT", "").isdecimal():
        options["idleTimeoutSeconds"] = int(env["RAY_JOB_AUTOSCALING_IDLE_TIMEOUT"])
    return {"enableInTreeAutoscaling": True, **({"autoscalerOptions": options} if options else {})}
