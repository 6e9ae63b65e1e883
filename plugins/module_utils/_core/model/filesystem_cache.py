# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""The cache policy of a file system. It is the part `cache` of the FileSystem: a policy without its file system is nothing,
and who mounts it reads one object. Its module writes that part alone, as a field manager of its own, so that neither
module takes away what the other one declared, and both declaring it is a conflict that names them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import quantity
from .amount import above_zero, at_least_zero
from .check import Path, Problem, show
from .names import slug
from .placement import NODE_AFFINITY, affinity_problems

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .table import Field, Noun, Rule

# Words of old documents for where metadata is cached.
OLD_DRIVERS = {"": "mem", "default": "mem", "badgerdb": "disk", "nutsdb": "disk", "leveldb": "disk"}
# Flags by which an agent is told what it mounts and as whom: not for a policy to say.
_IDENTITY = (
    "config", "fs-id", "fs-info", "local", "local-root", "mount-point", "password", "server", "sts", "user-name",
)  # fmt: skip
_LIMITS = {"cpuLimit": "2", "memoryLimit": "8Gi"}

CACHE: dict[str, Field] = {
    # Empty is off.
    "cacheDir": {"type": "string", "pattern": r"^(/[^/\x00-\x1f]+)*$", "max": 1024, "doc": "cache.cacheDir"},
    "metaDriver": {"type": "string", "enum": ["mem", "disk"], "spellings": OLD_DRIVERS, "doc": "cache.metaDriver"},
    "blockSize": {**at_least_zero(), "doc": "cache.blockSize"},
    "quota": {**at_least_zero(), "doc": "cache.quota"},
    "cleanCache": {"type": "bool", "default": False, "doc": "cache.cleanCache"},
    "resource": {
        "type": "object",
        "doc": "cache.resource",
        "fields": {field: above_zero(most) for field, most in _LIMITS.items()},
    },
    "nodeTaintToleration": {
        "type": "map",
        "max": 64,
        "items": {"type": "string", "max": 63},
        "doc": "cache.nodeTaintToleration",
    },
    "nodeAffinity": NODE_AFFINITY,
    "extraConfig": {
        "type": "map",
        "pattern": "^[a-z][a-z0-9-]*$",
        "max": 64,
        "items": {"type": "string", "max": 1024},
        "doc": "cache.extraConfig",
        "rules": [
            {
                "rule": f"!self.exists(name, name in {[*_IDENTITY]})",
                "message": "must not say what an agent mounts and as whom: its file system does",
            }
        ],
    },
    "debug": {"type": "bool", "default": False, "doc": "cache.debug"},
}

# Of the part as a whole.
RULES: list[Rule] = [
    {
        "rule": "!has(self.metaDriver) || self.metaDriver != 'disk' || (has(self.cacheDir) && self.cacheDir != '')",
        "message": "cacheDir must be given where metaDriver is disk",
    },
]

NOUN: Noun = {
    "api": "paddleflow.org/v1alpha1",
    "kind": "FileSystem",
    "plural": "filesystems",
    "scope": "Namespaced",
    "name": {"type": "string", "pattern": "^[a-zA-Z0-9_-]{1,63}$", "max": 63},
    "manager": "paddleflow-cache",
    "spec": CACHE,
}


def problems(_name: str, spec: Mapping[str, Any]) -> Iterator[Problem]:
    if not spec:
        yield Problem((), "empty", "at least one field of a policy", "The state absent takes it away.")
    yield from faults(spec)


def faults(spec: Mapping[str, Any]) -> Iterator[Problem]:
    """What is wrong with a policy, which a file system may also have within its own declaration."""
    directory = spec.get("cacheDir", "")
    if ".." in directory.split("/"):
        yield Problem(("cacheDir",), show(directory), "a directory without .. in its path")
    if spec.get("metaDriver") == "disk" and not directory:
        yield Problem(("cacheDir",), "missing", "given where metaDriver is disk")
    for field in ("blockSize", "quota"):
        if field in spec and quantity.parse(spec[field]) % quantity.UNIT:
            yield Problem((field,), str(spec[field]), "a whole number of bytes")
    for field, most in _LIMITS.items():
        given = spec.get("resource", {}).get(field)
        if given is not None and not 0 < quantity.parse(given) <= quantity.parse(most):
            yield Problem(("resource", field), str(given), f"above 0 and at most {most}")
    for flag in spec.get("extraConfig", {}):
        if flag in _IDENTITY:
            yield Problem(
                ("extraConfig", flag), "given", "left out", "What an agent mounts is told by its file system."
            )
    place: Path = ("nodeAffinity",)
    yield from affinity_problems(spec.get("nodeAffinity", {}), place)


def warnings(given: Mapping[str, Any]) -> Iterator[Problem]:
    """What is understood, of a declaration as somebody wrote it, but should be written otherwise."""
    word = given.get("metaDriver")
    if isinstance(word, str) and OLD_DRIVERS.get(word.lower(), word) != word and word:
        yield Problem(("metaDriver",), f"'{word}'", f"'{OLD_DRIVERS[word.lower()]}'", "The old word will go.")


def build(name: str, namespace: str, spec: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The part of the FileSystem that the policy is."""
    metadata = {"name": slug(name), "namespace": namespace}
    return [{"apiVersion": NOUN["api"], "kind": NOUN["kind"], "metadata": metadata, "spec": {"cache": dict(spec)}}]


def declared(found: Mapping[str, Any]) -> dict[str, Any]:
    return dict(found.get("spec", {}).get("cache", {}))


def tolerations(spec: Mapping[str, Any]) -> list[dict[str, str]]:
    """Of the mount pod. A taint is tolerated with its value, or without one with any, whatever its effect."""
    return [
        {"key": key, "operator": "Equal", "value": value} if value else {"key": key, "operator": "Exists"}
        for key, value in spec.get("nodeTaintToleration", {}).items()
    ]
