# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""Which component waits for which, and which stands for another: dependencies and references (spec 1.4 and 1.6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..model.check import show
from .document import Definitions, Document, cycles, walk
from .finding import listed
from .parameter import TYPES, fits

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .component import Component
    from .finding import Report

_SHOWN = 50


def check(report: Report, document: Document) -> Definitions:
    """The definitions, of which those that reach themselves are nothing."""
    for tree in document.trees():
        _acyclic(report, tree)
        for one, siblings, _parent in walk(tree):
            _dependencies(report, one, siblings)
            _acyclic(report, one.children)
    for name, one in document.components.items():
        if one.deps:
            why = "Who references it has deps of its own."
            report.wrong("Y-21", one.at.of("deps"), show(", ".join(one.deps)), f"left out of components.{name}", why)
    definitions = Definitions(document.components, _recursions(report, document.components))
    for tree in document.trees():
        for one, _siblings, _parent in walk(tree):
            if one.reference:
                _reference(report, one, definitions, document.brackets)
    return definitions


def _dependencies(report: Report, one: Component, siblings: Mapping[str, Component]) -> None:
    for name in one.deps:
        if name not in siblings:
            others = listed((other for other in siblings if other != one.name), "nothing, since there is no other")
            why = "A component waits for components of its own DAG only."
            report.wrong("Y-11", one.at.of("deps"), f"on {show(name)}", others, why)


def _acyclic(report: Report, level: Mapping[str, Component]) -> None:
    for cycle in cycles({name: one.deps for name, one in level.items()}):
        way = _way(cycle)
        report.wrong("Y-12", level[cycle[0]].at.of("deps"), f"a cycle, {way}", "without cycles")


def _way(cycle: list[str]) -> str:
    """Its members, unless they are more than anybody reads."""
    shown = [*cycle[:_SHOWN], f"{len(cycle) - _SHOWN} more"] if len(cycle) > _SHOWN else cycle
    return " -> ".join([*shown, cycle[0]])


def _recursions(report: Report, definitions: Mapping[str, Component]) -> frozenset[str]:
    edges = {
        name: [inner.reference for inner, _siblings, _parent in walk({name: one}) if inner.reference]
        for name, one in definitions.items()
    }
    found: set[str] = set()
    for cycle in cycles(edges):
        way = _way(cycle)
        report.wrong("Y-26", definitions[cycle[0]].at, f"referenced by itself, {way}", "without recursion")
        found.update(cycle)
    return frozenset(found)


def _reference(report: Report, one: Component, definitions: Definitions, brackets: bool) -> None:
    known = definitions.components
    if one.reference not in known:
        names = f"one of {listed(known)}" if known else "a member of components, of which there are none"
        report.wrong("Y-20", one.at.of("reference", "component"), show(one.reference), names)
        return
    target = definitions.resolve(known[one.reference])
    if target is None:  # which is told where it goes wrong
        return
    for name, parameter in one.parameters.items():
        its = target.parameters.get(name)
        if its is None:
            allowed = f"one of {listed(target.parameters)}" if target.parameters else "left out"
            report.wrong("Y-23", parameter.at, f"no parameter of {one.reference}", allowed)
        elif its.type in TYPES and parameter.value is not None and not fits(parameter.value, its.type, brackets):
            allowed = f"{TYPES[its.type]}, which type {its.type} asks for"
            report.wrong("Y-23", parameter.at, show(parameter.value), allowed)
    place = one.at.of("artifacts", "input")
    for name in target.inputs:
        if name not in one.inputs:
            report.wrong("Y-24", place.of(name), "missing", f"given, since {one.reference} reads it")
    for name in one.inputs:
        if name not in target.inputs:
            report.wrong("Y-24", place.of(name), f"no input artifact of {one.reference}", "left out")
