# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""A user's own template below what the declaration says: it wins for labels, annotations, environment, volumes and all that
a declaration has no word for; members win for image, resources and command; what makes a pod the job's is never given up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import pods

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from .tasks import Job, Task

_MERGED = ("containers", "volumes", "tolerations", "schedulerName", "priorityClassName")


def of_task(job: Job, task: Task) -> Mapping[str, Any]:
    """The pod template for a task of a Volcano Job: a bare pod's, or that of the task with the same name."""
    template: Mapping[str, Any] = job.spec.get("extensionTemplate", {})
    if template.get("kind") == "Pod":
        return template
    pod: Mapping[str, Any] = task_of(job, task).get("template", {})
    return pod


def task_of(job: Job, task: Task) -> Mapping[str, Any]:
    """What a Volcano Job as a template says of the task."""
    template: Mapping[str, Any] = job.spec.get("extensionTemplate", {})
    said = template.get("spec", {}).get("tasks", ()) if template.get("kind") == "Job" else ()
    return next((one for one in said if one.get("name") == task.name), {})


def grace(base: Mapping[str, Any]) -> int:
    seconds: int = base.get("spec", {}).get("terminationGracePeriodSeconds", pods.GRACE)
    return seconds


def lay(base: Mapping[str, Any], ours: Mapping[str, Any], job: Job, task: Task) -> dict[str, Any]:
    """Both as one pod template."""
    if not base:
        return dict(ours)
    pod, own = base.get("spec", {}), ours["spec"]
    first, *others = pod.get("containers") or [{}]
    spec = {**own, **{name: value for name, value in pod.items() if name not in _MERGED}}
    spec["containers"] = [_container(first, own["containers"][0], task), *others]
    volumes = union(own.get("volumes", ()), pod.get("volumes", ()), "name")
    if volumes:
        spec["volumes"] = volumes
    tolerations = [*own.get("tolerations", ()), *pod.get("tolerations", ())]
    if tolerations:
        spec["tolerations"] = tolerations
    return mark({"metadata": _metadata(ours, base), "spec": spec}, job)


def mark(template: Mapping[str, Any], job: Job) -> dict[str, Any]:
    """A pod template with what makes its pods the job's."""
    metadata = template.get("metadata", {})
    return {
        **template,
        "metadata": {
            **metadata,
            "labels": {**metadata.get("labels", {}), **pods.identity(job)},
            "annotations": {**metadata.get("annotations", {}), **pods.queue_annotations(job)},
        },
        "spec": {**template.get("spec", {}), "schedulerName": pods.scheduler(job)},
    }


def _metadata(ours: Mapping[str, Any], base: Mapping[str, Any]) -> dict[str, Any]:
    own, given = ours["metadata"], base.get("metadata", {})
    return {name: {**own[name], **given.get(name, {})} for name in ("labels", "annotations")}


def _container(base: Mapping[str, Any], own: Mapping[str, Any], task: Task) -> dict[str, Any]:
    found = {**own, **base}
    declared = {"image", "command"}
    if "flavour" in task.spec or "resources" not in base:
        declared.add("resources")
    found.update({name: own[name] for name in declared if name in own})
    if "command" in own:
        found.pop("args", None)
    found["env"] = environment(own["env"], base.get("env", ()))
    mounts = union(own.get("volumeMounts", ()), base.get("volumeMounts", ()), "mountPath")
    if mounts:
        found["volumeMounts"] = mounts
    return found


def environment(ours: Sequence[Mapping[str, Any]], base: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    fixed = [entry for entry in ours if entry["name"] in pods.RESERVED_ENV]
    return union(union(ours, base, "name"), fixed, "name")


def union(weak: Iterable[Mapping[str, Any]], strong: Iterable[Mapping[str, Any]], key: str) -> list[Mapping[str, Any]]:
    """Each key once, in the order in which they come first."""
    found = {entry[key]: entry for entry in weak}
    found.update({entry[key]: entry for entry in strong})
    return list(found.values())
