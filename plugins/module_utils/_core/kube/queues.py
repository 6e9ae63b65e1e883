# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Declares queues, and opens, closes and drains them, which Volcano does when it is told to by a Command."""

from __future__ import annotations

import time
import typing as t

from ..model import node_group, queue, queue_use
from ..model.jobs.stop import orders
from ..model.names import option
from ..plan import compare, order, refusal
from . import stopping
from .declare import declare
from .errors import DeclarationError, ForbiddenError, InUseError, KubeError, NotFoundError
from .guarantees import Keeping
from .wanted import Outcome

if t.TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from .client import Client, Object
    from .wanted import Item, Run, Wanted

_QUEUE = (queue.NOUN["api"], queue.NOUN["kind"])
_GROUP = ("scheduling.volcano.sh/v1beta1", "PodGroup")
_WHY = "its queue is drained"
# What was closed in vain is opened again even when the time of the task is over.
_UNDO_SECONDS = 10.0


def users(client: Client, queues: Collection[str], deadline: float) -> dict[str, list[Mapping[str, t.Any]]]:
    """The gangs in each queue that have not ended; one list, and none when no queue is asked for."""
    if not queues:
        return {}
    groups = client.list(client.kind(*_GROUP), deadline=deadline, keep=queue_use.kept).items
    return queue_use.users(groups, queues)


def carry(run: Run, wanted: Sequence[Wanted], force: bool) -> tuple[list[Outcome], list[str]]:
    """What became of each, and what is worth a look.

    :param force: whether what still runs in a queue that is taken away is stopped
    """
    queues = Queues(force)
    outcomes = queues.finish(run, declare(run._replace(extra=queues), wanted))
    lowered = [
        text
        for one in outcomes
        if one.action == "changed" and one.after is not None and order.is_queue(one.wanted.object)
        for text in queue.beyond(one.after)
    ]
    return outcomes, [*queues.remarks, *lowered]


class Queues(Keeping):
    def __init__(self, force: bool) -> None:
        super().__init__()
        self._force = force
        self._closed: dict[int, Object] = {}
        self.remarks: list[str] = []

    def prepare(
        self, run: Run, items: Mapping[int, Item], live: dict[int, Object | None], outcomes: dict[int, Outcome]
    ) -> None:
        leaving: dict[int, Object] = {}
        held: list[int] = []
        for position, item in items.items():
            before = live.get(position)
            if position in outcomes or not order.is_queue(item.wanted.object):
                continue
            if item.wanted.state == "absent" and before is not None:
                leaving[position] = before
            elif item.wanted.state == "present":
                same = compare.compare(item.wanted.object, before, item.wanted.exact, run.client.manager)
                if same is not compare.Verdict.SAME and "nodeGroup" in queue.declared(item.wanted.object):
                    held.append(position)
        if held:
            self._hold_to_groups(run, held, items, outcomes)
        if leaving:
            self._leave(run, items, leaving, outcomes)
        super().prepare(run, items, live, outcomes)

    def _hold_to_groups(
        self, run: Run, positions: Sequence[int], items: Mapping[int, Item], outcomes: dict[int, Outcome]
    ) -> None:
        """Who may not read nodes is told nothing."""
        try:
            nodes = run.client.list(run.client.kind("v1", "Node"), deadline=run.deadline, keep=_allocatable).items
        except ForbiddenError:
            return
        for position in positions:
            self._hold_to_group(position, items[position], nodes, outcomes)

    def _hold_to_group(self, position: int, item: Item, nodes: Sequence[Object], outcomes: dict[int, Outcome]) -> None:
        spec = queue.declared(item.wanted.object)
        group = [node for node in nodes if node_group.group_of(node) == spec["nodeGroup"]]
        if not group:
            self.remarks.append(
                f"queue {item.name}: the group {spec['nodeGroup']} has no nodes yet: its jobs wait until it has."
            )
            return
        wrong = [one.text(option) for one in queue.beyond_group(spec, group)]
        if wrong:
            error = DeclarationError(f"Queue {item.name}: {' '.join(wrong)}")
            outcomes[position] = Outcome(item.wanted, "failed", error=error)

    def _leave(
        self, run: Run, items: Mapping[int, Item], leaving: Mapping[int, Object], outcomes: dict[int, Outcome]
    ) -> None:
        """Nothing uses them any more, and nothing new begins in them between that and their end."""
        names = {items[position].name for position in leaving}
        below = queue_use.below(run.client.list(run.client.kind(*_QUEUE), deadline=run.deadline).items, names)
        used = users(run.client, names, run.deadline)
        for position, one in leaving.items():
            name = items[position].name
            error: KubeError | None = _needed(name, below.get(name, []), [] if self._force else used.get(name, []))
            if error is None and self._force:
                error = _refused(run, items[position], one)
            if error is not None:
                outcomes[position] = Outcome(items[position].wanted, "failed", one, None, error)
        going = {position: one for position, one in leaving.items() if position not in outcomes}
        if run.check or not going:
            return
        try:
            self._close(run, going)
            used = users(run.client, {items[position].name for position in going}, run.deadline)
            for position, one in going.items():
                groups = used.get(items[position].name, [])
                if groups and not self._force:  # they began before it was closed
                    error = _needed(items[position].name, [], groups)
                    outcomes[position] = Outcome(items[position].wanted, "failed", one, None, error)
                else:
                    end(run, groups)
        except KubeError as error:
            for position, one in going.items():
                outcomes.setdefault(position, Outcome(items[position].wanted, "failed", one, None, error))

    def _close(self, run: Run, going: Mapping[int, Object]) -> None:
        """One that Volcano has never opened takes no jobs, and may have nobody who closes it."""
        from . import conditions
        from .wait import Target, wait

        kind = run.client.kind(*_QUEUE)
        told: list[Target] = []
        shut = conditions.one_of("status.state", ["Closing", "Closed"])
        for position, one in going.items():
            command = queue.command(one, "closed") if (one.get("status") or {}).get("state") else None
            if command:
                run.client.create(command, deadline=run.deadline)
                self._closed[position] = one
                told.append(Target(kind, one["metadata"]["name"], "", shut, one))
        if told:
            wait(run.client, told, deadline=run.deadline)

    def finish(self, run: Run, outcomes: Sequence[Outcome]) -> list[Outcome]:
        """A queue that stays after all is opened again."""
        for position, before in self._closed.items():
            if outcomes[position].error is not None:
                closed = {**before, "status": {"state": "Closed"}}
                until = max(run.deadline, time.monotonic() + _UNDO_SECONDS)
                try:
                    run.client.create(queue.command(closed, "open") or {}, deadline=until)
                except KubeError as error:
                    name = before["metadata"]["name"]
                    self.remarks.append(
                        f"queue {name} was closed to be taken away, and could not be opened again: {error}"
                    )
        return super().finish(run, outcomes)


def _needed(name: str, below: Sequence[str], groups: list[Mapping[str, t.Any]]) -> InUseError | None:
    if below:
        return InUseError(f"Queue {name} has queues below it ({', '.join(below)}): take them away first, or move them.")
    if groups:
        return InUseError(
            f"Queue {name} is used by {queue_use.shown(groups)}: wait until they have ended, or set force to stop them."
        )
    return None


def _refused(run: Run, item: Item, live: Object) -> KubeError | None:
    """Why it would stay after all that is stopped for it. Volcano speaks of the queue as it still is (open, above others that
    leave with it); what it says then is heard when all that is over."""
    try:
        run.client.delete(item.kind, item.name, uid=live["metadata"]["uid"], dry_run=True, deadline=run.deadline)
    except KubeError as error:
        return None if refusal.of_volcano(str(error)) else error
    return None


def _allocatable(node: Object) -> Object:
    return {
        "metadata": {"labels": node["metadata"].get("labels", {})},
        "allocatable": (node.get("status") or {}).get("allocatable") or {},
    }


def steer(run: Run, outcome: Outcome, state: str, groups: list[Mapping[str, t.Any]]) -> Outcome:
    """The outcome of a declared queue again, now that it is open, closed or drained, or on its way to it."""
    live = outcome.after
    if outcome.error is not None:
        return outcome
    if live is None or "uid" not in live["metadata"]:  # only in check mode: it is still to be made
        return outcome._replace(steered=(queue.NOUN["states"][state], "", _goal(state)))
    told = queue.command(live, state)
    stopped = groups if state == "drained" else []
    if not told and not stopped:
        return outcome
    try:
        if told and not run.check:
            run.client.create(told, deadline=run.deadline)
        if not run.check:
            stop(run, stopped)
    except KubeError as error:
        return outcome.failing(error)
    now = live.get("status", {}).get("state", "")
    return outcome._replace(steered=(queue.NOUN["states"][state], now, _goal(state)))


def _goal(state: str) -> str:
    return "Open" if state == "open" else "Closed"


def stop(run: Run, groups: list[Mapping[str, t.Any]]) -> None:
    """Ends the gangs: jobs as their owner would stop them, pods of nobody's job by deleting them."""
    pods: dict[str, list[Object]] = {}
    for group in groups:
        job = queue_use.job_of(group)
        try:
            if job is not None:
                metadata = {"name": job.name, "namespace": job.namespace, "uid": job.uid}
                live = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": metadata}
                stopping.stop(run, live, orders(live, _WHY))
                continue
            namespace = group["metadata"]["namespace"]
            if namespace not in pods:
                pods[namespace] = run.client.list(
                    run.client.kind("v1", "Pod"), namespace, deadline=run.deadline, keep=_name
                ).items
            for pod in queue_use.pods_of(group, pods[namespace]):
                metadata = pod["metadata"]
                kind = run.client.kind("v1", "Pod")
                run.client.delete(kind, metadata["name"], namespace, uid=metadata["uid"], deadline=run.deadline)
        except NotFoundError:  # it has ended meanwhile
            continue


def end(run: Run, groups: list[Mapping[str, t.Any]]) -> None:
    """Stops the gangs and waits until they have ended.

    :raises WaitError: when something has not ended before the deadline
    """
    if not groups:
        return
    from . import conditions
    from .wait import Target, wait

    stop(run, groups)
    kind = run.client.kind(*_GROUP)
    ended = [
        Target(kind, one["metadata"]["name"], one["metadata"]["namespace"], conditions.either(
            conditions.deleted(one["metadata"]["uid"]), conditions.value("status.phase", "Completed")
        ))
        for one in groups
    ]  # fmt: skip
    wait(run.client, ended, deadline=run.deadline)


def _name(pod: Object) -> Object:
    metadata = {key: pod["metadata"][key] for key in ("name", "uid")}
    return {"metadata": {**metadata, "annotations": pod["metadata"].get("annotations", {})}}
