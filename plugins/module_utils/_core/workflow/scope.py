# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""What templates may refer to, field by field (spec 2.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..model.check import show
from . import template
from .finding import listed

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from .component import Component
    from .document import Definitions
    from .finding import At, Report
    from .template import Part

# Which kinds of names a field may use beside system variables, and how messages call them.
_OWN = {"parameter": "parameters", "input": "input artifacts", "output": "output artifacts"}
_UNESCAPED = "Write {{{{ for two braces of your own."
_EATEN = (
    "If it was one, something replaced it before: Ansible expands braces, so give the document as a file by src, "
    "or mark it with !unsafe."
)


class Scope(NamedTuple):
    """What surrounds the component that is looked at."""

    report: Report
    definitions: Definitions
    brackets: bool
    one: Component
    siblings: Mapping[str, Component]
    parent: Component | None

    def wrong(self, rule: str, at: At, part: Part, found: str, allowed: str, remedy: str = "") -> None:
        self.report.wrong(rule, at, f"{show(part.text)}, {found}", allowed, remedy)


def check(scope: Scope, defined: bool) -> None:
    """:param defined: it is an outermost member of components, whose input artifacts are placeholders (Y-25)"""
    one = scope.one
    for parameter in one.parameters.values():
        parameter_value(scope, parameter.value, parameter.at)
    for name, text in one.inputs.items() if not defined else ():
        _whole(
            scope, text, one.at.of("artifacts", "input", name), _input, "{{step.artifact}} or {{PF_PARENT.artifact}}"
        )
    for name, text in one.outputs.items() if one.dag else ():
        _whole(scope, text, one.at.of("artifacts", "output", name), _output, "{{child.artifact}}")
    for name, text in one.env.items():
        _texts(scope, text, one.at.of("env", name), ("parameter",))
    _texts(scope, one.command, one.at.of("command"), tuple(_OWN), lenient=True)
    _texts(scope, one.condition, one.at.of("condition"), ("parameter", "input"))
    if isinstance(one.loop, str):
        _loop(scope, one.loop, one.at.of("loop_argument"))


def _names(one: Component, kinds: Collection[str]) -> dict[str, str]:
    """Of the component, to the kind of each."""
    tables: dict[str, Iterable[str]] = {"parameter": one.parameters, "input": one.inputs, "output": one.outputs}
    return {name: kind for kind in kinds for name in tables[kind]}


def _texts(scope: Scope, text: str, at: At, kinds: tuple[str, ...], lenient: bool = False) -> None:
    for part in template.parts(text, scope.brackets):
        if part.token:
            _own(scope, part, at, kinds)
        elif lenient:
            found, allowed = f"{show(part.text)}, which is no template", "a template to be replaced"
            scope.report.warn("T-2", at, found, allowed, "It stays as it is.")
        else:
            _broken(scope, part, at)


def _broken(scope: Scope, part: Part, at: At) -> None:
    rule = "T-3" if part.text[2:].lstrip().startswith(".") else "T-2"
    scope.wrong(rule, at, part, "which is no template", "like {{name}} or {{step.name}}", _UNESCAPED)


def _own(scope: Scope, part: Part, at: At, kinds: tuple[str, ...]) -> None:
    """A name of the component itself, or of the system."""
    names = _names(scope.one, kinds)
    allowed = f"a system variable or one of the component's own {', '.join(_OWN[kind] for kind in kinds)}"
    if part.owner:
        why = "Take it as a parameter or an input artifact first, and use that."
        scope.wrong("T-19" if at.path[-1] == "condition" else "T-17", at, part, "of another component", allowed, why)
    elif part.token not in template.SYSTEM and part.token not in names:
        these = f"These are {listed(names)}." if names else "There are none."
        scope.wrong("T-17", at, part, "which is not known here", allowed, these)


def _loop(scope: Scope, text: str, at: At) -> None:
    part = template.whole(text, scope.brackets)
    names = _names(scope.one, ("parameter", "input"))
    if part is not None and part.token not in names:
        rule = "T-19" if part.owner else "T-17"
        allowed = "one of the component's own parameters or input artifacts"
        scope.wrong(
            rule, at, part, "which is none", allowed, f"These are {listed(names)}." if names else "There are none."
        )


def parameter_value(scope: Scope, value: Any, at: At) -> None:
    for part in template.parts(value, scope.brackets) if isinstance(value, str) else ():
        if not part.token:
            _broken(scope, part, at)
        elif part.token == template.LOOP:
            allowed = f"{{{{{template.PARENT}.{template.LOOP}}}}}, or the variable itself in command, env or condition"
            scope.wrong("2.2", at, part, "before the loop is unrolled", allowed)
        elif not part.owner and part.token not in template.SYSTEM:
            own = part.token in _names(scope.one, tuple(_OWN))
            found = "of the same component" if own else "which is not known here"
            allowed = "a system variable, or a parameter of a dependency or of the parent"
            scope.wrong("T-16" if own else "T-17", at, part, found, allowed)
        elif part.owner == template.PARENT:
            _of_parent(scope, part, at, "parameter")
        elif part.owner:
            _of_dependency(scope, part, at, "parameter")


def _input(scope: Scope, part: Part, at: At) -> bool:
    if part.owner == template.PARENT:
        _of_parent(scope, part, at, "input")
    elif part.owner:
        _of_dependency(scope, part, at, "output")
    return bool(part.owner)


def _output(scope: Scope, part: Part, at: At) -> bool:
    child = scope.one.children.get(part.owner)
    if part.owner and child is None:
        scope.wrong("T-11", at, part, f"of {part.owner}, which is no child", f"of {_of_which(scope.one.children)}")
    elif child is not None:
        _taken(scope, part, at, child, "output")
    return bool(part.owner)


def _whole(scope: Scope, text: str, at: At, judge: Any, allowed: str) -> None:
    part = template.whole(text, scope.brackets)
    if part is None or not judge(scope, part, at):
        remedy = "" if part else _EATEN
        scope.report.wrong("2.3", at, show(text), f"exactly one template, {allowed}", remedy)


def _of_parent(scope: Scope, part: Part, at: At, kind: str) -> None:
    parent = scope.parent
    if parent is None:
        scope.wrong("T-12", at, part, "but it stands in no DAG", "within a DAG", "There is no parent to take it from.")
    elif part.name == template.LOOP and kind == "parameter":
        if not parent.loops:
            scope.wrong("T-13", at, part, f"but {parent.name} does not loop", "of a parent with loop_argument")
    elif part.name not in _names(parent, (kind,)):
        allowed = f"one of its {_OWN[kind]}, {_of_which(_names(parent, (kind,)))}"
        scope.wrong("T-12", at, part, f"which {parent.name} does not have", allowed)


def _of_dependency(scope: Scope, part: Part, at: At, kind: str) -> None:
    other = scope.siblings.get(part.owner)
    if other is None or other is scope.one:
        others = [name for name in scope.siblings if name != scope.one.name]
        scope.wrong("T-11", at, part, f"but {part.owner} is no other component here", f"of {_of_which(others)}")
        return
    if part.owner not in scope.one.deps:
        why = f"Add {part.owner} to deps."
        scope.wrong("T-10", at, part, f"but {part.owner} is not in deps", "of a component that deps names", why)
    _taken(scope, part, at, other, kind)


def _taken(scope: Scope, part: Part, at: At, other: Component, kind: str) -> None:
    found = scope.definitions.resolve(other)
    if found is None:  # a reference that goes nowhere, which is told there
        return
    names = _names(found, (kind,))
    if part.name == template.LOOP:
        scope.wrong("T-13", at, part, "the loop item of another component", f"of {template.PARENT}")
    elif part.name not in names:
        allowed = f"one of its {_OWN[kind]}, {_of_which(names)}"
        scope.wrong("T-11", at, part, f"which {other.name} does not have", allowed)
    elif kind == "output" and found.condition.strip():
        why = "Its parameters can be used, and deps may name it."
        scope.wrong("T-14", at, part, f"but {other.name} has a condition", "of a component that always runs", why)


def _of_which(names: Iterable[str]) -> str:
    return listed(names, "which there is none")
