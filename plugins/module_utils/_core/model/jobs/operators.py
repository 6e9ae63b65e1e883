# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""Framework operators' own objects, for who asks for them: the same pods, told to somebody else's engine, which writes the
framework's environment itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import gang, pods, tasks, templates

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypedDict

    from .tasks import Job, Task

    class Shape(TypedDict, total=False):
        """Where a kind has its tasks and its policies, by path."""

        frameworks: list[str]
        replicas: str
        # What a role is called there.
        roles: dict[str, str]
        policy: str
        # What is there unless a template says otherwise.
        spec: dict[str, Any]
        replica: dict[str, Any]
        # Bounds of a resizable task, in its replica or in the whole object.
        bounds: tuple[str, str, str]


_TRAINING: Shape = {"policy": "runPolicy.schedulingPolicy", "replica": {"restartPolicy": "Never"}}
_CLEAN = {"runPolicy": {"cleanPodPolicy": "Running"}}
KINDS: dict[str, Shape] = {
    "PaddleJob.batch.paddlepaddle.org/v1": {
        "frameworks": ["paddle"],
        "roles": {"pserver": "ps", "master": "ps", "worker": "worker"},
        "policy": "schedulingPolicy",
        "spec": {"cleanPodPolicy": "OnCompletion", "intranet": "PodIP", "withGloo": 1},
        "bounds": ("", "requests", "limits"),
    },
    "PaddleJob.kubeflow.org/v1": {
        "frameworks": ["paddle"],
        "replicas": "paddleReplicaSpecs",
        "roles": {"pserver": "Master", "master": "Master", "worker": "Worker"},
        "bounds": ("elasticPolicy", "minReplicas", "maxReplicas"),
        **_TRAINING,
    },
    "PyTorchJob.kubeflow.org/v1": {
        "frameworks": ["pytorch"],
        "replicas": "pytorchReplicaSpecs",
        "roles": {"pserver": "Master", "master": "Master", "worker": "Worker"},
        "bounds": ("elasticPolicy", "minReplicas", "maxReplicas"),
        **_TRAINING,
    },
    "TFJob.kubeflow.org/v1": {
        "frameworks": ["tensorflow"],
        "replicas": "tfReplicaSpecs",
        "roles": {"pserver": "PS", "master": "Chief", "worker": "Worker"},
        **_TRAINING,
    },
    "MPIJob.kubeflow.org/v1": {
        "frameworks": ["mpi"],
        "replicas": "mpiReplicaSpecs",
        "roles": {"master": "Launcher", "worker": "Worker"},
        "spec": {"slotsPerWorker": 1, **_CLEAN},
        **_TRAINING,
    },
    "AITrainingJob.kongming.cce.baiudbce.com/v1": {
        "frameworks": ["aitj"],
        "replicas": "replicaSpecs",
        "roles": {"pserver": "pserver", "master": "master", "worker": "trainer"},
        "replica": {"restartPolicy": "Never"},
        "bounds": ("", "minReplicas", "maxReplicas"),
    },
    "RayJob.ray.io/v1": {"frameworks": ["ray"]},
    "RayJob.ray.io/v1alpha1": {"frameworks": ["ray"]},
    "SparkApplication.sparkoperator.k8s.io/v1beta2": {
        "frameworks": ["spark"],
        "roles": {"driver": "driver", "executor": "executor"},
    },
    "Workflow.argoproj.io/v1alpha1": {"frameworks": [""]},
}


def build(job: Job, kind: str) -> dict[str, Any]:
    """The spec of an object of that kind."""
    base: dict[str, Any] = job.spec.get("extensionTemplate", {}).get("spec", {})
    if kind.startswith("Workflow."):
        return base
    if kind.startswith("RayJob."):
        from . import rayjob

        return rayjob.build(job, base, kind)
    if kind.startswith("SparkApplication."):
        from . import sparkapplication

        return sparkapplication.build(job, base)
    shape = KINDS[kind]
    spec = _merged(shape.get("spec", {}), base)
    replicas = spec
    if "replicas" in shape:
        replicas = spec.setdefault(shape["replicas"], {})
    for name, replica in list(replicas.items()):
        if isinstance(replica, dict) and "template" in replica:
            replicas[name] = {**replica, "template": templates.mark(replica["template"], job)}
    for task in job.tasks:
        name = shape["roles"][task.role]
        replicas[name] = _replica(job, task, shape, replicas.get(name, {}))
        _bounds(spec, replicas[name], task, shape)
    if "policy" in shape:
        policy = scheduling(job)
        for part in reversed(shape["policy"].split(".")):
            policy = {part: policy}
        spec = _merged(spec, policy)
    else:
        spec |= {"priority": tasks.PRIORITIES[tasks.priority(job.spec)], "schedulerName": pods.scheduler(job)}
    return spec


def scheduling(job: Job) -> dict[str, Any]:
    """Its gang, in the words that the training operators share [D-151]."""
    found: dict[str, Any] = {
        "queue": tasks.queue(job.spec),
        "priorityClass": tasks.PRIORITIES[tasks.priority(job.spec)],
    }
    if job.tasks:
        found["minAvailable"] = tasks.available(job.spec, job.tasks)
        found["minResources"] = least(job)
    return found


def least(job: Job) -> dict[str, str]:
    return {resource: gang.shown(resource, amount) for resource, amount in gang.least(job).items()}


def _replica(job: Job, task: Task, shape: Shape, base: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **shape.get("replica", {}),
        **base,
        "replicas": task.replicas,
        "template": pod(job, task, base.get("template", {})),
    }


def pod(job: Job, task: Task, base: Mapping[str, Any]) -> dict[str, Any]:
    return templates.lay(base, pods.template(job, task, {}, templates.grace(base)), job, task)


def _bounds(spec: dict[str, Any], replica: dict[str, Any], task: Task, shape: Shape) -> None:
    if not task.resizable or "bounds" not in shape:
        return
    where, low, high = shape["bounds"]
    bounds = {low: task.low, high: task.high}
    if where:
        spec[where] = {**bounds, **spec.get(where, {})}
    else:
        replica |= bounds
        if low == "requests":
            # 2 is our controller's word for a range.
            spec["elastic"] = 2


def _merged(weak: Mapping[str, Any], strong: Mapping[str, Any]) -> dict[str, Any]:
    """Mappings inside of each other."""
    found = dict(weak)
    for name, value in strong.items():
        old = found.get(name)
        found[name] = _merged(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return found
