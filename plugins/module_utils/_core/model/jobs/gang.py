# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""Whether a job's gang can ever be placed [D-152]: by the queue's limit and the nodes that there are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import quantity
from ..check import Problem
from . import tasks

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .tasks import Job, Task


def least(job: Job) -> dict[str, int]:
    """What the pods that have to fit at once ask for together, in billionths."""
    known = tasks.flavours(job.given)
    more = tasks.available(job.spec, job.tasks) - sum(task.low for task in job.tasks)
    sums: dict[str, int] = {}
    for task in job.tasks:
        beyond = min(more, task.replicas - task.low)
        more -= beyond
        for resource, amount in tasks.requests(task.spec, known).items():
            sums[resource] = sums.get(resource, 0) + (task.low + beyond) * quantity.parse(amount)
    return sums


def shown(resource: str, amount: int) -> str:
    return quantity.text(amount, resource == "memory")


def never_fits(job: Job) -> Iterator[Problem]:
    """Each reason by itself. Only dimensions that are asked for count, and a limit that is not there is none [D-106]."""
    high = job.given.get("queue", {}).get("max", {})
    for resource, amount in least(job).items():
        limit = high.get(resource)
        if limit is not None and amount > quantity.parse(limit):
            count = tasks.available(job.spec, job.tasks)
            found = f"{shown(resource, amount)} {resource} for {count} pods at once"
            remedy = "It would wait for ever: ask for less, or lower minAvailable."
            yield Problem(("members",) if "members" in job.spec else ("flavour",), found, _limit(job, resource), remedy)
    if "nodes" in job.given:
        for task in job.tasks:
            yield from _placed(job, task)


def _limit(job: Job, resource: str) -> str:
    return f"at most {job.given['queue']['max'][resource]}, the limit of queue {tasks.queue(job.spec)}"


def _placed(job: Job, task: Task) -> Iterator[Problem]:
    asked = {
        resource: quantity.parse(amount)
        for resource, amount in tasks.requests(task.spec, tasks.flavours(job.given)).items()
        if quantity.parse(amount)
    }
    places = sum(_room(node, asked) for node in job.given["nodes"])
    if places >= max(task.low, 1):
        return
    wanted = ", ".join(f"{resource} {shown(resource, amount)}" for resource, amount in asked.items())
    where = tasks.where(job, task, "flavour")
    if places:
        yield Problem(where, f"{wanted} for {task.low} pods", f"what the nodes have room for: {places} such pods")
    else:
        yield Problem(where, wanted, "what one of the nodes has")


def _room(node: Mapping[str, Any], asked: Mapping[str, int]) -> int:
    """How many pods an empty node could hold."""
    return min((quantity.parse(node.get(name, 0)) // amount for name, amount in asked.items()), default=0)
