# SPDX-License-Identifier: Apache-2.0
"""What may be changed of a job, in which state; and when it goes by itself."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from paddleflow_core.model import job
from paddleflow_core.model.jobs import changes, stop

from tests.support import jobs

SPEC = job.NOUN["spec"]
RIGID = jobs.distributed("pytorch", {"role": "master"}, {"role": "worker", "replicas": 2}, command="run")
ELASTIC = jobs.distributed("pytorch", {"role": "worker", "replicas": 2, "maxReplicas": 4}, command="run")


def said(old: dict[str, Any], new: dict[str, Any], now: str) -> list[str]:
    return [problem.text() for problem in changes.problems(SPEC, old, new, now)]


def with_policy(**policy: Any) -> dict[str, Any]:
    return {**RIGID, "schedulingPolicy": {**jobs.POLICY, **policy}}


def replicas(spec: dict[str, Any], number: int, **more: Any) -> dict[str, Any]:
    *others, last = spec["members"]
    return {**spec, "members": [*others, {**last, "replicas": number, **more}]}


@pytest.mark.parametrize(
    ("old", "new", "now"),
    [
        (RIGID, RIGID, "running"),
        (RIGID, with_policy(priority="NORMAL"), "running"),  # the default; no change is a success [D-145]
        (RIGID, with_policy(priority="HIGH"), "init"),
        (RIGID, with_policy(priority="VERY_LOW"), "pending"),
        (RIGID, {**RIGID, "labels": {"a": "b"}}, "running"),
        (RIGID, {**RIGID, "annotations": {"a": "b"}, "displayName": "x"}, "pending"),
        (ELASTIC, replicas(ELASTIC, 4), "running"),
        (ELASTIC, {**ELASTIC, "minAvailable": 1}, "running"),
        (RIGID, {**RIGID, "image": "other"}, "succeeded"),  # it has ended: another one may be made
    ],
)
def test_what_may_change(old: dict[str, Any], new: dict[str, Any], now: str) -> None:
    assert said(old, new, now) == []


EARLY = "it changes only while a job is"
ONLY = "Only another job can have it: use recreate."


@pytest.mark.parametrize(
    ("old", "new", "now", "text"),
    [
        (RIGID, with_policy(priority="HIGH"), "running",
         f"schedulingPolicy.priority is changed while the job is running, but must be what it was: {EARLY} init or pending. {ONLY}"),
        (RIGID, {**RIGID, "labels": {"a": "b"}}, "terminating", "labels is changed while the job is terminating, but must be"),
        (RIGID, {**RIGID, "image": "other"}, "pending",
         f"image is changed from 'registry.example.org/pytorch:3.5.1' to 'other', but must be what it was. {ONLY}"),
        (RIGID, with_policy(queue="other"), "pending", "schedulingPolicy.queue is changed from 'vision' to 'other', but must be what it was."),
        (RIGID, with_policy(preemptable=False), "pending", "schedulingPolicy.preemptable is changed from True to False"),
        (RIGID, replicas(RIGID, 3), "running", "members[1].replicas is changed from 2 to 3, but must be what it was."),
        (ELASTIC, replicas(ELASTIC, 3, image="x"), "running", "members[0].image is changed from None to 'x', but must be what it was."),
        (RIGID, {**RIGID, "members": RIGID["members"][:1]}, "running", "members is changed from [{"),
        (RIGID, {**RIGID, "minAvailable": 2}, "running", "minAvailable is changed from None to 2, but must be what it was."),
    ],
)  # fmt: skip
def test_everything_else_is_named_with_its_remedy(
    old: dict[str, Any], new: dict[str, Any], now: str, text: str
) -> None:
    found = said(old, new, now)
    assert any(line.startswith(text) for line in found), found


def fields(level: Any) -> dict[str, bool]:
    """Each field, and whether it is one that cannot change."""
    found: dict[str, bool] = {}
    for name, field in level.items():
        if name == "schedulingPolicy":
            found |= fields(field["fields"])
        elif name == "members":
            found |= fields(field["items"]["fields"])
        else:
            found[name] = field.get("immutable", False)
    return found


def test_the_table_says_the_same() -> None:
    found = fields(SPEC)
    assert {name for name, immutable in found.items() if not immutable} == set(changes.MUTABLE)


def test_an_empty_label_takes_the_label_away() -> None:
    """[D-146]"""
    assert changes.merged({"a": "1", "b": "2", "c": ""}, {"a": "", "d": "4"}) == {"b": "2", "c": "", "d": "4"}


@given(st.sampled_from(sorted(jobs.VOLCANO)))
def test_an_update_writes_only_what_its_engine_lets_through(case: str) -> None:
    live = jobs.built(case)
    live["metadata"]["resourceVersion"] = "7"
    wanted = jobs.built(case)
    wanted["metadata"]["labels"]["team"] = "new"
    wanted["spec"] |= {"priorityClassName": "high", "minAvailable": 1, "queue": "other", "maxRetry": 3}
    wanted["spec"]["tasks"][0] |= {"replicas": 9, "minAvailable": 1, "template": {}}
    found = changes.revised(live, wanted)
    assert found["metadata"] == wanted["metadata"]
    expected = {**live["spec"], "priorityClassName": "high", "minAvailable": 1}
    first, *others = live["spec"]["tasks"]
    assert found["spec"] == {**expected, "tasks": [{**first, "replicas": 9, "minAvailable": 1}, *others]}


def test_an_update_of_an_operators_object_has_no_tasks() -> None:
    live = jobs.built("workflow")
    assert changes.revised(live, live) == live


def test_a_job_is_stopped_with_a_reason_and_only_once() -> None:
    live = jobs.built("mpi")
    live["metadata"]["uid"] = "u1"
    found = changes.stop(live, "running", "by ada")
    assert found is not None
    patch, command = found
    assert patch == {"metadata": {"annotations": {stop.STOP: "by ada"}}}
    assert command is not None
    assert (command["action"], command["target"]["uid"], command["metadata"]["name"]) == (
        "TerminateJob",
        "u1",
        "stop-u1",
    )
    assert changes.stop(live, "succeeded", "by ada") is None  # [D-147]
    assert changes.stop(jobs.built("rayjob"), "pending", "") == ({"metadata": {"annotations": {stop.STOP: ""}}}, None)


NOW = datetime(2026, 1, 1, 1, 0, 0, tzinfo=UTC)
TTL = {"ttlSeconds": {"succeeded": 600, "failed": 3600, "pending": 60}}


@pytest.mark.parametrize(
    ("spec", "reached", "ended", "text"),
    [
        (TTL, "succeeded", "2026-01-01T00:49:59Z", "succeeded for 601 seconds, more than 600"),  # [D-150]
        (TTL, "succeeded", "2026-01-01T00:50:00Z", ""),
        (TTL, "failed", "2026-01-01T00:30:00Z", ""),
        (TTL, "preempted", "2025-12-31T00:00:00Z", "preempted for 90000 seconds, more than 3600"),
        (TTL, "running", "2025-01-01T00:00:00Z", ""),
        (TTL, "pending", None, "pending for 3600 seconds, more than 60"),
        (TTL, "init", None, "init for 3600 seconds, more than 60"),
        ({}, "succeeded", "2025-01-01T00:00:00Z", ""),
        (TTL, "succeeded", None, ""),
        ({"annotations": {"paddleflow/job-ttl-seconds": "5"}}, "failed", "2026-01-01T00:59:00Z", "failed for 60 seconds, more than 5"),
        ({**TTL, "annotations": {"paddleflow/job-ttl-seconds": "soon"}}, "failed", "2026-01-01T00:59:00Z", ""),
    ],
)  # fmt: skip
def test_when_a_job_goes_by_itself(spec: dict[str, Any], reached: str, ended: str | None, text: str) -> None:
    live = {
        "metadata": {"creationTimestamp": "2026-01-01T00:00:00Z"},
        "status": {"state": {"lastTransitionTime": ended} if ended else {}},
    }
    assert changes.overdue(spec, live, NOW, reached) == text
