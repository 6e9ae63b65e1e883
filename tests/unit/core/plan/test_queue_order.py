# SPDX-License-Identifier: Apache-2.0
"""From one good tree of queues to another: every step of it is judged as Volcano's webhook would."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from paddleflow_core.model import quantity
from paddleflow_core.plan import order, queue_order

Object = dict[str, Any]


def queue(name: str, parent: str = "root", **spec: Any) -> Object:
    api = "scheduling.volcano.sh/v1beta1"
    return {"apiVersion": api, "kind": "Queue", "metadata": {"name": name}, "spec": {"parent": parent, **spec}}


def test_what_is_raised_or_equal_is_not_lowered() -> None:
    before = queue("a", capability={"cpu": "1", "memory": "1Gi"})
    assert queue_order.lowered(queue("a", capability={"cpu": 2, "memory": "1024Mi"}), before) is None
    assert queue_order.lowered(queue("a", deserved={"cpu": 2}), queue("a")) is None
    assert queue_order.lowered(queue("a"), {"metadata": {"name": "a"}}) is None


@pytest.mark.parametrize("wrong", [{"cpu": "abc"}, {"cpu": None}, {"cpu": [1]}, "4", [4]])
def test_limits_that_are_none_are_for_the_api_server_to_refuse(wrong: Any) -> None:
    assert (
        queue_order.lowered(queue("a", capability=wrong), queue("a", capability={"cpu": 4}, deserved={"cpu": 4}))
        is None
    )
    assert queue_order.lowered({**queue("a"), "spec": "wrong"}, queue("a", capability={"cpu": 4})) is None


def test_what_is_lowered_is_written_at_once_and_what_is_mixed_in_two_steps() -> None:
    before = queue("a", capability={"cpu": "4", "memory": "1Gi"}, deserved={"cpu": "2"})
    less = queue("a", capability={"cpu": 2, "memory": "1Gi"}, deserved={"cpu": "2000m"})
    first = queue_order.lowered(less, before)
    assert first is not None
    assert queue_order.final(less, first)
    mixed = queue("a", parent="b", capability={"cpu": 2, "memory": "2Gi"}, weight=1)
    first = queue_order.lowered(mixed, before)
    assert first is not None
    # What is no longer declared goes first too; it stays where it is until there is room elsewhere.
    assert first["spec"] == {"parent": "root", "capability": {"cpu": 2, "memory": "1Gi"}, "weight": 1}
    assert not queue_order.final(mixed, first)
    assert queue_order.lowered(queue("a"), {**before, "spec": {"deserved": {"cpu": 1}}}) == queue("a")


AMOUNTS = st.fixed_dictionaries({"cpu": st.integers(0, 4), "memory": st.integers(0, 4)})
NAMES = ("top", "left", "right", "leaf")
PARENTS = {"top": "root", "left": "top", "right": "top", "leaf": "left"}


def total(*amounts: dict[str, int]) -> dict[str, int]:
    return {name: sum(one[name] for one in amounts) for name in ("cpu", "memory")}


@st.composite
def trees(draw: st.DrawFn) -> dict[str, Object]:
    """Good ones: built from below, each queue with what those below it need and some more."""
    found: dict[str, Object] = {}
    for name in reversed(NAMES):
        below = [found[one]["spec"] for one in found if PARENTS[one] == name]
        deserved = total(draw(AMOUNTS), *(one["deserved"] for one in below))
        highest = {key: max([deserved[key], *(one["capability"][key] for one in below)]) for key in deserved}
        found[name] = queue(name, PARENTS[name], deserved=deserved, capability=total(highest, draw(AMOUNTS)))
    return found


def allowed(tree: dict[str, Object]) -> bool:
    def fits(less: Any, more: Any) -> bool:
        return all(quantity.parse(less.get(key, 0)) <= quantity.parse(more.get(key, 0)) for key in ("cpu", "memory"))

    for name, one in tree.items():
        below = [child["spec"] for child in tree.values() if child["spec"]["parent"] == name]
        if not all(fits(child["capability"], one["spec"]["capability"]) for child in below):
            return False
        if below and not fits(total(*(child["deserved"] for child in below)), one["spec"]["deserved"]):
            return False
    return True


@given(trees(), trees())
def test_no_step_from_one_good_tree_to_another_is_refused(before: dict[str, Object], after: dict[str, Object]) -> None:
    now = dict(before)
    first = {name: queue_order.lowered(after[name], before[name]) for name in NAMES}
    found = {place: before[name] for place, name in enumerate(NAMES) if first[name] is not None}
    for wave in queue_order.waves(found):
        for position in wave:
            less = first[NAMES[position]]
            assert less is not None
            now[NAMES[position]] = less
            assert allowed(now)
    objects = [after[name] for name in NAMES]
    for wave in order.waves(objects, order.depths(objects)):
        for position in wave:
            now[NAMES[position]] = objects[position]
            assert allowed(now)
    assert now == after
