# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""The one way in which the module of a noun works: read what was declared, say all that is wrong with it, carry it out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Protocol

from ansible.module_utils.basic import AnsibleModule

from .._core.kube.declare import Run, Wanted, declare
from .._core.kube.errors import KindNotServedError, KubeError
from .._core.model import check, options
from .._core.model.names import option, slug
from . import arguments, connect, results

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from .._core.kube.declare import Outcome
    from .._core.model.check import Problem
    from .._core.model.table import Noun


class Readable(Protocol):
    """What a file of the model offers to who reads a declaration."""

    __name__: str
    NOUN: Noun

    def problems(self, name: str, spec: Mapping[str, Any], /) -> Iterable[Problem]: ...


class NounFile(Readable, Protocol):
    """What it offers to who carries one out."""

    READY: tuple[str, str]

    def build(self, name: str, namespace: str, spec: Mapping[str, Any], /) -> list[dict[str, Any]]: ...


class Declared(NamedTuple):
    """One declaration, as it was read from the options."""

    name: str
    namespace: str
    state: str
    spec: dict[str, Any]
    metadata: dict[str, dict[str, str]]
    where: str


def run(noun: NounFile) -> NoReturn:
    module = AnsibleModule(argument_spec=arguments.of(noun.NOUN), supports_check_mode=True)
    declarations, problems = read(noun, module.params)
    if problems:
        module.fail_json(msg="\n".join(problems), problems=problems)
    try:
        client = connect.client(module)
        how = Run(client, connect.deadline(module), module.check_mode, module.params["force_conflicts"])
        problems = beside(how, noun, declarations)
        if problems:
            module.fail_json(msg="\n".join(problems), problems=problems)
        outcomes = declare(how, wanted(noun, declarations, client.namespace, module.params["recreate"]))
        if module.params["wait"] and not module.check_mode and not any(one.error for one in outcomes):
            outcomes = ready(how, noun, outcomes)
    except KubeError as error:
        module.fail_json(msg=str(error))
    leave(module, outcomes)


def ready(how: Run, noun: NounFile, outcomes: Sequence[Outcome]) -> list[Outcome]:
    """The outcomes again, once every object of the noun is as its readers need it, with what it then says of itself."""
    from .._core.kube import conditions
    from .._core.kube.wait import Target, WaitError, wait

    kind = how.client.kind(noun.NOUN["api"], noun.NOUN["kind"])
    ready_when = conditions.value(*noun.READY)
    targets = {
        position: Target(kind, one.after["metadata"]["name"], one.after["metadata"].get("namespace", ""), ready_when)
        for position, one in enumerate(outcomes)
        if one.after is not None and one.after["kind"] == kind.kind
    }
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


def read(noun: Readable, given: Mapping[str, Any]) -> tuple[list[Declared], list[str]]:
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
    noun: Readable, item: Mapping[str, Any], shared: Mapping[str, Any], where: str
) -> tuple[list[Declared], list[str]]:
    name = item.get("name") or ""
    state = item.get("state") or shared.get("state") or "present"
    spec, wrong = check.read(noun.NOUN["spec"], options.declared(noun.NOUN["spec"], item))
    _name, problems = check.read({"name": {**noun.NOUN["name"], "required": True}}, {"name": name or None})
    if state != "absent":  # for which the name is enough
        problems += wrong or ([] if problems else noun.problems(name, spec))
    metadata = {part: {**(shared.get(part) or {}), **(item.get(part) or {})} for part in arguments.SHARED}
    # Of a kind without namespaces, an option of that name is a field like any other.
    placed = noun.NOUN["scope"] == "Namespaced"
    namespace = (item.get("namespace") or shared.get("namespace") or "") if placed else ""
    declared = Declared(name, namespace, state, spec, metadata, where)
    return [declared], said(noun, declared, problems)


def said(noun: Readable, one: Declared, problems: Iterable[Problem]) -> list[str]:
    """Problems in the words of the options, with the declaration that they are of."""
    named = f"{noun.__name__.rpartition('.')[2]} {one.name}" if one.name else ""
    prefix = ": ".join(part for part in (one.where, named) if part)
    return [f"{prefix}: {problem.text(option)}" if prefix else problem.text(option) for problem in problems]


def beside(how: Run, noun: NounFile, declarations: Iterable[Declared]) -> list[str]:
    """What is wrong with declarations as only other objects of the cluster can tell. A noun that has such rules names the
    kind of those objects, BESIDE; where the cluster does not serve it there are none."""
    if not (hasattr(noun, "BESIDE") and hasattr(noun, "beside")):
        return []
    present = [one for one in declarations if one.state != "absent"]
    if not present:
        return []
    try:
        others = how.client.list(how.client.kind(*noun.BESIDE), deadline=how.deadline).items
    except KindNotServedError:
        return []
    return [text for one in present for text in said(noun, one, noun.beside(one.name, one.spec, others))]


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
        if one.state == "absent":
            # What else belongs to it is owned by it, and goes with it.
            metadata = {"name": slug(one.name), **({"namespace": place} if place else {})}
            identity = {"apiVersion": noun.NOUN["api"], "kind": noun.NOUN["kind"], "metadata": metadata}
            going = noun.gone(one.name) if hasattr(noun, "gone") else [identity]
            found += [Wanted(other, "absent", where=one.where) for other in going]
            continue
        needs = noun.needs(place, one.spec) if hasattr(noun, "needs") else []
        found += [Wanted(other, "ensured", where=one.where) for other in needs]
        for built in noun.build(one.name, place, one.spec):
            for part, values in one.metadata.items():
                if values:
                    built["metadata"][part] = {**values, **built["metadata"].get(part, {})}
            found.append(Wanted(built, "present", built["kind"] == noun.NOUN["kind"], recreate, one.where))
    return found


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
