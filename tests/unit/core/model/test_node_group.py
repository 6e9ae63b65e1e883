# SPDX-License-Identifier: Apache-2.0
"""A group of nodes, as labels and taints."""

from __future__ import annotations

from typing import Any

import pytest
from paddleflow_core.model import check, node_group
from paddleflow_core.model.jobs import pods

OURS = node_group.KEY_OF_GROUP
THEIRS = {"key": "theirs", "effect": "NoExecute"}
NODE = {"metadata": {"name": "n", "labels": {"theirs": "x"}}, "spec": {"podCIDR": "10.0.0.0/24", "taints": [THEIRS]}}


def said(**spec: Any) -> list[str]:
    read, problems = check.read(node_group.NOUN["spec"], spec)
    return [problem.text() for problem in [*problems, *node_group.problems("g", read)]]


def test_the_taint_is_the_one_that_pods_of_queues_tolerate() -> None:
    assert node_group.KEY_OF_GROUP == pods.NODE_GROUP


def test_a_node_of_a_group_and_of_none() -> None:
    inside = node_group.build(NODE, "g")
    assert inside["metadata"]["labels"] == {"theirs": "x", OURS: "g", "volcano.sh/nodegroup-name": "g"}
    assert inside["spec"] == {
        "podCIDR": "10.0.0.0/24",
        "taints": [THEIRS, {"key": OURS, "value": "g", "effect": "NoSchedule"}],
    }
    assert node_group.group_of(inside) == "g"
    assert node_group.declared(inside) == {"exclusive": True}
    assert node_group.build(inside, "") == NODE
    assert node_group.group_of(NODE) == ""


def test_a_group_may_share_its_nodes() -> None:
    inside = node_group.build(node_group.build(NODE, "g"), "g", exclusive=False)
    assert inside["spec"]["taints"] == [THEIRS]
    assert node_group.declared(inside) == {"exclusive": False}


def test_a_bare_node() -> None:
    bare = {"metadata": {"name": "n"}, "spec": {"taints": None}}
    assert node_group.build(bare, "") == {"metadata": {"name": "n"}, "spec": {}}
    assert node_group.declared(bare) == {"exclusive": False}


def test_what_only_volcano_was_told_counts() -> None:
    assert node_group.group_of({"metadata": {"labels": {"volcano.sh/nodegroup-name": "g"}}}) == "g"


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({}, "nodes is missing, but must be given where no selector is. An empty list is a group without nodes."),
        ({"selector": {}}, "nodes is missing"),
        ({"selector": {OURS: "g"}}, f"selector is by {OURS}, but must be by other labels."),
        ({"nodes": ["N"]}, "nodes[0] is 'N', but must be text like"),
    ],
)
def test_what_is_wrong_with_a_group(spec: dict[str, Any], text: str) -> None:
    assert any(line.startswith(text) for line in said(**spec)), said(**spec)


def test_a_good_group_has_no_problems() -> None:
    assert said(nodes=[]) == said(selector={"zone": "a"}) == []
