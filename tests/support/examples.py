# SPDX-License-Identifier: Apache-2.0
"""The examples in the modules' documentation, as data that can be written into a playbook again."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import yaml

from tools import tree


class Unsafe(str):
    """Text that Ansible leaves as it is."""


class Loader(yaml.SafeLoader):
    pass


class Dumper(yaml.SafeDumper):
    pass


Loader.add_constructor("!unsafe", lambda _loader, node: Unsafe(node.value))
Dumper.add_representer(Unsafe, lambda dumper, text: dumper.represent_scalar("!unsafe", str(text)))


def literal(module: str, name: str) -> str:
    """DOCUMENTATION, EXAMPLES or RETURN of a module, which none of them has to be imported for."""
    return _literal(tree.ROOT / f"plugins/modules/{module}.py", name)


def _literal(path: Path, name: str) -> str:
    (text,) = [
        ast.literal_eval(node.value)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == [name]
    ]
    return str(text)


def tasks(module: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.load(literal(module, "EXAMPLES"), Loader)
    return found


def declared(module: str) -> list[dict[str, Any]]:
    """The options of each object that the examples declare, alone or in a list, and not only by its name."""
    given = [task[f"paddleflow.core.{module}"] for task in tasks(module) if f"paddleflow.core.{module}" in task]
    each = [one for options in given for one in options.get("objects", [options])]
    return [one for one in each if one.get("state", "present") == "present"]


def attributes(module: str) -> dict[str, dict[str, Any]]:
    """What the module says of itself, and what it has of the fragments that it names."""
    document = yaml.safe_load(literal(module, "DOCUMENTATION"))
    found: dict[str, dict[str, Any]] = {}
    for fragment in document.get("extends_documentation_fragment", ()):
        file, _dot, part = fragment.removeprefix("paddleflow.core.").partition(".")
        path = tree.ROOT / f"plugins/doc_fragments/{file}.py"
        text = _literal(path, (part or "DOCUMENTATION").upper())
        found |= yaml.safe_load(text).get("attributes", {})
    return {**found, **document.get("attributes", {})}
