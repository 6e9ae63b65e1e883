# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""The Volcano Job of a declaration: its engine makes the pods, starts them together, and ends them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import pods, shell, tasks, templates

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType

    from .pods import Extra
    from .tasks import Job, Task

SERVICE = ["--publish-not-ready-addresses", "--disable-network-policy"]
# Volcano counts an eviction as a try. The declared limit counts failures of the command only, and the pod itself keeps it.
MAX_RETRY = 100000
# Seconds for members that end by themselves once the leading one is done.
AFTERMATH = "30s"
_SELF_ENDING = ("pytorch", "tensorflow")


def build(job: Job) -> dict[str, Any]:
    """The spec."""
    template = job.spec.get("extensionTemplate", {})
    base = template.get("spec", {}) if template.get("kind") == "Job" else {}
    spec: dict[str, Any] = {
        "schedulerName": pods.scheduler(job),
        "queue": tasks.queue(job.spec),
        "priorityClassName": tasks.PRIORITIES[tasks.priority(job.spec)],
    }
    if not job.tasks:
        return {**base, **spec, "tasks": [_raw(job, task) for task in base.get("tasks", ())]}
    extras = framework_extras(job)
    spec |= {
        "minAvailable": tasks.available(job.spec, job.tasks),
        "maxRetry": base.get("maxRetry", MAX_RETRY),
        "tasks": [_task(job, task, extras.get(task.name, {})) for task in job.tasks],
    }
    if job.spec.get("kind") == "distributed":
        ours: dict[str, Any] = {"svc": SERVICE, **({"ssh": []} if tasks.framework(job.spec) == "mpi" else {})}
        spec["plugins"] = {**ours, **base.get("plugins", {})}
    if not any(task.resizable for task in job.tasks):
        spec["policies"] = _policies(_failures(job), base)
    leading = _leading(job)
    if len(leading) > 1 and len(leading) < len(job.tasks):
        spec["minSuccess"] = sum(task.replicas for task in leading)
    spec |= tasks.lasts(job.spec)
    topology = job.spec.get("schedulingPolicy", {}).get("networkTopology")
    if topology:
        spec["networkTopology"] = {"mode": "hard", **topology}
    return {**spec, **{name: value for name, value in base.items() if name not in spec}}


def framework_extras(job: Job) -> dict[str, Extra]:
    module = framework(job)
    found: dict[str, Extra] = module.extras(job) if module else {}
    return found


def framework(job: Job) -> ModuleType | None:
    """What knows the framework. Each is imported by name, since that is how a module's payload finds it."""
    match tasks.framework(job.spec):
        case "paddle":
            from . import paddle

            return paddle
        case "pytorch":
            from . import pytorch

            return pytorch
        case "tensorflow":
            from . import tensorflow

            return tensorflow
        case "mpi":
            from . import mpi

            return mpi
        case "ray":
            from . import ray

            return ray
        case "spark":
            from . import spark

            return spark
    return None


def _leading(job: Job) -> list[Task]:
    module = framework(job)
    found: list[Task] = module.leading(job) if module else []
    return found


def _task(job: Job, task: Task, extra: Extra) -> dict[str, Any]:
    template, base = templates.task_of(job, task), templates.of_task(job, task)
    found: dict[str, Any] = {
        **template,
        "name": task.name,
        "replicas": task.replicas,
        "minAvailable": task.low,
        "template": templates.lay(base, pods.template(job, task, extra, templates.grace(base)), job, task),
    }
    policies = _completion(job, task)
    if not task.resizable and any(other.resizable for other in job.tasks):
        policies += _failures(job)
    policies = _policies(policies, template)
    if policies:
        found["policies"] = policies
    return found


def _policies(ours: list[dict[str, Any]], base: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What a template says of an event or an exit code holds; Volcano takes each once, and none beside all."""
    said: list[dict[str, Any]] = base.get("policies", [])
    taken = [one.get(name) for one in said for name in ("event", "exitCode")]
    taken += [event for one in said for event in one.get("events", ())]
    left = [one for one in ours if one.get("event", one.get("exitCode")) not in taken]
    return [*said, *([] if "*" in taken else left)]


def _raw(job: Job, task: Mapping[str, Any]) -> dict[str, Any]:
    """A task of a template without members: only what makes it the job's is added."""
    template = templates.mark(task.get("template", {}), job)
    # Its priority is the job's, whatever a template says.
    template["spec"].pop("priorityClassName", None)
    return {**task, "template": template}


def _completion(job: Job, task: Task) -> list[dict[str, Any]]:
    """The end of the leading task is the job's, whatever the others still do."""
    leading = _leading(job)
    if leading != [task] or len(job.tasks) == 1:
        return []
    policy: dict[str, Any] = {"event": "TaskCompleted", "action": "CompleteJob"}
    if tasks.framework(job.spec) in _SELF_ENDING and any(o.role == "worker" for o in job.tasks if o is not task):
        policy["timeout"] = AFTERMATH
    return [policy]


def _failures(job: Job) -> list[dict[str, Any]]:
    """A gang that loses a pod starts anew, and ends with the first command that fails for good. One that can be resized has
    none of this: Volcano makes no difference between a pod that was lost and one that is not wanted any more."""
    again = job.spec.get("schedulingPolicy", {}).get("requeueOnPreempt", True)
    action = "RestartJob" if again else "AbortJob"
    lost: list[dict[str, Any]] = [
        {"event": "PodEvicted", "action": action},
        {"exitCode": shell.STOPPED, "action": action},
    ]
    # The only pod's failure is the job's without being told so.
    alone = sum(task.replicas for task in job.tasks) == 1
    return lost if alone else [*lost, {"event": "PodFailed", "action": "TerminateJob"}]
