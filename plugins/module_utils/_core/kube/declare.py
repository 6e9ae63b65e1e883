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
    BadRequestError,
    DeclarationError,
    ForbiddenError,
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

    Action = t.Literal["created", "changed", "recreated", "deleted", "unchanged", "kept", "failed"]
    State = t.Literal["present", "absent", "ensured", "found", "amended", "kept"]

# Up to so many objects of a kind and namespace are got one by one, more are listed.
FEW = 4
SERVED_WITHIN = 5.0
# For writers that are told to stop. One that is just connecting takes longer, and then writes nothing.
_JOIN_SECONDS = 2.0
# What a dry run refuses only because the old object still has it.
_HELD = ("exceeded quota", "already allocated")


class Wanted(t.NamedTuple):
    object: Object
    # ensured: made when missing, else left as it is; found: has to be there, and is left as it is; amended: has to be there,
    # and is given further fields, of which nothing is ever dropped; kept: would be absent, had nothing else failed
    state: State = "present"
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
    leftover: bool = False  # to be absent once all else is as declared, since what failed may still need it
    known: Object | None = None  # as it was read a moment ago, so that it is not read again


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

    def failing(self, error: KubeError) -> Outcome:
        """What was done stays done, though what came after it went wrong."""
        return self._replace(action=self.action if self.changed else "failed", error=error)


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
    wait: bool = False  # for the end of what is taken away
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
    written, gone = _waves(items, live)
    for number, wave in enumerate(written, 1):
        _carry(run, items, live, outcomes, wave, written[number:])
    late = [position for position, one in outcomes.items() if isinstance(one.error, KindNotServedError)]
    if any(_defines(one.wanted) and one.changed for one in outcomes.values()) and late and not run.check:
        # Their kind may have been defined by what was just written. A definition is never among them: that kind is built in.
        outcomes.update(zip(late, _late(run, [wanted[position] for position in late]), strict=True))
    for wave in gone:
        if any(one.error is not None and not one.wanted.leftover for one in outcomes.values()):
            items = {position: _spared(item) for position, item in items.items()}
        _carry(run, items, live, outcomes, wave, [])
    return [run.extra.told(position, outcomes[position]) for position in range(len(wanted))]


def _carry(
    run: Run,
    items: Mapping[int, Item],
    live: Mapping[int, Object | None],
    outcomes: dict[int, Outcome],
    wave: Sequence[int],
    later: Sequence[Sequence[int]],
) -> None:
    ready = [position for position in wave if position not in outcomes]
    written = side_by_side(run, items, live, ready)
    outcomes.update(zip(ready, _served(run, written), strict=True))
    wanted = [items[position].wanted for following in later for position in following]
    run.extra.settle(run, written, [one.object for one in wanted if one.state == "present"])


def _spared(item: Item) -> Item:
    return item._replace(wanted=item.wanted._replace(state="kept")) if item.wanted.leftover else item


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
    live: dict[int, Object | None] = {
        position: item.wanted.known for position, item in items.items() if item.wanted.known is not None
    }
    for position, item in items.items():
        if position not in live:
            groups.setdefault((item.kind, item.namespace), []).append(position)
    for (kind, namespace), positions in groups.items():
        names = {items[position].name for position in positions}
        try:
            found, errors = _by_name(run.client, kind, namespace, names, run.deadline)
        except KubeError as error:
            found, errors = {}, dict.fromkeys(names, error)
        for position in positions:
            name = items[position].name
            if name in errors:
                outcomes[position] = _unserved(run, items[position].wanted, errors[name])
            else:
                live[position] = found.get(name)
    return live


def named(
    client: Client, kind: Kind, namespace: str, names: Collection[str], deadline: float | None = None
) -> dict[str, Object]:
    """Those of the names that are there: a request for each when they are few, else one list of the kind.

    :raises KubeError: when one of them cannot be read
    """
    found, errors = _by_name(client, kind, namespace, names, deadline)
    for error in errors.values():
        raise error
    return found


def _by_name(
    client: Client, kind: Kind, namespace: str, names: Collection[str], deadline: float | None
) -> tuple[dict[str, Object], dict[str, KubeError]]:
    """As named, and what is wrong with single names.

    :raises KubeError: when none of them can be read
    """
    refused: ForbiddenError | None = None
    if len(names) > FEW:
        try:
            return _listed(client, kind, namespace, names, deadline), {}
        except ForbiddenError as error:  # roles may name the objects that one may get, and then nobody may list
            refused = error
    found: dict[str, Object] = {}
    errors: dict[str, KubeError] = {}
    for name in names:
        try:
            one = client.find(kind, name, namespace, deadline=deadline)
        except (BadRequestError, ForbiddenError) as error:
            errors[name] = error
            if refused is not None and not found and len(errors) > FEW:
                raise refused from None  # who may read nothing here is not refused a thousand times
            continue
        if one is not None:
            found[name] = one
    return found, errors


def _listed(
    client: Client, kind: Kind, namespace: str, names: Collection[str], deadline: float | None
) -> dict[str, Object]:
    def keep(found: Object) -> Object | None:
        return found if found["metadata"]["name"] in names else None

    listing = client.list(kind, namespace, keep=keep, deadline=deadline)
    return {found["metadata"]["name"]: found for found in listing.items if found is not None}


def _waves(items: Mapping[int, Item], live: Mapping[int, Object | None]) -> tuple[list[list[int]], list[list[int]]]:
    """What is written, and what is taken away after that, the other way round."""
    kept = [position for position, item in items.items() if item.wanted.state != "absent"]
    gone = [position for position, item in items.items() if item.wanted.state == "absent"]
    # A declaration of absence may hold nothing but the name; the live object knows its place.
    found = [live.get(position) or items[position].wanted.object for position in gone]
    return _ordered(kept, [items[position].wanted.object for position in kept]), _ordered(gone, found)[::-1]


def _ordered(positions: Sequence[int], objects: Sequence[Object]) -> list[list[int]]:
    depths = order.depths(one for one in objects if order.is_queue(one))
    return [[positions[i] for i in wave] for wave in order.waves(objects, depths)]


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
    return _together(run, work, positions)


def _together(run: Run, work: Callable[[int], Outcome], positions: Sequence[int]) -> list[Outcome]:
    import queue  # one object alone, the usual case, does not pay for it
    import threading

    todo: queue.SimpleQueue[int] = queue.SimpleQueue()
    ended: queue.SimpleQueue[tuple[int, Outcome | BaseException]] = queue.SimpleQueue()
    for position in positions:
        todo.put(position)
    stop = run.client.transport.stop

    def write() -> None:
        while not stop:
            try:
                position = todo.get_nowait()
            except queue.Empty:
                return
            try:
                ended.put((position, work(position)))
            except BaseException as error:  # noqa: BLE001  it is raised below
                ended.put((position, error))

    # Nothing waits for them at the end of the process: what they connect to may not answer.
    threads = [threading.Thread(target=write, daemon=True) for _number in range(min(run.writers, len(positions)))]
    for thread in threads:
        thread.start()
    done: dict[int, Outcome] = {}
    try:
        while len(done) < len(positions):
            position, outcome = ended.get()
            if isinstance(outcome, BaseException):
                raise outcome
            done[position] = outcome
    except BaseException:
        # The task was ended (its timeout, a signal): nothing is written any more, not even once again.
        stop.set()
        until = time.monotonic() + _JOIN_SECONDS
        for thread in threads:
            thread.join(max(0.0, until - time.monotonic()))
        raise
    return [done[position] for position in positions]


def _present(run: Run, item: Item, before: Object | None) -> Outcome:
    wanted = item.wanted
    if wanted.part and before is None:
        return _missing(run, item)
    if wanted.revise is not None and before is not None:
        revised = wanted.revise(before)
        if revised is None:
            return _recreated(run, item, before)
        wanted = wanted._replace(object=revised)
        item = item._replace(wanted=wanted)
    if before is not None and before["metadata"].get("deletionTimestamp"):
        return _made_again(run, item, before)
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
        if before is None or not _frozen(error) or not wanted.recreate:
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
        if before is None or not _frozen(error) or not wanted.recreate:
            raise
        return _recreated(run._replace(check=True), item, before)
    old, new = view.pair(before, after)
    if before is not None and old == new and compare.owned_fields(before, run.client.manager) is not None:
        return Outcome(wanted, "unchanged", before, before)
    return Outcome(wanted, "created" if before is None else "changed", before, after)


def _applied(wanted: Wanted, before: Object | None, after: Object) -> Outcome:
    if before is None:
        return Outcome(wanted, "created", None, after)
    same = before["metadata"].get("resourceVersion") == after["metadata"].get("resourceVersion")
    return Outcome(wanted, "unchanged" if same else "changed", before, after)


def _frozen(error: InvalidError) -> bool:
    """Whether nothing is wrong but that the object exists with other values."""
    return bool(error.problems) and len(error.immutable) == len(error.problems)


def _made_again(run: Run, item: Item, before: Object) -> Outcome:
    """In the place of one that is on its way out, and would take what is written into it along."""
    if run.wait or item.wanted.recreate:
        return _recreated(run, item, before)
    finalizers = ", ".join(before["metadata"].get("finalizers") or ())
    raise DeclarationError(
        f"{view.title(before)} is being deleted{f', which waits for its finalizers {finalizers}' if finalizers else ''}: "
        "declare it again when it is gone, or have it waited for by wait or recreate."
    )


def _recreated(run: Run, item: Item, before: Object) -> Outcome:
    wanted = item.wanted
    _renewable(run, wanted)
    if run.check:
        return Outcome(wanted, "recreated", before, wanted.object)
    _delete(run, item, before)
    try:
        _gone(run, item, before)
        after = _applied_to(run, wanted.object)
    except KubeError as error:
        return Outcome(wanted, "deleted", before, None, error)
    return Outcome(wanted, "recreated", before, after)


def _renewable(run: Run, wanted: Wanted) -> None:
    """What exists is not taken away for what cannot be made.

    :raises KubeError: when it cannot
    """
    try:
        run.client.create(wanted.object, dry_run=True, deadline=run.deadline)
    except AlreadyExistsError:  # the last thing that is looked at
        return
    except (ForbiddenError, InvalidError) as error:
        if not any(words in str(error) for words in _HELD):
            raise


def _absent(run: Run, item: Item, before: Object | None) -> Outcome:
    if before is None:
        return Outcome(item.wanted, "unchanged")
    if item.wanted.part:
        return _released(run, item, before)
    going = bool(before["metadata"].get("deletionTimestamp"))
    outcome = Outcome(item.wanted, "unchanged" if going else "deleted", before, None)
    if run.check:
        return outcome
    if not going:
        _delete(run, item, before)
    try:
        if run.wait:
            _gone(run, item, before)
    except KubeError as error:
        return outcome.failing(error)
    return outcome


def _kept(_run: Run, item: Item, before: Object | None) -> Outcome:
    return Outcome(item.wanted, "unchanged" if before is None else "kept", before, before)


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


def _delete(run: Run, item: Item, before: Object) -> None:
    uid = before["metadata"]["uid"]
    propagation: t.Literal["Foreground", "Background"] = "Foreground" if item.wanted.foreground else "Background"

    def delete() -> None:
        run.client.delete(item.kind, item.name, item.namespace, uid=uid, propagation=propagation, deadline=run.deadline)

    patiently(run.patience, delete)


def _gone(run: Run, item: Item, before: Object) -> None:
    from . import conditions  # to write and to leave alone, the usual cases, do without waiting
    from .wait import Target, wait

    gone = Target(item.kind, item.name, item.namespace, conditions.deleted(before["metadata"]["uid"]), before)
    wait(run.client, [gone], deadline=run.deadline)


def _ensured(run: Run, item: Item, before: Object | None) -> Outcome:
    wanted = item.wanted
    if before is not None:
        return Outcome(wanted, "unchanged", before, before)
    try:
        after = run.client.create(wanted.object, dry_run=run.check, deadline=run.deadline)
    except AlreadyExistsError:  # somebody else was faster
        return Outcome(wanted, "unchanged")
    except NotFoundError:  # its namespace, which an earlier task may make
        if not run.check:
            raise
        return Outcome(wanted, "created", None, wanted.object)
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
    "kept": _kept,
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
