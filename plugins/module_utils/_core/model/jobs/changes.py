# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""What may still be changed of a job, and how."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from .. import canonical
from ..check import Problem, show
from ..job_fields import NOUN
from . import objects, pods, state, tasks
from .stop import orders

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..table import Field
    from .tasks import Given

RECREATE = "Only another job can have it: use recreate."
_EARLY, _ALIVE = ("init", "pending"), ("init", "pending", "running")
# In which states a field may change. Nothing else may: the engine refuses it.
MUTABLE = {
    "priority": _EARLY,
    "labels": _ALIVE,
    "annotations": _ALIVE,
    "displayName": _ALIVE,
    "replicas": _ALIVE,
    "minAvailable": _ALIVE,
}
_COUNTS = ("replicas", "minAvailable")
_LISTS = ("args", "extraFS")
_SMALLEST = canonical.form(NOUN["spec"]["flavour"]["fields"], tasks.SIZE)
_MEMBERS_POLICY = NOUN["spec"]["members"]["items"]["fields"]["schedulingPolicy"]["fields"]


class _Part(NamedTuple):
    """A part of a declaration: as it was written, for messages, and what that means."""

    said: Mapping[str, Any]
    meant: Mapping[str, Any]

    def within(self, name: str) -> _Part:
        return _Part(self.said.get(name) or {}, self.meant.get(name) or {})

    def entries(self, name: str) -> list[_Part]:
        return [_Part(*one) for one in zip(self.said.get(name) or (), self.meant.get(name) or (), strict=True)]


def problems(old: Mapping[str, Any], new: Mapping[str, Any], now: str) -> Iterator[Problem]:
    """Fields of a declaration that differ and may not, in the state that the job is in. No change is never a problem [D-145]."""
    if now in state.FINAL:
        return
    # Spark's operator ends an application and runs it again when its object changes.
    fixed = tasks.kind(old).startswith("SparkApplication.")
    resizable = [task.resizable and not fixed for task in tasks.tasks(old)]
    yield from _level(NOUN["spec"], _Part(old, _meant(old)), _Part(new, _meant(new)), now, (), resizable)


def _level(
    fields: Mapping[str, Field], old: _Part, new: _Part, now: str, path: tuple[str | int, ...], resizable: list[bool]
) -> Iterator[Problem]:
    for name, field in fields.items():
        before, after = old.said.get(name), new.said.get(name)
        # What a member leaves out may mean something else than before, but then it is the job's field that was changed.
        if before == after or old.meant.get(name) == new.meant.get(name):
            continue
        if name == "members" and len(before or ()) == len(after or ()):
            for number, (one, other) in enumerate(zip(old.entries(name), new.entries(name), strict=True)):
                item = field["items"]["fields"]
                yield from _level(item, one, other, now, (*path, name, number), resizable[number : number + 1])
        elif name == "schedulingPolicy":
            yield from _level(field["fields"], old.within(name), new.within(name), now, (*path, name), resizable)
        elif name not in MUTABLE or (name in _COUNTS and not any(resizable)):
            was, becomes = (show(one.said.get(name, one.meant.get(name))) for one in (old, new))
            yield Problem((*path, name), f"changed from {was} to {becomes}", "what it was", RECREATE)
        elif now not in MUTABLE[name]:
            allowed = f"what it was: it changes only while a job is {' or '.join(MUTABLE[name])}"
            yield Problem((*path, name), f"changed while the job is {now}", allowed, RECREATE)


def _meant(spec: Mapping[str, Any]) -> dict[str, Any]:
    """A declaration as every other one that means the same: in its canonical form, with what no table says of defaults, and
    each member with what it has of the job."""
    found = canonical.form(NOUN["spec"], spec)
    found["restartPolicy"] = pods.restart_policy(spec)
    found["framework"] = tasks.framework(spec)
    if "extensionTemplate" not in spec and "members" not in spec:
        found.setdefault("flavour", _SMALLEST)
    _size(found)
    all_tasks = tasks.tasks(spec)
    found["minAvailable"] = tasks.available(spec, all_tasks)
    if "members" in found:
        found["members"] = [
            {**_member(spec, found, member), "minAvailable": task.low}
            for member, task in zip(found["members"], all_tasks, strict=True)
        ]
    return _without_empty_lists(found)


def _without_empty_lists(found: dict[str, Any]) -> dict[str, Any]:
    """A member's own empty list says something where the job has a list that it would get otherwise."""
    idle = [name for name in _LISTS if not found.get(name)]
    for level in (found, *found.get("members", ())):
        for name in idle:
            if level.get(name) == []:
                del level[name]
    return found


def _size(level: dict[str, Any]) -> None:
    """What resources given in place leave out. Without any a template's hold, so none are made of nothing."""
    flavour = level.get("flavour", {})
    if flavour and not tasks.named(flavour):
        level["flavour"] = {**_SMALLEST, **{name: value for name, value in flavour.items() if name != "name"}}


def _member(spec: Mapping[str, Any], job: Mapping[str, Any], member: Mapping[str, Any]) -> dict[str, Any]:
    found = {**{name: job[name] for name in tasks.ONE_FOR_ALL if name in job}, **member}
    _size(found)
    env = {**spec.get("env", {}), **member.get("env", {})}
    found["restartPolicy"] = pods.restart_policy({**spec, **member, "env": env})
    policy = {name: value for name, value in job.get("schedulingPolicy", {}).items() if name in _MEMBERS_POLICY}
    found["schedulingPolicy"] = {**policy, **member.get("schedulingPolicy", {})}
    return found


def emptied(spec: Mapping[str, Any], live: Mapping[str, Any]) -> dict[str, dict[str, None]]:
    """Labels and annotations that are declared as empty and are there, as a patch of metadata takes them away [D-146]: what
    somebody else put there does not go because we do not declare it."""
    found: dict[str, dict[str, None]] = {}
    for part in ("labels", "annotations"):
        there = live["metadata"].get(part, {})
        gone = {key: None for key, value in spec.get(part, {}).items() if value == "" and key in there}
        if gone:
            found[part] = gone
    return found


def same(live: Mapping[str, Any], spec: Mapping[str, Any]) -> bool:
    """Whether a job that is there, and stays, was declared like this: then all is said of it, whatever has become of the
    queue, flavours and file systems that it names [D-104, D-107]."""
    metadata = live["metadata"]
    kept = objects.DECLARATION in metadata.get("annotations", {}) and not metadata.get("deletionTimestamp")
    return kept and _meant(objects.declared(live)) == _meant(spec)


def revised(live: Mapping[str, Any], built: Mapping[str, Any], spec: Mapping[str, Any], given: Given) -> dict[str, Any]:
    """What to write for a job that is there: as it is, with what may change. Pods keep the labels that they were made with."""
    if tasks.kind(spec) == tasks.VOLCANO:
        return {**built, "spec": _volcanos(live.get("spec", {}), built["spec"])}
    place = built["metadata"]["name"], built["metadata"]["namespace"]
    # An operator may take any other difference for another job, and flavours may have changed meanwhile: only what the
    # change of the declaration makes of the object is written.
    old, new = (objects.build(*place, _bare(_meant(one)), given)["spec"] for one in (objects.declared(live), spec))
    return {**built, "spec": _carried(live.get("spec", {}), old, new)}


def _volcanos(live: Mapping[str, Any], built: Mapping[str, Any]) -> dict[str, Any]:
    spec = {**live, **{name: built[name] for name in ("minAvailable", "priorityClassName") if name in built}}
    wanted = {task["name"]: task for task in built.get("tasks", ())}
    spec["tasks"] = [
        {**task, **{name: value for name, value in wanted.get(task.get("name"), {}).items() if name in _COUNTS}}
        for task in live.get("tasks", ())
    ]
    return spec


def _bare(spec: Mapping[str, Any]) -> dict[str, Any]:
    """A declaration without the labels and annotations of its pods."""
    kind = {key: value for key, value in spec.get("annotations", {}).items() if key == tasks.KIND}
    found = {**spec, "labels": {}, "annotations": kind}
    if "members" in spec:
        found["members"] = [{**member, "labels": {}, "annotations": {}} for member in spec["members"]]
    return found


def _carried(live: Any, old: Any, new: Any) -> Any:
    """What is live, with the differences between old and new."""
    if old == new:
        return live
    if isinstance(live, dict) and isinstance(old, dict) and isinstance(new, dict):
        kept = {key: value for key, value in live.items() if key in new or key not in old}
        return kept | {key: _carried(live.get(key), old.get(key), new[key]) for key in new if old.get(key) != new[key]}
    if isinstance(live, list) and isinstance(old, list) and isinstance(new, list) and len(live) == len(old) == len(new):
        return [_carried(*one) for one in zip(live, old, new, strict=True)]
    return new


def stop(live: Mapping[str, Any], now: str, why: str) -> tuple[dict[str, Any], dict[str, Any] | None] | None:
    """As `orders` says; nothing at all for a job that has ended [D-147]."""
    return None if now in state.FINAL else orders(live, why)
