# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""The one way in which the module of a noun works: read what was declared, say all that is wrong with it, carry it out."""

from __future__ import annotations

import os
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Protocol

from .._core.kube.declare import declare
from .._core.kube.errors import KindNotServedError, KubeError
from .._core.kube.wanted import Run, Wanted
from .._core.model import check, options, own
from .._core.model.names import option
from .._core.plan.compare import MANAGER
from . import arguments, connect, results
from .module import begun

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from .._core.kube.client import Client
    from .._core.kube.conditions import Check
    from .._core.kube.wanted import Outcome
    from .._core.model.check import Problem
    from .._core.model.table import Noun, Ready
    from .module import Module


class Readable(Protocol):
    """What a file of the model offers to who reads a declaration."""

    __name__: str

    @property
    def NOUN(self) -> Noun: ...  # noqa: N802 (a constant of the file)

    def problems(self, name: str, spec: Mapping[str, Any], /) -> Iterable[Problem]: ...


class NounFile(Readable, Protocol):
    """What it offers to who carries one out. What only some have is looked for by name (docs/design/field-tables.md)."""

    def build(self, name: str, namespace: str, spec: Mapping[str, Any], /) -> list[dict[str, Any]]: ...


class Declared(NamedTuple):
    """One declaration, as it was read from the options."""

    name: str
    namespace: str
    state: str
    spec: dict[str, Any]
    metadata: dict[str, dict[str, str]]
    where: str
    # As somebody wrote it, in words that may be old ones.
    given: Mapping[str, Any] = MappingProxyType({})


class Planned(NamedTuple):
    """One object of a declaration. state is what the noun's own object shall be, and empty for others that it needs."""

    wanted: Wanted
    state: str


def run(
    noun: NounFile,
    carry: Callable[[Module, Run, Sequence[Planned]], list[Outcome]] | None = None,
    beside: Mapping[str, Any] | None = None,
    complete: Callable[..., tuple[list[Declared], list[str]]] | None = None,
) -> NoReturn:
    """
    :param carry: carries the plan out, where more than writing has to be done; else it is only written. What else it does
        comes last
    :param beside: further options of the module, that carry and complete read
    :param complete: adds to declarations what they only name, and says what is wrong with that
    """
    module, declarations = begin(noun, beside)
    for text in remarks(noun, declarations):
        module.warn(text)
    if complete:
        declarations, problems = complete(module, noun, declarations)
        refuse(module, problems)
    try:
        client = connect.client(module, manager=noun.NOUN.get("manager", MANAGER))
        how = manner(module, client)
        refuse(module, looked(how, noun, declarations))
        planned = plan(noun, declarations, client.namespace, module.params["recreate"])
        outcomes = carry(module, how, planned) if carry else declare(how, [one.wanted for one in planned])
        if module.params.get("wait") and not module.check_mode and not any(one.error for one in outcomes):
            outcomes = ready(how, noun, planned, outcomes)
    except KubeError as error:
        module.fail_json(msg=str(error))
    results.leave(module, outcomes)


def begin(noun: Readable, beside: Mapping[str, Any] | None = None) -> tuple[Module, list[Declared]]:
    """The module of a noun with what was declared, when nothing is wrong with that."""
    module = begun({**arguments.of(noun.NOUN), **(beside or {})})
    declarations, problems = read(noun, module.params)
    refuse(module, problems)
    return module, declarations


def refuse(module: Module, problems: Sequence[str]) -> None:
    """Ends the task when there are problems, with what programs read of the first of them, and of each."""
    if problems:
        errors = [one.answer for one in problems if isinstance(one, Said)]
        first = errors[0] if errors else {}
        module.fail_json(msg="\n".join(problems), problems=[*map(str, problems)], errors=errors, **first)


def manner(module: Module, client: Client) -> Run:
    """How the options say that a declaration is carried out."""
    wait = bool(module.params.get("wait"))
    return Run(client, connect.deadline(module), module.check_mode, module.params["force_conflicts"], wait=wait)


def ready(how: Run, noun: NounFile, planned: Sequence[Planned], outcomes: Sequence[Outcome]) -> list[Outcome]:
    """The outcomes again, once every object of the noun is as its readers need it, with what it then says of itself."""
    from .._core.kube.wait import waited

    checks, names = {}, {}
    for position, (one, outcome) in enumerate(zip(planned, outcomes, strict=False)):
        mark = noun.NOUN["ready"].get(one.state)
        if mark is not None and outcome.after is not None:
            checks[position] = _reached(noun, one.state, mark)
            if hasattr(noun, "awaited"):
                names[position] = noun.awaited(one.state, outcome.after["metadata"]["name"])
    return waited(how, checks, outcomes, names)


def _reached(noun: NounFile, state: str, mark: Ready) -> Check:
    """What the table says of a state, and what the noun says when it can no longer be reached."""
    from .._core.kube import conditions

    check = (
        conditions.condition(mark["condition"])
        if "condition" in mark
        else conditions.one_of(mark["path"], mark["values"], mark.get("failed", ()))
    )
    return conditions.unless(partial(noun.failed, state), check) if hasattr(noun, "failed") else check


def remarks(noun: Readable, declarations: Iterable[Declared]) -> Iterator[str]:
    """What is worth a look, of declarations without problems."""
    for one in declarations:
        if hasattr(noun, "remarks") and one.state == "present":
            for text in noun.remarks(one.name, one.spec):
                yield ": ".join(part for part in (named(noun, one), text) if part)
        if hasattr(noun, "warnings") and one.state == "present":
            yield from said(noun, one, noun.warnings(one.given))


# What stands beside objects is the default of each of them, be it a field of the noun or none.
_DEFAULTS = ("namespace", "state", *arguments.SHARED)


def read(noun: Readable, given: Mapping[str, Any]) -> tuple[list[Declared], list[str]]:
    """What is declared, and everything that is wrong with it, in the words of the options."""
    items = given.get("objects")
    if items is None:
        return _one(noun, given, "")
    spec = options.declared(noun.NOUN["spec"], given)
    beside = sorted({*map(option, spec), *(["name"] if given.get("name") else [])} - set(_DEFAULTS))
    if beside:
        return [], [
            f"{', '.join(beside)} and objects are both given: give {', '.join(beside)} in each entry of objects."
        ]
    found: list[Declared] = []
    problems: list[str] = []
    for number, item in enumerate(items):
        more, wrong = _one(noun, _with_defaults(item, given), f"objects[{number}]")
        found += more
        problems += wrong
    return found, [*problems, *_twice(noun, found)]


def _with_defaults(item: Mapping[str, Any], shared: Mapping[str, Any]) -> dict[str, Any]:
    """An entry of objects, with what stands beside them for all."""
    merged = {part: item.get(part) or shared.get(part) for part in ("namespace", "state")}
    for part in arguments.SHARED:
        values = {**(shared.get(part) or {}), **(item.get(part) or {})}
        merged[part] = values or item.get(part)
    return {**item, **merged}


def _one(noun: Readable, item: Mapping[str, Any], where: str) -> tuple[list[Declared], list[str]]:
    name = item.get("name") or ""
    state = item.get("state") or "present"
    given = options.declared(noun.NOUN["spec"], item)
    metadata = {
        part: dict(item.get(part) or {})
        for part in arguments.SHARED
        if part not in noun.NOUN["spec"]  # a field of its own, with rules of its own
    }
    spec, wrong = check.read(noun.NOUN["spec"], given)
    made = hasattr(noun, "identity")  # a name that may be left out
    _name, problems = check.read({"name": {**noun.NOUN["name"], "required": not made}}, {"name": name or None})
    if state != "present" and hasattr(noun, "state_problems"):
        problems += (wrong if given else []) or noun.state_problems(state, name, spec)  # the name alone will do
    elif state in noun.NOUN.get("states", {}) and not given and not any(metadata.values()):
        state = f"only {state}"  # of what is there, whatever else was declared of it
    elif state != "absent":  # for which the name is enough
        problems += wrong or ([] if problems else noun.problems(name, spec))
    elif hasattr(noun, "absent_problems"):
        problems += noun.absent_problems(name)
    if hasattr(noun, "identity") and not problems:
        name = noun.identity(name, spec, os.urandom(8).hex())
    # Of a kind without namespaces, an option of that name is a field like any other.
    placed = noun.NOUN["scope"] == "Namespaced"
    namespace = (item.get("namespace") or "") if placed else ""
    declared = Declared(name, namespace, state, spec, metadata, where, given)
    return [declared], said(noun, declared, problems)


class Said(str):
    """A problem in words, with what a program reads of it."""

    answer: dict[str, str]


def said(noun: Readable, one: Declared, problems: Iterable[Problem]) -> list[str]:
    """Problems in the words of the options, with the declaration that they are of."""
    return [_said(noun, one, problem) for problem in problems]


def _said(noun: Readable, one: Declared, problem: Problem) -> Said:
    found = Said(": ".join(part for part in (named(noun, one), problem.text(option)) if part))
    found.answer = {
        "code": check.code(noun.NOUN.get("codes", {}), problem),
        "field": ".".join(part for part in (one.where, problem.place(option)) if part),
        "hint": problem.remedy or f"It must be {problem.allowed}.",
    }
    return found


def named(noun: Readable, one: Declared) -> str:
    title = f"{noun.__name__.rpartition('.')[2]} {one.name}" if one.name else ""
    return ": ".join(part for part in (one.where, title) if part)


def looked(how: Run, noun: NounFile, declarations: Sequence[Declared]) -> list[str]:
    """What is wrong with declarations as only the cluster can tell. A noun whose rules ask other objects names their kind,
    BESIDE; where the cluster does not serve it there are none."""
    twice = list(_twice(noun, declarations, how.client.namespace))
    present = [one for one in declarations if one.state != "absent"]
    if twice or not present or not (hasattr(noun, "BESIDE") and hasattr(noun, "beside")):
        return twice
    try:
        others = how.client.list(how.client.kind(*noun.BESIDE), deadline=how.deadline).items
    except KindNotServedError:
        return []
    return [text for one in present for text in said(noun, one, noun.beside(one.name, one.spec, others))]


def _twice(noun: Readable, found: Iterable[Declared], namespace: str = "") -> Iterator[str]:
    first: dict[tuple[str, str], Declared] = {}
    for one in found:
        other = first.setdefault((one.namespace or namespace, own.object_name(noun.NOUN, one.name)), one)
        if one.name and other is not one:
            alias = "" if one.name == other.name else f", as {other.name},"
            yield f"{one.where}: {one.name}{alias} is declared in {other.where} already: keep one of the two."


def plan(noun: NounFile, declarations: Iterable[Declared], namespace: str, recreate: bool) -> list[Planned]:
    found = []
    for one in declarations:
        place = one.namespace or (namespace if noun.NOUN["scope"] == "Namespaced" else "")
        if one.state == "absent":
            found += _taken_away(noun, one, place)
        elif one.state.startswith("only "):
            wanted = Wanted(_identity(noun, one.name, place), "found", part="manager" in noun.NOUN, where=one.where)
            found.append(Planned(wanted, one.state.removeprefix("only ")))
        elif one.state in noun.NOUN.get("states", {}) and hasattr(noun, "change"):
            amended = noun.change(one.state, one.name, place, one.spec)
            done = noun.NOUN["states"][one.state]
            wanted = Wanted(amended, "amended", where=one.where, judge=_judge(noun, one), purpose=one.state, done=done)
            found.append(Planned(wanted, one.state))
        else:
            found += _written(noun, one, place, recreate)
    return found


def _taken_away(noun: NounFile, one: Declared, place: str) -> list[Planned]:
    identity, part = _identity(noun, one.name, place), "manager" in noun.NOUN
    wanted = Wanted(identity, "absent", part=part, where=one.where, judge=_judge(noun, one), purpose=one.state)
    others = noun.belongings(one.name, place) if hasattr(noun, "belongings") else []
    return [Planned(wanted, one.state), *(Planned(gone(other, one.where), "") for other in others)]


def gone(other: dict[str, Any], where: str) -> Wanted:
    # A name is taken by whoever was first.
    return Wanted(
        other,
        "absent",
        where=where,
        judge=lambda found: None if own.is_ours(found) else "",
        leftover=True,  # what needs it has to be gone, or written without it, before
    )


def _written(noun: NounFile, one: Declared, place: str, recreate: bool) -> list[Planned]:
    needs = noun.needs(place, one.spec) if hasattr(noun, "needs") else []
    found = [Planned(Wanted(other, "ensured", where=one.where), "") for other in needs]
    part = "manager" in noun.NOUN
    for built in noun.build(one.name, place, one.spec):
        for key, values in one.metadata.items():
            if values:
                built["metadata"][key] = {**values, **built["metadata"].get(key, {})}
        main = built["kind"] == noun.NOUN["kind"]
        wanted = Wanted(built, "present", exact=main, recreate=recreate, part=part, where=one.where)
        if main:
            wanted = wanted._replace(judge=_judge(noun, one), purpose=one.state)
        found.append(Planned(wanted, one.state if main else ""))
    return found


def _judge(noun: NounFile, one: Declared) -> Callable[[Mapping[str, Any]], str | None] | None:
    """What the noun says of a live object that shall come into the declared state."""
    judge = getattr(noun, "judge", None)
    return (lambda found: judge(one.state, found, one.spec)) if judge else None


def _identity(noun: NounFile, name: str, namespace: str) -> dict[str, Any]:
    metadata = {"name": own.object_name(noun.NOUN, name), **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": noun.NOUN["api"], "kind": noun.NOUN["kind"], "metadata": metadata}
