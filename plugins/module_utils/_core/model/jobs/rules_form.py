# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""What is wrong with the form of a job, by its declaration alone: its kind, its roles, and how many it needs of each. Steps of
pipelines are jobs too, and their documents are judged without the rest of what makes a job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..check import Problem, show
from . import tasks

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .tasks import Job

EMPTY = "RequiredFieldEmpty"
_ROLES = {
    "standalone": ["worker"],
    "mpi": ["master", "worker"],
    "ray": ["master", "worker"],
    "spark": ["driver", "executor"],
    **{framework: ["pserver", "master", "worker"] for framework in tasks.MODES},
}
# Tasks of which there may be fewer than declared, or more.
_ELASTIC = {
    "paddle": ("Collective", "worker"),
    "pytorch": ("Collective", "worker"),
    "aitj": ("Collective", "worker"),
    "ray": ("", "worker"),
    "spark": ("", "executor"),
}


def form(spec: Mapping[str, Any]) -> Iterator[Problem]:
    """What each kind of job has to have."""
    kind, members, template = spec.get("kind", "single"), spec.get("members"), spec.get("extensionTemplate")
    if kind == "workflow":
        if not template:
            remedy = "A workflow is nothing else."
            yield Problem(("extensionTemplate",), "missing", "the workflow's manifest", remedy, EMPTY)
        for field in ("members", "framework"):
            if field in spec:
                yield Problem((field,), "given", "left out for kind workflow")
    elif kind == "single":
        remedy = "Use kind distributed."
        if tasks.framework(spec) != "standalone":
            yield Problem(("framework",), show(spec["framework"]), "standalone for kind single", remedy)
        if members is not None:
            yield Problem(("members",), "given", "left out for kind single, which is one pod", remedy)
    else:
        if "framework" not in spec:
            yield Problem(("framework",), "missing", "the framework of a distributed job", "", EMPTY)
        if not tasks.members(spec) and (members is not None or not template):
            yield Problem(("members",), "missing", "the roles of a distributed job", "", EMPTY)


def roles(job: Job) -> Iterator[Problem]:
    framework = tasks.framework(job.spec)
    if not job.tasks:
        return
    allowed = _ROLES[framework]
    for task in job.tasks:
        if task.role not in allowed:
            where = tasks.where(job, task, "role")
            yield Problem(where, f"'{task.role}'", f"one of {', '.join(allowed)} for {framework}")
    count = {role: sum(task.replicas for task in job.tasks if task.role == role) for role in allowed}
    lead = tasks.LEADS.get(framework)
    if lead and count[lead] != 1:
        yield Problem(("members",), f"{count[lead]} of role {lead}", f"one of role {lead} for {framework}")
    if framework == "standalone" and count["worker"] > 1:
        yield Problem(("members",), f"{count['worker']} workers", "one worker for standalone", "Name a framework.")
    if count.get("worker") == 0:
        yield Problem(("members",), "without a worker", f"at least one worker for {framework}")


def bounds(job: Job) -> Iterator[Problem]:
    yield from _counts(job)
    framework = tasks.framework(job.spec)
    mode, role = _ELASTIC.get(framework, ("", ""))
    for task in job.tasks:
        if task.resizable and (role != task.role or mode != tasks.mode(job.spec, job.tasks)):
            field = "maxReplicas" if task.high > task.replicas else "minAvailable"
            shown = f"{task.low} to {task.high} with {task.replicas} replicas"
            yield Problem(
                tasks.where(job, task, field), shown, f"the replicas: {framework} needs all of role {task.role}"
            )
        if task.resizable and (framework, tasks.kind(job.spec)) == ("paddle", tasks.VOLCANO):
            place = (*tasks.where(job, task, "env"), "PADDLE_ELASTIC_SERVER")
            if not task.spec["env"].get(place[-1]):
                yield Problem(place, "missing", "the host:port of etcd, by which Paddle's workers find each other")
    resizable = [task for task in job.tasks if task.resizable]
    alike = [task for task in job.tasks if task.role == role]
    if resizable and mode and len(alike) > 1:
        yield Problem(("members",), f"{len(alike)} of role {role}", "one, where its replicas may change")


def _counts(job: Job) -> Iterator[Problem]:
    for task in job.tasks:
        if task.spec.get("minAvailable", 0) > task.replicas:
            where = tasks.where(job, task, "minAvailable")
            yield Problem(where, str(task.low), f"at most the member's replicas, {task.replicas}")
        if task.high < task.replicas:
            yield Problem(tasks.where(job, task, "maxReplicas"), str(task.high), f"at least replicas, {task.replicas}")
    if "minAvailable" in job.spec:
        stated, total = job.spec["minAvailable"], sum(task.replicas for task in job.tasks)
        least = max(sum(task.low for task in job.tasks), 1)
        if not least <= stated <= total:
            yield Problem(("minAvailable",), str(stated), f"from {least} to {total}, by what its members need")
