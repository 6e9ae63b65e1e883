# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""The module of jobs. It differs from those of other nouns: a declaration names what only the cluster knows, most of a job
cannot be changed, and its end is what people wait for."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NoReturn

from .._core.kube import jobs
from .._core.kube.errors import KubeError
from .._core.model import job
from .._core.model.jobs import state, tasks
from . import connect, noun, results

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._core.kube.conditions import Check
    from .._core.kube.wanted import Outcome, Run

BESIDE: dict[str, Any] = {"wait_until": {"type": "str", "choices": ["running", "succeeded"], "default": "succeeded"}}
# For what became of the pods of a job whose wait ended badly.
_EXPLAIN_SECONDS = 10.0
# What is as good as the state that is waited for.
_REACHED = {"running": ("running", "succeeded"), "succeeded": ("succeeded",), "stopped": state.FINAL}


def run() -> NoReturn:
    module, declarations = noun.begin(job, BESIDE)
    # What is named alone may be of any kind.
    foreign = any(tasks.kind(one.spec) != tasks.VOLCANO or one.state != "present" for one in declarations)
    try:
        client = connect.client(module, discover=foreign)
        how = noun.manner(module, client)
        requests = [
            jobs.Request(
                one.name, one.namespace or client.namespace, one.state.removeprefix("only "), one.spec, one.metadata, one.where
            )
            for one in declarations
        ]  # fmt: skip
        outcomes, remarks = jobs.carry(how, requests, module.params["recreate"])
        for text in remarks:
            module.warn(text)
        if module.params["wait"] and not module.check_mode and not any(one.error for one in outcomes):
            outcomes = _ready(how, requests, outcomes, module.params["wait_until"])
    except KubeError as error:
        module.fail_json(msg=str(error))
    results.leave(module, outcomes)


def _ready(how: Run, requests: Sequence[jobs.Request], outcomes: list[Outcome], until: str) -> list[Outcome]:
    from .._core.kube.wait import waited

    goals: dict[int, Check] = {}
    for position, request in enumerate(requests):
        if request.state != "absent" and outcomes[position].after is not None:
            goals[position] = _reaches("stopped" if request.state == "stopped" else until)
    again = waited(how, goals, outcomes)
    return [_explained(how, one) for one in again]


def _reaches(goal: str) -> Check:
    from .._core.kube import conditions

    def over(found: dict[str, Any]) -> str:
        seen = state.observe(found)
        ended = seen["state"] in state.FINAL and seen["state"] not in _REACHED[goal]
        return f"it has {seen['state']}" if ended else ""

    def gone(found: dict[str, Any] | None) -> conditions.Verdict:
        """What an operator ran is stopped by taking it away."""
        return conditions.deleted()(found) if found is None and goal == "stopped" else ends(found)

    def reached(found: dict[str, Any]) -> bool:
        return state.observe(found)["state"] in _REACHED[goal]

    ends = conditions.unless(over, conditions.satisfies(reached, f"it has {goal}" if goal != "running" else "it runs"))
    return gone


def _explained(how: Run, outcome: Outcome) -> Outcome:
    """A wait that ended badly says what became of the job's pods."""
    if outcome.error is None or outcome.after is None:
        return outcome
    until = time.monotonic() + _EXPLAIN_SECONDS
    metadata = outcome.after["metadata"]
    try:
        kind = how.client.kind(outcome.after["apiVersion"], outcome.after["kind"], deadline=until)
        live = how.client.find(kind, metadata["name"], metadata["namespace"], deadline=until)
        if live is None:
            return outcome
        seen = jobs.observe(how.client, live, until)
    except KubeError:  # it says more of what is known already
        return outcome
    return outcome._replace(
        error=KubeError(f"{outcome.error} It is {seen['state']}: {seen['message'] or 'nothing more is known'}.")
    )
