# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""A component of a document, a step or a DAG, from the values that a reader of YAML gives (spec 1.3 to 1.5)."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from ..model import values
from ..model.check import show
from . import condition, mount, template
from .finding import At, Report, boolean, entries, mapping, string, whole
from .parameter import Parameter, items, named, parameters

if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = "^[a-zA-Z][a-zA-Z0-9-]{0,29}$"
# How many DAGs may stand within each other, and how many items a loop may have.
DEEPEST = 40
MOST_ITEMS = 1000

_BOTH = ("name", "type", "deps", "condition", "loop_argument", "loop_parallelism", "parameters", "artifacts")
_STEP = (
    *_BOTH, "command", "docker_env", "env", "cache", "extra_fs", "reference", "timeout_seconds", "retry",
    "require_outputs", "job",
)  # fmt: skip
_DAG = (*_BOTH, "entry_points")
# Y-22: what a step with a reference may have; the rest is the referenced component's.
REFERRING = ("name", "type", "deps", "parameters", "artifacts", "reference")


class Component(NamedTuple):
    name: str
    at: At
    dag: bool
    deps: tuple[str, ...] = ()
    parameters: Mapping[str, Parameter] = {}
    inputs: Mapping[str, str] = {}
    outputs: Mapping[str, str] = {}  # of a step each empty, of a DAG the template of a child's
    condition: str = ""
    loop: Any = None
    reference: str = ""
    image: str = ""
    command: str = ""
    env: Mapping[str, str] = {}
    cache: mount.Cache = mount.Cache()
    extra_fs: tuple[mount.Mount, ...] = ()
    children: Mapping[str, Component] = {}

    @property
    def loops(self) -> bool:
        return self.loop is not None


class Style(NamedTuple):
    """How a document is to be read."""

    brackets: bool = False
    most_items: int = MOST_ITEMS


def members(report: Report, value: object, at: At, style: Style, depth: int = 1) -> dict[str, Component]:
    """The components of one level; at.component is the DAG's own full name."""
    found = {}
    if depth > DEEPEST:
        report.wrong("1.4", at, f"{depth} levels deep", f"at most {DEEPEST} levels deep")
        return {}
    for name, one in mapping(report, "Y-8", value, at).items():
        place = at.of(str(name))._replace(component=f"{at.component}.{name}".lstrip("."))
        if not isinstance(name, str) or not re.fullmatch(NAME[1:-1], name):
            remedy = "" if isinstance(name, str) else "Put it into quotes."
            report.wrong("0.2", place, f"{show(name)} as the name of a component", f"a name like {NAME}", remedy)
        elif not isinstance(one, dict):
            report.wrong("Y-8", place, "null" if one is None else show(one), "a mapping, a step or a DAG")
        else:
            found[name] = component(report, name, one, place, style, depth)
    return found


def component(report: Report, name: str, value: Any, at: At, style: Style, depth: int) -> Component:
    dag = value.get("entry_points") is not None
    remedies = dict.fromkeys(set(_STEP) - set(_DAG), "A DAG runs nothing itself: its steps have it.") if dag else {}
    given = entries(report, value, at, _DAG if dag else _STEP, remedies)
    _type(report, given, at, "dag" if dag else "step")
    inputs, outputs = _artifacts(report, given.get("artifacts", {}), at.of("artifacts"), dag)
    found = Component(
        name,
        at,
        dag,
        deps=_deps(report, given.get("deps", ""), at.of("deps")),
        parameters=parameters(report, given.get("parameters", {}), at.of("parameters"), style.brackets),
        inputs=inputs,
        outputs=outputs,
        condition=_condition(report, given.get("condition", ""), at.of("condition"), style),
        loop=_loop(report, given.get("loop_argument"), at.of("loop_argument"), style),
    )
    if "loop_parallelism" in given:
        whole(report, "L-8", given["loop_parallelism"], at.of("loop_parallelism"), 1)
    _distinct(report, found)
    if dag:
        inside = members(report, given["entry_points"], at.of("entry_points"), style, depth + 1)
        if given["entry_points"] == {}:
            report.wrong("1.2", at.of("entry_points"), "empty", "at least one component")
        return found._replace(children=inside)
    return _step(report, found, given)


def _type(report: Report, given: Mapping[str, Any], at: At, kind: str) -> None:
    if "type" in given and str(given["type"]).lower() != kind:
        why = "A component with entry_points is a dag, any other a step."
        report.wrong("Y-6", at.of("type"), show(given["type"]), kind, why)


def _step(report: Report, found: Component, given: Mapping[str, Any]) -> Component:
    at = found.at
    found = found._replace(
        reference=_reference(report, given, found) if "reference" in given else "",
        image=image(report, given.get("docker_env", ""), at.of("docker_env")),
        command=string(report, "1.3", given.get("command", ""), at.of("command")),
        env=_env(report, given.get("env", {}), at.of("env")),
        cache=mount.cache(report, given.get("cache", {}), at.of("cache")),
        extra_fs=tuple(mount.mounts(report, given.get("extra_fs", []), at.of("extra_fs"))),
    )
    if "timeout_seconds" in given:
        whole(report, "X-4", given["timeout_seconds"], at.of("timeout_seconds"), 1)
    if "require_outputs" in given:
        boolean(report, "A-6", given["require_outputs"], at.of("require_outputs"))
    if "retry" in given:
        retry = entries(report, given["retry"], at.of("retry"), ("limit", "backoff_seconds"))
        for key in retry:
            whole(report, "X-4", retry[key], at.of("retry", key), 0)
    if "job" in given:
        from . import job  # few steps say more of their job than their env

        job.check(report, given["job"], at.of("job"), found.env)
    return found


def image(report: Report, value: object, at: At) -> str:
    found = string(report, "1.2", value, at)
    if found.endswith(".tar"):
        report.wrong("1.2", at, show(found), "an image of a registry", "Archives of images are not supported.")
    return found


def _reference(report: Report, given: Mapping[str, Any], found: Component) -> str:
    for key in given:
        if key not in REFERRING:
            why = "It is the referenced component's."
            report.wrong("Y-22", found.at.of(key), "given beside reference", "left out", why)
    if found.outputs:
        why = "They are the referenced component's."
        report.wrong("Y-22", found.at.of("artifacts", "output"), "given beside reference", "left out", why)
    at = found.at.of("reference")
    said = entries(report, given["reference"], at, ("component",))
    if "component" in said:
        return string(report, "1.6", said["component"], at.of("component"))
    report.wrong("1.6", at.of("component"), "missing", "the name of a member of components")
    return ""


def _env(report: Report, value: object, at: At) -> dict[str, str]:
    found = {}
    for name, one in mapping(report, "1.3", value, at).items():
        place = at.of(str(name))
        if not named(report, name, place, "an environment variable", reserved=False):
            continue
        if isinstance(one, bool) or not isinstance(one, (str, int, float)):
            remedy = "Put it into quotes." if isinstance(one, bool) else ""
            report.wrong("1.3", place, "null" if one is None else show(one), "text or a number", remedy)
        else:
            found[name] = values.text(one)
    return found


def _deps(report: Report, value: object, at: At) -> tuple[str, ...]:
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return tuple(dict.fromkeys(one.strip() for one in value if one.strip()))
    if not isinstance(value, str):
        report.wrong("1.3", at, show(value), "names with commas between them, or a list of names")
        return ()
    return tuple(dict.fromkeys(one.strip() for one in value.split(",") if one.strip()))


def _artifacts(report: Report, value: object, at: At, dag: bool) -> tuple[dict[str, str], dict[str, str]]:
    given = entries(report, value, at, ("input", "output"))
    inputs = _texts(report, given.get("input", {}), at.of("input"), "an input artifact")
    output, place = given.get("output", {}), at.of("output")
    if dag or isinstance(output, dict):
        outputs = _texts(report, output, place, "an output artifact")
        for name, one in outputs.items() if not dag else ():
            if one:
                why = "A step's program makes it; only a DAG takes it from a child."
                report.wrong("1.3", place.of(name), show(one), "empty", why)
        return inputs, outputs
    if not isinstance(output, list):
        report.wrong("1.3", place, show(output), "a list of names")
        return inputs, {}
    found: dict[str, str] = {}
    for number, name in enumerate(output):
        if named(report, name, place.of(number), "an output artifact"):
            if name in found:
                report.wrong("Y-13", place.of(number), f"{show(name)} for the second time", "given once")
            found[name] = ""
    return inputs, found


def _texts(report: Report, value: object, at: At, what: str) -> dict[str, str]:
    found = {}
    for name, one in mapping(report, "1.3", value, at).items():
        if named(report, name, at.of(str(name)), what):
            found[name] = string(report, "1.3", "" if one is None else one, at.of(name))
    return found


def _condition(report: Report, value: object, at: At, style: Style) -> str:
    text = string(report, "1.3", value, at)
    if text.strip():
        try:
            condition.parse(text, style.brackets)
        except ValueError as error:
            report.wrong("C-3", at, f"{show(text)}, which {error}", "a condition, such as {{x}} == 'a' && {{n}} > 3")
    return text


def _loop(report: Report, value: object, at: At, style: Style) -> Any:
    found = value
    if isinstance(value, str):
        if template.whole(value, style.brackets):
            return value
        try:
            found = json.loads(value)
        except ValueError:
            found = value
    if found is None and value is None:
        return None
    if not isinstance(found, list):
        report.wrong("3.2", at, show(value), "a list, a list as JSON, or one template of an own parameter or input")
        return []
    items(report, found, at, style.brackets)
    if len(found) > style.most_items:
        report.wrong("L-8", at, f"a list of {len(found)} items", f"one of at most {style.most_items}")
    return found


def _distinct(report: Report, found: Component) -> None:
    """They all become environment variables, in capital letters (Y-13)."""
    seen: dict[str, str] = {}
    kinds = (
        (found.parameters, ("parameters",)),
        (found.inputs, ("artifacts", "input")),
        (found.outputs, ("artifacts", "output")),
    )
    for names, path in kinds:
        for name in names:
            if name.upper() in seen:
                why = "Letter case does not tell them apart."
                said = f"{name}, as of {seen[name.upper()]}"
                report.wrong("Y-13", found.at.of(*path, name), said, "another name than the component's others", why)
            seen.setdefault(name.upper(), f"{'.'.join(path)}.{name}")
