# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest
from paddleflow_core.model import queue as model
from paddleflow_core.plan.headroom import headroom


def queue(name: str, parent: str = "root", used: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    (built,) = model.build(name, "", {"parent": parent, **spec})
    return {**built, **({} if used is None else {"status": {"allocated": used}})}


def test_what_is_left_of_limit_and_entitlement() -> None:
    found = headroom(
        queue(
            "team",
            max={"cpu": 64, "memory": "256Gi"},
            min={"cpu": 32, "nvidia.com/gpu": 4},
            used={"cpu": "40500m", "memory": str(2**34), "nvidia.com/gpu": "1", "pods": "3"},
        )
    )
    assert found == {
        "cpu": {"max": "64", "min": "32", "used": "40500m", "left": "23500m", "entitled": "0"},
        "memory": {"max": "256Gi", "min": "0", "used": "16Gi", "left": "240Gi", "entitled": "0"},
        "nvidia.com/gpu": {"max": None, "min": "4", "used": "1", "left": None, "entitled": "3"},
        "pods": {"max": None, "min": "0", "used": "3", "left": None, "entitled": "0"},
    }


def test_an_explicit_zero_is_a_limit() -> None:
    assert headroom(queue("team", max={"nvidia.com/gpu": 0}))["nvidia.com/gpu"]["left"] == "0"


def test_a_limit_below_what_is_used_leaves_nothing() -> None:
    assert headroom(queue("team", max={"cpu": 2}, used={"cpu": 3}))["cpu"]["left"] == "0"


def test_every_queue_above_counts() -> None:
    queues = [
        queue("org", max={"cpu": 100, "memory": "8Gi"}, used={"cpu": 90, "memory": "7Gi"}),
        queue("team", "org", max={"cpu": 50}, used={"cpu": 45}),
        queue("other", "org", max={"cpu": 1}, used={"cpu": 1}),
    ]
    leaf = queue("leaf", "team", max={"cpu": 40}, used={"cpu": 10})
    assert headroom(leaf)["cpu"]["left"] == "30"
    assert headroom(leaf, queues)["cpu"]["left"] == "5"
    # A limit that only a queue above it has.
    assert headroom(leaf, queues)["memory"] == {"max": None, "min": "0", "used": "0", "left": "1Gi", "entitled": "0"}
    # A line that ends where a queue was not read.
    assert headroom(leaf, queues[1:])["cpu"]["left"] == "5"


def test_a_ring_of_parents_comes_to_an_end() -> None:
    ring = [queue("a", "b", max={"cpu": 3}), queue("b", "a", max={"cpu": 2})]
    assert headroom(ring[0], ring)["cpu"]["left"] == "2"


def test_a_queue_that_says_nothing_has_nothing_to_tell() -> None:
    assert headroom({"metadata": {"name": "bare"}}) == {}
    assert headroom({}) == {}


def test_what_is_no_queue_is_refused() -> None:
    nothing: Any = ""
    with pytest.raises(ValueError, match="'' is no queue: give an object of kind Queue"):
        headroom(nothing)


def test_a_wrong_amount_is_named_with_its_queue() -> None:
    with pytest.raises(ValueError, match="cpu of queue team is 'much', but must be a quantity"):
        headroom({"metadata": {"name": "team"}, "spec": {"capability": {"cpu": "much"}}})
