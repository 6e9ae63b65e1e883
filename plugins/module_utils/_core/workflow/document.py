# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""A document as a whole: its top level, and the tree of its components (spec 1.2, 1.6 and 1.7)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from ..model.check import show
from . import mount
from .component import MOST_ITEMS, Component, Style, image, members
from .finding import At, Report, entries, string, whole

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

NAME = "^[A-Za-z_][A-Za-z0-9_-]{0,127}$"
STRATEGIES = ("fail_fast", "continue")
PARALLELISM = 10
_TOP = (
    "name", "docker_env", "entry_points", "components", "parallelism", "cache", "failure_options", "post_process",
    "fs_options", "disabled", "template_style", "timeout_seconds",
)  # fmt: skip
_NOWHERE = dict.fromkeys(("env", "parameters", "command", "deps", "artifacts", "condition"), "Each step has its own.")


class Limits(NamedTuple):
    """What the administrator allows."""

    parallelism: int = 20
    items: int = MOST_ITEMS
    components: int = 10000


class Request(NamedTuple):
    """What a run says beside its document (spec 1.10)."""

    name: str = ""
    image: str = ""
    main_fs: str = ""
    parameters: Mapping[str, str] = {}
    disabled: Sequence[str] | None = None
    # A document that is kept for later runs, each of which may say more: images and required parameters.
    kept: bool = False


class Document(NamedTuple):
    name: str
    image: str
    entry_points: Mapping[str, Component]
    components: Mapping[str, Component]
    post_process: Mapping[str, Component]
    parallelism: int
    strategy: str
    main_fs: mount.Mount | None
    extra_fs: Sequence[mount.Mount]
    cache: mount.Cache
    disabled: Sequence[str]
    disabled_at: At
    brackets: bool

    def trees(self) -> tuple[Mapping[str, Component], ...]:
        return self.entry_points, self.components, self.post_process


def read(report: Report, value: object, request: Request, limits: Limits) -> Document:
    at = At()
    given = entries(report, value, at, _TOP, _NOWHERE)
    brackets = given.get("template_style") == "brackets"
    if not brackets and "template_style" in given:
        report.wrong("T-4", at.of("template_style"), show(given["template_style"]), "brackets, or left out")
    style = Style(brackets, limits.items)
    if not given.get("entry_points"):
        report.wrong("1.2", at.of("entry_points"), "missing or empty", "a mapping of at least one component")
    main, extra = mount.options(report, given.get("fs_options", {}), at.of("fs_options"))
    if "timeout_seconds" in given:
        whole(report, "X-4", given["timeout_seconds"], at.of("timeout_seconds"), 1)
    text = string(report, "1.2", given.get("disabled", ""), at.of("disabled"))
    disabled = [name.strip() for name in text.split(",") if name.strip()]
    return Document(
        name=_name(report, given.get("name"), request),
        image=_image(report, given.get("docker_env", ""), request),
        entry_points=members(report, given.get("entry_points") or {}, at.of("entry_points"), style),
        components=members(report, given.get("components", {}), at.of("components"), style),
        post_process=members(report, given.get("post_process", {}), at.of("post_process"), style),
        parallelism=_parallelism(report, given.get("parallelism", PARALLELISM), limits),
        strategy=_strategy(report, given.get("failure_options"), at.of("failure_options")),
        main_fs=_main(report, main, request),
        extra_fs=extra,
        cache=mount.cache(report, given.get("cache", {}), at.of("cache")),
        disabled=disabled if request.disabled is None else request.disabled,
        disabled_at=At(("disabled",), asked=request.disabled is not None),
        brackets=brackets,
    )


def _name(report: Report, value: object, request: Request) -> str:
    at = At(("name",))
    if value is not None and (not isinstance(value, str) or not re.fullmatch(NAME[1:-1], value)):
        remedy = "" if isinstance(value, str) else "Put it into quotes."
        report.wrong("0.2", at, show(value), f"a name like {NAME}", remedy)
    elif value is None and not request.name:
        report.wrong("1.2", at, "missing", "the name of the pipeline")
    return request.name or (value if isinstance(value, str) else "")


def _parallelism(report: Report, value: object, limits: Limits) -> int:
    at = At(("parallelism",))
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value - value != 0:
        report.wrong("1.2", at, show(value), f"a number from 1 to {limits.parallelism}")
        return PARALLELISM
    taken = min(PARALLELISM if value <= 0 else max(int(value), 1), limits.parallelism)
    if taken != value:
        report.warn("1.2", at, show(value), f"a whole number from 1 to {limits.parallelism}", f"{taken} is taken.")
    return taken


def _strategy(report: Report, value: object, at: At) -> str:
    if value is None:
        return STRATEGIES[0]
    strategy = entries(report, value, at, ("strategy",)).get("strategy")
    if strategy in STRATEGIES:
        return str(strategy)
    found = "missing" if strategy is None else show(strategy)
    report.wrong("1.2", at.of("strategy"), found, f"one of {', '.join(STRATEGIES)}")
    return STRATEGIES[0]


def _main(report: Report, main: mount.Mount | None, request: Request) -> mount.Mount | None:
    """The document's; a run may fill it in or repeat it (R-3)."""
    if main is None and request.main_fs:
        return mount.Mount(request.main_fs, "", "", False, At(("fileSystem",), asked=True))
    if main and request.main_fs and main.name != request.main_fs:
        allowed = f"{request.main_fs}, as the run says"
        report.wrong("R-3", main.at.of("name"), show(main.name), allowed, "Leave one of the two out.")
    return main


def _image(report: Report, value: object, request: Request) -> str:
    """The document's, unless the run has another for all steps without one of their own."""
    found = image(report, value, At(("docker_env",)))
    return image(report, request.image, At(("image",), asked=True)) or found


def steps(members: Mapping[str, Component]) -> Iterator[Component]:
    """Of every depth, but not through references."""
    for one in members.values():
        if one.dag:
            yield from steps(one.children)
        else:
            yield one


def walk(
    members: Mapping[str, Component], parent: Component | None = None
) -> Iterator[tuple[Component, Mapping[str, Component], Component | None]]:
    """Each component of every depth with its siblings and its parent, but not through references."""
    for one in members.values():
        yield one, members, parent
        yield from walk(one.children, one)


class Definitions:
    """The members of `components`, and what references to them come to."""

    def __init__(self, components: Mapping[str, Component], cyclic: frozenset[str] = frozenset()) -> None:
        self.components, self._cyclic = components, cyclic
        self._known: dict[
            str, Component
        ] = {}  # resolved, since chains may be long and are walked from each of their members

    def resolve(self, one: Component) -> Component | None:
        """What a component is once its reference is followed: all of the target's but name, place and deps, with its own
        parameters and inputs over the target's. None when a definition is missing or reaches itself."""
        chain = [one]
        while (target := chain[-1].reference) and target not in self._known:
            if target in self._cyclic or target not in self.components:
                return None
            chain.append(self.components[target])
        found = self._known[chain[-1].reference] if chain[-1].reference else chain.pop()
        for each in reversed(chain):
            name, found = each.name, _over(each, found)
            if self.components.get(name) is each:
                self._known[name] = found
        return found


def _over(one: Component, target: Component) -> Component:
    given = {
        name: parameter._replace(type=target.parameters[name].type) if name in target.parameters else parameter
        for name, parameter in one.parameters.items()
    }
    return target._replace(
        name=one.name,
        at=one.at,
        deps=one.deps,
        parameters={**target.parameters, **given},
        inputs={**target.inputs, **one.inputs},
    )


def cycles(edges: Mapping[Any, Sequence[Any]]) -> list[list[Any]]:
    """Each cycle once, as the nodes on it, found from the first of them in the order of the edges."""
    state: dict[Any, bool] = {}  # False while it is on the way, True when all from it was seen
    found = []
    for start in edges:
        way: list[tuple[Any, Iterator[Any]]] = []
        if start not in state:
            state[start] = False
            way.append((start, iter(edges[start])))
        while way:
            node, following = way[-1]
            after = next((one for one in following if one in edges and not state.get(one)), None)
            if after is None:
                state[node] = True
                way.pop()
            elif after in state:
                names = [one for one, _rest in way]
                found.append(names[names.index(after) :])
            else:
                state[after] = False
                way.append((after, iter(edges[after])))
    return found
