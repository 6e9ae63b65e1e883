# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""A flavour: an amount of resources with a name, which jobs ask for by it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import own, quantity
from .amount import above_zero, at_least_zero
from .check import Problem
from .names import KEY

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .table import OwnNoun

NOUN: OwnNoun = {
    "api": "paddleflow.org/v1alpha1",
    "kind": "Flavour",
    "plural": "flavours",
    "short_names": ["fl"],
    "scope": "Cluster",
    "name": {"type": "string", "min": 1, "max": 253},
    "codes": dict.fromkeys(("cpu", "memory", "scalarResources", "clusterName"), "FlavourInvalidField")
    | {"name": "FlavourNameEmpty"},
    "spec": {
        "cpu": {**above_zero(), "required": True},
        "memory": {**above_zero(), "required": True, "aliases": ["mem"]},
        "scalarResources": {
            "type": "map",
            "pattern": f"^{KEY}$",
            # The API server refuses rules about more than it can surely check in time.
            "max": 12,
            "items": at_least_zero(),
            "rules": [
                {
                    "rule": "!self.exists(name, name in ['cpu', 'memory', 'mem'])",
                    "message": "must not name cpu or memory: they are fields of their own",
                },
            ],
        },
        "clusterName": {
            "type": "string",
            "immutable": True,
            "pattern": "^[A-Za-z0-9_][-A-Za-z0-9_]{0,253}[A-Za-z0-9_]$",
            "max": 255,
        },
    },
    "status": {},
    "rules": [],
    "columns": [
        {"name": "CPU", "type": "string", "path": ".spec.cpu"},
        {"name": "Memory", "type": "string", "path": ".spec.memory"},
        {"name": "Scalars", "type": "string", "path": ".spec.scalarResources"},
        {"name": "Cluster", "type": "string", "path": ".spec.clusterName"},
        {"name": "Age", "type": "date", "path": ".metadata.creationTimestamp"},
    ],
}

# What is there without anybody declaring it.
BUILT_IN: dict[str, dict[str, Any]] = {
    "flavour1": {"cpu": 1, "memory": "1Gi"},
    "flavour2": {"cpu": 4, "memory": "8Gi", "scalarResources": {"nvidia.com/gpu": 1}},
    "flavour3": {"cpu": 4, "memory": "8Gi", "scalarResources": {"nvidia.com/gpu": 2}},
}
# In a job it stands for values that are given in place.
INLINE = "customFlavour"


def problems(name: str, spec: Mapping[str, Any]) -> Iterator[Problem]:
    if name == INLINE:
        remedy = "In a job it stands for resources given in place."
        yield Problem(("name",), f"'{name}'", "another name", remedy, "FlavourInvalidField")
    for field in ("cpu", "memory"):
        if quantity.parse(spec[field]) == 0:
            yield Problem((field,), str(spec[field]), "above 0")
    for scalar in spec.get("scalarResources", {}):
        if scalar in ("cpu", "memory", "mem"):
            yield Problem(("scalarResources", scalar), "given", "left out", f"{scalar} is a field of its own.")


def build(name: str, _namespace: str, spec: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [own.build(NOUN, name, "", spec)]


def declared(flavour: Mapping[str, Any]) -> dict[str, Any]:
    return dict(flavour.get("spec", {}))


def resources(spec: Mapping[str, Any]) -> dict[str, str]:
    """As a container asks for them."""
    return {name: str(spec[name]) for name in ("cpu", "memory")} | {
        name: str(amount) for name, amount in spec.get("scalarResources", {}).items()
    }
