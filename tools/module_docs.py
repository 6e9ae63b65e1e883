# SPDX-License-Identifier: Apache-2.0
"""The documentation literals of a noun's module, from the noun's table and its texts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from paddleflow_core.model.names import option
from paddleflow_core.model.options import aliases, argument, states
from paddleflow_core.model.table import Field, Noun

AUTHOR = "The paddleflow.core authors (@paddleflow)"
FRAGMENTS = ["auth", "write", "attributes"]


def documentation(module: str, noun: Noun, texts: Mapping[str, str], head: Mapping[str, Any]) -> dict[str, Any]:
    one = {**_shared(module, noun, head.get("state", "")), **_options(noun["spec"], "spec", texts)}
    several = {
        "description": [
            f"Several {module} objects at once; each entry has the options of this module.",
            "The O(state) beside it is the default of every entry."
            if noun.get("foreign")
            else "The O(state), the O(labels) and the O(annotations) beside it are the defaults of every entry"
            + (", and so is the O(namespace)." if noun["scope"] == "Namespaced" else "."),
            "Mutually exclusive with O(name) and the options of a single one.",
        ],
        "type": "list",
        "elements": "dict",
        "suboptions": one,
    }
    return {
        "module": module,
        "short_description": head["short_description"],
        "version_added": "0.1.0",
        "description": head["description"],
        "author": [AUTHOR],
        "options": {**one, "objects": several, **head.get("options", {})},
        # Where the module differs from what the fragment says of all.
        **({"attributes": head["attributes"]} if "attributes" in head else {}),
        "extends_documentation_fragment": [
            f"paddleflow.core.{name}"
            for name in [
                *FRAGMENTS,
                *(["wait"] if "ready" in noun else []),
                *(["vault"] if "vault" in noun["spec"] else []),
            ]
        ],
    }


def _shared(module: str, noun: Noun, state: str) -> dict[str, Any]:
    label = module.replace("_", " ")
    found: dict[str, Any] = {"name": {"description": f"Name of the {label}.", "type": "str"}}
    if noun["scope"] == "Namespaced":
        found["namespace"] = {
            "description": "Its namespace; that of the connection when it is not given.",
            "type": "str",
        }
    if not noun.get("foreign"):
        found["labels"] = {"description": "Further labels of the object.", "type": "dict"}
        found["annotations"] = {"description": "Further annotations of the object.", "type": "dict"}
    return {
        **found,
        "state": {
            "description": ["What it shall be; V(present) when nothing is given.", *_sentences(state)],
            "type": "str",
            "choices": states(noun),
        },
    }


def _options(fields: Mapping[str, Field], path: str, texts: Mapping[str, str]) -> dict[str, Any]:
    found = {}
    for name, field in fields.items():
        if field.get("no_option"):
            continue
        found[option(name)] = _option(field, f"{path}.{name}", texts)
        if aliases(option(name), field):
            found[option(name)]["aliases"] = aliases(option(name), field)
    return found


def _option(field: Field, path: str, texts: Mapping[str, str]) -> dict[str, Any]:
    path = field.get("doc", path)
    description = _sentences(texts[path])
    if "default" in field:
        description.append(f"When nothing is given it is V({_written(field['default'])}).")
    if "enum" in field:
        words = ", ".join(f"V({value})" for value in field["enum"] if value)
        description.append(f"One of {words}{', or nothing' if '' in field['enum'] else ''}, in any case.")
    shape = argument(field)
    found: dict[str, Any] = {
        "description": description,
        **{key: shape[key] for key in ("type", "elements") if key in shape},
    }
    inner = field.get("items", field) if field["type"] == "list" else field
    if "fields" in inner:
        found["suboptions"] = _options(inner["fields"], path, texts)
    return found


def _sentences(text: str) -> list[str]:
    return [part for part in re.split(r"(?<=\.)\s+", text.strip()) if part]


def _written(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def returned(noun: Noun) -> dict[str, Any]:
    actions = ["created", "changed", "recreated", "deleted", *noun.get("states", {}).values(), "unchanged", "failed"]
    return {
        "objects": {
            "description": "What became of each object, in the order of the declaration.",
            "returned": "always",
            "type": "list",
            "elements": "dict",
            "sample": [
                {
                    "kind": noun["kind"],
                    "namespace": "team" if noun["scope"] == "Namespaced" else "",
                    "name": "one",
                    "changed": True,
                    "action": "created",
                }
            ],
            "contains": {
                "kind": {"description": "Its kind.", "type": "str"},
                "namespace": {"description": "Its namespace; empty for kinds that are in none.", "type": "str"},
                "name": {"description": "Its name.", "type": "str"},
                "changed": {"description": "Whether it was, or in check mode would be, changed.", "type": "bool"},
                "action": {
                    "description": f"One of {', '.join(f'V({action})' for action in actions)}.",
                    "type": "str",
                },
                "error": {"description": "Why it failed, when it did.", "type": "str"},
                "object": {"description": "The object itself, when O(return_content) asks for it.", "type": "dict"},
            },
        },
        "problems": {
            "description": "Everything that is wrong with the declaration, of which nothing was written.",
            "returned": _WRONG,
            "type": "list",
            "elements": "str",
        },
        "errors": {
            "description": "What a program reads of each problem with a field.",
            "returned": _WRONG,
            "type": "list",
            "elements": "dict",
            "contains": {key: {"description": text, "type": "str"} for key, text in _ERROR.items()},
        },
        **{
            key: {"description": f"RV(errors[].{key}) of the first problem.", "returned": _WRONG, "type": "str"}
            for key in _ERROR
        },
    }


_WRONG = "when the declaration is wrong"
_ERROR = {
    "code": "The error code, as the reference platform names it.",
    "field": "The option that is wrong, with those that it is in.",
    "hint": "What to do about it.",
}


def info_documentation(module: str, noun: Noun, head: Mapping[str, Any]) -> dict[str, Any]:
    label = module.removesuffix("_info").replace("_", " ")
    place = {
        "namespace": {"description": "Only those in it; that of the connection when it is not given.", "type": "str"},
        "all_namespaces": {
            "description": "Whether those of all namespaces are meant.",
            "type": "bool",
            "default": False,
        },
    }
    return {
        "module": module,
        "short_description": head["short_description"],
        "version_added": "0.1.0",
        "description": [
            *head["description"],
            "What is not there is an empty list. A cluster that does not answer, or does not permit it, is an error.",
        ],
        "author": [AUTHOR],
        "options": {
            "name": {"description": f"Only the {label} of that name.", "type": "str"},
            **(place if noun["scope"] == "Namespaced" else {}),
            "label_selectors": {
                "description": "Only those with these labels, such as V(team=vision).",
                "type": "list",
                "elements": "str",
            },
            "field_selectors": {
                "description": "Only those with these fields, such as V(metadata.name=vision).",
                "type": "list",
                "elements": "str",
            },
            "timeout": {"description": "Seconds that it may take.", "type": "int", "default": 60},
            **head.get("options", {}),
        },
        "extends_documentation_fragment": [f"paddleflow.core.{name}" for name in ("auth", "attributes.info")],
    }


def info_returned(module: str, table: Noun, head: Mapping[str, Any]) -> dict[str, Any]:
    noun = module.removesuffix("_info")
    contains = {
        "name": {"description": "Its name.", "type": "str"},
        "namespace": {"description": "Its namespace; empty for kinds that are in none.", "type": "str"},
        **({} if table.get("foreign") else {"labels": {"description": "Its labels.", "type": "dict"}}),
        "declared": {
            "description": f"What is declared of it, by the options of P(paddleflow.core.{noun}#module).",
            "type": "dict",
        },
        "status": {"description": "What is known about it, as the object says it.", "type": "dict"},
        **head.get("returned", {}),
    }
    return {
        "objects": {
            "description": "What was found.",
            "returned": "success",
            "type": "list",
            "elements": "dict",
            "sample": [head["sample"]],
            "contains": contains,
        }
    }


def put(source: str, name: str, text: str) -> str:
    """The module's source with another text in one of its documentation literals."""
    found, number = re.subn(rf'(?ms)^{name} = r""".*?^"""', lambda _old: f'{name} = r"""\n{text}"""', source)
    if number != 1:
        raise ValueError(f"the module has {number} literals {name}, not one")
    return found
