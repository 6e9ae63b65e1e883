# SPDX-License-Identifier: Apache-2.0
"""The examples in the modules' documentation, as data that can be written into a playbook again."""

from __future__ import annotations

import ast
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
    source = ast.parse((tree.ROOT / f"plugins/modules/{module}.py").read_text(encoding="utf-8"))
    (text,) = [
        ast.literal_eval(node.value)
        for node in source.body
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
