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
        """Lowers queues that get less of something, the deepest first."""
        first: dict[int, Object] = {}
        found: dict[int, Object] = {}
        for position, item in items.items():
            before, wanted = live.get(position), item.wanted
            if run.check or before is None or not order.is_queue(wanted.object) or position in outcomes:
                continue
            same = compare.compare(wanted.object, before, wanted.exact, run.client.manager) is compare.Verdict.SAME
            less = None if same or wanted.state != "present" else queue_order.lowered(wanted.object, before)
            if less is not None:
                first[position], found[position] = less, before
        for wave in queue_order.waves(found):
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

    def told(self, position: int, outcome: Outcome) -> Outcome:
        """What became of a queue from the beginning."""
        before = self.before.get(position)
        if before is None:
            return outcome
        return outcome._replace(before=before, action="changed" if outcome.action == "unchanged" else outcome.action)

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
