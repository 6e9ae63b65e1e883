# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""The fields of a job, beside `job`, since a step of a pipeline has them too and needs nothing else of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .names import KEY, LABEL, LABEL_VALUE

if TYPE_CHECKING:
    from .table import Field, Noun

_NAME = f"^{LABEL}$"
_SECONDS: Field = {"type": "int", "min": 0, "max": 2**31 - 1}

# Flavours and mounts stand in several places; what is said of their fields stands at one.
_FLAVOUR: dict[str, Field] = {
    "name": {"type": "string", "max": 255, "doc": "spec.flavour.name"},
    "cpu": {"type": "quantity", "doc": "spec.flavour.cpu"},
    "memory": {"type": "quantity", "aliases": ["mem"], "doc": "spec.flavour.memory"},
    "scalarResources": {
        "type": "map",
        "pattern": f"^{KEY}$",
        "items": {"type": "quantity"},
        "doc": "spec.flavour.scalarResources",
    },
}
_MOUNT: dict[str, Field] = {
    "name": {"type": "string", "pattern": f"^({LABEL}/)?[a-zA-Z0-9_-]{{1,63}}$", "max": 127, "doc": "spec.fs.name"},
    "id": {"type": "string", "pattern": "^[a-zA-Z0-9_-]{1,253}$", "doc": "spec.fs.id"},
    "type": {"type": "string", "pattern": "^[a-z0-9]+$", "max": 63, "doc": "spec.fs.type"},
    "mountPath": {"type": "string", "pattern": "^/[^:]*$", "max": 4096, "doc": "spec.fs.mountPath"},
    "subPath": {"type": "string", "pattern": "^[^/].*$", "max": 4096, "doc": "spec.fs.subPath"},
    "readOnly": {"type": "bool", "default": False, "doc": "spec.fs.readOnly"},
}
_POLICY: dict[str, Field] = {
    "queue": {"type": "string", "pattern": _NAME, "max": 63, "immutable": True},
    "priority": {
        "type": "string",
        "enum": ["VERY_LOW", "LOW", "NORMAL", "HIGH", "VERY_HIGH"],
    },
}

# What a job says for all of its members, and a member for itself. Where neither does there is a default; a member alone has none.
_COMMON: dict[str, Field] = {
    "labels": {
        "type": "map",
        "pattern": f"^{KEY}$",
        "items": {"type": "string", "pattern": LABEL_VALUE, "max": 63},
    },
    "annotations": {"type": "map", "pattern": f"^{KEY}$", "items": {"type": "string"}},
    "schedulingPolicy": {"type": "object", "fields": _POLICY},
    "flavour": {"type": "object", "fields": _FLAVOUR, "immutable": True},
    "limitFlavour": {"type": "object", "fields": _FLAVOUR, "immutable": True},
    "fs": {"type": "object", "fields": _MOUNT, "immutable": True},
    "extraFS": {"type": "list", "items": {"type": "object", "fields": _MOUNT}, "max": 64, "immutable": True},
    "image": {"type": "string", "pattern": r"^\S+$", "min": 1, "max": 1024, "immutable": True},
    "env": {
        "type": "map",
        "pattern": "^[A-Za-z_][A-Za-z0-9_.-]*$",
        "items": {"type": "string", "max": 131072},
        "immutable": True,
    },
    "command": {"type": "string", "max": 131072, "immutable": True},
    "args": {"type": "list", "items": {"type": "string"}, "max": 4096, "immutable": True},
    "port": {"type": "int", "min": 0, "max": 65534, "immutable": True},
    "restartPolicy": {"type": "string", "enum": ["Never", "OnFailure", "Always"], "immutable": True},
    "retryLimit": {"type": "int", "min": 0, "max": 1000, "immutable": True},
    "minAvailable": {"type": "int", "min": 0, "max": 10000},
}
_DEFAULTS: dict[str, Any] = {"port": 0, "restartPolicy": "Never", "retryLimit": 0}

NOUN: Noun = {
    "api": "batch.volcano.sh/v1alpha1",
    "kind": "Job",
    "plural": "jobs",
    "scope": "Namespaced",
    "states": {"stopped": "stopped"},
    # What is waited for says more than a word at a path: jobs/state.py.
    "ready": {},
    "name": {"type": "string", "pattern": _NAME, "min": 1, "max": 63},
    "spec": {
        "kind": {
            "type": "string",
            "enum": ["single", "distributed", "workflow"],
            "default": "single",
            "immutable": True,
        },
        # mxnet is not among them: nothing can run it [D-132].
        "framework": {
            "type": "string",
            "enum": ["standalone", "paddle", "pytorch", "tensorflow", "mpi", "spark", "ray", "aitj"],
            "immutable": True,
        },
        "displayName": {"type": "string", "max": 512},
        **_COMMON,
        **{name: {**_COMMON[name], "default": default} for name, default in _DEFAULTS.items()},
        "schedulingPolicy": {
            "type": "object",
            "fields": {
                **_POLICY,
                "priority": {**_POLICY["priority"], "default": "NORMAL"},
                "schedulerName": {
                    "type": "string",
                    "pattern": _NAME,
                    "max": 63,
                    "default": "volcano",
                    "immutable": True,
                },
                "preemptable": {"type": "bool", "default": True, "immutable": True},
                "requeueOnPreempt": {"type": "bool", "default": True, "immutable": True},
                "networkTopology": {
                    "type": "object",
                    "immutable": True,
                    "fields": {
                        "mode": {"type": "string", "enum": ["hard", "soft"], "default": "hard"},
                        "highestTierAllowed": {"type": "int", "min": 0, "max": 100},
                    },
                },
            },
        },
        "ttlSeconds": {
            "type": "object",
            "immutable": True,
            "fields": {"succeeded": _SECONDS, "failed": _SECONDS, "pending": _SECONDS},
        },
        "extensionTemplate": {"type": "object", "immutable": True},
        "members": {
            "type": "list",
            "max": 64,
            "items": {
                "type": "object",
                "fields": {
                    "role": {
                        "type": "string",
                        "required": True,
                        "enum": ["pserver", "master", "worker", "driver", "executor"],
                        "spellings": {"pworker": "worker"},
                        "immutable": True,
                    },
                    "replicas": {"type": "int", "min": 1, "max": 10000, "default": 1},
                    "maxReplicas": {"type": "int", "min": 1, "max": 10000, "immutable": True},
                    **{name: {**field, "doc": f"spec.{name}"} for name, field in _COMMON.items()},
                },
            },
        },
    },
    "codes": {"schedulingPolicy": "QueueNameNotFound", "flavour": "FlavourNotFound", "": "JobInvalidField"},
}
