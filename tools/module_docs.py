# SPDX-License-Identifier: Apache-2.0
"""The documentation literals of a noun's module, from the noun's table and its texts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from paddleflow_core.model.names import option
from paddleflow_core.model.options import STATES, argument
from paddleflow_core.model.table import Field, Noun

AUTHOR = "The paddleflow.core authors (@paddleflow)"
FRAGMENTS = ["auth", "write", "attributes"]


def documentation(
    module: str, noun: Noun, texts: Mapping[str, str], head: Mapping[str, Any], states: Sequence[str] = STATES
) -> dict[str, Any]:
    one = {**_shared(module, noun, states), **_options(noun["spec"], "spec", texts)}
    several = {
        "description": [
            f"Several {module} objects at once; each entry has the options of this module.",
            "The O(state), the O(labels) and the O(annotations) beside it are the defaults of every entry"
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
        "options": {**one, "objects": several},
        "extends_documentation_fragment": [f"paddleflow.core.{name}" for name in FRAGMENTS],
    }


def _shared(module: str, noun: Noun, states: Sequence[str]) -> dict[str, Any]:
    label = module.replace("_", " ")
    found: dict[str, Any] = {"name": {"description": f"Name of the {label}.", "type": "str"}}
    if noun["scope"] == "Namespaced":
        found["namespace"] = {
            "description": "Its namespace; that of the connection when it is not given.",
            "type": "str",
        }
    return {
        **found,
        "labels": {"description": "Further labels of the object.", "type": "dict"},
        "annotations": {"description": "Further annotations of the object.", "type": "dict"},
        "state": {
            "description": "What it shall be; V(present) when nothing is given.",
            "type": "str",
            "choices": list(states),
        },
    }


def _options(fields: Mapping[str, Field], path: str, texts: Mapping[str, str]) -> dict[str, Any]:
    return {
        option(name): _option(field, f"{path}.{name}", texts)
        for name, field in fields.items()
        if not field.get("no_option")
    }


def _option(field: Field, path: str, texts: Mapping[str, str]) -> dict[str, Any]:
    path = field.get("doc", path)
    description = [part for part in re.split(r"(?<=\.)\s+", texts[path].strip()) if part]
    if "default" in field:
        description.append(f"When nothing is given it is V({_written(field['default'])}).")
    if "enum" in field:
        description.append(f"One of {', '.join(f'V({value})' for value in field['enum'])}, in any case.")
    shape = argument(field)
    found: dict[str, Any] = {
        "description": description,
        **{key: shape[key] for key in ("type", "elements", "aliases") if key in shape},
    }
    inner = field.get("items", field) if field["type"] == "list" else field
    if "fields" in inner:
        found["suboptions"] = _options(inner["fields"], path, texts)
    return found


def _written(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def returned(kind: str) -> dict[str, Any]:
    return {
        "objects": {
            "description": "What became of each object, in the order of the declaration.",
            "returned": "always",
            "type": "list",
            "elements": "dict",
            "sample": [{"kind": kind, "namespace": "", "name": "one", "changed": True, "action": "created"}],
            "contains": {
                "kind": {"description": "Its kind.", "type": "str"},
                "namespace": {"description": "Its namespace; empty for kinds that are in none.", "type": "str"},
                "name": {"description": "Its name.", "type": "str"},
                "changed": {"description": "Whether it was, or in check mode would be, changed.", "type": "bool"},
                "action": {
                    "description": "One of V(created), V(changed), V(recreated), V(deleted), V(unchanged), V(failed).",
                    "type": "str",
                },
                "error": {"description": "Why it failed, when it did.", "type": "str"},
                "object": {"description": "The object itself, when O(return_content) asks for it.", "type": "dict"},
            },
        }
    }


def put(source: str, name: str, text: str) -> str:
    """The module's source with another text in one of its documentation literals."""
    found, number = re.subn(rf'(?ms)^{name} = r""".*?^"""', lambda _old: f'{name} = r"""\n{text}"""', source)
    if number != 1:
        raise ValueError(f"the module has {number} literals {name}, not one")
    return found
