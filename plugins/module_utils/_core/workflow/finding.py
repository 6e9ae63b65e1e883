# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""What is wrong with a pipeline document, where, and by which rule of it; everything at once, in the document's order."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from ..model.check import Path, Problem, show

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping


_LISTED = 20
# No rule looks deeper into a document than this.
_DEEPEST = 200


class Finding(NamedTuple):
    rule: str
    path: Path
    found: str
    allowed: str
    remedy: str = ""
    component: str = ""  # its full name
    warning: bool = False
    asked: bool = False  # it stands in what a run says beside the document, not in the document

    @property
    def place(self) -> str:
        return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in self.path).lstrip(".")

    def text(self) -> str:
        remedy = f" {self.remedy}" if self.remedy else ""
        return f"{self.place or 'the document'} is {self.found}, but must be {self.allowed}.{remedy} [{self.rule}]"

    def problem(self, field: str, where: str = "") -> Problem:
        """The same of the declaration that has the document as a field; `where` is the file and line of it."""
        inside = f"{self.place} ({where})".strip() if where else self.place
        remedy = f"{self.remedy} [{self.rule}]".strip()
        return Problem((field,), self.found, self.allowed, remedy, "InvalidPipeline", inside)


class At(NamedTuple):
    """A place of the document, and the full name of the component that it is in."""

    path: Path = ()
    component: str = ""
    asked: bool = False

    def of(self, *parts: str | int) -> At:
        return self._replace(path=(*self.path, *parts))


class Report:
    def __init__(self) -> None:
        self.findings: list[Finding] = []

    def wrong(self, rule: str, at: At, found: str, allowed: str, remedy: str = "") -> None:
        self.findings.append(Finding(rule, at.path, found, allowed, remedy, at.component, False, at.asked))

    def warn(self, rule: str, at: At, found: str, allowed: str, remedy: str = "") -> None:
        self.findings.append(Finding(rule, at.path, found, allowed, remedy, at.component, True, at.asked))

    def sorted(self, document: object) -> list[Finding]:
        """In the order of the document, whatever the order in which they were found."""
        order = {path: number for number, path in enumerate(_paths(document, ()))}

        def rank(finding: Finding) -> tuple[bool, int]:
            path = finding.path
            while path and path not in order:
                path = path[:-1]
            return finding.asked, order[path]

        return sorted(dict.fromkeys(self.findings), key=rank)


def _paths(value: object, path: Path) -> Iterator[Path]:
    yield path
    if len(path) > _DEEPEST:
        return
    items: Iterable[tuple[str | int, object]] = ()
    if isinstance(value, dict):
        items = ((str(key), one) for key, one in value.items())
    elif isinstance(value, list):
        items = enumerate(value)
    for key, one in items:
        yield from _paths(one, (*path, key))


def listed(names: Iterable[str], none: str = "none") -> str:
    """Names in a message: of thousands, enough to see what they are like."""
    found = list(islice(names, _LISTED + 1))
    if len(found) > _LISTED:
        return f"{', '.join(found[:_LISTED])} and more"
    return ", ".join(found) or none


def mapping(report: Report, rule: str, value: object, at: At) -> Mapping[Any, Any]:
    """The value if it is a mapping, else none of it."""
    if isinstance(value, dict):
        return value
    report.wrong(rule, at, show(value), "a mapping")
    return {}


def entries(
    report: Report, value: object, at: At, known: Collection[str], remedies: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The entries that are given: null counts as absent. A key that is not known is an error (Y-1, Y-2, Y-3)."""
    found = {}
    for key, one in mapping(report, "Y-1", value, at).items():
        if one is None:
            continue
        if key in known:
            found[key] = one
        else:
            report.wrong("Y-2", at.of(str(key)), "not known here", _one_of(known), _remedy(key, known, remedies or {}))
    return found


def _one_of(known: Collection[str]) -> str:
    return f"one of {', '.join(sorted(known))}"


def _remedy(key: object, known: Collection[str], remedies: Mapping[str, str]) -> str:
    from difflib import get_close_matches  # only on the way to an error

    if key in remedies:
        return remedies[str(key)]
    close = get_close_matches(str(key), list(known), n=1, cutoff=0.6)
    return f"Did you mean {close[0]}?" if close else ""


def string(report: Report, rule: str, value: object, at: At) -> str:
    """The value if it is text, else the empty text."""
    if isinstance(value, str):
        return value
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    report.wrong(rule, at, show(value), "text", "Put it into quotes." if number else "")
    return ""


def boolean(report: Report, rule: str, value: object, at: At) -> bool:
    if isinstance(value, bool):
        return value
    report.wrong(rule, at, show(value), "true or false", "Without quotes." if isinstance(value, str) else "")
    return False


def whole(report: Report, rule: str, value: object, at: At, low: int) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value >= low:
        return value
    report.wrong(rule, at, show(value), f"a whole number of at least {low}")
    return low
