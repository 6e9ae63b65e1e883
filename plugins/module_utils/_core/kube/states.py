# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""How one object comes into the state that is wanted of it: what to ask the server, and what to tell of its answer."""

from __future__ import annotations

import typing as t

from ..plan import compare, order, view
from ..plan.refusal import of_check_mode
from .errors import (
    AlreadyExistsError,
    DeclarationError,
    ForbiddenError,
    InvalidError,
    KubeError,
    MissingError,
    NotFoundError,
)
from .stale import patiently
from .wanted import Outcome

if t.TYPE_CHECKING:
    from collections.abc import Callable

    from .client import Object
    from .wanted import Item, Run, Wanted

# What a dry run refuses only because the old object still has it.
_HELD = ("exceeded quota", "already allocated")


def unchanged(run: Run, wanted: Wanted, before: Object) -> bool:
    """Whether it shall be present and is, just as declared."""
    plain = wanted.state == "present" and wanted.judge is None and wanted.revise is None
    if not plain or before["metadata"].get("deletionTimestamp"):
        return False
    return compare.compare(wanted.object, before, wanted.exact, run.client.manager) is compare.Verdict.SAME


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
        if _unwritten(run, item, error):
            after = wanted.object if before is None else {**before, "spec": wanted.object.get("spec")}
            return Outcome(wanted, "created" if before is None else "changed", before, after)
        if before is None or not _frozen(error) or not wanted.recreate:
            raise
        return _recreated(run._replace(check=True), item, before)
    old, new = view.pair(before, after)
    if before is not None and old == new and compare.owned_fields(before, run.client.manager) is not None:
        return Outcome(wanted, "unchanged", before, before)
    return Outcome(wanted, "created" if before is None else "changed", before, after)


def _unwritten(run: Run, item: Item, error: KubeError) -> bool:
    """Whether it is only said because check mode did not write other queues."""
    itself = {item.name} if order.is_queue(item.wanted.object) else set()
    return run.check and of_check_mode(str(error), run.queues - itself)


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
    _renewable(run, item)
    _delete(run, item, before)
    if run.check:
        return Outcome(wanted, "recreated", before, wanted.object)
    try:
        _gone(run, item, before)
        after = _applied_to(run, wanted.object)
    except KubeError as error:
        return Outcome(wanted, "deleted", before, None, error)
    return Outcome(wanted, "recreated", before, after)


def _renewable(run: Run, item: Item) -> None:
    """What exists is not taken away for what cannot be made.

    :raises KubeError: when it cannot
    """
    try:
        run.client.create(item.wanted.object, dry_run=True, deadline=run.deadline)
    except AlreadyExistsError:  # the last thing that is looked at
        return
    except (ForbiddenError, InvalidError) as error:
        if not any(words in str(error) for words in _HELD) and not _unwritten(run, item, error):
            raise


def _absent(run: Run, item: Item, before: Object | None) -> Outcome:
    if before is None:
        return Outcome(item.wanted, "unchanged")
    if item.wanted.part:
        return _released(run, item, before)
    going = bool(before["metadata"].get("deletionTimestamp"))
    outcome = Outcome(item.wanted, "unchanged" if going else "deleted", before, None)
    if not going:
        _delete(run, item, before)
    try:
        if run.wait and not run.check:
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
    title = view.title(item.wanted.object)
    if item.wanted.state == "amended":
        raise MissingError(f"{title} is not there and cannot become {item.wanted.purpose}: check name and namespace.")
    raise MissingError(f"{title} does not exist: declare it first.")


def _delete(run: Run, item: Item, before: Object) -> None:
    """In check mode only asked whether it would be done."""
    uid = before["metadata"]["uid"]
    propagation: t.Literal["Foreground", "Background"] = "Foreground" if item.wanted.foreground else "Background"

    def delete() -> None:
        run.client.delete(
            item.kind,
            item.name,
            item.namespace,
            uid=uid,
            propagation=propagation,
            dry_run=run.check,
            deadline=run.deadline,
        )

    if not run.check:
        patiently(run.patience, delete)
        return
    try:
        delete()
    except InvalidError as error:
        if not _unwritten(run, item, error):
            raise


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
        return _missing(run, item)
    change = {key: value for key, value in item.wanted.object.items() if key not in ("apiVersion", "kind", "metadata")}
    if compare.holds(change, before):
        return Outcome(item.wanted, "unchanged", before, before)
    after = run.client.patch(item.kind, item.name, change, item.namespace, dry_run=run.check, deadline=run.deadline)
    return Outcome(item.wanted, "changed", before, after)


STATES: dict[str, Callable[[Run, Item, Object | None], Outcome]] = {
    "present": _present,
    "absent": _absent,
    "ensured": _ensured,
    "found": _found,
    "amended": _amended,
    "kept": _kept,
}
