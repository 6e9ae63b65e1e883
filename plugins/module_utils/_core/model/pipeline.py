# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""A pipeline: a document with a name, of which every text that it has ever had is kept as a version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import own
from .check import Problem
from .status import STATUS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .table import Field, OwnNoun

NAME = "^[A-Za-z_][A-Za-z0-9_-]{0,127}$"
# Bytes of a document. An object and its record of who owns what have to stay below etcd's 1.5 MiB.
LARGEST = 2**20

OWNER: Field = {
    "type": "string",
    "immutable": True,
    "pattern": "^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$",
    # Not username, as the reference has it: that is an option of the connection.
    "min": 1,
    "max": 63,
    "doc": "pipeline.owner",
}
DESCRIPTION: Field = {"type": "string", "max": 256, "aliases": ["desc"], "doc": "pipeline.description"}
SRC: Field = {"type": "string", "min": 1, "max": 4096, "aside": True, "doc": "pipeline.src"}
FILE_SYSTEM: Field = {"type": "string", "pattern": "^[a-zA-Z0-9_-]{1,63}$", "max": 63, "aliases": ["fsName"]}
FILE: Field = {"type": "string", "pattern": "^[^/].*$", "max": 4096}
PATH = "./run.yaml"
_GROWS = "can only grow: a version that was removed does not come back"
VERSION: Field = {"type": "int", "min": 1, "max": 2**31 - 1}

NOUN: OwnNoun = {
    "api": "paddleflow.org/v1alpha1",
    "kind": "Pipeline",
    "plural": "pipelines",
    "short_names": ["ppl"],
    "scope": "Namespaced",
    "ready": {"present": {"condition": "Ready"}},
    "name": {"type": "string", "pattern": NAME, "min": 1, "max": 128},
    "codes": {"name": "InvalidPipeline", "document": "InvalidPipeline"}
    | dict.fromkeys(
        ("description", "fileSystem", "path", "removedVersions", "historyLimit", "historySeconds"), "InvalidArguments"
    ),
    "spec": {
        "src": SRC,
        "document": {"type": "document", "min": 1, "max": LARGEST, "doc": "pipeline.document"},
        "fileSystem": FILE_SYSTEM,
        "path": FILE,
        "description": DESCRIPTION,
        "owner": OWNER,
        "removedVersions": {
            "type": "list",
            "max": 1000,
            "items": VERSION,
            "rules": [{"rule": "oldSelf.all(one, one in self)", "message": _GROWS}],
        },
        "historyLimit": {"type": "int", "min": 0, "max": 10000},
        "historySeconds": {"type": "int", "min": 0, "max": 2**31 - 1},
    },
    "spec_rules": [
        {
            "rule": "has(self.document) != has(self.fileSystem) && (!has(self.path) || has(self.fileSystem))",
            "message": "either document, or fileSystem with the path of a file on it must be given",
        },
        {"rule": "!has(oldSelf.removedVersions) || has(self.removedVersions)", "message": f"removedVersions {_GROWS}"},
    ],
    "status": {
        **STATUS,
        "version": {"type": "int", "min": 1},
        "digest": {"type": "string", "max": 64},
        "usedVersions": {"type": "list", "max": 1000, "items": VERSION},
        "schedules": {
            "type": "list",
            "max": 1000,
            "items": {"type": "string", "max": 253},
        },
    },
    "rules": [
        {
            "rule": "!has(self.status) || !has(self.status.version) || !has(self.spec.removedVersions)"
            " || !(self.status.version in self.spec.removedVersions)",
            "message": "spec.removedVersions must not hold the newest version: remove the pipeline itself",
        },
    ],
    "columns": [
        {"name": "Version", "type": "integer", "path": ".status.version"},
        {"name": "Ready", "type": "string", "path": ".status.conditions[?(@.type=='Ready')].status"},
        {"name": "Description", "type": "string", "path": ".spec.description"},
        {"name": "Age", "type": "date", "path": ".metadata.creationTimestamp"},
    ],
}


def problems(_name: str, spec: Mapping[str, Any]) -> Iterator[Problem]:
    """What no single field can tell; of the document itself, `workflow.declared` tells."""
    if "document" in spec:
        yield from too_large(
            spec["document"], LARGEST, "Split it: a component of its own can be a pipeline of its own."
        )
        for field in ("fileSystem", "path"):
            if field in spec:
                yield Problem((field,), "given beside document", "left out, or given in the place of document")
    elif "path" in spec and "fileSystem" not in spec:
        yield Problem(("fileSystem",), "missing", "the file system that path is a file of")
    elif "fileSystem" not in spec:
        remedy = "A file of a file system, by fileSystem and path, can stand in its place."
        yield Problem(("document",), "missing", "the text of the pipeline, by src too", remedy)


def too_large(document: str, most: int, remedy: str) -> Iterator[Problem]:
    size = len(document.encode(errors="replace"))
    if size > most:
        yield Problem(("document",), f"{size} bytes of UTF-8", f"at most {most} bytes", remedy)


def build(name: str, namespace: str, spec: Mapping[str, Any]) -> list[dict[str, Any]]:
    if "fileSystem" in spec:
        spec = {"path": PATH, **spec}
    return [own.build(NOUN, name, namespace, spec)]


def declared(found: Mapping[str, Any]) -> dict[str, Any]:
    return dict(found.get("spec", {}))


def judge(state: str, found: Mapping[str, Any], spec: Mapping[str, Any]) -> str | None:
    """Why the live object cannot come into a state; None when it can (P-6)."""
    before = found.get("spec", {}).get("removedVersions", ())
    for version in found.get("status", {}).get("usedVersions", ()) if state == "present" else ():
        if version in spec.get("removedVersions", ()) and version not in before:
            return (
                f"its version {version} is used by a schedule, and cannot be removed: change or stop the schedule first"
            )
    users = found.get("status", {}).get("schedules") or []
    if state == "absent" and users:
        return f"it is used by the schedules {', '.join(users)}: remove or suspend them first"
    return None


def failed(_state: str, found: Mapping[str, Any]) -> str:
    """Why it will never be ready as it is; nothing when it may."""
    status = found.get("status", {})
    if status.get("observedGeneration") != found["metadata"].get("generation"):
        return ""
    return next(
        (
            f"its document was refused: {one.get('message') or one.get('reason')}"
            for one in status.get("conditions", ())
            if (one.get("type"), one.get("status"), one.get("reason")) == ("Ready", "False", "InvalidPipeline")
        ),
        "",
    )
