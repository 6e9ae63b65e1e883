# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""Where something may run, in the words of a pod: node affinity and tolerations."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from .check import Path, Problem, show

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .table import Field

# Bounds: the API server refuses rules about objects that could be too big for it to compare.
_KEY: Field = {"type": "string", "required": True, "pattern": "^[A-Za-z0-9]([-A-Za-z0-9_./]*[A-Za-z0-9])?$", "max": 317}
_OPERATOR: Field = {
    "type": "string",
    "required": True,
    "enum": ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"],
}
_TERM: dict[str, Field] = {
    "matchExpressions": {
        "type": "list",
        "doc": "nodeSelectorTerm.matchExpressions",
        "max": 16,
        "items": {
            "type": "object",
            "fields": {
                "key": _KEY,
                "operator": _OPERATOR,
                "values": {"type": "list", "max": 256, "items": {"type": "string", "max": 63}},
            },
        },
    },
    # Kubernetes knows one field, the node's name, and takes one value of it.
    "matchFields": {
        "type": "list",
        "doc": "nodeSelectorTerm.matchFields",
        "max": 4,
        "items": {
            "type": "object",
            "fields": {
                "key": _KEY,
                "operator": _OPERATOR,
                "values": {"type": "list", "max": 1, "items": {"type": "string", "max": 253}},
            },
        },
    },
}
_REQUIRED, _PREFERRED = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)

NODE_AFFINITY: Field = {
    "type": "object",
    "doc": "nodeAffinity",
    "fields": {
        _REQUIRED: {
            "type": "object",
            "fields": {
                "nodeSelectorTerms": {
                    "type": "list",
                    "required": True,
                    "min": 1,
                    "max": 64,
                    "items": {"type": "object", "fields": _TERM},
                },
            },
        },
        _PREFERRED: {
            "type": "list",
            "max": 64,
            "items": {
                "type": "object",
                "fields": {
                    "weight": {"type": "int", "required": True, "min": 1, "max": 100},
                    "preference": {"type": "object", "required": True, "fields": _TERM},
                },
            },
        },
    },
}
TOLERATIONS: Field = {
    "type": "list",
    "doc": "tolerations",
    "max": 64,
    "items": {
        "type": "object",
        "fields": {
            "key": {"type": "string", "max": 317},
            # Kubernetes takes an empty word for a missing one.
            "operator": {"type": "string", "enum": ["Equal", "Exists", ""]},
            "value": {"type": "string", "max": 63},
            "effect": {"type": "string", "enum": ["NoSchedule", "PreferNoSchedule", "NoExecute", ""]},
            "tolerationSeconds": {"type": "int"},
        },
    },
}


def affinity_problems(affinity: Mapping[str, Any], path: Path) -> Iterator[Problem]:
    """What no single field of a node affinity can tell: an operator and its values."""
    for number, term in enumerate(affinity.get(_REQUIRED, {}).get("nodeSelectorTerms", ())):
        yield from _term(term, (*path, _REQUIRED, "nodeSelectorTerms", number))
    for number, one in enumerate(affinity.get(_PREFERRED, ())):
        yield from _term(one["preference"], (*path, _PREFERRED, number, "preference"))


def _term(term: Mapping[str, Any], path: Path) -> Iterator[Problem]:
    for part, expressions in term.items():
        for number, one in enumerate(expressions):
            operator, values = one["operator"], one.get("values", [])
            allowed = _allowed(operator, values)
            if allowed:
                yield Problem((*path, part, number, "values"), show(values), f"{allowed} for operator {operator}")


def _allowed(operator: str, values: list[str]) -> str:
    """What values have to be, when they are not that."""
    if operator in ("In", "NotIn"):
        return "" if values else "at least one value"
    if operator in ("Gt", "Lt"):
        return "" if len(values) == 1 and re.fullmatch(r"-?[0-9]+", values[0]) else "one whole number"
    return "left out" if values else ""
