# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""Fields as options: the types that Ansible knows, the names that people write, and the way back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .names import option

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .table import Field

    Spec = dict[str, Any]

STATES = ("present", "absent")

_TYPES = {
    "string": "str",
    "int": "int",
    "bool": "bool",
    "quantity": "raw",
    "resources": "dict",
    "datetime": "str",
    "value": "raw",
    "document": "raw",
    "map": "dict",
    "list": "list",
    "object": "dict",
}


def argument(field: Field) -> Spec:
    """Bounds, patterns and required fields are checked by the model, which says more about them."""
    spec: Spec = {"type": _TYPES[field["type"]]}
    if "secret" in field:
        spec["no_log"] = field["secret"]
    if "aliases" in field:
        spec["aliases"] = [option(alias) for alias in field["aliases"]]
    item = field.get("items")
    if field["type"] == "list":
        spec["elements"] = _TYPES[item["type"]] if item else "raw"
        if item and "fields" in item:
            spec["options"] = fields(item["fields"])
    if "fields" in field:
        spec["options"] = fields(field["fields"])
    return spec


def fields(table: Mapping[str, Field]) -> Spec:
    return {option(name): argument(field) for name, field in table.items() if not field.get("no_option")}


def declared(table: Mapping[str, Field], options: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that were given, by their names in the model."""
    found = {}
    for name, field in table.items():
        value = options.get(option(name))
        if value is not None:
            found[name] = _value(field, value)
    return found


def _value(field: Field, value: Any) -> Any:
    if "fields" in field and isinstance(value, dict):
        return declared(field["fields"], value)
    item = field.get("items")
    if item and "fields" in item and isinstance(value, list):
        return [_value(item, entry) for entry in value]
    return value
