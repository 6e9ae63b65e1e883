# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""A file system: a place in a store that pods mount as a directory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import filesystem_cache, own, storage, storage_objects, stores
from .check import Problem
from .status import STATUS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .table import OwnNoun

OWNER = "paddleflow.org/owner"
# Of the owner's and the file system's names together: an id of 63 characters begins with fs- and has one more hyphen.
LONGEST = 59

NOUN: OwnNoun = {
    "api": "paddleflow.org/v1alpha1",
    "kind": "FileSystem",
    "plural": "filesystems",
    "short_names": ["fs"],
    "scope": "Namespaced",
    "ready": {"present": {"condition": "Ready"}},
    "name": filesystem_cache.NOUN["name"],
    "codes": {
        "name": "FileSystemNameFormatError",
        "owner": "AuthFailed",
        "url": "InvalidFileSystemParamsURL",
        "properties": "InvalidFileSystemParamsProperties",
    },
    "spec": {
        **stores.SPEC,
        "url": storage_objects.address(),
        "owner": {
            "type": "string",
            "immutable": True,
            "pattern": "^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$",
            "aliases": ["username"],
            "min": 1,
            "max": LONGEST - 1,
        },
        "independentMountProcess": {"type": "bool", "default": False},
        "cache": {"type": "object", "fields": filesystem_cache.CACHE, "rules": filesystem_cache.RULES},
    },
    "spec_rules": storage_objects.rules(),
    "status": {
        **STATUS,
        "type": {"type": "string", "max": 63},
        "serverAddress": {"type": "string", "max": 2048},
        "subPath": {"type": "string", "max": 2048},
        "cachedBytes": {"type": "int", "min": 0},
        "cachedFiles": {"type": "int", "min": 0},
        "nodes": {
            "type": "list",
            "keys": ["node"],
            # With names of the greatest length the object stays below etcd's 1.5 MiB.
            "max": 4096,
            "items": {
                "type": "object",
                "fields": {
                    "node": {"type": "string", "required": True, "min": 1, "max": 253},
                    "cachedBytes": {"type": "int", "required": True, "min": 0},
                    "cachedFiles": {"type": "int", "required": True, "min": 0},
                },
            },
        },
    },
    "rules": [
        {
            "rule": "self.metadata.name.matches('^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$')",
            "message": "metadata.name must be a name of small letters, digits and hyphens, of at most 63 characters",
        },
    ],
    "columns": [
        {"name": "URL", "type": "string", "path": ".spec.url"},
        {"name": "Owner", "type": "string", "path": ".spec.owner"},
        {"name": "Ready", "type": "string", "path": ".status.conditions[?(@.type=='Ready')].status"},
        {"name": "Cached", "type": "integer", "path": ".status.cachedBytes"},
        {"name": "Age", "type": "date", "path": ".metadata.creationTimestamp"},
    ],
}


def problems(name: str, spec: Mapping[str, Any]) -> Iterator[Problem]:
    together = len(name) + len(spec.get("owner", ""))
    if "owner" in spec and together > LONGEST:
        found = f"{together} characters long together with the owner"
        yield Problem(("name",), found, f"at most {LONGEST} characters long with it")
    yield from storage.problems(spec)
    for problem in filesystem_cache.faults(spec.get("cache", {})):
        yield problem._replace(path=("cache", *problem.path))


def placed(built: Mapping[str, Any]) -> Iterator[Problem]:
    """What is wrong once the namespace is known, which is the owner where none is declared."""
    annotations = built["metadata"].get("annotations", {})
    together = len(annotations.get(own.FILE_SYSTEM_ID, "")) - len("fs--")
    if together > LONGEST:
        found = f"{together} characters long together with the owner, {built['metadata']['labels'][OWNER]}"
        yield Problem(("name",), found, f"at most {LONGEST} characters long with it", "", "FileSystemNameFormatError")


def build(name: str, namespace: str, spec: Mapping[str, Any]) -> list[dict[str, Any]]:
    found = own.build(NOUN, name, namespace, spec)
    owner = spec.get("owner", namespace)
    found["metadata"]["labels"][OWNER] = owner
    found["metadata"].setdefault("annotations", {})[own.FILE_SYSTEM_ID] = f"fs-{owner}-{name}"
    return storage_objects.with_secret(found, spec)


def belongings(name: str, namespace: str) -> list[dict[str, Any]]:
    """What goes with it."""
    return [storage_objects.secret_of(NOUN, name, namespace)]


def declared(found: Mapping[str, Any]) -> dict[str, Any]:
    """Secrets are never read back: the reference to their Secret is."""
    return dict(found.get("spec", {}))
