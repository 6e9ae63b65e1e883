# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""What is wrong with the kind of object that a job asks for, and with its template."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..check import Path, Problem, show
from . import operators, tasks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .tasks import Job

_METADATA: dict[str, Any] = {"labels": {}, "annotations": {}}
# What the builder reads of a template: mappings, lists of the one entry's form, text that has to be there, whole numbers.
_POD: dict[str, Any] = {
    "metadata": _METADATA,
    "spec": {
        "containers": [{"env": [{"name": ""}], "volumeMounts": [{"mountPath": ""}]}],
        "volumes": [{"name": ""}],
        "tolerations": [{}],
        "terminationGracePeriodSeconds": 0,
    },
}
_REPLICA = {"template": _POD}
_POLICIES: list[dict[str, Any]] = [{"events": [None]}]
_SPARK = {"env": [{"name": ""}], "volumeMounts": [{"mountPath": ""}], "tolerations": [{}], **_METADATA}
_FORMS: dict[str, dict[str, Any]] = {
    "Pod": _POD["spec"],
    "Job": {"tasks": [{"name": "", "policies": _POLICIES, **_REPLICA}], "policies": _POLICIES, "plugins": {}},
    "RayJob": {"rayClusterSpec": {"headGroupSpec": _REPLICA, "workerGroupSpecs": [_REPLICA]}},
    "SparkApplication": {
        "driver": _SPARK,
        "executor": _SPARK,
        "volumes": [{"name": ""}],
        "batchSchedulerOptions": {},
    },
}


def problems(job: Job) -> Iterator[Problem]:
    framework, kind = tasks.framework(job.spec), tasks.kind(job.spec)
    allowed = [name for name, shape in operators.KINDS.items() if framework in shape["frameworks"]]
    if framework not in ("aitj", ""):
        allowed.insert(0, tasks.VOLCANO)
    asked = tasks.KIND in job.spec.get("annotations", {})
    place: Path = ("annotations", tasks.KIND) if asked else ("extensionTemplate", "kind")
    if kind not in allowed:
        yield Problem(place, show(kind), f"one of {', '.join(allowed)} for {framework or 'a workflow'}")
        return
    if kind != tasks.VOLCANO and kind not in job.given.get("kinds", (kind,)):
        where: Path = place if asked or "extensionTemplate" in job.spec else ("framework",)
        remedy = "Install its operator" + (", or leave the annotation out." if asked else ".")
        yield Problem(where, show(kind), "a kind that the cluster serves", remedy)
    if "extensionTemplate" in job.spec:
        yield from _template(job, kind)
    roles = operators.KINDS.get(kind, {}).get("roles", {})
    names = [roles[task.role] for task in job.tasks if task.role in roles]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield Problem(("members",), f"{names.count(name)} members for {name}", f"one member for each task of {kind}")


def _template(job: Job, kind: str) -> Iterator[Problem]:
    template = job.spec["extensionTemplate"]
    own = f"{template.get('kind', '')}.{template.get('apiVersion', '')}"
    pod = own == "Pod.v1" and kind == tasks.VOLCANO
    if own != kind and not pod:
        yield Problem(("extensionTemplate", "kind"), show(own), f"the job's kind, {kind}")
        return
    if pod and not job.tasks:
        yield Problem(("extensionTemplate", "kind"), "Pod", "a kind that says the tasks of a job without members")
    wrong = [*_shaped(template.get("metadata", {}), _METADATA, ("extensionTemplate", "metadata"))]
    wrong += _shaped(template.get("spec", {}), _form(kind, pod), ("extensionTemplate", "spec"))
    yield from wrong
    if wrong or kind != tasks.VOLCANO or pod or not job.tasks:
        return
    names = {task.name for task in job.tasks}
    for number, task in enumerate(template.get("spec", {}).get("tasks", ())):
        if task["name"] not in names:
            where = ("extensionTemplate", "spec", "tasks", number, "name")
            yield Problem(where, show(task["name"]), f"one of the members', {', '.join(sorted(names))}")


def _form(kind: str, pod: bool) -> dict[str, Any]:
    name = "Pod" if pod else kind.partition(".")[0]
    shape = operators.KINDS.get(kind, {})
    if name in _FORMS or "roles" not in shape:
        return _FORMS.get(name, {})
    replicas = dict.fromkeys(shape["roles"].values(), _REPLICA)
    form: dict[str, Any] = {shape["replicas"]: replicas} if "replicas" in shape else replicas
    for path in (shape.get("policy", ""), shape.get("bounds", ("",))[0]):
        if path:
            form[path.partition(".")[0]] = {}
    return form


def _shaped(value: object, form: object, path: Path) -> Iterator[Problem]:
    if isinstance(form, dict):
        if not isinstance(value, dict):
            yield Problem(path, show(value), "a mapping")
            return
        for name, part in form.items():
            if name in value or part == "":
                yield from _shaped(value.get(name), part, (*path, name))
    elif isinstance(form, list):
        if not isinstance(value, list):
            yield Problem(path, show(value), "a list")
            return
        for number, entry in enumerate(value):
            yield from _shaped(entry, form[0], (*path, number))
    elif form == "" and not isinstance(value, str):
        yield Problem(path, show(value), "text")
    elif form == 0 and (isinstance(value, bool) or not isinstance(value, int)):
        yield Problem(path, show(value), "a whole number")
