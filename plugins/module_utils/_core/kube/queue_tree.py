# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Declares objects among which there are queues: what webhooks of Volcano let pass depends on the queues above and below, as
these webhooks know them."""

from __future__ import annotations

import time
import typing as t

from ..plan import compare, order, queue_order
from . import conditions
from .declare import declare, side_by_side
from .errors import KubeError
from .wait import Target, wait
from .wanted import Extra

if t.TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .client import Object
    from .wanted import Item, Outcome, Run, Wanted

# Volcano's controller opens a new queue within hundredths of a second. Where it does not run, none is ever open, and what
# comes next is still for the webhooks to judge.
OPEN_SECONDS = 5.0


# For putting back what a change that was refused has lowered, even when the time of the task is over.
_UNDO_SECONDS = 10.0


def carry(run: Run, wanted: Sequence[Wanted]) -> list[Outcome]:
    if not any(order.is_queue(one.object) for one in wanted):
        return declare(run, wanted)
    return declare(run._replace(extra=Tree()), wanted)


class Tree(Extra):
    def __init__(self) -> None:
        # As they were before they were lowered.
        self.before: dict[int, Object] = {}

    def prepare(
        self,
        run: Run,
        items: Mapping[int, Item],
        live: dict[int, Object | None],
        outcomes: dict[int, Outcome],
    ) -> None:
        """Lowers queues that get less of something, the deepest first. One that changes alone is written at once."""
        first: dict[int, Object] = {}
        found: dict[int, Object] = {}
        changing = 0
        for position, item in items.items():
            before, wanted = live.get(position), item.wanted
            if run.check or not order.is_queue(wanted.object) or position in outcomes:
                continue
            same = compare.compare(wanted.object, before, wanted.exact, run.client.manager) is compare.Verdict.SAME
            changing += not same
            less = (
                None
                if same or wanted.state != "present" or before is None
                else queue_order.lowered(wanted.object, before)
            )
            if less is not None and before is not None:
                first[position], found[position] = less, before
        for wave in queue_order.waves(found) if changing > 1 else ():
            lowering = {position: self._only(items[position], first[position]) for position in wave}
            for position, outcome in zip(wave, side_by_side(run, lowering, live, wave), strict=True):
                outcome = outcome._replace(wanted=items[position].wanted)
                if outcome.error is not None or queue_order.final(items[position].wanted.object, first[position]):
                    outcomes[position] = outcome
                else:
                    self.before[position], live[position] = found[position], outcome.after

    @staticmethod
    def _only(item: Item, less: Object) -> Item:
        return item._replace(wanted=item.wanted._replace(object=less))

    def told(self, run: Run, outcomes: list[Outcome]) -> list[Outcome]:
        """What became of queues from the beginning; one whose change was refused is as it was, the highest first."""
        refused = {position: one for position, one in self.before.items() if outcomes[position].error is not None}
        put_back = {
            position: _put_back(run, refused[position])
            for wave in reversed(queue_order.waves(refused))
            for position in wave
        }
        for position, before in self.before.items():
            outcome = outcomes[position]._replace(before=before)
            error = put_back.get(position)
            if error is not None:
                text = f"{outcome.error} It was lowered before that, and could not be put back: {error}"
                outcome = outcome._replace(action="changed", error=KubeError(text))
            elif outcome.action == "unchanged":
                outcome = outcome._replace(action="changed")
            outcomes[position] = outcome
        return outcomes

    def settle(self, run: Run, written: Sequence[Outcome], later: Sequence[Object]) -> None:
        """Waits for the new queues that something which comes later is in."""
        specs = [one["spec"] for one in later if isinstance(one.get("spec"), dict)]
        used = {str(spec.get(field) or "") for spec in specs for field in ("parent", "queue")}
        new = [
            one.after
            for one in written
            if one.action == "created" and one.after is not None and order.is_queue(one.wanted.object)
        ]
        waited = [one for one in new if one["metadata"]["name"] in used]
        if run.check or not waited:
            return
        kind = run.client.kind(waited[0]["apiVersion"], waited[0]["kind"])
        is_open = conditions.value("status.state", "Open")
        targets = [Target(kind, one["metadata"]["name"], "", is_open, one) for one in waited]
        try:
            wait(run.client, targets, deadline=min(run.deadline, time.monotonic() + OPEN_SECONDS))
        except KubeError:  # see above; and what was written is told by those who write
            return


def _put_back(run: Run, before: Object) -> KubeError | None:
    """What became of it, when that is not good."""
    manager = run.client.manager
    metadata = {key: before["metadata"][key] for key in ("name", "uid")}
    owned = compare.owned_fields(before, manager)
    # What was lowered of somebody else's queue is ours since then: all of it has to be said, or it would go.
    was = {"spec": before["spec"]} if owned is None else compare.ours(before, owned)
    was = {
        **was,
        "apiVersion": before["apiVersion"],
        "kind": before["kind"],
        "metadata": {**was.get("metadata", {}), **metadata},
    }
    try:
        run.client.apply(was, force_conflicts=True, deadline=max(run.deadline, time.monotonic() + _UNDO_SECONDS))
    except KubeError as error:
        return error
    return None
