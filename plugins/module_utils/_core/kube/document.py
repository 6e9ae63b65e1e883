# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""YAML as pipeline documents have it: the core schema of YAML 1.2, so that ``on`` and ``y`` are text, and no key twice.

Built from the parser's events, since only they know where a value stands and whether it was quoted.
"""

from __future__ import annotations

import re
import typing as t

from ..model.check import Path, show
from ..workflow.finding import At, Report
from .errors import not_installed

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from ..workflow.finding import Finding

DEEPEST = 100
MOST_VALUES = 200_000

_TAG = "tag:yaml.org,2002:"
_CORE: tuple[tuple[str, str], ...] = (
    ("null", r"~|null|Null|NULL|"),
    ("bool", r"true|True|TRUE|false|False|FALSE"),
    ("int", r"[-+]?[0-9]{1,400}|0o[0-7]+|0x[0-9a-fA-F]+"),
    (
        "float",
        r"[-+]?(?:\.[0-9]+|[0-9]{1,400}(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
    ),
)


class Loaded(t.NamedTuple):
    value: t.Any
    lines: dict[Path, int]
    findings: list[Finding]

    def line(self, path: Path) -> int:
        """Where it stands, or what is nearest around it."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 0)


class _UnreadableError(Exception):
    def __init__(self, found: str, allowed: str, line: int) -> None:
        self.found, self.allowed, self.line = found, allowed, line
        super().__init__(found)


def load(text: str) -> Loaded:
    """Never raises: text that is no document has findings."""
    report = Report()
    builder, value = _Builder(report), None
    try:
        import yaml  # not every module reads a document
    except ImportError as error:
        told = not_installed("a document", "PyYAML", error)
        report.wrong(
            "Y-1",
            At(),
            f"not read, since it {told.found}",
            "one YAML document",
            f"{told.remedy[0].upper()}{told.remedy[1:]}.",
        )
        return Loaded(None, builder.lines, report.findings)
    try:
        value = builder.document(yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
    except UnicodeError:
        report.wrong("Y-1", At(), "no text in UTF-8", "one YAML document")
    except _UnreadableError as error:
        found = f"{error.found} in line {error.line}" if error.line else error.found
        report.wrong("Y-1", At(), found, error.allowed)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        why = getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be read"
        found = f"no YAML: {why}{f' in line {mark.line + 1}' if mark else ''}"
        report.wrong("Y-1", At(), found, "one YAML document")
    return Loaded(value, builder.lines, report.findings)


class _Builder:
    def __init__(self, report: Report) -> None:
        self._report = report
        self.lines: dict[Path, int] = {}
        self._anchors: dict[str, tuple[t.Any, int]] = {}  # a value, and of how many it is made
        self._values = 0

    def document(self, events: Iterator[t.Any]) -> t.Any:
        """The one that the text holds."""
        self._events = events
        value, documents = None, 0
        for event in self._events:
            if _is(event, "DocumentStart"):
                documents += 1
                if documents > 1:
                    raise _UnreadableError("a second document", "one YAML document", event.start_mark.line + 1)
                value = self._node(next(self._events), (), 0)
        return value

    def _node(self, event: t.Any, path: Path, depth: int) -> t.Any:
        line = event.start_mark.line + 1
        self.lines.setdefault(path, line)
        before = self._values
        self._values += 1
        if _is(event, "Alias"):
            return self._alias(event.anchor, line)
        if depth > DEEPEST or self._values > MOST_VALUES:
            allowed = f"at most {DEEPEST} levels deep and made of at most {MOST_VALUES} values"
            raise _UnreadableError("too deep or too large", allowed, line)
        if _is(event, "MappingStart"):
            value: t.Any = self._mapping(path, depth, line)
        elif _is(event, "SequenceStart"):
            value = self._sequence(path, depth)
        else:
            value = self._scalar(event, path)
        if event.anchor:
            self._anchors[event.anchor] = (value, self._values - before)
        return value

    def _alias(self, name: str, line: int) -> t.Any:
        if name not in self._anchors:
            raise _UnreadableError(
                f"an alias *{name} of what is not there, or not yet", "an alias of a value before it", line
            )
        value, values = self._anchors[name]
        self._values += values
        return value

    def _sequence(self, path: Path, depth: int) -> list[t.Any]:
        found: list[t.Any] = []
        while not _is(event := next(self._events), "SequenceEnd"):
            found.append(self._node(event, (*path, len(found)), depth + 1))
        return found

    def _mapping(self, path: Path, depth: int, line: int) -> dict[t.Any, t.Any]:
        found: dict[t.Any, t.Any] = {}
        merged: dict[t.Any, t.Any] = {}
        while not _is(event := next(self._events), "MappingEnd"):
            key_line = event.start_mark.line + 1
            merge = _is(event, "Scalar") and event.implicit[0] and event.value == "<<"
            key = self._node(event, (*path, "<<key>>"), depth + 1)
            self.lines.pop((*path, "<<key>>"), None)
            if isinstance(key, (dict, list)):
                raise _UnreadableError("a key that is a mapping or a list", "keyed by text", key_line)
            place = (*path, str(key))
            if not merge and key in found:
                first = self.lines.get(place, line)
                why = f"It stands in line {first} already."
                self._report.wrong("Y-4", At(place), f"given twice, in line {key_line} again", "given once", why)
            self.lines.setdefault(place, key_line)
            value = self._node(next(self._events), place, depth + 1)
            if merge:
                merged = {**_merged(value, key_line), **merged}
            else:
                found[key] = value
        return {**merged, **found}

    def _scalar(self, event: t.Any, path: Path) -> t.Any:
        """Text, unless it is neither quoted nor tagged as such, and has the form of something else."""
        text, tag = event.value, event.tag
        if tag in ("!", f"{_TAG}str") or (tag is None and not event.implicit[0]):
            return text
        for name, form in _CORE:
            if tag in (None, f"{_TAG}{name}") and re.fullmatch(form, text):
                return _READ[name](text)
        if tag is not None:
            why = "Leave the tag out, or write what it asks for."
            self._report.wrong(
                "Y-1", At(path), f"{show(text)} with the tag {tag}", "a value of YAML's core schema", why
            )
        return text


def _is(event: t.Any, kind: str) -> bool:
    return type(event).__name__ == f"{kind}Event"


def _merged(value: t.Any, line: int) -> dict[t.Any, t.Any]:
    maps = value if isinstance(value, list) else [value]
    if not all(isinstance(one, dict) for one in maps):
        raise _UnreadableError("<< with another value than mappings", "an alias of a mapping, or a list of them", line)
    return {key: one for each in reversed(maps) for key, one in each.items()}


def _int(text: str) -> int:
    return int(text, 8) if text.startswith("0o") else int(text, 16) if text.startswith("0x") else int(text)


def _float(text: str) -> float:
    return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))


_READ: dict[str, t.Callable[[str], t.Any]] = {
    "null": lambda _text: None,
    "bool": lambda text: text.lower() == "true",
    "int": _int,
    "float": _float,
}
