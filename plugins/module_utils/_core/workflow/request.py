# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""What a run says beside its document: which components are disabled, and values of parameters (spec 4.8 and 7.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..model.check import show
from . import template
from .finding import At, Report, listed
from .parameter import TYPES, converted, fits, items
from .scope import Scope, parameter_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .component import Component
    from .document import Definitions, Document, Limits, Request


# DAGs within each other, references to DAGs included.
_DEEPEST = 100


class Use(NamedTuple):
    """A component where it runs, with what it refers to."""

    found: Component
    own: Component  # as it was written there
    siblings: Mapping[str, Component]
    parent: Component | None
    outer: str  # the parent's full name


def check(report: Report, document: Document, asked: Request, definitions: Definitions, limits: Limits) -> None:
    uses = _uses(document, definitions, limits)
    if uses is None:
        why = "References to DAGs with references count each time."
        report.wrong("1.6", At(), "too large", f"of at most {limits.components} components in all", why)
        return
    given = _overrides(report, document, asked, definitions, uses)
    for full, use in uses.items():
        for name, parameter in use.found.parameters.items():
            if parameter.value is None and not (asked.kept or (full, name) in given):
                at = use.own.at.of("parameters", name)
                why = f"A run gives it as parameter {full}.{name}."
                report.wrong("Y-15", at, "without a value", "given a default, or by the run", why)
    _disabled(report, document, uses)


def _uses(document: Document, definitions: Definitions, limits: Limits) -> dict[str, Use] | None:
    """By full name; None when there are more than anybody can have meant."""
    found: dict[str, Use] = {}
    for tree in (document.entry_points, document.post_process):
        for full, use in _expanded(definitions, tree, None, ""):
            found.setdefault(full, use)
            if len(found) > limits.components or full.count(".") > _DEEPEST:
                return None
    return found


def _expanded(
    definitions: Definitions, level: Mapping[str, Component], parent: Component | None, outer: str
) -> Iterator[tuple[str, Use]]:
    for name, own in level.items():
        found = definitions.resolve(own)
        if found is not None:
            full = f"{outer}.{name}".lstrip(".")
            yield full, Use(found, own, level, parent, outer)
            yield from _expanded(definitions, found.children, found, full)


def _overrides(
    report: Report, document: Document, asked: Request, definitions: Definitions, uses: Mapping[str, Use]
) -> set[tuple[str, str]]:
    """Which parameters of which components a run gives."""
    given = set()
    for key, value in asked.parameters.items():
        at = At(("parameters", key), asked=True)
        for full in _meant(report, uses, key, at):
            name = key.rpartition(".")[2]
            use = uses[full]
            parameter = use.found.parameters[name]
            if parameter.type and value == "":  # the default is used
                continue
            given.add((full, name))
            _value(report, value, parameter.type, full, at, document.brackets)
            scope = Scope(report, definitions, document.brackets, use.found, use.siblings, use.parent)
            parameter_value(scope, value, at._replace(component=full))
    return given


def _meant(report: Report, uses: Mapping[str, Use], key: str, at: At) -> list[str]:
    """Full names of the components whose parameter a key sets."""
    full, point, name = key.rpartition(".")
    if point:
        if full not in uses:
            report.wrong("R-11", at, f"of {full}, which is no component", f"of one of {listed(uses)}")
        elif name not in uses[full].found.parameters:
            names = listed(uses[full].found.parameters, "which there is none")
            report.wrong("R-11", at, f"not known to {full}", f"one of its parameters, {names}")
        else:
            return [full]
        return []
    # Without a component: everywhere where it is declared, but not within definitions.
    found = [full for full, use in uses.items() if name in use.found.parameters and _reached(use, uses)]
    if not found:
        known = sorted({one for use in uses.values() for one in use.found.parameters})
        report.wrong("R-10", at, "declared by no component", f"one of {listed(known)}")
    return found


def _reached(use: Use, uses: Mapping[str, Use]) -> bool:
    return not use.outer or (not uses[use.outer].own.reference and _reached(uses[use.outer], uses))


def _value(report: Report, value: str, kind: str, full: str, at: At, brackets: bool) -> None:
    """Text is converted to the declared type (R-15); what holds a template is judged once it is known."""
    if kind not in TYPES:
        return
    try:
        known = converted(value, kind)
        good = fits(known, kind)
        if isinstance(known, list):
            items(report, known, at, brackets)
    except (ValueError, RecursionError):  # lists within lists, as many as the text has room for
        good = any(part.token for part in template.parts(value, brackets))
    if not good:
        report.wrong("R-15", at, show(value), f"{TYPES[kind]}, which type {kind} of {full} asks for")


def _disabled(report: Report, document: Document, uses: Mapping[str, Use]) -> None:
    seen = set()
    for full in document.disabled:
        at = document.disabled_at
        if full in seen:
            report.wrong("X-21", at, f"{show(full)} for the second time", "each name once")
        elif full not in uses:
            report.wrong("X-21", at, show(full), f"names of components, {listed(uses)}")
        else:
            for user in _users(uses, full, frozenset(document.disabled)):
                allowed = f"left out, or {user} disabled too"
                report.wrong("X-22", at, f"{show(full)}, which {user} takes values from", allowed)
        seen.add(full)


def _users(uses: Mapping[str, Use], full: str, disabled: frozenset[str]) -> Iterator[str]:
    """Who takes a parameter or an artifact of it, and is not disabled."""
    use = uses[full]
    name = full.rpartition(".")[2]
    if _off(use.outer, disabled):
        return
    for other, one in use.siblings.items():
        texts = [parameter.value for parameter in one.parameters.values()] + [*one.inputs.values()]
        there = f"{use.outer}.{other}".lstrip(".")
        if there not in disabled and name in one.deps and _names(texts, name):
            yield there
    if use.parent is not None and _names([*use.parent.outputs.values()], name):
        yield use.outer


def _off(full: str, disabled: frozenset[str]) -> bool:
    while full:
        if full in disabled:
            return True
        full = full.rpartition(".")[0]
    return False


def _names(texts: list[object], name: str) -> bool:
    return any(part.owner == name for text in texts if isinstance(text, str) for part in template.parts(text, True))
