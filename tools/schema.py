# SPDX-License-Identifier: Apache-2.0
"""One JSON Schema for what people write in an editor: objects of our kinds, and pipeline documents.

Objects are told by apiVersion and kind, and each looks as its definition says; a field that the definition does not have is an
error here, which the API server only drops. Documents look as `_core/workflow` reads them, in the plain spelling of each word.
Draft 7 is what editors know best. What stands between fields is left to `problems` and to the API server.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from paddleflow_core.model import names
from paddleflow_core.model.crd import crd, structure
from paddleflow_core.model.table import Field, OwnNoun
from paddleflow_core.workflow import component, document, job, mount, parameter

Schema = dict[str, Any]
Texts = Mapping[str, str]

_NAME: Schema = {"type": "string", "pattern": f"^{names.SUBDOMAIN}$", "maxLength": 253}
_WORDS: Schema = {"type": "object", "additionalProperties": {"type": "string"}}
# Of metadata, what people write; the API server checks the rest of it.
_METADATA: Schema = {
    "type": "object",
    "properties": {"name": _NAME, "namespace": {**_NAME, "maxLength": 63}, "labels": _WORDS, "annotations": _WORDS},
}
_TEXT: Schema = {"type": "string"}
_SWITCH: Schema = {"type": "boolean"}
_NUMBER: Schema = {"type": "integer", "minimum": 1}
_COUNT: Schema = {"type": "integer", "minimum": 0}


def schema(nouns: Iterable[tuple[OwnNoun, Texts]], texts: Texts, job_texts: Texts) -> Schema:
    """`texts` are those of documents (docs/model/document.yaml), `job_texts` those of the noun job."""
    kinds: dict[str, Schema] = {}
    apis: dict[str, list[str]] = {}
    for noun, said in nouns:
        kinds[noun["kind"]] = _kind(crd(noun, said), noun)
        apis.setdefault(noun["api"], []).append(noun["kind"])
    groups = "|".join(sorted(re.escape(api.partition("/")[0]) for api in apis))
    ours = {"required": ["apiVersion"], "properties": {"apiVersion": {"pattern": f"^({groups})/"}}}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$comment": "Written by `make generate` from plugins/module_utils/_core and docs/model; do not edit. SPDX-License-Identifier: Apache-2.0",
        "title": "paddleflow.core",
        "type": "object",
        "if": {"anyOf": [{"required": ["apiVersion"]}, {"required": ["kind"]}]},
        "then": {
            "required": ["apiVersion", "kind"],
            # An object of somebody else's kind may stand beside ours in a file.
            "if": ours,
            "then": {
                "properties": {"apiVersion": {"enum": list(apis)}},
                "allOf": [
                    *({"if": _const("apiVersion", api), "then": _one_of("kind", kinds)} for api, kinds in apis.items()),
                    *({"if": _const("kind", kind), "then": _ref(kind)} for kind in kinds),
                ],
            },
        },
        "else": _ref("document"),
        "definitions": {**kinds, **_Document(texts, job_texts).definitions()},
    }


def _const(name: str, value: str) -> Schema:
    return {"required": [name], "properties": {name: {"const": value}}}


def _one_of(name: str, words: list[str]) -> Schema:
    return {"properties": {name: {"enum": words}}}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/definitions/{name}"}


def _kind(definition: Mapping[str, Any], noun: OwnNoun) -> Schema:
    found = closed(definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"])
    found["properties"] |= {
        "apiVersion": {"const": noun["api"]},
        "kind": {"const": noun["kind"]},
        "metadata": _METADATA,
    }
    found["required"] = ["apiVersion", "kind", "metadata", *found.get("required", [])]
    return found


def closed(part: Mapping[str, Any]) -> Schema:
    """A part of a definition as JSON Schema has it, where what is not named is an error."""
    found = {key: value for key, value in part.items() if not key.startswith("x-") and value != "int64"}
    if "description" in found:
        found["description"] = plain(found["description"])
    for key in ("items", "additionalProperties"):
        if key in found:
            found[key] = closed(found[key])
    if "properties" in found:
        found["properties"] = {name: closed(below) for name, below in found["properties"].items()}
        found["additionalProperties"] = False
    return found


def plain(text: str) -> str:
    """Without the markup of Ansible's documentation."""
    return re.sub(r"\b[COV]\(([^)]*)\)", r"\1", text).strip()


class _Document:
    """Null counts as absent wherever entries are read, so that everything but what is required may be null."""

    def __init__(self, texts: Texts, job_texts: Texts) -> None:
        self._texts, self._job_texts = texts, job_texts

    def definitions(self) -> Schema:
        cache = self._entries("cache", {
            "enable": _SWITCH,
            "max_expired_time": {"type": ["integer", "string"], "pattern": "^-?[0-9]{1,18}$"},
            "mode": {"enum": list(mount.MODES)},
            "fs_scope": _list(self._entries("scope", {"id": {}, "name": {**_TEXT, "minLength": 1}, "path": _TEXT}, "name")),
        })  # fmt: skip
        components = _map(component.NAME, _ref("component"))
        step = {
            "command": _TEXT,
            "docker_env": _TEXT,
            "env": _map(parameter.NAME, {"type": ["string", "number"]}),
            "cache": cache,
            "extra_fs": _list(self._mount(_SWITCH)),
            "reference": {"type": "null"},
            "timeout_seconds": _NUMBER,
            "retry": self._entries("component.retry", {"limit": _COUNT, "backoff_seconds": _COUNT}),
            "require_outputs": _SWITCH,
            "job": _fields(job.FIELDS, self._job_texts),
        }
        output = {
            "type": ["array", "object"],
            "items": {**_TEXT, "pattern": _FREE},
            **_names(_FREE, {"enum": ["", None]}),
        }
        nothing = {"type": ["array", "object"], "maxItems": 0, "maxProperties": 0}
        target = self._entries("component.reference", {"component": _TEXT}, "component")
        dag = {"entry_points": {**components, "minProperties": 1}}
        return {
            "document": {**self._top(cache, components), "description": plain(self._texts[""])},
            "component": {
                "type": "object",
                **_when("entry_points", _ref("dag"), _when("reference", _ref("reference"), _ref("step"))),
            },
            "step": self._component("step", output, step),
            "reference": self._component("step", nothing, {"reference": target}, component.REFERRING),
            "dag": self._component("dag", _map(_FREE, _or_null(_TEXT)), dag),
        }

    def _top(self, cache: Schema, components: Schema) -> Schema:
        options = {"main_fs": self._mount({"const": False}), "extra_fs": _list(self._mount(_SWITCH))}
        return self._entries("", {
            "name": {**_TEXT, "pattern": document.NAME},
            "docker_env": _TEXT,
            "entry_points": {**components, "minProperties": 1},
            "components": components,
            "post_process": components,
            "parallelism": {"type": "number"},
            "cache": cache,
            "failure_options": self._entries("failure_options", _enum("strategy", document.STRATEGIES), "strategy"),
            "fs_options": self._entries("fs_options", options),
            "disabled": _TEXT,
            "template_style": {"enum": ["brackets"]},
            "timeout_seconds": _NUMBER,
        }, "entry_points")  # fmt: skip

    def _component(self, kind: str, output: Schema, more: Schema, only: Iterable[str] | None = None) -> Schema:
        artifacts = {"input": _map(_FREE, _or_null(_TEXT)), "output": output}
        both: dict[str, Schema] = {
            "name": {},
            "type": {"enum": [kind]},
            "deps": {"type": ["string", "array"], "items": _TEXT},
            "condition": _TEXT,
            "loop_argument": {"type": ["string", "array"]},
            "loop_parallelism": _NUMBER,
            "parameters": _map(_FREE, self._parameter()),
            "artifacts": self._entries("component.artifacts", artifacts),
        }
        return self._entries(
            "component", {name: one for name, one in both.items() if only is None or name in only} | more
        )

    def _parameter(self) -> Schema:
        given = {"type": {"enum": list(parameter.TYPES)}, "default": {}, "description": {}}
        found = self._entries("parameter", given, "type")
        return {**found, "type": ["string", "number", "boolean", "array", "object"]}

    def _mount(self, read_only: Schema) -> Schema:
        given = {
            "id": {},
            "name": {**_TEXT, "minLength": 1},
            "sub_path": {**_TEXT, "pattern": "^(?!/)"},
            "mount_path": _TEXT,
            "read_only": read_only,
        }
        return self._entries("mount", given, "name")

    def _entries(self, part: str, given: Mapping[str, Schema], *required: str) -> Schema:
        prefix = f"{part}." if part else ""
        told = {name: {**one, "description": plain(self._texts[f"{prefix}{name}"])} for name, one in given.items()}
        found = {
            "type": "object",
            "properties": {name: one if name in required else _or_null(one) for name, one in told.items()},
            "additionalProperties": False,
        }
        return {**found, "required": list(required)} if required else found


# A name of a parameter or an artifact: not one of the system's.
_FREE = parameter.NAME.replace("^", "^(?![Pp][Ff]_)", 1)


def _or_null(part: Schema) -> Schema:
    found = dict(part)
    if "type" in part:
        kinds = part["type"] if isinstance(part["type"], list) else [part["type"]]
        found["type"] = kinds if "null" in kinds else [*kinds, "null"]
    if "enum" in part:
        found["enum"] = [*part["enum"], None]
    if "const" in part:
        del found["const"]
        found["enum"] = [part["const"], None]
    return found


def _names(pattern: str, values: Schema) -> Schema:
    return {"propertyNames": {"pattern": pattern}, "additionalProperties": values}


def _map(pattern: str, values: Schema) -> Schema:
    return {"type": "object", **_names(pattern, values)}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _enum(name: str, words: Iterable[str]) -> Schema:
    return {name: {"enum": list(words)}}


def _when(name: str, given: Schema, otherwise: Schema) -> Schema:
    return {
        "if": {"required": [name], "properties": {name: {"not": {"type": "null"}}}},
        "then": given,
        "else": otherwise,
    }


def _fields(fields: Mapping[str, Field], texts: Texts) -> Schema:
    """Fields of the model as a document has them, by the names of their options or by their own."""
    return _by_option(closed(structure(fields, "spec", texts)), fields)


def _by_option(part: Schema, fields: Mapping[str, Field]) -> Schema:
    found: dict[str, Schema] = {}
    for name, below in part["properties"].items():
        field = fields[name]
        item = field.get("items")
        if "fields" in field:
            below = _by_option(below, field["fields"])
        elif item and "fields" in item:
            below = {**below, "items": _by_option(below["items"], item["fields"])}
        elif "additionalProperties" in below:
            below = {**below, "additionalProperties": _number_too(below["additionalProperties"])}
        found |= dict.fromkeys((names.option(name), name, *field.get("aliases", ())), _or_null(_number_too(below)))
    required = [names.option(name) for name in part.get("required", ())]
    return {**part, "properties": found, **({"required": required} if required else {})}


def _number_too(part: Schema) -> Schema:
    """Text may be a number that YAML has read, and an amount one with a fraction."""
    found = dict(part)
    if part.get("type") == "string" and "enum" not in part:
        found["type"] = ["string", "integer"]
    if found.pop("anyOf", None):
        found["type"] = ["string", "number"]
    return found
