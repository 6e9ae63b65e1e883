# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

from paddleflow_core.plan import capacity, groups, inventory

GPU = "nvidia.com/gpu"


def node(name: str = "n1", ready: str = "True", group: str = "", exclusive: bool = True, **spec: Any) -> dict[str, Any]:
    taints = [{"key": "paddleflow.org/node-group", "value": group, "effect": "NoSchedule"}]
    amounts = {"cpu": "8", "memory": "64Gi", GPU: "4", "pods": "110"}
    return {
        "metadata": {"name": name, "labels": {"paddleflow.org/node-group": group} if group else {}},
        "spec": {**({"taints": taints} if group and exclusive else {}), **spec},
        "status": {
            "capacity": amounts,
            "allocatable": {**amounts, "cpu": "7500m"},
            "conditions": [{"type": "Ready", "status": ready}],
        },
    }


def said(*nodes: dict[str, Any], **parts: Any) -> list[dict[str, Any]]:
    facts: Any = parts
    return [inventory.told(inventory.node(one), facts) for one in nodes]


def test_what_is_free_is_what_no_pod_asks_for() -> None:
    asked = {"pods": 3, "requested": {"cpu": "9", "memory": "512Mi", "ephemeral-storage": "1Gi"}, "jobs": []}
    (one,) = said(node(), pods={"n1": asked})
    # More than there is leaves nothing, and what the node does not say to have is not free.
    assert capacity.free(one) == {"cpu": "0", "memory": "65024Mi", GPU: "4", "pods": "107"}


def test_sums_are_of_the_nodes_that_take_pods() -> None:
    found = capacity.total(
        said(node(), node("n2"), node("n3", ready="Unknown"), node("n4", unschedulable=True)),
    )
    assert found == {
        "nodes": 4,
        "usable": 2,
        "accelerators": {GPU: 8},
        "capacity": {"cpu": "16", "memory": "128Gi", GPU: "8", "pods": "220"},
        "allocatable": {"cpu": "15", "memory": "128Gi", GPU: "8", "pods": "220"},
    }


def test_what_is_asked_for_is_summed_where_it_was_read() -> None:
    nodes = said(node(), node("n2"), pods={"n1": {"pods": 1, "requested": {"cpu": "1500m"}, "jobs": []}})
    found = capacity.total([{**one, "free": capacity.free(one)} for one in nodes])
    assert found["requested"] == {"cpu": "1500m"}
    assert found["free"] == {"cpu": "13500m", "memory": "128Gi", GPU: "8", "pods": "219"}


def test_a_cluster_without_nodes_has_nothing() -> None:
    found = capacity.total([])
    assert (found["nodes"], found["usable"], found["allocatable"]) == (0, 0, {})


def test_groups_are_told_as_they_would_be_declared() -> None:
    nodes = [
        node("n3", group="b"),
        node("n2", group="a", exclusive=False),
        node("n1", group="a"),
        node("free"),
    ]
    first, second = groups.told(groups.member(one) for one in nodes)
    assert first["name"] == "a"
    assert first["declared"] == {"nodes": ["n1", "n2"], "exclusive": False}
    assert first["status"]["nodes"] == [
        {"name": "n1", "ready": True, "schedulable": True, "exclusive": True},
        {"name": "n2", "ready": True, "schedulable": True, "exclusive": False},
    ]
    assert first["status"]["total"]["allocatable"]["cpu"] == "15"
    assert second["declared"] == {"nodes": ["n3"], "exclusive": True}
