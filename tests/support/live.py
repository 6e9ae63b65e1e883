# SPDX-License-Identifier: Apache-2.0
"""An object as an API server would hand it back that was given it by apply: with defaults, bookkeeping and amounts of its own
spelling. For property tests; what a real one does, tests/api says."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from paddleflow_core.model.quantity import parse, text
from paddleflow_core.model.table import Field

# Where objects of others' kinds hold amounts.
AMOUNTS: Mapping[str, Field] = {
    "capability": {"type": "resources"},
    "deserved": {"type": "resources"},
    "guarantee": {"type": "object", "fields": {"resource": {"type": "resources"}}},
}


def live(file: Any, applied: Mapping[str, Any], manager: str = "paddleflow") -> dict[str, Any]:
    """`file` is the noun's; of what it builds beside its own object nothing is respelled."""
    found: dict[str, Any] = copy.deepcopy(dict(applied))
    own = found["kind"] == file.NOUN["kind"] and "spec" in found
    tables: list[Mapping[str, Field]] = []
    if own:
        tables = [file.NOUN["spec"] if "status" in file.NOUN else AMOUNTS]
        found["spec"] = respelled(found["spec"], tables[0])
    metadata = {key: value for key, value in found["metadata"].items() if value != {}}
    metadata |= {"uid": "1", "resourceVersion": "7", "creationTimestamp": "2026-01-31T08:00:00Z", "generation": 1}
    named = {
        key: value for key, value in applied["metadata"].items() if value != {} and key not in ("name", "namespace")
    }
    parts = {key: value for key, value in applied.items() if key not in ("apiVersion", "kind")}
    entry = {"manager": manager, "operation": "Apply", "fieldsV1": _owned({**parts, "metadata": named})}
    others = {"manager": "controller", "operation": "Update", "subresource": "status", "fieldsV1": {"f:status": {}}}
    found["metadata"] = {**metadata, "managedFields": [others, entry]}
    return {**found, "status": {"observedGeneration": 1}}


def _owned(value: Any) -> dict[str, Any]:
    """A list is one value to a server that no key of its items was told."""
    return {f"f:{key}": _owned(below) for key, below in value.items()} if isinstance(value, dict) else {}


def respelled(value: Mapping[str, Any], fields: Mapping[str, Field]) -> dict[str, Any]:
    """The same with other spellings of its amounts, and with its defaults written out."""
    given = {name: _respelled(one, fields[name]) if name in fields else one for name, one in value.items()}
    defaults = {
        name: field["default"]
        for name, field in fields.items()
        if "default" in field and name not in given and not field.get("aside")
    }
    return {**defaults, **given}


def _respelled(value: Any, field: Field) -> Any:
    match field["type"]:
        case "quantity":
            return text(parse(value), binary=True)
        case "resources":
            return {name: text(parse(amount), binary=True) for name, amount in value.items()}
        case "object" if "fields" in field:
            return respelled(value, field["fields"])
        case "map" if "items" in field:
            return {key: _respelled(one, field["items"]) for key, one in value.items()}
        case "list" if "items" in field:
            return [_respelled(one, field["items"]) for one in value]
    return value
