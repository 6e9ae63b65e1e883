# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Brings a list of objects into the state that was declared: reads once, writes what differs, says what became of each.

Objects are read by one list for each kind and namespace, or one by one when they are few. What is as declared is not
written. The rest is written in phases, within one side by side. A failure is the failure of its object; the others go on.
"""

from __future__ import annotations

import time
import typing as t

from ..plan import compare, order, view
from ..plan.refusal import of_check_mode
from .errors import (
    AlreadyExistsError,
    DeclarationError,
    InvalidError,
    KindNotServedError,
    KubeError,
    MissingError,
    NotFoundError,
)
from .stale import STALE_SECONDS, patiently

if t.TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from .client import Client, Object
    from .kinds import Kind

    Action = t.Literal["created", "changed", "recreated", "deleted", "unchanged", "failed"]

# Up to so many objects of a kind and namespace are got one by one, more are listed.
FEW = 4
SERVED_WITHIN = 5.0


class Wanted(t.NamedTuple):
    object: Object
    # ensured: made when missing, else left as it is; found: has to be there, and is left as it is; amended: has to be there,
    # and is given further fields, of which nothing is ever dropped
    state: t.Literal["present", "absent", "ensured", "found", "amended"] = "present"
    exact: bool = False  # the schema of its kind is known to us, so that no dry run is needed to tell a difference
    recreate: bool = False  # deleted and made anew where a field cannot be changed
    part: bool = False  # one part of an object that others make: it has to be there, and stays when the part goes
    where: str = ""  # the place in the declaration, for errors
    # What to write when there is one already: made of it, or None for another one in its place.
    revise: Callable[[Object], Object | None] | None = None
    foreground: bool = False  # gone only when all that it owns is gone
    # Asked about an object that is there: why it cannot come into the state, nothing when it is in it, None when it can.
    judge: Callable[[Object], str | None] | None = None
    purpose: str = ""  # the state in the words of the declaration, for errors
    done: str = ""  # what it is called that an object was amended


class Outcome(t.NamedTuple):
    wanted: Wanted
    action: Action
    before: Object | None = None
    after: Object | None = None
    error: KubeError | None = None
    # What was done beside writing the object, and the states that tell of it: ("closed", "Open", "Closed").
    steered: tuple[str, str, str] | None = None

    @property
    def changed(self) -> bool:
        return self.action in ("created", "changed", "recreated", "deleted") or (
            self.steered is not None and self.error is None
        )


class Extra:
    """What a kind needs beside being written; here nothing. Most modules do not carry what others need."""

    def prepare(
        self, run: Run, items: Mapping[int, Item], live: dict[int, Object | None], outcomes: dict[int, Outcome]
    ) -> None:
        """Comes before anything is written. What it puts among the outcomes is done with."""

    def settle(self, run: Run, written: Sequence[Outcome], later: Sequence[Object]) -> None:
        """Comes between what was written and what is written later."""

    def told(self, _position: int, outcome: Outcome) -> Outcome:
        return outcome


class Run(t.NamedTuple):
    """How a declaration is carried out. ``deadline`` is a ``time.monotonic()``."""

    client: Client
    deadline: float
    check: bool = False
    force_conflicts: bool = False
    writers: int = 8
    extra: Extra = Extra()
    # Until when what a webhook of Volcano says may be of a moment ago.
    patience: float = 0.0
    # In check mode: the names of queues that would be written too.
    queues: frozenset[str] = frozenset()


class Item(t.NamedTuple):
    wanted: Wanted
    kind: Kind
    name: str
    namespace: str


def declare(run: Run, wanted: Sequence[Wanted]) -> list[Outcome]:
    """What became of each, in the order in which they were declared."""
    outcomes: dict[int, Outcome] = {}
    items: dict[int, Item] = {}
    for position, one in enumerate(wanted):
        try:
            items[position] = Item(one, *run.client.address(one.object, deadline=run.deadline))
        except KubeError as error:
            outcomes[position] = _unserved(run, one, error)
    live = _read(run, items, outcomes)
    run = run._replace(queues=frozenset(one.name for one in items.values() if order.is_queue(one.wanted.object)))
    run.extra.prepare(run, items, live, outcomes)
    waves = _waves(items, live)
    for number, wave in enumerate(waves, 1):
        ready = [position for position in wave if position not in outcomes]
        written = side_by_side(run, items, live, ready)
        outcomes.update(zip(ready, _served(run, written), strict=True))
        later = [items[position].wanted for wave in waves[number:] for position in wave]
        run.extra.settle(run, written, [one.object for one in later if one.state == "present"])
    late = [position for position, one in outcomes.items() if isinstance(one.error, KindNotServedError)]
    if any(_defines(one.wanted) and one.changed for one in outcomes.values()) and late and not run.check:
        # Their kind may have been defined by what was just written. A definition is never among them: that kind is built in.
        outcomes.update(zip(late, _late(run, [wanted[position] for position in late]), strict=True))
    return [run.extra.told(position, outcomes[position]) for position in range(len(wanted))]


def _late(run: Run, wanted: Sequence[Wanted]) -> list[Outcome]:
    """A server says that a kind is established a moment before it answers for it, and nothing tells when it does."""
    until = min(run.deadline, time.monotonic() + SERVED_WITHIN)
    while True:
        outcomes = declare(run._replace(extra=Extra()), wanted)
        if not any(isinstance(one.error, KindNotServedError) for one in outcomes) or time.monotonic() > until:
            return outcomes
        time.sleep(0.1)


def _defines(one: Wanted) -> bool:
    return one.object.get("kind") == "CustomResourceDefinition"


def _unserved(run: Run, one: Wanted, error: KubeError) -> Outcome:
    """Before the kind itself is there, check mode can still say what would be made."""
    if isinstance(error, KindNotServedError):
        if one.state == "absent":
            return Outcome(one, "unchanged")
        if run.check:
            return Outcome(one, "created", None, one.object)
    return Outcome(one, "failed", error=error)


def _read(run: Run, items: Mapping[int, Item], outcomes: dict[int, Outcome]) -> dict[int, Object | None]:
    groups: dict[tuple[Kind, str], list[int]] = {}
    for position, item in items.items():
        groups.setdefault((item.kind, item.namespace), []).append(position)
    live: dict[int, Object | None] = {}
    for (kind, namespace), positions in groups.items():
        names = {items[position].name for position in positions}
        try:
            found = named(run.client, kind, namespace, names, run.deadline)
        except KubeError as error:
            outcomes.update({position: _unserved(run, items[position].wanted, error) for position in positions})
        else:
            live.update({position: found.get(items[position].name) for position in positions})
    return live


def named(
    client: Client, kind: Kind, namespace: str, names: Collection[str], deadline: float | None = None
) -> dict[str, Object]:
    """Those of the names that are there: a request for each when they are few, else one list of the kind."""
    if len(names) <= FEW:
        asked = {name: client.find(kind, name, namespace, deadline=deadline) for name in names}
        return {name: found for name, found in asked.items() if found is not None}

    def keep(found: Object) -> Object | None:
        return found if found["metadata"]["name"] in names else None

    listing = client.list(kind, namespace, keep=keep, deadline=deadline)
    return {found["metadata"]["name"]: found for found in listing.items if found is not None}


def _waves(items: Mapping[int, Item], live: Mapping[int, Object | None]) -> list[list[int]]:
    """What is taken away goes after everything was written, the other way round."""
    kept = [position for position, item in items.items() if item.wanted.state != "absent"]
    gone = [position for position, item in items.items() if item.wanted.state == "absent"]
    waves = []
    for positions, backwards in ((kept, False), (gone, True)):
        # A declaration of absence may hold nothing but the name; the live object knows its place.
        objects = [(backwards and live.get(position)) or items[position].wanted.object for position in positions]
        queues = [one for one in objects if order.is_queue(one)]
        found = [[positions[i] for i in wave] for wave in order.waves(objects, order.depths(queues))]
        waves += found[::-1] if backwards else found
    return waves


def side_by_side(
    run: Run, items: Mapping[int, Item], live: Mapping[int, Object | None], positions: Sequence[int]
) -> list[Outcome]:
    run = run._replace(patience=min(run.deadline, time.monotonic() + STALE_SECONDS))

    def work(position: int) -> Outcome:
        item, before = items[position], live.get(position)
        try:
            if before is not None and item.wanted.judge is not None:
                reason = item.wanted.judge(before)
                if reason:
                    raise DeclarationError(f"{view.title(before)} cannot become {item.wanted.purpose}: {reason}.")
                if reason is not None:
                    return Outcome(item.wanted, "unchanged", before, before)
            return _STATES[item.wanted.state](run, item, before)
        except KubeError as error:
            return Outcome(item.wanted, "failed", before, None, error)

    if len(positions) < 2:
        return [work(position) for position in positions]
    from concurrent.futures import ThreadPoolExecutor  # one object alone, the usual case, does not pay for it

    with ThreadPoolExecutor(max_workers=run.writers) as pool:
        try:
            return list(pool.map(work, positions))
        except BaseException:
            # The task was ended (its timeout, a signal): what has not begun is not written any more.
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def _present(run: Run, item: Item, before: Object | None) -> Outcome:
    wanted = item.wanted
    if wanted.part and before is None:
        return _missing(run, item)
    if wanted.revise is not None and before is not None:
        revised = wanted.revise(before)
        if revised is None:
            return Outcome(wanted, "recreated", before, wanted.object) if run.check else _recreated(run, item, before)
        wanted = wanted._replace(object=revised)
        item = item._replace(wanted=wanted)
    verdict = compare.compare(wanted.object, before, wanted.exact, run.client.manager)
    if verdict is compare.Verdict.SAME:
        return Outcome(wanted, "unchanged", before, before)
    if run.check or verdict is compare.Verdict.ASK:
        would = _would(run, item, before)
        if would.action == "unchanged" or run.check:
            return would
    try:
        after = _applied_to(run, wanted.object)
    except InvalidError as error:
        if before is None or not error.immutable or not wanted.recreate:
            raise
        return _recreated(run, item, before)
    return _applied(wanted, before, after)


def _applied_to(run: Run, wanted: Object) -> Object:
    def apply() -> Object:
        return run.client.apply(wanted, force_conflicts=run.force_conflicts, deadline=run.deadline)

    return patiently(run.patience, apply)


def _would(run: Run, item: Item, before: Object | None) -> Outcome:
    """What apply would do, by a dry run; where not even its namespace is there yet, by what is declared."""
    wanted = item.wanted
    try:
        after = run.client.apply(
            wanted.object, force_conflicts=run.force_conflicts, dry_run=True, deadline=run.deadline
        )
    except NotFoundError:
        return Outcome(wanted, "created", None, wanted.object)
    except InvalidError as error:
        if run.check and of_check_mode(str(error), run.queues - {item.name}):
            after = wanted.object if before is None else {**before, "spec": wanted.object.get("spec")}
            return Outcome(wanted, "created" if before is None else "changed", before, after)
        if before is None or not error.immutable or not wanted.recreate:
            raise
        return Outcome(wanted, "recreated", before, wanted.object)
    old, new = view.pair(before, after)
    if before is not None and old == new and compare.owned_fields(before, run.client.manager) is not None:
        return Outcome(wanted, "unchanged", before, before)
    return Outcome(wanted, "created" if before is None else "changed", before, after)


def _applied(wanted: Wanted, before: Object | None, after: Object) -> Outcome:
    if before is None:
        return Outcome(wanted, "created", None, after)
    same = before["metadata"].get("resourceVersion") == after["metadata"].get("resourceVersion")
    return Outcome(wanted, "unchanged" if same else "changed", before, after)


def _recreated(run: Run, item: Item, before: Object) -> Outcome:
    _deleted(run, item, before)
    return Outcome(item.wanted, "recreated", before, _applied_to(run, item.wanted.object))


def _absent(run: Run, item: Item, before: Object | None) -> Outcome:
    if before is None:
        return Outcome(item.wanted, "unchanged")
    if item.wanted.part:
        return _released(run, item, before)
    if not run.check:
        _deleted(run, item, before)
    return Outcome(item.wanted, "deleted", before, None)


def _released(run: Run, item: Item, before: Object) -> Outcome:
    """An apply that declares nothing takes away what earlier ones of this manager declared, and no more."""
    if compare.owned_fields(before, run.client.manager) is None:
        return Outcome(item.wanted, "unchanged", before, before)
    identity = {**item.wanted.object, "metadata": {"name": item.name}}
    if item.namespace:
        identity["metadata"]["namespace"] = item.namespace
    after = run.client.apply(identity, dry_run=run.check, deadline=run.deadline)
    return Outcome(item.wanted, "changed", before, after)


def _found(run: Run, item: Item, before: Object | None) -> Outcome:
    return Outcome(item.wanted, "unchanged", before, before) if before is not None else _missing(run, item)


def _missing(run: Run, item: Item) -> Outcome:
    """In check mode an earlier task may have left out to make it."""
    if run.check:
        return Outcome(item.wanted, "changed", None, item.wanted.object)
    raise MissingError(f"{view.title(item.wanted.object)} does not exist: declare it first.")


def _deleted(run: Run, item: Item, before: Object) -> None:
    from . import conditions  # to write and to leave alone, the usual cases, do without waiting
    from .wait import Target, wait

    uid = before["metadata"]["uid"]
    propagation: t.Literal["Foreground", "Background"] = "Foreground" if item.wanted.foreground else "Background"

    def delete() -> None:
        run.client.delete(item.kind, item.name, item.namespace, uid=uid, propagation=propagation, deadline=run.deadline)

    patiently(run.patience, delete)
    gone = Target(item.kind, item.name, item.namespace, conditions.deleted(uid), before)
    wait(run.client, [gone], deadline=run.deadline)


def _ensured(run: Run, item: Item, before: Object | None) -> Outcome:
    wanted = item.wanted
    if before is not None:
        return Outcome(wanted, "unchanged", before, before)
    try:
        after = run.client.create(wanted.object, dry_run=run.check, deadline=run.deadline)
    except AlreadyExistsError:  # somebody else was faster
        return Outcome(wanted, "unchanged")
    return Outcome(wanted, "created", None, after)


def _amended(run: Run, item: Item, before: Object | None) -> Outcome:
    """By a patch and not by apply, which would take everything else for dropped."""
    if before is None:
        title = view.title(item.wanted.object)
        raise MissingError(f"{title} is not there and cannot become {item.wanted.purpose}: check name and namespace.")
    change = {key: value for key, value in item.wanted.object.items() if key not in ("apiVersion", "kind", "metadata")}
    if compare.holds(change, before):
        return Outcome(item.wanted, "unchanged", before, before)
    after = run.client.patch(item.kind, item.name, change, item.namespace, dry_run=run.check, deadline=run.deadline)
    return Outcome(item.wanted, "changed", before, after)


_STATES: dict[str, Callable[[Run, Item, Object | None], Outcome]] = {
    "present": _present,
    "absent": _absent,
    "ensured": _ensured,
    "found": _found,
    "amended": _amended,
}


def _served(run: Run, outcomes: list[Outcome]) -> list[Outcome]:
    """Objects of a kind can be made once the kind's definition is established."""
    made = [one.after for one in outcomes if one.after is not None and one.changed and _defines(one.wanted)]
    if not made or run.check:
        return outcomes
    from . import conditions
    from .wait import Target, wait

    kind = run.client.kind(made[0]["apiVersion"], made[0]["kind"])
    established = conditions.condition("Established")
    targets = [Target(kind, one["metadata"]["name"], "", established, one) for one in made]
    try:
        wait(run.client, targets, deadline=run.deadline)
    except KubeError as error:
        return [one._replace(action="failed", error=error) if _defines(one.wanted) else one for one in outcomes]
    return outcomes
