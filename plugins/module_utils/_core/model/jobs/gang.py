# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""Whether a job's gang can ever be placed [D-152], by the queue's limit. Whether a node is large enough is the scheduler's to
say, which it does within a cycle: nodes come and go, and who declares a job may often not read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import quantity
from ..check import Problem
from . import tasks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .tasks import Job


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
            found = f"{shown(resource, amount)} {resource} for {count} pod{'s' if count > 1 else ''} at once"
            remedy = "It would wait for ever: ask for less, or lower minAvailable."
            yield Problem(("members",) if "members" in job.spec else ("flavour",), found, _limit(job, resource), remedy)


def _limit(job: Job, resource: str) -> str:
    return f"at most {job.given['queue']['max'][resource]}, the limit of queue {tasks.queue(job.spec)}"
