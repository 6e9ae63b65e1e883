# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""Fields as options: the types that Ansible knows, the names that people write, and the way back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .names import option

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .table import Field, Noun

    Spec = dict[str, Any]

STATES = ["present", "absent"]

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


def states(noun: Noun) -> list[str]:
    return [*STATES, *noun.get("states", {})]


# What the connection's options have taken already.
_TAKEN = ("username",)
# Names that look as if they held a secret: Ansible wants to be told that they do not.
_SUSPICIOUS = ("key", "secret", "token", "pass")


def argument(field: Field) -> Spec:
    """Bounds, patterns and required fields are checked by the model, which says more about them."""
    # Ansible makes text of anything; what has to be text already is left as it was written, to be looked at.
    spec: Spec = {"type": "raw" if field.get("quoted") else _TYPES[field["type"]]}
    if field.get("secret"):
        spec["no_log"] = True
    item = field.get("items")
    if field["type"] == "list":
        spec["elements"] = _TYPES[item["type"]] if item else "raw"
        if item and "fields" in item:
            spec["options"] = fields(item["fields"])
    if "fields" in field:
        spec["options"] = fields(field["fields"])
    return spec


def fields(table: Mapping[str, Field]) -> Spec:
    return {option(name): _named(option(name), field) for name, field in table.items() if not field.get("no_option")}


def aliases(name: str, field: Field) -> list[str]:
    """Other names of an option."""
    return [alias for alias in map(option, field.get("aliases", ())) if alias not in (name, *_TAKEN)]


def _named(name: str, field: Field) -> Spec:
    spec = argument(field)
    if aliases(name, field):
        spec["aliases"] = aliases(name, field)
    if any(part in name for part in _SUSPICIOUS):
        spec.setdefault("no_log", False)
    return spec


def declared(table: Mapping[str, Field], options: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that were given, by their names in the model."""
    found = {}
    for name, field in table.items():
        value = options.get(option(name))
        if value is not None:
            found[name] = _inside(field, value, declared)
    return found


def shown(table: Mapping[str, Field], spec: Mapping[str, Any]) -> dict[str, Any]:
    """The inverse of `declared`: fields of a declaration by the names of their options; what the model does not know stays."""
    return {
        option(name) if name in table else name: _inside(table[name], value, shown) if name in table else value
        for name, value in spec.items()
    }


def _inside(field: Field, value: Any, renamed: Callable[[Mapping[str, Field], Any], dict[str, Any]]) -> Any:
    """A value with the fields in it renamed, at whatever depth; what is not of the field's form stays."""
    if "fields" in field and isinstance(value, dict):
        return renamed(field["fields"], value)
    item = field.get("items")
    if item and "fields" in item and isinstance(value, list):
        return [_inside(item, entry, renamed) for entry in value]
    return value
