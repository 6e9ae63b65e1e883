# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""From what somebody declared to what the model holds, and everything that is wrong with it.

One walk over a noun's field table does both. Nothing here raises: a document from anywhere, of any shape, gives a value
and a list of problems, and only a value without problems is used.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from . import quantity, values

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .table import Field

Path: TypeAlias = "tuple[str | int, ...]"
HIDDEN = "a value that is not shown"


class Problem(NamedTuple):
    """Something wrong at one place of a declaration."""

    path: Path
    found: str
    allowed: str
    remedy: str = ""
    # The reference's error code, where it is not that of the field (`codes` of the noun).
    code: str = ""
    # Where the field is a document of its own: the place in it, in its own words.
    inside: str = ""

    def place(self, name: Callable[[str], str] = str) -> str:
        """The field; `name` turns it into what people wrote, an option or a flag."""
        return "".join(f"[{part}]" if isinstance(part, int) else f".{name(part)}" for part in self.path).lstrip(".")

    def text(self, name: Callable[[str], str] = str) -> str:
        """For people."""
        where = ": ".join(part for part in (self.place(name), self.inside) if part)
        remedy = f" {self.remedy}" if self.remedy else ""
        return f"{where or 'the declaration'} is {self.found}, but must be {self.allowed}.{remedy}"


def read(fields: Mapping[str, Field], declared: object, path: Path = ()) -> tuple[dict[str, Any], list[Problem]]:
    """The declared fields without what is null or an empty mapping, numbers and booleans as such, other spellings as the model's own."""
    problems: list[Problem] = []
    return _object(fields, declared, path, problems), problems


def code(codes: Mapping[str, str], problem: Problem) -> str:
    """The reference's error code (spec client.md 7): the problem's own, that of its field, or that of the noun's other fields."""
    field = str(problem.path[0]) if problem.path else ""
    return problem.code or codes.get(field) or codes.get("", "InvalidArguments")


def show(value: object) -> str:
    """A value in a message, at most a line of it."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _object(fields: Mapping[str, Field], declared: object, path: Path, problems: list[Problem]) -> dict[str, Any]:
    if not isinstance(declared, dict):
        problems.append(Problem(path, HIDDEN if _hides(fields) else show(declared), "a mapping"))
        return {}
    aliases: dict[object, str] = {alias: name for name, field in fields.items() for alias in field.get("aliases", ())}
    found: dict[str, Any] = {}
    for key, value in declared.items():
        name = aliases.get(key, str(key))
        if name not in fields:
            problems.append(_unknown(fields, key, path))
        elif value is not None:
            if name in found:
                problems.append(Problem((*path, name), "given twice", "given once", f"Leave {key} out."))
            found[name] = _value(fields[name], value, (*path, name), problems)
    for name, field in fields.items():
        if field.get("required") and name not in found:
            problems.append(Problem((*path, name), "missing", _allowed(field)))
    # The API server makes null of a mapping that an apply empties.
    return {name: value for name, value in found.items() if value != {} or fields[name].get("required")}


def _unknown(fields: Mapping[str, Field], key: object, path: Path) -> Problem:
    from difflib import get_close_matches  # only on the way to an error

    close = get_close_matches(str(key), list(fields), n=1, cutoff=0.5)
    remedy = f"Did you mean {close[0]}?" if close else ""
    return Problem((*path, str(key)), "not known here", f"one of {', '.join(sorted(fields))}", remedy)


def _value(field: Field, value: object, path: Path, problems: list[Problem]) -> Any:
    before = len(problems)
    found = _READERS[field["type"]](field, value, path, problems)
    if field.get("secret"):
        problems[before:] = [problem._replace(found=HIDDEN) for problem in problems[before:]]
    return found


def _hides(fields: Mapping[str, Field]) -> bool:
    return any(field.get("secret") or _hides(field.get("fields", {})) for field in fields.values())


def _string(field: Field, value: object, path: Path, problems: list[Problem]) -> Any:
    # A number is what YAML makes of an unquoted 1.10 or 0123; its text may no longer be what was written.
    taken = isinstance(value, int) and not isinstance(value, bool) and not field.get("quoted")
    text = str(value) if taken else value
    if not isinstance(text, str):
        remedy = "Put it into quotes." if isinstance(value, (int, float)) else ""
        problems.append(Problem(path, show(value), _allowed(field), remedy))
        return value
    if "enum" in field:
        word = field.get("spellings", {}).get(text.lower(), text)
        for allowed in field["enum"]:
            if allowed.lower() == word.lower():
                return allowed
        problems.append(Problem(path, show(text), _allowed(field)))
    elif not field.get("min", 0) <= len(text) <= field.get("max", len(text)) or (
        "pattern" in field and not re.fullmatch(field["pattern"], text)
    ):
        problems.append(Problem(path, show(text), _allowed(field)))
    return text


def _int(field: Field, value: object, path: Path, problems: list[Problem]) -> Any:
    number = int(value) if isinstance(value, str) and re.fullmatch(r"[+-]?[0-9]{1,18}", value) else value
    if isinstance(number, bool) or not isinstance(number, int) or not _within(field, number):
        problems.append(Problem(path, show(value), _allowed(field)))
    return number


def _bool(field: Field, value: object, path: Path, problems: list[Problem]) -> Any:
    words = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
    found = words.get(value.lower()) if isinstance(value, str) else value
    if not isinstance(found, bool):
        problems.append(Problem(path, show(value), _allowed(field)))
    return found


def _quantity(field: Field, value: object, path: Path, problems: list[Problem]) -> Any:
    try:
        good = field.get("min", 0) * quantity.UNIT <= quantity.parse(value)
    except ValueError:
        good = False
    if not good:
        problems.append(Problem(path, show(value), _allowed(field)))
    return value if isinstance(value, int) else str(value)


def _resources(field: Field, value: object, path: Path, problems: list[Problem]) -> Any:
    """Kubernetes' names, or cpu, mem and scalarResources as the reference writes them."""
    if not isinstance(value, dict):
        problems.append(Problem(path, show(value), _allowed(field)))
        return {}
    scalars = value.get("scalarResources") or {}
    if not isinstance(scalars, dict):
        problems.append(Problem((*path, "scalarResources"), show(scalars), "a mapping of resource names to quantities"))
        return {}
    flat: dict[str, Any] = {}
    for name, amount in [*value.items(), *scalars.items()]:
        plain = "memory" if name == "mem" else str(name)
        if plain in flat:
            problems.append(Problem((*path, plain), "given twice", "given once"))
        if plain != "scalarResources" and amount is not None:
            flat[plain] = _quantity({**field, "type": "quantity"}, amount, (*path, plain), problems)
    return flat


def _map(field: Field, value: object, path: Path, problems: list[Problem]) -> Any:
    if not isinstance(value, dict) or not _within(field, len(value)):
        problems.append(Problem(path, show(value), _allowed(field)))
        return {}
    item = field.get("items")
    found = {}
    for key, entry in value.items():
        if "pattern" in field and not re.fullmatch(field["pattern"], str(key)):
            problems.append(Problem((*path, str(key)), "a name of the wrong form", f"like {field['pattern']}"))
        found[str(key)] = _value(item, entry, (*path, str(key)), problems) if item else entry
    return found


def _list(field: Field, value: object, path: Path, problems: list[Problem]) -> Any:
    if not isinstance(value, (list, tuple)) or not _within(field, len(value)):
        problems.append(Problem(path, show(value), _allowed(field)))
        return []
    item = field.get("items")
    found = [_value(item, entry, (*path, i), problems) if item else entry for i, entry in enumerate(value)]
    keys = field.get("keys", ())
    seen: dict[Any, int] = {}
    for i, entry in enumerate(found if keys else ()):
        key = repr([entry.get(name) for name in keys]) if isinstance(entry, dict) else ""
        if key in seen:
            problems.append(Problem((*path, i), f"the same {' and '.join(keys)} as [{seen[key]}]", "another one"))
        seen.setdefault(key, i)
    return found


def _structure(field: Field, value: object, path: Path, problems: list[Problem]) -> Any:
    if "fields" in field:
        return _object(field["fields"], value, path, problems)
    if not isinstance(value, dict):
        problems.append(Problem(path, show(value), _allowed(field)))
        return {}
    return value


def _within(field: Field, size: int) -> bool:
    return field.get("min", size) <= size <= field.get("max", size)


def _bounds(field: Field, of: str) -> str:
    low, high = field.get("min"), field.get("max")
    if low is not None and high is not None:
        return f" from {low} to {high}{of}"
    return f" of at least {low}{of}" if low is not None else f" of at most {high}{of}" if high is not None else ""


def _allowed(field: Field) -> str:
    if "enum" in field:
        return f"one of {', '.join(field['enum'])}"
    if "says" in field:
        return field["says"]
    if "pattern" in field and field["type"] == "string":
        return f"text like {field['pattern']}"
    return {
        "string": "text" + _bounds(field, " characters"),
        "int": "a whole number" + _bounds(field, ""),
        "bool": "true or false",
        "quantity": "a quantity of at least 0, such as 2, 500m or 1.5Gi",
        "resources": "a mapping of resource names to quantities, such as {cpu: 4, memory: 16Gi, nvidia.com/gpu: 1}",
        "datetime": "a time such as 2026-01-31T08:00:00Z",
        "value": "text, a number, a boolean or a list" + _bounds(field, " characters"),
        "document": "text" + _bounds(field, " characters") + ", or a mapping",
        "list": "a list" + _bounds(field, " entries"),
    }.get(field["type"], "a mapping" + _bounds(field, " entries"))


def _datetime(field: Field, value: object, path: Path, problems: list[Problem]) -> Any:
    # YAML reads an unquoted time as a date of its own.
    text = value.isoformat() if hasattr(value, "isoformat") else value
    form = r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)" + ("?" if field.get("zoneless") else "")
    if not isinstance(text, str) or not re.fullmatch(form, text):
        problems.append(Problem(path, show(value), _allowed(field)))
    return text


def _kept(field: Field, value: object, path: Path, problems: list[Problem]) -> Any:
    """A value or a document, as text."""
    good = (str, int, float, list) if field["type"] == "value" else (str, dict)
    text = values.text(value) if isinstance(value, good) else ""
    if not isinstance(value, good) or not _within(field, len(text)):
        long = isinstance(value, (str, dict, list)) and len(text) > field.get("max", len(text))
        problems.append(Problem(path, f"{len(text)} characters long" if long else show(value), _allowed(field)))
    return text


_READERS: dict[str, Callable[[Field, object, Path, list[Problem]], Any]] = {
    "string": _string,
    "int": _int,
    "bool": _bool,
    "quantity": _quantity,
    "resources": _resources,
    "datetime": _datetime,
    "map": _map,
    "list": _list,
    "object": _structure,
    "value": _kept,
    "document": _kept,
}
