# SPDX-License-Identifier: Apache-2.0
"""Refusals of Volcano 1.14.1's webhooks, word by word."""

from __future__ import annotations

import pytest
from paddleflow_core.plan import refusal

SAID = 'Could not apply: admission webhook "validate{}.volcano.sh" denied the request: {}.'
NO_PARENT = 'failed to get parent queue of queue leaf: queue.scheduling.volcano.sh "team" not found'
TOO_MUCH = "queue leaf capability (cpu 8000.00) exceeds parent queue team capability (cpu 4000.00)"


@pytest.mark.parametrize(
    ("who", "text", "passing"),
    [
        ("queue", NO_PARENT, True),
        ("queue", TOO_MUCH, True),
        ("queue", "queue team capability (cpu 4) is less than child queue leaf capability (cpu 8)", True),
        ("queue", "queue team validation failed: sum of children's deserved (cpu 8) exceeds parent's capability", True),
        ("queue", "queue team can not be deleted because it has 1 child queues: leaf", True),
        ("queue", 'queue.scheduling.volcano.sh "leaf" not found', True),
        ("queue", "requestBody.spec.deserved: Invalid value: deserved should less equal than capability", False),
        ("queue", "`default` queue can not be deleted", False),
        ("job", ' unable to find job queue: queue.scheduling.volcano.sh "leaf" not found;', True),
        ("job", " can only submit job to queue with state `Open`, queue `leaf` status is ``;", True),
        ("job", "No task specified in job spec", False),
        ("pod", "queue `leaf` status is `Closed`", False),
    ],
)
def test_only_what_other_queues_are_to_blame_for_may_pass(who: str, text: str, passing: bool) -> None:
    assert refusal.may_pass(SAID.format(who, text)) is passing


def test_what_volcano_refuses_of_a_queue_is_told_from_what_others_do() -> None:
    assert refusal.of_volcano(SAID.format("queue", "`default` queue can not be deleted"))
    assert not refusal.of_volcano('Could not delete: admission webhook "policy.example.org" denied the request: no.')


@pytest.mark.parametrize(
    ("text", "others", "only"),
    [
        (NO_PARENT, set(), True),
        (TOO_MUCH, {"team"}, True),
        (TOO_MUCH, {"tea"}, False),
        (TOO_MUCH, set(), False),
        ("deserved of team should less equal than capability", {"team"}, False),
    ],
)
def test_check_mode_is_to_blame_where_it_did_not_write_the_other_queue(text: str, others: set[str], only: bool) -> None:
    assert refusal.of_check_mode(SAID.format("queue", text), others) is only
