# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""From a noun's table and its texts to the CustomResourceDefinition. Read by `make generate`, never by a module."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .own import MANAGED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .table import Field, OwnNoun, Rule

# What a field type is in OpenAPI, and the names of its lower and upper bound there.
_TYPES: dict[str, dict[str, Any]] = {
    "string": {"type": "string"},
    "int": {"type": "integer", "format": "int64"},
    "quantity": {
        "x-kubernetes-int-or-string": True,
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "pattern": r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?[0-9]+))?$",
    },
    "resources": {"type": "object"},
    "bool": {"type": "boolean"},
    "datetime": {"type": "string", "format": "date-time"},
    "value": {"type": "string"},
    "document": {"type": "string"},
    "map": {"type": "object"},
    "list": {"type": "array"},
    "object": {"type": "object"},
}
_BOUNDS = {
    "string": ("minLength", "maxLength"),
    "value": ("minLength", "maxLength"),
    "document": ("minLength", "maxLength"),
    "int": ("minimum", "maximum"),
    "map": ("minProperties", "maxProperties"),
    "list": ("minItems", "maxItems"),
}


def crd(noun: OwnNoun, texts: Mapping[str, str]) -> dict[str, Any]:
    """The whole definition. texts maps a field's path (`spec.nodeName`, `status.fileSystems.cachedBytes`) to its description,
    and the empty path to the noun's own."""
    root: dict[str, Field] = {
        "spec": {"type": "object", "required": True, "fields": noun["spec"], "rules": noun.get("spec_rules", [])},
        "status": {"type": "object", "fields": noun["status"]},
    }
    group, version = noun["api"].split("/")
    schema = structure(root, "", texts)
    schema["description"] = texts[""]
    # The API server's own fields: listed so that the schema is complete for readers, checked by the API server itself.
    schema["properties"] = {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
        **schema["properties"],
    }
    if noun["rules"]:
        schema["x-kubernetes-validations"] = [dict(rule) for rule in noun["rules"]]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{noun['plural']}.{group}",
            "labels": dict(MANAGED),
        },
        "spec": {
            "group": group,
            "names": {
                "kind": noun["kind"],
                "listKind": f"{noun['kind']}List",
                "plural": noun["plural"],
                "singular": noun["kind"].lower(),
                "shortNames": list(noun["short_names"]),
                "categories": ["paddleflow"],
            },
            "scope": noun["scope"],
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    "subresources": _subresources(noun),
                    "additionalPrinterColumns": [
                        {"name": column["name"], "type": column["type"], "jsonPath": column["path"]}
                        for column in noun["columns"]
                    ],
                }
            ],
        },
    }


def _subresources(noun: OwnNoun) -> dict[str, Any]:
    found: dict[str, Any] = {"status": {}}
    if "scale" in noun:
        found["scale"] = {"specReplicasPath": noun["scale"]["spec"], "statusReplicasPath": noun["scale"]["status"]}
    return found


def _schema(field: Field, path: str, texts: Mapping[str, str]) -> dict[str, Any]:
    """One field. A list's or map's items share its path, as an option's suboptions do."""
    path = field.get("doc", path)
    schema = {**_TYPES[field["type"]], "description": texts[path]}
    values: Mapping[str, Any] = field
    if "fields" in field:
        schema.update(structure(field["fields"], path, texts))
    if "items" in field:
        item = _schema(field["items"], path, texts)
        del item["description"]
        schema["additionalProperties" if field["type"] == "map" else "items"] = item
    if field["type"] == "resources":
        schema["additionalProperties"] = _TYPES["quantity"]
    if "keys" in field:
        schema["x-kubernetes-list-type"] = "map"
        schema["x-kubernetes-list-map-keys"] = list(field["keys"])
    # Of a map it is the form of its names, of which OpenAPI as the API server has it can say nothing.
    names = field["type"] == "map" and field.get("pattern", "")
    for key in ("enum", "default", *(() if names else ("pattern",))):
        if key in values:
            schema[key] = values[key]
    for key, bound in zip(("min", "max"), _BOUNDS.get(field["type"], ()), strict=False):
        if key in values:
            schema[bound] = values[key]
    rules = [*schema.get("x-kubernetes-validations", []), *field.get("rules", [])]
    if names:
        rules.append({"rule": f"self.all(name,\nname.matches(r'{names}'))", "message": f"names are like {names}"})
    if field.get("immutable") and field.get("required"):
        rules.append({"rule": "self == oldSelf", "message": "cannot be changed"})
    if rules:
        schema["x-kubernetes-validations"] = [dict(rule) for rule in rules]
    return schema


def structure(fields: Mapping[str, Field], path: str, texts: Mapping[str, str]) -> dict[str, Any]:
    """An object of these fields, without those that no object has."""
    prefix = f"{path}." if path else ""
    fields = {name: field for name, field in fields.items() if not (field.get("secret") or field.get("aside"))}
    schema: dict[str, Any] = {"type": "object"}
    if fields:  # the API server drops an empty mapping, and whoever then applies it again finds a difference
        schema["properties"] = {name: _schema(field, f"{prefix}{name}", texts) for name, field in fields.items()}
    required = [name for name, field in fields.items() if field.get("required")]
    if required:
        schema["required"] = required
    rules = [
        _immutable_rule(name) for name, field in fields.items() if field.get("immutable") and not field.get("required")
    ]
    if rules:
        schema["x-kubernetes-validations"] = rules
    return schema


def _immutable_rule(name: str) -> Rule:
    """For an optional field the parent has to check: a rule of the field itself is not asked when the field comes or goes."""
    return {
        "rule": f"has(self.{name}) == has(oldSelf.{name}) && (!has(self.{name}) || self.{name} == oldSelf.{name})",
        "message": f"{name} cannot be changed",
        "fieldPath": f".{name}",
    }
