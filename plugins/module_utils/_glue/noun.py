# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""The one way in which the module of a noun works: read what was declared, say all that is wrong with it, carry it out."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Protocol

from ansible.module_utils.basic import AnsibleModule

from .._core.kube.declare import Run, Wanted, declare
from .._core.kube.errors import KubeError
from .._core.model import check, options
from .._core.model.names import option, slug
from . import arguments, connect, results

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from .._core.kube.conditions import Check
    from .._core.kube.declare import Outcome
    from .._core.model.check import Problem
    from .._core.model.table import Noun


class NounFile(Protocol):
    """What a file of the model offers."""

    READY: tuple[str, str]

    @property
    def NOUN(self) -> Noun: ...  # noqa: N802 (a constant of a file)

    def problems(self, name: str, spec: Mapping[str, Any], /) -> Iterable[Problem]: ...

    def build(self, name: str, namespace: str, spec: Mapping[str, Any], /) -> list[dict[str, Any]]: ...

    # Only of some, and then as `model.pipeline_run` has them: needs, warnings, STATES, identity, state_problems, change,
    # judge, awaited, READY_IN, failed.
    def __getattr__(self, name: str, /) -> Any: ...


class Declared(NamedTuple):
    """One declaration, as it was read from the options."""

    name: str
    namespace: str
    state: str
    spec: dict[str, Any]
    metadata: dict[str, dict[str, str]]
    where: str


def run(noun: NounFile) -> NoReturn:
    states = getattr(noun, "STATES", options.STATES)
    module = AnsibleModule(argument_spec=arguments.of(noun.NOUN, states), supports_check_mode=True)
    declarations, problems = read(noun, module.params)
    if problems:
        module.fail_json(msg="\n".join(problems), problems=problems)
    for text in warnings(noun, declarations):
        module.warn(text)
    try:
        client = connect.client(module)
        how = Run(client, connect.deadline(module), module.check_mode, module.params["force_conflicts"])
        outcomes = declare(how, wanted(noun, declarations, client.namespace, module.params["recreate"]))
        if module.params["wait"] and not module.check_mode and not any(one.error for one in outcomes):
            outcomes = ready(how, noun, outcomes)
    except KubeError as error:
        module.fail_json(msg=str(error))
    leave(module, outcomes)


def ready(how: Run, noun: NounFile, outcomes: Sequence[Outcome]) -> list[Outcome]:
    """The outcomes again, once every object of the noun is as its readers need it, with what it then says of itself."""
    from .._core.kube.wait import Target, WaitError, wait

    kind = how.client.kind(noun.NOUN["api"], noun.NOUN["kind"])
    targets = {}
    for position, one in enumerate(outcomes):
        if one.after is not None and one.after["kind"] == kind.kind:
            metadata, state = one.after["metadata"], one.wanted.purpose
            name = noun.awaited(state, metadata["name"]) if hasattr(noun, "awaited") else metadata["name"]
            targets[position] = Target(kind, name, metadata.get("namespace", ""), _ready_when(noun, state))
    again = list(outcomes)
    try:
        found = wait(how.client, list(targets.values()), deadline=how.deadline)
    except WaitError as error:
        unready = {(one.target.namespace, one.target.name) for one in error.unready}
        for position, target in targets.items():
            if (target.namespace, target.name) in unready:
                again[position] = again[position]._replace(error=error)
    else:
        for position, after in zip(targets, found, strict=True):
            again[position] = again[position]._replace(after=after)
    return again


def _ready_when(noun: NounFile, state: str) -> Check:
    """What the noun says of its states, with what it says that can no longer be reached."""
    from .._core.kube import conditions

    path, wanted = noun.READY
    check = conditions.value(path, wanted)
    several = getattr(noun, "READY_IN", {}).get(state)
    if several:
        check = conditions.satisfies(
            lambda found: conditions.at(found, path) in several, f"{path} is one of {', '.join(several)}"
        )
    return conditions.unless(partial(noun.failed, state), check) if hasattr(noun, "failed") else check


def warnings(noun: NounFile, declarations: Iterable[Declared]) -> Iterator[str]:
    for one in declarations:
        if hasattr(noun, "warnings") and one.state == "present":
            for text in noun.warnings(one.name, one.spec):
                yield ": ".join(part for part in (one.where, one.name, text) if part)


def read(noun: NounFile, given: Mapping[str, Any]) -> tuple[list[Declared], list[str]]:
    """What is declared, and everything that is wrong with it, in the words of the options."""
    items = given.get("objects")
    if items is None:
        return _one(noun, given, given, "")
    spec = options.declared(noun.NOUN["spec"], given)
    beside = sorted([*map(option, spec), *(["name"] if given.get("name") else [])])
    if beside:
        return [], [
            f"{', '.join(beside)} and objects are both given: give {', '.join(beside)} in each entry of objects."
        ]
    found: list[Declared] = []
    problems: list[str] = []
    for number, item in enumerate(items):
        more, wrong = _one(noun, item, given, f"objects[{number}]")
        found += more
        problems += wrong
    return found, [*problems, *_twice(found)]


def _one(
    noun: NounFile, item: Mapping[str, Any], shared: Mapping[str, Any], where: str
) -> tuple[list[Declared], list[str]]:
    name = item.get("name") or ""
    state = item.get("state") or shared.get("state") or "present"
    spec, wrong = check.read(noun.NOUN["spec"], options.declared(noun.NOUN["spec"], item))
    made = hasattr(noun, "identity")  # a name that may be left out
    _name, problems = check.read({"name": {**noun.NOUN["name"], "required": not made}}, {"name": name or None})
    if state == "present":
        problems += wrong or ([] if problems else noun.problems(name, spec))
    elif made:
        problems += wrong or noun.state_problems(state, name, spec)
    if made and not problems:
        name = noun.identity(name, spec, os.urandom(8).hex())
    metadata = {part: {**(shared.get(part) or {}), **(item.get(part) or {})} for part in arguments.SHARED}
    # Of a kind without namespaces, an option of that name is a field like any other.
    placed = noun.NOUN["scope"] == "Namespaced"
    namespace = (item.get("namespace") or shared.get("namespace") or "") if placed else ""
    prefix = ": ".join(part for part in (where, f"{noun.NOUN['kind'].lower()} {name}" if name else "") if part)
    said = [f"{prefix}: {one.text(option)}" if prefix else one.text(option) for one in problems]
    return [Declared(name, namespace, state, spec, metadata, where)], said


def _twice(found: Sequence[Declared]) -> list[str]:
    first: dict[tuple[str, str], str] = {}
    problems = []
    for one in found:
        key = (one.namespace, one.name)
        if one.name and key in first:
            problems.append(f"{one.where}: {one.name} is declared in {first[key]} already: keep one of the two.")
        first.setdefault(key, one.where)
    return problems


def wanted(noun: NounFile, declarations: Iterable[Declared], namespace: str, recreate: bool) -> list[Wanted]:
    found = []
    for one in declarations:
        place = one.namespace or (namespace if noun.NOUN["scope"] == "Namespaced" else "")
        judge = partial(_judge, noun, one) if hasattr(noun, "judge") else None
        if one.state == "absent":
            # What else belongs to it is owned by it, and goes with it.
            metadata = {"name": slug(one.name), **({"namespace": place} if place else {})}
            identity = {"apiVersion": noun.NOUN["api"], "kind": noun.NOUN["kind"], "metadata": metadata}
            found.append(Wanted(identity, "absent", where=one.where, judge=judge, purpose=one.state))
            continue
        if one.state != "present":
            part = noun.change(one.state, one.name, place, one.spec)
            found.append(Wanted(part, "amended", where=one.where, judge=judge, purpose=one.state))
            continue
        needs = noun.needs(place, one.spec) if hasattr(noun, "needs") else []
        found += [Wanted(other, "ensured", where=one.where) for other in needs]
        for built in noun.build(one.name, place, one.spec):
            for part, values in one.metadata.items():
                if values:
                    built["metadata"][part] = {**values, **built["metadata"].get(part, {})}
            own = built["kind"] == noun.NOUN["kind"]
            found.append(Wanted(built, "present", own, recreate, one.where, judge if own else None, one.state))
    return found


def _judge(noun: NounFile, one: Declared, found: Mapping[str, Any]) -> str | None:
    reason: str | None = noun.judge(one.state, found, one.spec)
    return reason


def leave(module: AnsibleModule, outcomes: Sequence[Outcome]) -> NoReturn:
    answer: dict[str, Any] = {
        "changed": any(one.changed for one in outcomes),
        "objects": [results.entry(one, module.params["return_content"]) for one in outcomes],
    }
    if module._diff:
        answer["diff"] = results.diffs(outcomes)
    if any(one.error is not None for one in outcomes):
        module.fail_json(msg=results.failure(outcomes), **answer)
    module.exit_json(**answer)
