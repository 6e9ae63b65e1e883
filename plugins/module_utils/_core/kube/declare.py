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

from ..plan import order, view
from .errors import (
    BadRequestError,
    DeclarationError,
    ForbiddenError,
    KindNotServedError,
    KubeError,
)
from .stale import STALE_SECONDS
from .states import STATES, unchanged
from .wanted import Extra, Item, Outcome, Run, Wanted

if t.TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from .client import Client, Object
    from .kinds import Kind


# Up to so many objects of a kind and namespace are got one by one, more are listed.
FEW = 4
SERVED_WITHIN = 5.0
# For writers that are told to stop. One that is just connecting takes longer, and then writes nothing.
_JOIN_SECONDS = 2.0


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
    queues = frozenset(one.name for one in items.values() if order.is_queue(one.wanted.object))
    run = run._replace(queues=run.queues | queues)
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
    return run.extra.told(run, [outcomes[position] for position in range(len(wanted))])


def _carry(
    run: Run,
    items: Mapping[int, Item],
    live: dict[int, Object | None],
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
    run = run._replace(extra=Extra())
    outcomes = declare(run, wanted)
    while True:
        # Of some kinds it answers before it does of others: what is written by then is not declared once again.
        late = [position for position, one in enumerate(outcomes) if isinstance(one.error, KindNotServedError)]
        if not late or time.monotonic() > until:
            return outcomes
        time.sleep(0.1)
        for position, outcome in zip(late, declare(run, [wanted[position] for position in late]), strict=True):
            outcomes[position] = outcome


def _defines(one: Wanted) -> bool:
    return one.object.get("kind") == "CustomResourceDefinition"


def _unserved(run: Run, one: Wanted, error: KubeError) -> Outcome:
    """Before the kind itself is there, check mode can still say what would be made."""
    if isinstance(error, KindNotServedError):
        if one.state == "absent":
            return Outcome(one, "unchanged")
        if run.check:
            made = one.state in ("present", "ensured") and not one.part
            return Outcome(one, "created" if made else "changed", None, one.object)
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
        seen = _settling(run, items, positions)
        try:
            found, errors = _by_name(run.client, kind, namespace, names, run.deadline, seen)
        except KubeError as error:
            found, errors = {}, dict.fromkeys(names, error)
        for position in positions:
            name = items[position].name
            if name in errors:
                outcomes[position] = _unserved(run, items[position].wanted, errors[name])
            else:
                one = found.get(name)
                if isinstance(one, Outcome):
                    outcomes[position] = one
                else:
                    live[position] = one
    return live


def _settling(run: Run, items: Mapping[int, Item], positions: Sequence[int]) -> Callable[[Object], Object | Outcome]:
    """What to keep of what is listed: where nobody asks for more, of what is as declared the outcome alone."""
    wanted = {items[position].name: items[position].wanted for position in positions}

    def seen(found: Object) -> Object | Outcome:
        one = wanted[found["metadata"]["name"]]
        if run.whole or _needs_whole(one) or not unchanged(run, one, found):
            return found
        return Outcome(one, "unchanged", found, found).brief()

    return seen


def _needs_whole(one: Wanted) -> bool:
    """Queues and definitions are waited for by those that come after them."""
    return _defines(one) or order.is_queue(one.object)


def named(
    client: Client, kind: Kind, namespace: str, names: Collection[str], deadline: float | None = None
) -> dict[str, Object]:
    """Those of the names that are there: a request for each when they are few, else one list of the kind.

    :raises KubeError: when one of them cannot be read
    """
    found, errors = _by_name(client, kind, namespace, names, deadline, lambda one: one)
    for error in errors.values():
        raise error
    return found


def _by_name(
    client: Client,
    kind: Kind,
    namespace: str,
    names: Collection[str],
    deadline: float | None,
    seen: Callable[[Object], t.Any],
) -> tuple[dict[str, t.Any], dict[str, KubeError]]:
    """As named, and what is wrong with single names.

    :param seen: what to keep of each of many
    :raises KubeError: when none of them can be read
    """

    def keep(found: Object) -> tuple[str, t.Any] | None:
        name = found["metadata"]["name"]
        return (name, seen(found)) if name in names else None

    refused: ForbiddenError | None = None
    if len(names) > FEW:
        try:
            listed = client.list(kind, namespace, keep=keep, deadline=deadline).items
            return dict(one for one in listed if one is not None), {}
        except ForbiddenError as error:  # roles may name the objects that one may get, and then nobody may list
            refused = error
    found: dict[str, t.Any] = {}
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
    run: Run, items: Mapping[int, Item], live: dict[int, Object | None], positions: Sequence[int]
) -> list[Outcome]:
    run = run._replace(patience=min(run.deadline, time.monotonic() + STALE_SECONDS))

    def work(position: int) -> Outcome:
        item, before = items[position], live.pop(position, None)  # which nobody asks for again
        outcome = tried(item, before)
        return outcome if run.whole or _needs_whole(item.wanted) else outcome.brief()

    def tried(item: Item, before: Object | None) -> Outcome:
        try:
            if before is not None and item.wanted.judge is not None:
                reason = item.wanted.judge(before)
                if reason:
                    raise DeclarationError(f"{view.title(before)} cannot become {item.wanted.purpose}: {reason}.")
                if reason is not None:
                    return Outcome(item.wanted, "unchanged", before, before)
            return STATES[item.wanted.state](run, item, before)
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
