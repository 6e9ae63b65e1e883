# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

from paddleflow_core.model import node_group
from paddleflow_core.plan.node_groups import NOWHERE, Group, Place, moved, patch, places


def node(name: str, group: str = "", **labels: str) -> dict[str, Any]:
    made = {"metadata": {"name": name, "labels": labels, "resourceVersion": "7"}, "spec": {}}
    return node_group.build(made, group)


def said(groups: list[Group], nodes: list[dict[str, Any]]) -> list[tuple[int, str]]:
    return [(number, problem.text()) for number, problem in places(groups, nodes)[1]]


def test_who_is_named_or_selected_joins_and_who_is_not_leaves() -> None:
    nodes = [node("a"), node("b", zone="z", rack="1"), node("c", zone="z"), node("d", "g"), node("e", "other")]
    group = Group("g", {"nodes": ["a"], "selector": {"zone": "z", "rack": "1"}})
    assert places([group], nodes) == ({"a": Place("g", True), "b": Place("g", True), "d": NOWHERE}, [])


def test_who_is_named_and_selected_joins_once() -> None:
    group = Group("g", {"nodes": ["a", "a"], "selector": {"zone": "z"}, "exclusive": False})
    assert places([group], [node("a", zone="z")]) == ({"a": Place("g", False)}, [])


def test_a_group_that_is_not_wanted_loses_its_nodes_whatever_it_says() -> None:
    assert places([Group("g", {"nodes": ["a", "b"]}, wanted=False)], [node("a", "g"), node("b")])[0] == {"a": NOWHERE}


def test_a_node_moves_between_groups_that_are_declared_together() -> None:
    groups = [Group("to", {"nodes": ["a"]}), Group("from", {}, wanted=False)]
    assert places(groups, [node("a", "from")]) == ({"a": Place("to", True)}, [])
    assert said(groups[:1], [node("a", "from")]) == [
        (
            0,
            (
                "nodes[0] is 'a', a node of the group from, but must be one of no group. "
                "Declare from without it first, or in the same task."
            ),
        )
    ]


def test_a_node_is_in_one_group() -> None:
    groups = [Group("g", {"nodes": ["a"]}), Group("h", {"selector": {"zone": "z"}})]
    assert said(groups, [node("a", zone="z")]) == [
        (1, "selector is 'a', which g declares too, but must be another one. A node is in one group.")
    ]


def test_a_node_that_is_named_is_there() -> None:
    assert said([Group("g", {"nodes": ["a", "b"]})], [node("a")]) == [
        (0, "nodes[1] is 'b', but must be the name of a node of the cluster.")
    ]


def test_a_node_that_is_where_it_belongs_stays_itself() -> None:
    there = node("a", "g")
    assert moved(there, Place("g", True)) is there
    assert moved(there, Place("g", False)) is not there
    alone = node("b")
    assert moved(alone, NOWHERE) is alone
    timed = node("a", "g")
    timed["spec"]["taints"][0]["timeAdded"] = "2026-01-31T08:00:00Z"
    assert moved(timed, Place("g", True)) is timed


def test_the_patch_holds_for_the_state_that_was_read_and_names_our_labels_alone() -> None:
    before = node("a", zone="z")
    after = moved(before, Place("g", True))
    assert patch(before, after) == {
        "metadata": {
            "resourceVersion": "7",
            "labels": {"paddleflow.org/node-group": "g", "volcano.sh/nodegroup-name": "g"},
        },
        "spec": {"taints": [{"key": "paddleflow.org/node-group", "value": "g", "effect": "NoSchedule"}]},
    }
    assert patch(after, moved(after, NOWHERE)) == {
        "metadata": {
            "resourceVersion": "7",
            "labels": {"paddleflow.org/node-group": None, "volcano.sh/nodegroup-name": None},
        },
        "spec": {"taints": None},
    }
