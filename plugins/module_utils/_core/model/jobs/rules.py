# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""What is wrong with a job as a whole."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ..check import Problem
from . import gang, objects, rules_form, rules_kind, rules_task, tasks

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .tasks import Given, Job

# An object's annotations may have 256 KiB together.
LARGEST = 200_000


def problems(name: str, spec: Mapping[str, Any], given: Given) -> Iterator[Problem]:
    """In steps: what a later one says would be about a job that nobody meant."""
    wrong = [*rules_form.form(spec), *_queue(spec, given), *rules_task.keys(spec)]
    if not wrong:
        job = objects.job(name, "", spec, given)
        wrong = [*rules_kind.problems(job), *_size(job), *rules_form.roles(job)]
    if not wrong:
        wrong = [
            *rules_form.bounds(job),
            *(problem for task in job.tasks for problem in rules_task.preconditions(job, task)),
        ]
    if not wrong:
        wrong = [problem for task in job.tasks for problem in rules_task.problems(job, task)]
    yield from wrong
    if not wrong and rules_task.sized(job):
        yield from gang.never_fits(job)


def _queue(spec: Mapping[str, Any], given: Given) -> Iterator[Problem]:
    where = ("schedulingPolicy", "queue")
    queue, state = tasks.queue(spec), given.get("queue", {}).get("state", "Open")
    if not queue:
        yield Problem(where, "missing", "the queue that the job runs in")
    elif state != "Open":
        yield Problem(where, f"'{queue}', which is {state}", "an open queue", "", "JobCreateFailed")
    for number, member in enumerate(spec.get("members", ())):
        own = member.get("schedulingPolicy", {}).get("queue", queue)
        if own != queue:
            yield Problem(("members", number, *where), f"'{own}'", f"left out, or the job's own, '{queue}'")


def _size(job: Job) -> Iterator[Problem]:
    size = len(json.dumps(job.spec))
    if size > LARGEST:
        remedy = "Put large data into a file system."
        yield Problem((), f"{size} characters long", f"at most {LARGEST} characters long", remedy)
