# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""A run of a pipeline. What it is to run never changes; that it shall stop, or be tried again, is written into it."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from . import own
from .check import Problem
from .names import LABEL, slug
from .pipeline import DESCRIPTION, FILE, FILE_SYSTEM, NAME, OWNER, PATH, SRC, VERSION, too_large
from .status import STATUS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .table import Field, OwnNoun, Ready, Rule

# A document above it lives in a pipeline, which the run refers to.
LARGEST = 2**16
RUN_KEY = "paddleflow.org/run-key"
SOURCES = ("document", "pipeline", "path")
FINAL = ("succeeded", "failed", "terminated", "skipped")
RETRIED = ("failed", "terminated")

_FULL_NAME = r"^[A-Za-z][A-Za-z0-9-]{0,29}(\.[A-Za-z][A-Za-z0-9-]{0,29})*$"
_TEXT: Field = {"type": "string", "max": 253}


def parameters(doc: str = "pipeline.parameters") -> Field:
    """By name, or by full name of the component and name. Bounded so that the API server can compare them in time."""
    value: Field = {"type": "value", "max": 32768}
    return {
        "type": "map",
        "max": 256,
        "pattern": r"^([A-Za-z0-9-]+\.)*[A-Za-z_][A-Za-z0-9_]{0,49}$",
        "items": value,
        "doc": doc,
    }


IMAGE: Field = {
    "type": "string", "pattern": r"^\S+$", "min": 1, "max": 1024, "aliases": ["dockerEnv"], "doc": "pipeline.image",
}  # fmt: skip
# How the steps of a run are run, which a schedule says of all of its runs.
HOW: dict[str, Field] = {
    "parameters": parameters(),
    "image": IMAGE,
    "disabled": {
        "type": "list",
        "max": 1000,
        "items": {"type": "string", "pattern": _FULL_NAME, "max": 1024},
        "doc": "pipeline.disabled",
    },
    "onFailure": {
        "type": "string",
        "enum": ["fail_fast", "continue"],
        "aliases": ["failureStrategy"],
        "doc": "pipeline.onFailure",
    },
    "cache": {
        "type": "string",
        "enum": ["declared", "all", "none", "refresh"],
        "default": "declared",
        "doc": "pipeline.cache",
    },
    "timeoutSeconds": {"type": "int", "min": 1, "max": 2**31 - 1, "doc": "pipeline.timeoutSeconds"},
    "fileSystem": {**FILE_SYSTEM, "doc": "pipeline.fileSystem"},
}


def _frozen(fields: Mapping[str, Field]) -> dict[str, Field]:
    return {name: {**field, "immutable": True} for name, field in fields.items()}


def _once(field: str, message: str) -> Rule:
    return {"rule": f"!has(oldSelf.{field}) || has(self.{field})", "message": message}


_ENDED = ", ".join(f"'{phase}'" for phase in FINAL)
_PHASE = "oldSelf.?status.?phase.orValue('')"
_SUCCEEDED: Ready = {"path": "status.phase", "values": ["succeeded"]}

NOUN: OwnNoun = {
    "api": "paddleflow.org/v1alpha1",
    "kind": "PipelineRun",
    "plural": "pipelineruns",
    "short_names": ["pplrun"],
    "scope": "Namespaced",
    "states": {"stopped": "stopped", "retried": "retried"},
    # A run that shall stop may end as it likes.
    "ready": {
        "present": _SUCCEEDED,
        "stopped": {"path": "status.phase", "values": [*FINAL]},
        "retried": _SUCCEEDED,
    },
    "name": {"type": "string", "pattern": f"^{LABEL}$", "min": 1, "max": 63},
    "codes": {
        "name": "InvalidNamePattern",
        "runName": "InvalidNamePattern",
        "document": "InvalidPipeline",
        "parameters": "InvalidPipeline",
        "disabled": "InvalidPipeline",
    }
    | dict.fromkeys(("description", "pipeline", "path", "fileSystem", "image", "onFailure"), "InvalidArguments"),
    "spec": {
        "runKey": {"type": "string", "min": 1, "max": 253, "aside": True},
        "src": SRC,
        "checkCache": {"type": "bool", "default": True, "aside": True},
        "force": {"type": "bool", "default": False, "aside": True},
        **_frozen(
            {
                "document": {"type": "document", "min": 1, "max": LARGEST, "doc": "pipeline.document"},
                "pipeline": {
                    "type": "object",
                    "fields": {
                        "name": {"type": "string", "required": True, "pattern": NAME, "max": 128},
                        "version": VERSION,
                    },
                },
                "path": FILE,
                "runName": {"type": "string", "pattern": NAME, "min": 1, "max": 128},
                "description": DESCRIPTION,
                "owner": OWNER,
                **HOW,
            }
        ),
        "ttlSecondsAfterFinished": {"type": "int", "min": 0, "max": 2**31 - 1},
        "stop": {"type": "string", "enum": ["normal", "force"], "no_option": True},
        "retry": {
            "type": "object",
            "no_option": True,
            "fields": {
                "parameters": parameters("spec.retry.parameters"),
                "image": {**IMAGE, "doc": "spec.retry.image"},
            },
        },
        "retryOf": {**_TEXT, "immutable": True, "no_option": True},
        "schedule": {
            "type": "object",
            "immutable": True,
            "no_option": True,
            "fields": {"name": {**_TEXT, "required": True}, "time": {"type": "datetime", "required": True}},
        },
    },
    "spec_rules": [
        {
            "rule": "[has(self.document), has(self.pipeline), has(self.path)].exists_one(given, given)",
            "message": "one of document, pipeline and path must be given, and only one",
        },
        {
            "rule": "!has(self.path) || has(self.fileSystem)",
            "message": "path must come with fileSystem, which it is a file of",
        },
        _once("stop", "stop cannot be taken back"),
        _once("retry", "retry cannot be taken back"),
        {
            "rule": "!has(oldSelf.stop) || !has(self.stop) || self.stop == oldSelf.stop || self.stop == 'force'",
            "message": "stop can only change from normal to force",
        },
        {
            "rule": "!has(oldSelf.retry) || !has(self.retry) || self.retry == oldSelf.retry",
            "message": "retry cannot be changed: try the run again that it made",
        },
    ],
    "status": {
        **STATUS,
        "phase": {"type": "string", "enum": ["initiating", "pending", "running", "terminating", *FINAL]},
        "message": {"type": "string", "max": 32768},
        "version": {"type": "int", "min": 1},
        "digest": {"type": "string", "max": 64},
        "startTime": {"type": "datetime"},
        "completionTime": {"type": "datetime"},
        "progress": {
            "type": "object",
            "fields": {
                name: {"type": "int", "min": 0}
                for name in ("steps", "running", "succeeded", "failed", "terminated", "cancelled", "skipped", "cached")
            },
        },
        # A line for each instance, by its runtime name: structures would take three times the room.
        "steps": {"type": "map", "items": {"type": "string", "max": 100}},
        "retriedBy": _TEXT,
        "usedBy": {"type": "list", "max": 10000, "items": _TEXT},
    },
    "rules": [
        {
            "rule": "self.metadata.name.matches('^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$')",
            "message": "metadata.name must be a name of small letters, digits and hyphens, of at most 63 characters",
        },
        {
            # Not by orValue('') on both sides: of two texts without a known length, comparing counts as too dear.
            "rule": "!has(self.spec.stop) || has(oldSelf.spec.stop) && self.spec.stop == oldSelf.spec.stop"
            f" || !({_PHASE} in [{_ENDED}])",
            "message": "spec.stop cannot be set on a run that has ended",
        },
        {
            "rule": f"!has(self.spec.retry) || has(oldSelf.spec.retry) || {_PHASE} in ['failed', 'terminated']",
            "message": "spec.retry can only be set on a run that has failed or was terminated",
        },
    ],
    "columns": [
        {"name": "Pipeline", "type": "string", "path": ".spec.pipeline.name"},
        {"name": "Phase", "type": "string", "path": ".status.phase"},
        {"name": "Steps", "type": "integer", "path": ".status.progress.steps"},
        {"name": "Succeeded", "type": "integer", "path": ".status.progress.succeeded"},
        {"name": "Failed", "type": "integer", "path": ".status.progress.failed"},
        {"name": "Age", "type": "date", "path": ".metadata.creationTimestamp"},
    ],
}


def problems(_name: str, spec: Mapping[str, Any]) -> Iterator[Problem]:
    """What no single field can tell; of the document itself, `workflow.declared` tells."""
    given = [field for field in SOURCES if field in spec]
    if len(given) > 1:
        yield Problem((given[1],), f"given beside {given[0]}", f"left out, or given in the place of {given[0]}")
    if not given and "fileSystem" not in spec:
        yield Problem(
            ("pipeline",), "missing", "the pipeline to run", "A document, by src too, can stand in its place."
        )
    if "path" in spec and "fileSystem" not in spec:
        yield Problem(("fileSystem",), "missing", "the file system that path is a file of")
    remedy = "Declare it as a pipeline, and give that one's name as pipeline."
    yield from too_large(spec.get("document", ""), LARGEST, remedy)
    if spec.get("force"):
        yield Problem(("force",), "given", "left out unless the state is stopped")


def state_problems(state: str, name: str, spec: Mapping[str, Any]) -> Iterator[Problem]:
    """Of a declaration of another state than present."""
    if not name and "runKey" not in spec:
        yield Problem(("name",), "missing", "the name of the run", "Its runKey with what names it will do too.")
    if state == "absent":  # for which a name is enough, whatever else stands there
        return
    beside = ("force",) if state == "stopped" else ("parameters", "image")
    # What a run with a key was declared with is part of its name, and so may stand there.
    known = {*beside, "checkCache", *(spec if "runKey" in spec else ())}
    for field in spec:
        if field not in known:
            allowed = f"left out where the state is {state}"
            yield Problem((field,), "given", allowed, "A run that is there already is named alone.")


def identity(name: str, spec: Mapping[str, Any], unique: str, document: str = "") -> str:
    """The object's name: the given one, or one that the same run_key makes the same each time, or a new one.

    :param document: the name that the document gives itself
    """
    if name:
        return name
    base = spec.get("runName") or spec.get("pipeline", {}).get("name") or document or "run"
    digest = hashlib.sha256(f"{base}\0{spec.get('runKey', unique)}".encode()).hexdigest()[:10]
    return f"{slug(base, 30)}-{digest}"


def build(name: str, namespace: str, spec: Mapping[str, Any]) -> list[dict[str, Any]]:
    if not any(field in spec for field in SOURCES):
        spec = {**spec, "path": PATH}
    found = own.build(NOUN, name, namespace, spec)
    if "runKey" in spec:
        found["metadata"]["annotations"] = {RUN_KEY: spec["runKey"]}
    return [found]


def change(state: str, name: str, namespace: str, spec: Mapping[str, Any]) -> dict[str, Any]:
    """What a state other than present and absent changes of a run that is there."""
    part: dict[str, Any] = {"stop": "force" if spec.get("force") else "normal"}
    if state == "retried":
        part = {"retry": {field: spec[field] for field in ("parameters", "image") if field in spec}}
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": NOUN["api"], "kind": NOUN["kind"], "metadata": metadata, "spec": part}


def judge(state: str, found: Mapping[str, Any], spec: Mapping[str, Any]) -> str | None:
    """Why a live run cannot come into a state, nothing when it is in it, None when it can."""
    phase, wanted = found.get("status", {}).get("phase", ""), found.get("spec", {})
    if state == "stopped":
        stop = wanted.get("stop")
        return "" if phase in FINAL or stop == "force" or (stop and not spec.get("force")) else None
    if state == "retried":
        return _retried(found, spec, phase)
    if state == "absent" and phase not in ("", *FINAL):
        return f"it is {phase}: stop it first, by the state stopped and wait"
    users = found.get("status", {}).get("usedBy") or []
    if state == "absent" and users and spec.get("checkCache", True):
        return f"its results are used by {', '.join(users)}: remove these first, or give check_cache: false"
    return None


def _retried(found: Mapping[str, Any], spec: Mapping[str, Any], phase: str) -> str | None:
    before = found.get("spec", {}).get("retry")
    if before is not None:
        same = before == change("retried", "", "", spec)["spec"]["retry"]
        made = found.get("status", {}).get("retriedBy") or retry_name(found["metadata"]["name"])
        return "" if same else f"it was tried again already, as {made}, with other values: try that run again"
    if phase in RETRIED:
        return None
    return f"it is {phase or 'not begun'}: only a run that is {' or '.join(RETRIED)} can be tried again"


def retry_name(name: str) -> str:
    """Of the run that a retry makes, so that everybody can name it before it is there."""
    return slug(f"{name}-retry")


def awaited(state: str, name: str) -> str:
    """The object whose end a wait is about."""
    return retry_name(name) if state == "retried" else name


def failed(state: str, found: Mapping[str, Any]) -> str:
    """Why it will never succeed; nothing when it may."""
    status = found.get("status", {})
    phase = status.get("phase", "")
    if state == "stopped" or phase == "succeeded" or phase not in FINAL:
        return ""
    return f"it is {phase}: {status.get('message') or 'no reason is given'}"


def declared(found: Mapping[str, Any]) -> dict[str, Any]:
    key = found.get("metadata", {}).get("annotations", {}).get(RUN_KEY)
    return {**found.get("spec", {}), **({"runKey": key} if key else {})}
