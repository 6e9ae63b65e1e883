# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""A job's tasks: its members, each with what it inherits from the job, and what can be counted of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from typing import TypedDict

    class Mount(TypedDict, total=False):
        """Where a file system's data is for a pod of the job's namespace."""

        id: str
        # The kind of its store, as its URL begins.
        type: str
        claim: str
        # Of a local file system, instead of a claim.
        hostPath: str
        readOnly: bool
        # For jobs that another scheduler places: cached bytes by node name, and of how many.
        cached: Mapping[str, int]
        totalBytes: int

    class Queue(TypedDict, total=False):
        state: str
        max: Mapping[str, Any]
        nodeGroup: str

    class Given(TypedDict, total=False):
        """What the cluster says, as far as it was asked. What is missing was not asked and is not checked."""

        flavours: Mapping[str, Mapping[str, Any]]
        mounts: Mapping[str, Mount]
        queue: Queue
        # Served kinds, as <Kind>.<group>/<version>.
        kinds: Collection[str]
        user: str


VOLCANO = "Job.batch.volcano.sh/v1alpha1"
KIND = "paddleflow/job-kind-group-version"
TTL, LONGEST_TTL = "paddleflow/job-ttl-seconds", 2**31 - 1
PRIORITIES = {
    "VERY_LOW": "very-low",
    "LOW": "low",
    "NORMAL": "normal",
    "HIGH": "high",
    "VERY_HIGH": "very-high",
}
# Frameworks with parameter servers or without.
MODES = ("paddle", "pytorch", "tensorflow", "aitj")
# Frameworks where one pod leads: the others do what the builder says.
LEADS = {"mpi": "master", "ray": "master", "spark": "driver"}

# What a container asks for that says nothing of it.
SIZE = {"cpu": 1, "memory": "1Gi"}
ONE_FOR_ALL = ("image", "flavour", "limitFlavour", "fs", "extraFS", "port", "restartPolicy", "retryLimit")
_MERGED = ("env", "labels", "annotations")


class Task(NamedTuple):
    """Pods that are alike. spec is the member's with all that it inherits."""

    name: str
    role: str
    spec: Mapping[str, Any]
    replicas: int
    low: int
    high: int

    @property
    def resizable(self) -> bool:
        return self.low < self.replicas or self.high > self.replicas


class Job(NamedTuple):
    """A declaration on its way to an object."""

    name: str
    namespace: str
    spec: Mapping[str, Any]
    given: Given
    tasks: Sequence[Task]


def where(job: Job, task: Task, *field: str) -> tuple[str | int, ...]:
    """The path at which a task's field was declared: at its member, else at the job."""
    if "members" not in job.spec:
        return field
    number = job.tasks.index(task)
    own = field[0] in job.spec["members"][number] or field[0] not in job.spec
    return ("members", number, *field) if own else field


def tasks(spec: Mapping[str, Any]) -> list[Task]:
    """Each member's, in the order of the declaration; names tell members of one role apart."""
    found: list[Task] = []
    counts: dict[str, int] = {}
    for member in members(spec):
        role = member["role"]
        number = counts.get(role, 0)
        counts[role] = number + 1
        replicas = member.get("replicas", 1)
        found.append(
            Task(
                f"{role}-{number}" if number else role,
                role,
                _inherit(spec, member),
                replicas,
                member.get("minAvailable", replicas),
                member.get("maxReplicas", replicas),
            )
        )
    return _lowered(spec, found)


def members(spec: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The declared ones; of a single job, and of a Ray job that the environment describes, what it stands for."""
    if "members" in spec:
        declared: Sequence[Mapping[str, Any]] = spec["members"]
        return declared
    if spec.get("kind", "single") == "single":
        return [{"role": "worker"}]
    if spec.get("framework") == "ray":
        from . import ray_env

        return ray_env.members(spec.get("env", {}))
    return []


def _inherit(spec: Mapping[str, Any], member: Mapping[str, Any]) -> dict[str, Any]:
    found = {name: spec[name] for name in ONE_FOR_ALL if name in spec}
    lead = LEADS.get(spec.get("framework", ""), member["role"])
    if lead == member["role"]:
        found.update({name: spec[name] for name in ("command", "args") if name in spec})
    found["env"] = {**spec.get("env", {}), **member.get("env", {})}
    for name in ("labels", "annotations"):
        found[name] = kept({**spec.get(name, {}), **member.get(name, {})})
    found["priority"] = member.get("schedulingPolicy", {}).get("priority", priority(spec))
    return {**found, **{name: value for name, value in member.items() if name not in _MERGED}}


def kept(given: Mapping[str, str]) -> dict[str, str]:
    """Labels or annotations that an object gets: an empty value is that there is none [D-146]."""
    return {key: value for key, value in given.items() if value != ""}


def _lowered(spec: Mapping[str, Any], found: list[Task]) -> list[Task]:
    """A job's own minAvailable comes from its last members that say none: workers and executors, where they are several."""
    surplus = sum(task.low for task in found) - spec.get("minAvailable", sum(task.low for task in found))
    for number in reversed(range(len(found))):
        task = found[number]
        if surplus > 0 and task.role in ("worker", "executor") and "minAvailable" not in task.spec:
            less = min(surplus, task.low)
            found[number] = task._replace(low=task.low - less)
            surplus -= less
    return found


def available(spec: Mapping[str, Any], found: Iterable[Task]) -> int:
    """How many pods have to fit at once [D-151]."""
    stated: int = spec.get("minAvailable", sum(task.low for task in found))
    return stated


def priority(spec: Mapping[str, Any]) -> str:
    stated: str = spec.get("schedulingPolicy", {}).get("priority", "NORMAL")
    return stated


def queue(spec: Mapping[str, Any]) -> str:
    stated: str = spec.get("schedulingPolicy", {}).get("queue", "")
    return stated


def lasts(spec: Mapping[str, Any]) -> dict[str, int]:
    """How long an ended job's object is kept, for engines that know one time for every end: none is told to them unless
    each end has one, since what failed would go as early as what succeeded."""
    ttl = dict(spec.get("ttlSeconds", {}))
    short = spec.get("annotations", {}).get(TTL, "")
    if short.isascii() and short.isdecimal():
        ttl |= dict.fromkeys(("succeeded", "failed"), min(int(short), LONGEST_TTL))
    both = "succeeded" in ttl and "failed" in ttl
    return {"ttlSecondsAfterFinished": max(ttl["succeeded"], ttl["failed"])} if both else {}


def framework(spec: Mapping[str, Any]) -> str:
    stated: str = spec.get("framework", "standalone" if spec.get("kind", "single") == "single" else "")
    return stated


def mode(spec: Mapping[str, Any], found: Iterable[Task]) -> str:
    if framework(spec) not in MODES:
        return ""
    return "PS" if {"pserver", "master"} & {task.role for task in found} else "Collective"


def kind(spec: Mapping[str, Any]) -> str:
    """The kind of object that it becomes: the one asked for, else the template's, else a Volcano Job."""
    template = spec.get("extensionTemplate", {})
    # A bare pod's template is that of a Volcano Job's only pod: nothing but Volcano runs user pods.
    if template.get("kind") not in (None, "Pod"):
        own = f"{template['kind']}.{template.get('apiVersion', '')}"
    else:
        own = "AITrainingJob.kongming.cce.baiudbce.com/v1" if framework(spec) == "aitj" else VOLCANO
    asked: str = spec.get("annotations", {}).get(KIND, own)
    return asked


def flavours(given: Given) -> Mapping[str, Mapping[str, Any]] | None:
    """The known ones; none when they were not asked."""
    if "flavours" not in given:
        return None
    from ..flavour import BUILT_IN

    return {**BUILT_IN, **given["flavours"]}


def named(flavour: Mapping[str, Any]) -> str:
    """The name by which resources are asked for; none when they are given in place."""
    name: str = flavour.get("name", "")
    return "" if name == "customFlavour" else name


def requests(spec: Mapping[str, Any], known: Mapping[str, Mapping[str, Any]] | None) -> dict[str, str]:
    """What a container asks for."""
    flavour = spec.get("flavour", {})
    if named(flavour):
        flavour = (known or {})[named(flavour)]
    return _amounts({**SIZE, **flavour})


def limits(spec: Mapping[str, Any], known: Mapping[str, Mapping[str, Any]] | None) -> dict[str, str]:
    """What a container may use [D-135]. Devices are never overcommitted, so they are limited to what is asked for."""
    asked = requests(spec, known)
    limit = limit_flavour(spec)
    if limit.get("name") == "NONE":
        return {name: amount for name, amount in asked.items() if device(name)}
    if named(limit):
        limit = (known or {})[named(limit)]
    return {**asked, **_amounts(limit)}


def limit_flavour(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """The field, or the reference's environment variable."""
    by_name = spec.get("env", {}).get("PF_JOB_LIMIT_FLAVOUR")
    stated: Mapping[str, Any] = spec.get("limitFlavour", {"name": by_name} if by_name else {})
    return stated


def device(resource: str) -> bool:
    return "/" in resource or resource.startswith("hugepages-")


def _amounts(flavour: Mapping[str, Any]) -> dict[str, str]:
    plain = {name: str(flavour[name]) for name in ("cpu", "memory") if name in flavour}
    return {**plain, **{name: str(amount) for name, amount in flavour.get("scalarResources", {}).items()}}


def host(job: str, task: Task, index: int = 0) -> str:
    """The name of a pod in the job's headless Service."""
    return f"{job}-{task.name}-{index}.{job}"


def hosts(job: str, found: Iterable[Task], port: int | None = None) -> str:
    suffix = "" if port is None else f":{port}"
    return ",".join(f"{host(job, task, index)}{suffix}" for task in found for index in range(task.replicas))
