# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""Argument specifications, from the model's field tables, and the way back from options to fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._core.model.names import option

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .._core.model.table import Field, Noun

    Spec = dict[str, Any]

# The names of kubernetes.core, so that playbooks, module_defaults and AWX credentials carry over.
AUTH: Spec = {
    "kubeconfig": {"type": "raw"},
    "context": {"type": "str"},
    "host": {"type": "str"},
    "api_key": {"type": "str", "no_log": True},
    "username": {"type": "str"},
    "password": {"type": "str", "no_log": True},
    "validate_certs": {"type": "bool", "aliases": ["verify_ssl"]},
    "ca_cert": {"type": "path", "aliases": ["ssl_ca_cert"]},
    "client_cert": {"type": "path", "aliases": ["cert_file"]},
    "client_key": {"type": "path", "aliases": ["key_file"], "no_log": False},
    "proxy": {"type": "str"},
    "no_proxy": {"type": "str"},
    "proxy_headers": {"type": "dict", "no_log": True},
    "impersonate_user": {"type": "str"},
    "impersonate_groups": {"type": "list", "elements": "str"},
}
WRITE: Spec = {
    "force_conflicts": {"type": "bool", "default": False},
    "recreate": {"type": "bool", "default": False},
    "return_content": {"type": "bool", "default": False},
}
WAIT: Spec = {
    "wait": {"type": "bool", "default": False},
    "wait_timeout": {"type": "int", "default": 120},
}
# What every object has beside its noun's own fields; given once for a list, they are the defaults of its items.
SHARED: Spec = {"labels": {"type": "dict"}, "annotations": {"type": "dict"}}

_TYPES = {
    "string": "str",
    "int": "int",
    "bool": "bool",
    "quantity": "raw",
    "resources": "dict",
    "datetime": "str",
    "map": "dict",
    "list": "list",
    "object": "dict",
}


def argument(field: Field) -> Spec:
    """Bounds, patterns and required fields are checked by the model, which says more about them."""
    spec: Spec = {"type": _TYPES[field["type"]]}
    if field.get("secret"):
        spec["no_log"] = True
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
    return {option(name): argument(field) for name, field in table.items()}


def of(noun: Noun, states: list[str]) -> Spec:
    """The whole specification of a noun's module: one object by its options, or several by `objects`."""
    place: Spec = {"namespace": {"type": "str"}} if noun["scope"] == "Namespaced" else {}
    one: Spec = {
        "name": {"type": "str"},
        **place,
        **SHARED,
        "state": {"type": "str", "choices": states},
        **fields(noun["spec"]),
    }
    return {**one, "objects": {"type": "list", "elements": "dict", "options": one}, **AUTH, **WRITE, **WAIT}


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
