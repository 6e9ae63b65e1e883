# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""Nouns that hold a document: what is wrong with it is told with what is wrong beside it.

The model cannot ask this package, which is above it, and neither can read YAML: whoever reads declarations puts the three
together, `Documented(pipeline, document.load)`, and has a noun like any other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ..model import values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ..model.check import Path, Problem
    from .document import Request
    from .finding import Finding

    class Loaded(Protocol):
        @property
        def value(self) -> Any: ...

        @property
        def findings(self) -> list[Finding]: ...

        def line(self, path: Path, /) -> int: ...


# The fields of a declaration by which a run says something beside its document.
_ASKED = {"image": "image", "parameters": "parameters", "disabled": "disabled", "main_fs": "fileSystem"}


class Judged(NamedTuple):
    problems: list[Problem]
    warnings: list[str]
    name: str  # that the document gives itself


class Documented:
    """A file of the model, with all that it has, and problems of its document among its own."""

    def __init__(self, noun: Any, load: Callable[[str], Loaded]) -> None:
        self._noun, self._load = noun, load
        self._judged: dict[tuple[str, str], Judged] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._noun, name)

    def problems(self, name: str, spec: Mapping[str, Any]) -> Iterator[Problem]:
        problems = list(self._noun.problems(name, spec))
        yield from problems
        # A document that is too large is not read at all.
        if "document" in spec and not any(problem.path == ("document",) for problem in problems):
            yield from self._judge(name, spec).problems

    def remarks(self, name: str, spec: Mapping[str, Any]) -> list[str]:
        """What is worth a look, of a declaration without problems."""
        return self._judge(name, spec).warnings if "document" in spec else []

    def _judge(self, name: str, spec: Mapping[str, Any]) -> Judged:
        key = name, values.text(dict(spec))
        if key not in self._judged:
            self._judged[key] = self._read(name, spec)
        return self._judged[key]

    def _read(self, name: str, spec: Mapping[str, Any]) -> Judged:
        from .check import check  # most calls of a module declare no document, or remove one

        loaded = self._load(spec["document"])
        if any(one.path == () for one in loaded.findings):
            return Judged([_problem(one, loaded, spec) for one in loaded.findings], [], "")
        asked = self._request(name, spec)
        checked = check(loaded.value, asked)
        errors = [*loaded.findings, *checked.errors]
        own = loaded.value.get("name") if isinstance(loaded.value, dict) else None
        if asked.kept and isinstance(own, str) and own != name:
            errors.append(_renamed(name, own))
        problems = [_problem(one, loaded, spec) for one in errors]
        return Judged(problems, [one.text() for one in checked.warnings], checked.document.name)

    def _request(self, name: str, _spec: Mapping[str, Any]) -> Request:
        from .document import Request

        return Request(name, kept=True)


class DocumentedRun(Documented):
    """Of runs, which may say something beside their document, and are named after it."""

    def identity(self, name: str, spec: Mapping[str, Any], unique: str) -> str:
        given = "" if name or "document" not in spec else self._judge(name, spec).name
        found: str = self._noun.identity(name, spec, unique, given)
        return found

    def _judge(self, _name: str, spec: Mapping[str, Any]) -> Judged:
        return super()._judge("", spec)  # whatever the run is called, so that no document is read twice

    def _request(self, _name: str, spec: Mapping[str, Any]) -> Request:
        from .document import Request

        given = {part: spec[field] for part, field in _ASKED.items() if field in spec}
        return Request(spec.get("runName", ""), **given)


def _problem(finding: Finding, loaded: Loaded, spec: Mapping[str, Any]) -> Problem:
    if finding.asked:
        field, *path = finding.path
        return finding._replace(path=tuple(path)).problem(str(field))
    line = f"line {loaded.line(finding.path)}" if finding.path else ""
    return finding.problem("document", ", ".join(part for part in (spec.get("src"), line) if part))


def _renamed(name: str, own: str) -> Finding:
    from .finding import Finding

    remedy = "A pipeline has the name of its document; another name makes another pipeline."
    return Finding("P-4", ("name",), repr(own), f"{name}, as the pipeline", remedy)
