# SPDX-License-Identifier: Apache-2.0
"""Whether a gang can ever be placed, and what it needs at once."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from paddleflow_core.model import check, job
from paddleflow_core.model.jobs import affinity, gang, objects, tasks

from tests.support import jobs

SPEC = job.NOUN["spec"]
TORCH = jobs.distributed(
    "pytorch", {"role": "worker", "replicas": 4, "flavour": {"cpu": 4, "memory": "8Gi"}}, command="run"
)
REMEDY = "It would wait for ever: ask for less, or lower minAvailable."
NODE = {"cpu": "8", "memory": "64Gi", "pods": 110}


def said(spec: dict[str, Any], **given: Any) -> list[str]:
    read, problems = check.read(SPEC, spec)
    assert problems == []
    return [problem.text() for problem in job.problems("a", read, given)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("spec", "given", "text"),
    [
        # the queue [D-110, D-152]
        (TORCH, {"queue": {"max": {"cpu": 16}}}, ""),
        (TORCH, {"queue": {"max": {"cpu": "15500m"}}},
         f"members is 16 cpu for 4 pods at once, but must be at most 15500m, the limit of queue vision. {REMEDY}"),
        (TORCH, {"queue": {"max": {"memory": "16Gi"}}}, "members is 32Gi memory for 4 pods at once, but must be at most 16Gi"),
        ({**TORCH, "minAvailable": 2}, {"queue": {"max": {"memory": "16Gi"}}}, ""),  # what has to fit at once
        (TORCH, {"queue": {"max": {"nvidia.com/gpu": 0}}}, ""),  # only what is asked for counts
        ({"schedulingPolicy": jobs.POLICY, "image": "x", "command": "y"}, {"queue": {"max": {"cpu": 0}}},
         "flavour is 1 cpu for 1 pod at once, but must be at most 0, the limit of queue vision."),  # an explicit 0 is none [D-106]
    ],
)  # fmt: skip
def test_a_gang_that_can_never_fit_is_refused_with_the_reason(
    spec: dict[str, Any], given: dict[str, Any], text: str
) -> None:
    found = said(spec, **given)
    assert any(line.startswith(text) for line in found) if text else found == [], found


def test_sizes_that_are_not_known_are_not_judged() -> None:
    spec = {**TORCH, "members": [{"role": "worker", "flavour": {"name": "gpu"}}]}
    none = {"max": {"cpu": 0}}
    assert said(spec, queue=none) == []
    assert said(spec, queue=none, flavours=jobs.GIVEN["flavours"]) != []


@pytest.mark.parametrize(
    ("members", "available", "lows"),
    [
        ([("master", 1, None), ("worker", 4, None)], 3, [1, 2]),
        ([("pserver", 2, None), ("worker", 4, None), ("worker", 2, None)], 3, [2, 1, 0]),
        ([("worker", 4, 1)], 3, [1]),
        ([("driver", 1, None), ("executor", 3, None)], 1, [1, 0]),
    ],
)
def test_a_jobs_own_minimum_lowers_that_of_the_members_which_are_several(
    members: list[tuple[str, int, int | None]], available: int, lows: list[int]
) -> None:
    """[D-151]"""
    declared = [
        {"role": role, "replicas": replicas, **({} if low is None else {"minAvailable": low})}
        for role, replicas, low in members
    ]
    spec = {"kind": "distributed", "framework": "paddle", "members": declared, "minAvailable": available}
    found = tasks.tasks(spec)
    assert [task.low for task in found] == lows
    assert tasks.available(spec, found) == available


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 9)), min_size=1, max_size=4), st.integers(0, 40))
def test_what_is_needed_at_once_is_for_as_many_pods_as_have_to_fit(sizes: list[tuple[int, int]], more: int) -> None:
    members = [{"role": "worker", "replicas": n, "minAvailable": min(low, n)} for n, low in sizes]
    least, total = sum(min(low, n) for n, low in sizes), sum(n for n, _low in sizes)
    available = min(least + more, total)
    spec = {"kind": "distributed", "framework": "ray", "members": members, "minAvailable": available}
    assert gang.least(objects.job("a", "", spec, {}))["cpu"] == available * 10**9


GI = 1024**3


@pytest.mark.parametrize(
    ("mounts", "weights"),
    [
        ([], []),
        ([{"cached": {"a": GI}}], []),  # of how many is not known
        ([{"totalBytes": 10 * GI, "cached": {"a": 10 * GI, "b": 5 * GI, "c": 3 * GI, "d": GI, "e": GI // 20}}],
         [(100, ["a"]), (75, ["b"]), (50, ["c"]), (25, ["d"])]),
        ([{"totalBytes": GI, "cached": {"b": GI, "a": GI}}, {"totalBytes": GI, "cached": {"c": GI}}], [(75, ["a", "b", "c"])]),
        ([{"totalBytes": GI, "cached": {"a": 63 * 1024**2}}], []),
    ],
)  # fmt: skip
def test_nodes_near_the_data_are_preferred_by_their_share(
    mounts: list[Any], weights: list[tuple[int, list[str]]]
) -> None:
    """[D-62]"""
    found = affinity.terms(mounts)
    assert [(term["weight"], term["preference"]["matchExpressions"][0]["values"]) for term in found] == weights
