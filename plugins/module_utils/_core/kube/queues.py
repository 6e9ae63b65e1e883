# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Opens, closes and drains queues, which Volcano does when it is told to by a Command."""

from __future__ import annotations

import typing as t

from ..model import queue, queue_use
from ..model.jobs.stop import orders
from . import stopping
from .errors import InUseError, KubeError, NotFoundError

if t.TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from .client import Client, Object
    from .declare import Outcome, Run

_GROUP = ("scheduling.volcano.sh/v1beta1", "PodGroup")
_WHY = "its queue is drained"


def users(client: Client, queues: Collection[str], deadline: float) -> dict[str, list[Mapping[str, t.Any]]]:
    """The gangs in each queue that have not ended; one list, and none when no queue is asked for."""
    if not queues:
        return {}
    groups = client.list(client.kind(*_GROUP), deadline=deadline, keep=queue_use.kept).items
    return queue_use.users(groups, queues)


def refused(name: str, groups: list[Mapping[str, t.Any]]) -> InUseError:
    return InUseError(
        f"Queue {name} is used by {queue_use.shown(groups)}: wait until they have ended, or set force to stop them."
    )


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


def empty(run: Run, name: str, groups: list[Mapping[str, t.Any]]) -> None:
    """Nothing uses the queue any more, and nothing new begins in it.

    :raises WaitError: when something has not ended before the deadline
    """
    from . import conditions
    from .wait import Target, wait

    live = run.client.find(run.client.kind(queue.NOUN["api"], queue.NOUN["kind"]), name, deadline=run.deadline)
    told = queue.command(live, "closed") if live else None
    if told:
        run.client.create(told, deadline=run.deadline)
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
