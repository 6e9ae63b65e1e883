# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""What is wrong with a Ray job: its start parameters, and what its environment says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..check import Problem, show
from . import ray, tasks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .tasks import Job, Task

_REPLICAS = ("RAY_JOB_WORKER_REPLICAS", "RAY_JOB_WORKER_MIN_REPLICAS", "RAY_JOB_WORKER_MAX_REPLICAS")
_PRIORITIES = ("RAY_JOB_HEADER_PRIORITY", "RAY_JOB_WORKER_PRIORITY")


def problems(job: Job, task: Task) -> Iterator[Problem]:
    for number, argument in enumerate(task.spec.get("args", ())):
        if ":" not in argument:
            where = (*tasks.where(job, task, "args"), number)
            yield Problem(where, show(argument), "a start parameter as key:value", "What runs is the command.")
    if task.role == "master":
        yield from _environment(job, task)


def _environment(job: Job, task: Task) -> Iterator[Problem]:
    env = task.spec.get("env", {})
    where = tasks.where(job, task, "env")
    try:
        ray.runtime_env(env)
    except ValueError:
        name = "RAY_JOB_RUNTIME_ENV"
        yield Problem((*where, name), show(env[name]), "JSON in base64")
    if env.get("RAY_JOB_ENABLE_AUTOSCALING", "").lower() == "true" and tasks.kind(job.spec) == tasks.VOLCANO:
        remedy = f"Ask for KubeRay's by the annotation {tasks.KIND}: RayJob.ray.io/v1."
        yield Problem((*where, "RAY_JOB_ENABLE_AUTOSCALING"), "true", "left out for a Volcano Job", remedy)
    if "members" in job.spec:
        return
    for name in _REPLICAS:
        if not env.get(name, "1" if name != _REPLICAS[0] else "").isdecimal() or env.get(name) == "0":
            yield Problem((*where, name), show(env.get(name, "missing")), "a whole number of at least 1")
    for name in _PRIORITIES:
        if env.get(name, "NORMAL").upper() not in tasks.PRIORITIES:
            yield Problem((*where, name), show(env[name]), f"one of {', '.join(tasks.PRIORITIES)}")
