# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""What is wrong with one of a job's tasks: its pods, what they run, what they mount and what they ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import quantity
from ..check import Problem, show
from . import objects, pods, tasks, templates, volcano

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .pods import Extra
    from .tasks import Job, Task

# The length of a host's name, and of one of a process' variables.
LONGEST, LONGEST_TEXT = 63, 128 * 1024 - 256


def keys(spec: Mapping[str, Any]) -> Iterator[Problem]:
    """Labels and annotations that are ours, wherever they stand."""
    members = [(("members", number), member) for number, member in enumerate(spec.get("members", ()))]
    for path, level in [((), spec), *members]:
        for field in ("labels", "annotations"):
            for key in level.get(field, {}):
                if key in objects.RESERVED:
                    yield Problem((*path, field, key), "given", "left out", "It is written for every job.")


def preconditions(job: Job, task: Task) -> Iterator[Problem]:
    """What has to be right before anything can be worked out from it."""
    yield from _resources(job, task)
    if tasks.framework(job.spec) == "ray":
        from . import rules_ray

        yield from rules_ray.problems(job, task)


def problems(job: Job, task: Task) -> Iterator[Problem]:
    extras = _extras(job)
    yield from _name(job, task)
    yield from _runs(job, task, extras.get(task.name, {}))
    written = {entry["name"]: entry for extra in extras.values() for entry in extra.get("env", ())}
    yield from _env(job, task, {name: entry.get("value", "") for name, entry in written.items()})
    yield from _mounts(job, task)


def _extras(job: Job) -> dict[str, Extra]:
    """What the framework adds; nothing where its operator does, or where sizes that it depends on are not known."""
    if tasks.kind(job.spec) != tasks.VOLCANO or (tasks.framework(job.spec) == "spark" and not sized(job)):
        return {}
    return volcano.framework_extras(job)


def sized(job: Job) -> bool:
    """Whether every flavour that is meant is known."""
    return "flavours" in job.given or not any(
        tasks.named(flavour) not in ("", "NONE")
        for task in job.tasks
        for flavour in (task.spec.get("flavour", {}), tasks.limit_flavour(task.spec))
    )


def _name(job: Job, task: Task) -> Iterator[Problem]:
    """Pods of a distributed job find each other by name."""
    if job.spec.get("kind") != "distributed":
        return
    if not job.name[0].isalpha():
        yield Problem(("name",), show(job.name), "a name that begins with a letter", "It is the name of a Service.")
    suffix = f"-{task.name}-{max(task.replicas, task.high) - 1}"
    if len(job.name) + len(suffix) > LONGEST:
        yield Problem(("name",), show(job.name), f"at most {LONGEST - len(suffix)} characters with pods like *{suffix}")


def _runs(job: Job, task: Task, extra: Extra) -> Iterator[Problem]:
    spec = task.spec
    base: Mapping[str, Any] = next(iter(templates.of_task(job, task).get("spec", {}).get("containers", ())), {})
    if tasks.kind(job.spec) != tasks.VOLCANO and "extensionTemplate" in job.spec:
        return  # the template may say it, and its kind's own engine checks it
    if "image" not in spec and "image" not in base:
        yield Problem(
            tasks.where(job, task, "image"), "missing", "the image that the pods run", "", "RequiredFieldEmpty"
        )
    if pods.restart_policy(spec) != "Never" and spec.get("retryLimit"):
        where = tasks.where(job, task, "retryLimit")
        yield Problem(where, str(spec["retryLimit"]), "left out with another restartPolicy than Never")
    yield from _command(job, task, extra, "command" in base)


def _command(job: Job, task: Task, extra: Extra, of_template: bool) -> Iterator[Problem]:
    framework = tasks.framework(job.spec)
    where = tasks.where(job, task, "command")
    if framework == "spark" and task.role == "driver":
        from . import spark

        given = spark.MAIN in task.spec.get("env", {})
        if given and task.spec.get("command"):
            yield Problem(where, "given", f"left out beside the environment's {spark.MAIN}")
        elif not given and (not task.spec.get("command") or tasks.kind(job.spec) != tasks.VOLCANO):
            yield Problem(where, "missing", f"what the driver runs, or {spark.MAIN} in env", "", "RequiredFieldEmpty")
        return
    # A pod that follows has its command from the builder, or from its operator.
    follows = task.role != tasks.LEADS.get(framework, task.role)
    if pods.command(task, extra) or follows:
        return
    if framework == "ray" and task.spec.get("env", {}).get("RAY_JOB_ENTRY_POINT"):
        return
    if extra.get("before"):
        yield Problem(where, "missing", "the command: the pod's rank is worked out before it", "", "RequiredFieldEmpty")
    elif not of_template:
        yield Problem(where, "missing", "the command that the pods run", "", "RequiredFieldEmpty")


def _env(job: Job, task: Task, written: Mapping[str, str]) -> Iterator[Problem]:
    env = task.spec["env"]
    reserved = {*pods.RESERVED_ENV, *written}
    if "PF_PADDLE_PARA_JOB" in env:
        reserved |= {"FLAGS_job_name", "GPU_CONFIG_FILE"}
    for name, value in written.items():
        if len(value) > LONGEST_TEXT:
            allowed = "few enough that their names fit into an environment variable"
            yield Problem(("members",), f"so many pods that {name} has {len(value)} characters", allowed)
    for name in env:
        if name in reserved:
            remedy = "It is written for every pod of the job."
            yield Problem((*_where_env(job, task, name), name), "given", "left out", remedy)
    priority = env.get("PF_PADDLE_PARA_PRIORITY", "")
    if priority.lower() not in pods.PARA_PRIORITIES:
        name = "PF_PADDLE_PARA_PRIORITY"
        yield Problem((*_where_env(job, task, name), name), show(priority), "high or low")
    file = env.get("PF_PADDLE_PARA_CONFIG_FILE", pods.PARA_FOLDER)
    if not file.startswith(pods.PARA_FOLDER) or ".." in file:
        name = "PF_PADDLE_PARA_CONFIG_FILE"
        remedy = "Nothing else of the node is mounted."
        yield Problem((*_where_env(job, task, name), name), show(file), f"a path below {pods.PARA_FOLDER}", remedy)


def _where_env(job: Job, task: Task, name: str) -> tuple[str | int, ...]:
    members = job.spec.get("members", ())
    for number, member in enumerate(members):
        if job.tasks[number] is task and name in member.get("env", {}):
            return ("members", number, "env")
    return ("env",)


def _mounts(job: Job, task: Task) -> Iterator[Problem]:
    spec = task.spec
    known = job.given.get("mounts")
    taken = {"/"}
    if job.spec.get("kind") == "distributed":
        taken.add("/etc/volcano")
    if tasks.framework(job.spec) == "mpi":
        taken.add("/root/.ssh")
    places = [("fs",)] * ("fs" in spec) + [("extraFS", number) for number in range(len(spec.get("extraFS", ())))]
    for place, (key, mount, found, path) in zip(places, pods.mounts(job, spec), strict=True):
        where = (*tasks.where(job, task, place[0]), *place[1:])
        if not key:
            yield Problem((*where, "name"), "missing", "the file system's name")
        elif known is not None and key not in known:
            yield Problem((*where, "name"), f"'{key}'", "a file system that the job's namespace may use")
        stated = mount.get("type", "")
        if stated and found.get("type", stated) != stated:
            yield Problem((*where, "type"), f"'{stated}'", f"left out, or what it is, {found['type']}")
        if path in taken:
            yield Problem((*where, "mountPath"), show(path), "a directory of its own")
        taken.add(path)
        if ".." in mount.get("subPath", "").split("/"):
            yield Problem((*where, "subPath"), show(mount["subPath"]), "a path inside of the file system")


def _resources(job: Job, task: Task) -> Iterator[Problem]:
    """Requests that are none, and limits below them."""
    limit = tasks.limit_flavour(task.spec)
    wrong = [*_flavour(job, task, "flavour", task.spec.get("flavour", {})), *_flavour(job, task, "limitFlavour", limit)]
    yield from wrong
    known = tasks.flavours(job.given)
    if wrong or not sized(job):
        return
    asked, limits = tasks.requests(task.spec, known), tasks.limits(task.spec, known)
    for resource, amount in limits.items():
        low, high = quantity.parse(asked.get(resource, 0)), quantity.parse(amount)
        if high < low or (tasks.device(resource) and high != low):
            allowed = "the same as" if tasks.device(resource) else "at least"
            where = (*tasks.where(job, task, "limitFlavour"), resource)
            yield Problem(where, amount, f"{allowed} what is requested, {asked.get(resource, 0)}")
    if tasks.framework(job.spec) == "spark" and tasks.kind(job.spec) == tasks.VOLCANO:
        from . import spark

        if spark.heap(job, task) < spark.SMALLEST:
            where = (*tasks.where(job, task, "flavour"), "memory")
            yield Problem(where, asked["memory"], "at least 1Gi for Spark")


def _flavour(job: Job, task: Task, field: str, flavour: Mapping[str, Any]) -> Iterator[Problem]:
    where = tasks.where(job, task, field)
    known = tasks.flavours(job.given)
    name = tasks.named(flavour)
    if name and len(flavour) > 1:
        yield Problem((*where, "name"), f"'{name}' beside resources", "the one or the other")
    elif name and known is not None and name not in known and (field, name) != ("limitFlavour", "NONE"):
        allowed = f"one of {', '.join(sorted(known))}, or resources given in place"
        yield Problem((*where, "name"), f"'{name}', which does not exist", allowed, "", "FlavourNotFound")
    for resource in ("cpu", "memory"):
        if quantity.parse(flavour.get(resource, 1)) == 0:
            yield Problem((*where, resource), str(flavour[resource]), "above 0", "", "FlavourInvalidField")
    for resource in flavour.get("scalarResources", {}):
        if resource in ("cpu", "memory", "mem"):
            yield Problem((*where, "scalarResources", resource), "given", "left out", "It is a field of its own.")
