# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""SampleJob: work on a SampleSet's data, once or by a rule of time. The kind and its fields are the reference's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import cron, crontab, own
from .check import Path, Problem, show
from .names import LABEL
from .sampleset import SECRET_REF, source_problems
from .status import STATUS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .table import Field, OwnNoun

_NUMBER: Field = {"type": "int", "min": 0}
_TEXT: Field = {"type": "string", "max": 4096}
_BOOL: Field = {"type": "bool"}
_PATHS: Field = {"type": "list", "min": 1, "max": 10000, "items": {"type": "string", "max": 4096}}
_COUNTS: dict[str, Field] = dict.fromkeys(("files", "bytes", "totalFiles", "totalBytes", "percent"), _NUMBER)

NOUN: OwnNoun = {
    "api": "batch.paddlepaddle.org/v1alpha1",
    "kind": "SampleJob",
    "plural": "samplejobs",
    "short_names": ["spj"],
    "scope": "Namespaced",
    "ready": {"present": {"path": "status.phase", "values": ["Succeeded"], "failed": ["Failed"]}},
    "name": {"type": "string", "pattern": f"^{LABEL}$", "min": 1, "max": 63},
    "spec": {
        "type": {"type": "string", "required": True, "enum": ["sync", "warmup", "rmr", "clear"]},
        "sampleSetRef": {
            "type": "object",
            "required": True,
            "fields": {"name": {"type": "string", "required": True, "min": 1, "max": 253}},
        },
        "secretRef": SECRET_REF,
        "terminate": _BOOL,
        "syncOptions": {
            "type": "object",
            "fields": {
                "source": _TEXT,
                "destination": _TEXT,
                "start": _TEXT,
                "end": _TEXT,
                "threads": _NUMBER,
                "http-port": {"type": "int", "min": 0, "max": 65535},
                "update": _BOOL,
                "force-update": _BOOL,
                "perms": _BOOL,
                "dirs": _BOOL,
                "dry": _BOOL,
                "delete-src": _BOOL,
                "delete-dst": _BOOL,
                "exclude": _TEXT,
                "include": _TEXT,
                "manager": _TEXT,
                "worker": _TEXT,
                "bwlimit": _NUMBER,
                "no-https": _BOOL,
            },
        },
        "warmupOptions": {
            "type": "object",
            "fields": {
                "paths": _PATHS,
                "file": _TEXT,
                "partitions": {"type": "int", "min": 1, "max": 2147483647},
                "strategyName": {"type": "string", "enum": ["random", "sequence"], "default": "sequence"},
                "threads": _NUMBER,
            },
        },
        "rmrOptions": {"type": "object", "fields": {"paths": _PATHS}},
        "clearOptions": {"type": "object", "fields": {"paths": _PATHS}},
        "schedule": {"type": "string", "max": 1024},
        "timeZone": {"type": "string", "pattern": "^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$", "max": 63},
        "concurrencyPolicy": {"type": "string", "enum": ["Forbid", "Allow", "Replace"], "default": "Forbid"},
        "startingDeadlineSeconds": _NUMBER,
        "suspend": {"type": "bool", "default": False},
        "successfulRunsHistoryLimit": {"type": "int", "min": 0, "max": 100, "default": 3},
        "failedRunsHistoryLimit": {"type": "int", "min": 0, "max": 100, "default": 1},
    },
    "status": {
        **STATUS,
        "phase": {"type": "string", "max": 63},
        "jobName": _TEXT,
        "message": {"type": "string", "max": 32768},
        "active": {"type": "list", "max": 100, "items": {"type": "string", "max": 253}},
        "lastScheduleTime": {"type": "datetime"},
        "nextScheduleTime": {"type": "datetime"},
        "progress": {"type": "object", "fields": _COUNTS},
        "history": {
            "type": "list",
            # As many as both limits allow.
            "max": 200,
            "items": {
                "type": "object",
                "fields": {
                    "jobName": _TEXT,
                    "phase": {"type": "string", "max": 63},
                    "startTime": {"type": "datetime"},
                    "completionTime": {"type": "datetime"},
                    "message": {"type": "string", "max": 1024},
                },
            },
        },
    },
    "rules": [
        {
            # The reference takes such a change and does nothing about it.
            "rule": "oldSelf.?status.?phase.orValue('') != 'Succeeded'"
            " || has(self.spec.schedule) || has(oldSelf.spec.schedule) || self.spec == oldSelf.spec",
            "message": "spec cannot be changed once the job has succeeded: make another SampleJob",
        },
    ],
    "columns": [
        {"name": "TYPE", "type": "string", "path": ".spec.type"},
        {"name": "PHASE", "type": "string", "path": ".status.phase"},
        {"name": "PROGRESS", "type": "integer", "path": ".status.progress.percent"},
        {"name": "AGE", "type": "date", "path": ".metadata.creationTimestamp"},
    ],
}


def problems(_name: str, spec: Mapping[str, Any]) -> Iterator[Problem]:
    kind, options = spec["type"], spec.get(f"{spec['type']}Options", {})
    if kind == "sync" and not spec.get("secretRef", {}).get("name"):
        yield Problem(("secretRef", "name"), "missing", "the Secret with the credentials of the source of a sync")
    if kind == "rmr" and not options.get("paths"):
        yield Problem(("rmrOptions", "paths"), "missing", "what to remove, relative to the data set")
    if kind == "sync" and options.get("source"):
        yield from source_problems(options["source"], ("syncOptions", "source"))
    for name in ("destination", "file"):
        yield from _escape(options.get(name, ""), (f"{kind}Options", name))
    for number, path in enumerate(options.get("paths", ())):
        place: Path = (f"{kind}Options", "paths", number)
        if path.strip():
            yield from _escape(path, place)
        else:
            yield Problem(place, show(path), "a path", "The whole data set is '/'.")
    if spec.get("schedule"):
        try:
            cron.parse(spec["schedule"])
        except ValueError as error:
            allowed = "five fields: minute, hour, day of the month, month, day of the week"
            yield Problem(("schedule",), f"{show(spec['schedule'])} ({error})", allowed)
    if not crontab.known(spec.get("timeZone", "")):
        allowed = "a time zone of the IANA database, such as Europe/Berlin or UTC"
        yield Problem(("timeZone",), show(spec["timeZone"]), allowed)


def _escape(path: str, place: Path) -> Iterator[Problem]:
    if ".." in path.split("/") or not path.isprintable():
        yield Problem(place, show(path), "a path without .. and control characters")


def build(name: str, namespace: str, spec: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [own.build(NOUN, name, namespace, spec)]


def declared(found: Mapping[str, Any]) -> dict[str, Any]:
    return dict(found.get("spec", {}))
