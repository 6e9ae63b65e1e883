# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""Whether a pipeline document, with what a run says beside it, can be run: everything that is wrong with it at once.

A document is a plain value, as a reader of YAML or JSON gives it. Nothing here asks a cluster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..model.check import show
from . import camel, graph, mount, request, scope
from .document import Definitions, Document, Limits, Request, read, steps, walk
from .finding import At, Finding, Report, listed

if TYPE_CHECKING:
    from .component import Component

# Rules about templates, which a disabled component may break (T-20).
_WARNED = frozenset((*(f"T-{number}" for number in range(10, 19)), "2.2", "2.3"))


class Checked(NamedTuple):
    document: Document
    findings: list[Finding]

    @property
    def errors(self) -> list[Finding]:
        return [one for one in self.findings if not one.warning]

    @property
    def warnings(self) -> list[Finding]:
        return [one for one in self.findings if one.warning]


def check(value: object, asked: Request = Request(), limits: Limits = Limits()) -> Checked:  # noqa: B008 (immutable)
    report = Report()
    value = camel.plain(value)
    document = read(report, value, asked, limits)
    definitions = graph.check(report, document)
    _post_process(report, document, definitions)
    told: set[At] = set()
    for tree in document.trees():
        for one, _siblings, _parent in walk(tree):
            _artifacts(report, one, document)
        for step in steps(tree):
            _step(report, step, document, asked, told)
    for tree in document.trees():
        for one, siblings, parent in walk(tree):
            defined = tree is document.components and parent is None
            scope.check(scope.Scope(report, definitions, document.brackets, one, siblings, parent), defined)
    request.check(report, document, asked, definitions, limits)
    disabled = tuple(document.disabled)
    findings = [_softened(one, disabled) for one in report.sorted(value)]
    return Checked(document, findings)


def _softened(finding: Finding, disabled: tuple[str, ...]) -> Finding:
    inside = any(finding.component == name or finding.component.startswith(f"{name}.") for name in disabled)
    elsewhere = bool(finding.path) and finding.path[0] == "components"
    return finding._replace(warning=True) if inside and not elsewhere and finding.rule in _WARNED else finding


def _post_process(report: Report, document: Document, definitions: Definitions) -> None:
    for name, one in document.post_process.items():
        if name in document.entry_points:
            report.wrong("Y-31", one.at, "named as an entry point", "named otherwise")
        if one.deps:
            report.wrong("Y-32", one.at.of("deps"), "given", "left out of post_process")
        found = definitions.resolve(one)
        if found is None:
            continue
        whose = f", by {one.reference}" if one.reference else ""
        for field, given in (
            ("condition", bool(found.condition.strip())),
            ("loop_argument", found.loops),
            ("artifacts.input", bool(found.inputs)),
        ):
            if given:
                report.wrong("Y-32", one.at.of(*field.split(".")), f"given{whose}", "left out of post_process")
        for step in steps({name: found}):
            if step.cache.enable:
                place = step.at.of("cache", "enable")
                report.wrong(
                    "Y-32", place, "true", "left out of post_process", "What it does is never taken from a cache."
                )


def _artifacts(report: Report, one: Component, document: Document) -> None:
    if one.outputs and not document.main_fs:
        why = "Name it as fs_options.main_fs.name."
        report.wrong("Y-14", one.at.of("artifacts", "output"), "given", "left out without a main file system", why)


def _step(report: Report, step: Component, document: Document, asked: Request, told: set[At]) -> None:
    if step.reference:  # the referenced component's steps are looked at where they stand
        return
    if not (step.image or document.image or asked.kept):
        why = "Give docker_env here, for the whole document, or with the run."
        report.wrong("R-8", step.at.of("docker_env"), "missing", "an image", why)
    mounted = [*([document.main_fs] if document.main_fs else []), *step.extra_fs, *document.extra_fs]
    mount.twice(report, mounted)
    names = {one.name for one in mounted}
    for one in (*step.cache.scopes, *document.cache.scopes):
        if one.name not in names and one.at not in told:
            told.add(one.at)  # those of the whole document are told at one step only
            allowed = f"one that step {step.name} mounts, {listed(sorted(names))}" if names else "left out"
            report.wrong("1.8", one.at.of("name"), show(one.name), allowed)
