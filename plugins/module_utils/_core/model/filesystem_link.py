# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""A link: another store that shows as a directory of a file system."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import own, storage, storage_objects, stores
from .check import Problem, show
from .names import slug
from .status import STATUS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from .table import OwnNoun

# Types of file systems that links are made in, and of the stores that they lead to.
HOSTS = ("hdfs", "s3", "sftp", "cfs")
TARGETS = ("hdfs", "local", "s3", "sftp", "cfs", "bos", "glusterfs")
FILE_SYSTEM = "paddleflow.org/file-system"

NOUN: OwnNoun = {
    "api": "paddleflow.org/v1alpha1",
    "kind": "FileSystemLink",
    "plural": "filesystemlinks",
    "short_names": ["fslink"],
    "scope": "Namespaced",
    "ready": {"present": {"condition": "Ready"}},
    "name": {"type": "string", "min": 1, "max": 253},
    "codes": {"url": "InvalidLinkURL", "properties": "InvalidLinkProperties"},
    "spec": {
        "fileSystem": {
            "type": "string",
            "required": True,
            "immutable": True,
            "pattern": "^[a-zA-Z0-9_-]{1,63}$",
            "max": 63,
            "aliases": ["fsName"],
        },
        "path": {
            "type": "string",
            "required": True,
            "immutable": True,
            "pattern": r"^(/[^/\x00-\x1f]+)+$",
            "max": 4096,
            "aliases": ["fsPath"],
            "rules": [{"rule": r"!self.matches(r'/\.{1,2}(/|$)')", "message": "must not have . or .. as a part"}],
        },
        **stores.SPEC,
        "url": storage_objects.address(TARGETS),
    },
    "spec_rules": [
        {
            "rule": "!self.url.startsWith('local://') || self.?properties.?debug.orValue(false)",
            "message": "properties.debug must be true where a link leads to type local",
        },
        *storage_objects.rules(TARGETS),
    ],
    "status": {
        **STATUS,
        "type": {"type": "string", "max": 63},
        "serverAddress": {"type": "string", "max": 2048},
        "subPath": {"type": "string", "max": 2048},
    },
    "rules": [],
    "columns": [
        {"name": "File-System", "type": "string", "path": ".spec.fileSystem"},
        {"name": "Path", "type": "string", "path": ".spec.path"},
        {"name": "URL", "type": "string", "path": ".spec.url"},
        {"name": "Ready", "type": "string", "path": ".status.conditions[?(@.type=='Ready')].status"},
        {"name": "Age", "type": "date", "path": ".metadata.creationTimestamp"},
    ],
}


def problems(_name: str, spec: Mapping[str, Any]) -> Iterator[Problem]:
    if {".", ".."} & set(spec["path"].split("/")):
        yield Problem(("path",), show(spec["path"]), "a path without . and ..")
    yield from storage.problems(spec, TARGETS)
    if storage.type_of(spec["url"]) == "local" and not spec.get("properties", {}).get("debug"):
        remedy = "A directory of a node is something else on every node."
        yield Problem(("properties", "debug"), "missing", "true where a link leads to type local", remedy)


def beside(
    spec: Mapping[str, Any], host: Mapping[str, Any] | None, others: Iterable[Mapping[str, Any]]
) -> Iterator[Problem]:
    """What only the file system (its spec, when it is there) and its other links (theirs) can tell of a link without problems."""
    if host is not None and storage.type_of(host["url"]) not in HOSTS:
        found = f"'{spec['fileSystem']}', of type {storage.type_of(host['url'])}"
        yield Problem(("fileSystem",), found, f"a file system of one of the types {', '.join(HOSTS)}")
    for other in others:
        mine, theirs = f"{spec['path']}/", f"{other['path']}/"
        if mine.startswith(theirs) or theirs.startswith(mine):
            allowed = f"outside of the link {other['path']}"
            yield Problem(("path",), show(spec["path"]), allowed, "No link contains another one.", "LinkPathExist")


def build(name: str, namespace: str, spec: Mapping[str, Any]) -> list[dict[str, Any]]:
    found = own.build(NOUN, name, namespace, spec)
    found["metadata"]["labels"][FILE_SYSTEM] = slug(spec["fileSystem"])
    return storage_objects.with_secret(found, spec)


def belongings(name: str, namespace: str) -> list[dict[str, Any]]:
    """What goes with it."""
    return [storage_objects.secret_of(NOUN, name, namespace)]


def declared(found: Mapping[str, Any]) -> dict[str, Any]:
    """Secrets are never read back: the reference to their Secret is."""
    return dict(found.get("spec", {}))
