# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Keeps what queues keep to themselves, and with it the sums of the queues above them, as declarations say.

The sums depend on more queues than one declaration names. So guarantees are written by a field manager of their own: a
queue that is declared alone does not take away what it keeps for those below it. Less is written before the queues, more
after them, for a guarantee is never more than the min of its queue.
"""

from __future__ import annotations

import time
import typing as t

from ..model import own
from ..model.queue import NOUN
from ..plan import guarantees, order, view
from .client import Client
from .errors import DeclarationError, KubeError
from .queue_tree import Tree
from .stale import STALE_SECONDS, patiently
from .wanted import Outcome

if t.TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from .client import Object
    from .wanted import Item, Run

MANAGER = "paddleflow-guarantee"


class Keeping(Tree):
    def __init__(self) -> None:
        super().__init__()
        self._queues: dict[int, Item] = {}
        # Whose declaration changes what is kept.
        self._touched: list[int] = []
        self._live: dict[str, Object] = {}

    def prepare(
        self, run: Run, items: Mapping[int, Item], live: dict[int, Object | None], outcomes: dict[int, Outcome]
    ) -> None:
        for position, item in items.items():
            if (
                position not in outcomes
                and item.wanted.state in ("present", "absent")
                and order.is_queue(item.wanted.object)
            ):
                self._queues[position] = item
                if not guarantees.settled(_kept(item), live.get(position)):
                    self._touched.append(position)
        if self._touched:
            kind = run.client.kind(NOUN["api"], NOUN["kind"])
            try:
                listed = run.client.list(kind, deadline=run.deadline).items
                self._live = {one["metadata"]["name"]: one for one in listed}
                self._refuse(outcomes)
                for name, less in [] if run.check else self._changes(outcomes, guarantees.lesser):
                    after = self._write(run, name, less)
                    for position, item in self._queues.items():
                        before = live.get(position)
                        if item.name == name and before is not None:
                            self.before[position], live[position] = before, after
            except KubeError as error:
                for position in self._touched:
                    outcomes.setdefault(position, Outcome(self._queues[position].wanted, "failed", error=error))
        super().prepare(run, items, live, outcomes)

    def _refuse(self, outcomes: dict[int, Outcome]) -> None:
        """What the queues above are not entitled to, or what nobody but their owner may let them keep."""
        tree = self._tree(outcomes)
        due = guarantees.due(tree.values())
        for position in self._touched:
            item = self._queues[position]
            if _kept(item) and guarantees.own_of(item.wanted.object):
                above = guarantees.above(item.name, tree)
                wrong = next(filter(None, (guarantees.short_of(tree[one], due[one]) for one in above)), "")
                if wrong:
                    text = f"{view.title(item.wanted.object)} cannot keep its min to itself: {wrong}."
                    outcomes[position] = Outcome(item.wanted, "failed", error=DeclarationError(text))

    def _tree(self, without: Collection[int]) -> dict[str, Object]:
        """The queues as they are once everything is as declared, but for those at some positions."""
        tree = dict(self._live)
        for position, item in self._queues.items():
            if position not in without:
                tree.pop(item.name, None)
                kept = _kept(item)
                if kept is not None:
                    tree[item.name] = kept
        return tree

    def _changes(
        self, without: Collection[int], how: t.Callable[[guarantees.Amounts, guarantees.Amounts], guarantees.Amounts]
    ) -> list[tuple[str, guarantees.Amounts]]:
        """What live queues of ours have to keep otherwise, by name, the deepest first. `how`: of what one keeps and is due."""
        tree = self._tree(without)
        due = guarantees.due(tree.values())
        names: set[str] = set()
        for position in self._touched:
            name = self._queues[position].name
            if position not in without:
                names |= {name, *guarantees.above(name, tree), *guarantees.above(name, self._live)}
        found = []
        for name in sorted(names & self._live.keys(), key=lambda one: (-len(guarantees.above(one, self._live)), one)):
            said = guarantees.said(self._live[name])
            wanted = how(said, due.get(name, {}))
            if wanted != said and own.is_ours(self._live[name]):
                found.append((name, wanted))
        return found

    def _write(self, run: Run, name: str, amounts: guarantees.Amounts) -> Object:
        found = self._live[name]
        # With the uid, so that a queue which went meanwhile is not made anew by it.
        wanted: Object = {key: found[key] for key in ("apiVersion", "kind")}
        wanted["metadata"] = {key: found["metadata"][key] for key in ("name", "uid") if key in found["metadata"]}
        if amounts:
            wanted["spec"] = {"guarantee": {"resource": guarantees.texts(amounts)}}
        if run.check:
            return {**found, "spec": {**found["spec"], "guarantee": None, **wanted.get("spec", {})}}
        writer = Client(run.client.transport, manager=MANAGER)
        self._live[name] = patiently(
            min(run.deadline, time.monotonic() + STALE_SECONDS),
            lambda: writer.apply(wanted, force_conflicts=True, deadline=run.deadline),
        )
        return self._live[name]

    def finish(self, run: Run, outcomes: Sequence[Outcome]) -> list[Outcome]:
        """What becomes more, the highest first."""
        again = list(outcomes)
        failed = {position for position, one in enumerate(again) if one.error is not None}
        for position, item in self._queues.items():
            after = again[position].after
            if position not in failed:
                self._live.pop(item.name, None)
                self._live.update({item.name: after} if after is not None and self._touched else {})
        try:
            for name, amounts in reversed(self._changes(failed, lambda _said, due: due)):
                after = self._write(run, name, amounts)
                for position, item in self._queues.items():
                    if item.name == name and position not in failed:
                        one = again[position]._replace(after=after)
                        again[position] = one._replace(action="changed") if one.action == "unchanged" else one
        except KubeError as error:
            for position in self._touched:
                if position not in failed:
                    again[position] = again[position]._replace(action="failed", error=error)
        return again


def _kept(item: Item) -> Object | None:
    """The queue as it shall be there; None when it shall not."""
    return item.wanted.object if item.wanted.state == "present" else None
