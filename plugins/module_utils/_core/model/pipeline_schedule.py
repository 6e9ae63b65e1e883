# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""A schedule: runs of a pipeline by a rule of time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import crontab, moment, own
from .check import Problem, show
from .pipeline import DESCRIPTION, NAME, OWNER, VERSION
from .pipeline_run import HOW
from .status import STATUS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .table import Field, OwnNoun

FINAL = ("success", "failed", "terminated")

_SECONDS: Field = {"type": "int", "min": 0, "max": 2**31 - 1}
_TIME: Field = {"type": "datetime", "zoneless": True}

NOUN: OwnNoun = {
    "api": "paddleflow.org/v1alpha1",
    "kind": "PipelineSchedule",
    "plural": "pipelineschedules",
    "short_names": ["pplschedule"],
    "scope": "Namespaced",
    "states": {"stopped": "stopped"},
    "ready": {
        "present": {"path": "status.phase", "values": ["running"]},
        "stopped": {"path": "status.phase", "values": [*FINAL]},
    },
    "name": {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_-]{1,49}$", "min": 2, "max": 50},
    "codes": {"name": "InvalidNamePattern"}
    | dict.fromkeys(
        (
            *("pipeline", "crontab", "timeZone", "startTime", "endTime", "concurrency", "concurrencyPolicy", "catchup"),
            *("expireInterval", "suspend", "historyLimit", "description", *HOW),
        ),
        "InvalidArguments",
    ),
    "spec": {
        "pipeline": {
            "type": "object",
            "required": True,
            "fields": {
                "name": {"type": "string", "required": True, "pattern": NAME, "max": 128},
                "version": VERSION,
            },
        },
        "crontab": {"type": "string", "required": True, "min": 1, "max": 1024},
        "timeZone": {
            "type": "string",
            "pattern": "^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$",
            "max": 63,
            "aliases": ["timezone"],
        },
        "startTime": _TIME,
        "endTime": _TIME,
        "concurrency": {"type": "int", "min": 0, "max": 1000, "default": 0},
        "concurrencyPolicy": {"type": "string", "enum": ["suspend", "replace", "skip"], "default": "suspend"},
        "expireInterval": {**_SECONDS, "default": 0},
        "catchup": {"type": "bool", "default": False},
        "suspend": {"type": "bool", "default": False},
        "historyLimit": {"type": "int", "min": 0, "max": 10000},
        "description": DESCRIPTION,
        "owner": OWNER,
        **HOW,
        "stop": {
            "type": "bool",
            "no_option": True,
            "rules": [{"rule": "self", "message": "can only be true"}],
        },
    },
    "spec_rules": [
        {"rule": "!has(oldSelf.stop) || has(self.stop)", "message": "stop cannot be taken back: make another schedule"},
        {
            "rule": "!has(self.startTime) || !has(self.endTime) || self.startTime < self.endTime",
            "message": "endTime must be after startTime",
        },
    ],
    "status": {
        **STATUS,
        "phase": {"type": "string", "enum": ["running", *FINAL]},
        "message": {"type": "string", "max": 32768},
        "version": {"type": "int", "min": 1},
        "nextRunTime": {"type": "datetime"},
        "lastRunTime": {"type": "datetime"},
        "active": {"type": "list", "max": 1000, "items": {"type": "string", "max": 253}},
    },
    "rules": [],
    "columns": [
        {"name": "Pipeline", "type": "string", "path": ".spec.pipeline.name"},
        {"name": "Crontab", "type": "string", "path": ".spec.crontab"},
        {"name": "Phase", "type": "string", "path": ".status.phase"},
        {"name": "Next", "type": "date", "path": ".status.nextRunTime"},
        {"name": "Age", "type": "date", "path": ".metadata.creationTimestamp"},
    ],
}

ZONE = "a time zone of the IANA database, such as Europe/Berlin or UTC"


def problems(_name: str, spec: Mapping[str, Any]) -> Iterator[Problem]:
    try:
        rule = crontab.parse(spec["crontab"])
    except ValueError as error:
        allowed = (
            "five fields (minute, hour, day of the month, month, day of the week), a word such as @daily, or @every 90s"
        )
        yield Problem(("crontab",), f"{show(spec['crontab'])} ({error})", allowed)
    else:
        if rule.zone and "timeZone" in spec:
            yield Problem(("timeZone",), "given beside a zone in crontab", "left out, or given in the zone's place")
        if not crontab.known(rule.zone):
            yield Problem(("crontab",), f"of the zone {show(rule.zone)}", ZONE)
    if not crontab.known(spec.get("timeZone", "")):
        yield Problem(("timeZone",), show(spec["timeZone"]), ZONE)
    times = {}
    for field in ("startTime", "endTime"):
        if field in spec:
            try:
                times[field] = moment.utc(spec[field])
            except (ValueError, OverflowError) as error:
                yield Problem((field,), f"{show(spec[field])} ({error})", "a time that there is")
    if len(times) > 1 and times["startTime"] >= times["endTime"]:
        yield Problem(("endTime",), show(spec["endTime"]), f"after startTime, {spec['startTime']}")


def build(name: str, namespace: str, spec: Mapping[str, Any]) -> list[dict[str, Any]]:
    times = {field: moment.utc(spec[field]) for field in ("startTime", "endTime") if field in spec}
    return [own.build(NOUN, name, namespace, {**spec, **times})]


def state_problems(state: str, _name: str, spec: Mapping[str, Any]) -> Iterator[Problem]:
    """Of a declaration of another state than present."""
    for field in spec if state == "stopped" else ():
        remedy = "A schedule that is there already is named alone."
        yield Problem((field,), "given", "left out where the state is stopped", remedy)


def change(_state: str, name: str, namespace: str, _spec: Mapping[str, Any]) -> dict[str, Any]:
    """What a stop changes of a schedule that is there."""
    metadata = {"name": own.object_name(NOUN, name), "namespace": namespace}
    return {"apiVersion": NOUN["api"], "kind": NOUN["kind"], "metadata": metadata, "spec": {"stop": True}}


def judge(state: str, found: Mapping[str, Any], _spec: Mapping[str, Any]) -> str | None:
    """Why a live schedule cannot come into a state, nothing when it is in it, None when it can."""
    phase = found.get("status", {}).get("phase", "")
    if state == "stopped":
        return "" if phase in FINAL or found.get("spec", {}).get("stop") else None
    if state == "absent" and phase == "running":
        return "it is running: stop it first, by the state stopped and wait"
    return None


def declared(found: Mapping[str, Any]) -> dict[str, Any]:
    return dict(found.get("spec", {}))


def failed(state: str, found: Mapping[str, Any]) -> str:
    """Why it will never run anything again, as a wait is told; nothing when it may."""
    status = found.get("status", {})
    phase = status.get("phase", "")
    ended = phase in FINAL and state != "stopped"
    return f"it is {phase}: {status.get('message') or 'no reason is given'}" if ended else ""
