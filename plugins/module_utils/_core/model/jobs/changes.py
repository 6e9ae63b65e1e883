# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""What may still be changed of a job, and how; and when what is left of it goes."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from ..check import Problem, show
from . import state, tasks
from .stop import orders

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..table import Field

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


def problems(
    fields: Mapping[str, Field], old: Mapping[str, Any], new: Mapping[str, Any], now: str
) -> Iterator[Problem]:
    """Fields of a declaration that differ and may not, in the state that the job is in. No change is never a problem [D-145]."""
    if now in state.FINAL:
        return
    resizable = [task.resizable for task in tasks.tasks(old)]
    yield from _level(fields, old, new, now, (), resizable)


def _level(
    fields: Mapping[str, Field],
    old: Mapping[str, Any],
    new: Mapping[str, Any],
    now: str,
    path: tuple[str | int, ...],
    resizable: list[bool],
) -> Iterator[Problem]:
    for name, field in fields.items():
        before, after = old.get(name, field.get("default")), new.get(name, field.get("default"))
        if before == after:
            continue
        if name == "members" and len(before or ()) == len(after or ()):
            for number, (one, other) in enumerate(zip(before or (), after or (), strict=True)):
                item = field["items"]["fields"]
                yield from _level(item, one, other, now, (*path, name, number), resizable[number : number + 1])
        elif name == "schedulingPolicy":
            yield from _level(field["fields"], before or {}, after or {}, now, (*path, name), resizable)
        elif name not in MUTABLE or (name in _COUNTS and not any(resizable)):
            yield Problem((*path, name), f"changed from {show(before)} to {show(after)}", "what it was", RECREATE)
        elif now not in MUTABLE[name]:
            allowed = f"what it was: it changes only while a job is {' or '.join(MUTABLE[name])}"
            yield Problem((*path, name), f"changed while the job is {now}", allowed, RECREATE)


def merged(old: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """Labels or annotations after an update: an empty value takes its key away [D-146]."""
    return {key: value for key, value in {**old, **given}.items() if given.get(key, value) != "" or key not in given}


def revised(live: Mapping[str, Any], built: Mapping[str, Any]) -> dict[str, Any]:
    """What to write for a job that is there: as it is, with what may change. Pods keep the labels that they were made with."""
    spec = {**live.get("spec", {})}
    for name in ("minAvailable", "priorityClassName"):
        if name in built["spec"]:
            spec[name] = built["spec"][name]
    wanted = {task["name"]: task for task in built["spec"].get("tasks", ())}
    if "tasks" in spec:
        spec["tasks"] = [
            {
                **task,
                **{name: value for name, value in wanted.get(task.get("name"), {}).items() if name in _COUNTS},
            }
            for task in spec["tasks"]
        ]
    return {**built, "spec": spec}


def stop(live: Mapping[str, Any], now: str, why: str) -> tuple[dict[str, Any], dict[str, Any] | None] | None:
    """As `orders` says; nothing at all for a job that has ended [D-147]."""
    return None if now in state.FINAL else orders(live, why)


def overdue(spec: Mapping[str, Any], job: Mapping[str, Any], now: datetime, reached: str) -> str:
    """Why a job's object is to go, or the job to end; empty while it may stay [D-150]. `reached` is its state."""
    stated = {**spec.get("ttlSeconds", {})}
    override = spec.get("annotations", {}).get("paddleflow/job-ttl-seconds", "")
    if override.isdecimal():
        stated |= {"succeeded": int(override), "failed": int(override)}
    since = job.get("status", {}).get("state", {}).get("lastTransitionTime")
    if reached in ("init", "pending"):
        since = job.get("metadata", {}).get("creationTimestamp")
    kind = {"init": "pending", "pending": "pending", "succeeded": "succeeded"}.get(reached, "failed")
    if since is None or kind not in stated or reached in ("running", "terminating", "preempting"):
        return ""
    age = (now - datetime.fromisoformat(since)).total_seconds()
    return f"{reached} for {int(age)} seconds, more than {stated[kind]}" if age > stated[kind] else ""
