# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""Parameters: the forms that they are written in, and their types (spec 1.5)."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from ..model.check import show
from . import template
from .finding import At, Report, mapping, string

TYPES = {
    "string": "text",
    "int": "a whole number",
    "float": "a number",
    "path": "text of letters, digits and . / _ -",
    "list": "a list",
}
# What Python takes for a number beside these, such as 1_000, is none to anybody else.
_NUMBERS = {"int": "[+-]?[0-9]+", "float": r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?"}
NAME = "^[A-Za-z_][A-Za-z0-9_]{0,49}$"


class Parameter(NamedTuple):
    value: Any  # None where a run has to say it
    type: str  # nothing for a plain value
    at: At


def named(report: Report, name: object, at: At, what: str, reserved: bool = True) -> bool:
    """Whether it can be the name of a parameter, an artifact or, where system variables may be named, of an env entry."""
    if not isinstance(name, str) or not re.fullmatch(NAME[1:-1], name):
        remedy = "Put it into quotes." if not isinstance(name, str) else ""
        report.wrong("0.2", at, f"{show(name)} as the name of {what}", f"a name like {NAME}", remedy)
        return False
    if reserved and name.upper().startswith("PF_"):
        report.wrong("2.3", at, "named as a system variable", "named otherwise", "Names with PF_ are the system's.")
    return True


def parameters(report: Report, value: object, at: At, brackets: bool) -> dict[str, Parameter]:
    found = {}
    for name, one in mapping(report, "1.5", value, at).items():
        place = at.of(str(name))
        if named(report, name, place, "a parameter"):
            found[name] = _parameter(report, one, place, brackets)
    return found


def _parameter(report: Report, value: object, at: At, brackets: bool) -> Parameter:
    if not isinstance(value, dict):
        plain(report, value, at, brackets)
        return Parameter(value, "", at)
    given: dict[str, Any] = {}
    for key, one in value.items():
        low = str(key).lower()
        if low not in ("type", "default", "description") or low in given:
            report.wrong("Y-2", at.of(str(key)), "not known here, or given twice", "one of default, description, type")
        elif one is not None:
            given[low] = one
    kind = string(report, "Y-15", given["type"], at.of("type")) if "type" in given else ""
    if "type" not in given:
        report.wrong("Y-15", at.of("type"), "missing", f"one of {', '.join(TYPES)}")
    elif isinstance(given["type"], str) and kind not in TYPES:
        report.wrong("Y-15", at.of("type"), show(kind), f"one of {', '.join(TYPES)}", "In small letters.")
    default = given.get("default")
    if default is None or default == "":
        return Parameter(None, kind, at)
    place = at.of("default")
    if kind in TYPES and not fits(default, kind, brackets):
        report.wrong("Y-15", place, show(default), f"{TYPES[kind]}, which type {kind} asks for")
    elif isinstance(default, list):
        items(report, default, place, brackets)
    return Parameter(default, kind, place)


def plain(report: Report, value: object, at: At, brackets: bool) -> None:
    if isinstance(value, list):
        items(report, value, at, brackets)
    elif value is None or not isinstance(value, (str, int, float)):
        report.wrong("Y-3", at, "null" if value is None else show(value), "text, a number, a boolean or a list")


def items(report: Report, found: list[Any], at: At, brackets: bool, rule: str = "T-18") -> None:
    """Of lists: text, numbers and lists of these, without templates."""
    for number, item in enumerate(found):
        place = at.of(number)
        if isinstance(item, list):
            items(report, item, place, brackets, rule)
        elif isinstance(item, bool) or not isinstance(item, (str, int, float)):
            report.wrong("1.5", place, "null" if item is None else show(item), "text, a number or a list of these")
        elif isinstance(item, str) and list(template.parts(item, brackets)):
            report.wrong(rule, place, show(item), "without a template", "Lists hold no templates.")


def fits(value: object, kind: str, brackets: bool = False) -> bool:
    """What holds a template is judged once its value is known (Y-23)."""
    if isinstance(value, str) and any(part.token for part in template.parts(value, brackets)):
        return True
    if kind in ("int", "float"):
        return isinstance(value, (int, float) if kind == "float" else int) and not isinstance(value, bool)
    if kind == "path":
        return isinstance(value, str) and re.fullmatch("[.a-zA-Z0-9/_-]+", value) is not None
    return isinstance(value, list if kind == "list" else str)


def converted(value: str, kind: str) -> Any:
    """What a run says as text, as the declared type has it (R-15). ValueError when it cannot be."""
    if kind in _NUMBERS and not re.fullmatch(_NUMBERS[kind], value):
        raise ValueError(value)
    if kind == "int":
        return int(value)
    if kind == "float":
        number = float(value)
        if number - number != 0:  # infinite
            raise ValueError(value)
        return number
    if kind == "list":
        found = json.loads(value)
        if not isinstance(found, list):
            raise ValueError(value)
        return found
    return value
