# SPDX-License-Identifier: Apache-2.0
"""What queues keep to themselves, and those above them for them."""

from __future__ import annotations

from typing import Any

import pytest
from paddleflow_core.model import own, quantity
from paddleflow_core.model.queue import LENDABLE
from paddleflow_core.plan import guarantees

Object = dict[str, Any]


def queue(
    name: str, parent: str = "", lends: bool = True, ours: bool = True, keeps: Any = None, **deserved: Any
) -> Object:
    metadata = {
        "name": name,
        "labels": own.MANAGED if ours else {},
        "annotations": {} if lends else {LENDABLE: "false"},
    }
    spec = {"parent": parent} if parent else {}
    return {
        "metadata": metadata,
        "spec": {**spec, "deserved": deserved, **({"guarantee": {"resource": keeps}} if keeps else {})},
    }


def cpu(amount: int) -> guarantees.Amounts:
    return {"cpu": amount * quantity.UNIT}


def test_every_queue_above_keeps_the_sum_of_those_below() -> None:
    found = guarantees.due([
        queue("leaf", "team", lends=False, cpu=2),
        queue("other", "team", lends=False, cpu=1, memory="1Gi", gpu=0),
        queue("lent", "team", cpu=5),
        queue("team", "org"),
        queue("org", lends=False, cpu=9),
        queue("foreign", "root", ours=False, keeps={"cpu": "4"}),
    ])  # fmt: skip
    memory = {"memory": 2**30 * quantity.UNIT}
    assert found == {
        "leaf": cpu(2), "other": {**cpu(1), **memory}, "lent": {}, "team": {**cpu(3), **memory},
        "org": {**cpu(9), **memory}, "foreign": cpu(4),
    }  # fmt: skip


def test_a_ring_of_parents_comes_to_an_end() -> None:
    ring = [queue("a", "b", lends=False, cpu=1), queue("b", "a")]
    assert guarantees.due(ring)["a"] == cpu(1)
    assert guarantees.above("a", {one["metadata"]["name"]: one for one in ring}) == ["b", "a"]
    root = queue("root", "root")
    assert guarantees.above("c", {"c": queue("c"), "root": root}) == []
    assert guarantees.above("nowhere", {}) == []


@pytest.mark.parametrize(
    ("wanted", "live", "settled"),
    [
        (queue("a", cpu=2), None, True),
        (queue("a", lends=False, cpu=2), None, False),
        (queue("a", cpu=2), queue("a", cpu=1, keeps={"cpu": "1"}), True),  # a sum of others
        (queue("a", lends=False, cpu=2), queue("a", lends=False, cpu=2, keeps={"cpu": "2000m"}), True),
        (queue("a", lends=False, cpu=2), queue("a", lends=False, cpu=2, keeps={"cpu": "1"}), False),
        (queue("a", lends=False, cpu=2), queue("a", lends=False, cpu=3, keeps={"cpu": "3"}), False),
        (queue("a", cpu=2), queue("a", lends=False, cpu=2, keeps={"cpu": "2"}), False),
        (queue("a", "x", cpu=2), queue("a", "y", cpu=2, keeps={"cpu": "2"}), False),
        (queue("a", "x", cpu=2), queue("a", "y", cpu=2), True),
        (None, queue("a", cpu=2), True),
        (None, queue("a", cpu=2, keeps={"cpu": "2"}), False),
        (None, None, True),
    ],
)
def test_most_declarations_change_nothing_of_it(wanted: Object | None, live: Object | None, settled: bool) -> None:
    assert guarantees.settled(wanted, live) is settled


def test_what_a_queue_cannot_keep_is_said_with_what_it_takes() -> None:
    amounts = {**cpu(2), "memory": 2**30 * quantity.UNIT}
    assert guarantees.short_of(queue("a", cpu=2, memory="1Gi"), amounts) == ""
    assert guarantees.short_of(queue("a", cpu=2), amounts) == (
        "the min of queue a above it has to be at least memory 1Gi: declare it so"
    )
    said = guarantees.short_of(queue("a", ours=False, cpu=2, memory="1Gi", keeps={"memory": "1Gi"}), amounts)
    assert "not managed by this collection and has to guarantee at least cpu 2" in said


def test_the_lesser_of_two_names_what_both_name() -> None:
    assert guarantees.lesser({**cpu(2), "gpu": 1}, cpu(3)) == cpu(2)
