# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest
from paddleflow_core.plan import order


def thing(kind: str, name: str = "one", **spec: Any) -> dict[str, Any]:
    api = "scheduling.volcano.sh/v1beta1" if kind == "Queue" else "v1"
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name}, "spec": spec}


def names(objects: list[dict[str, Any]]) -> list[list[str]]:
    depths = order.depths(one for one in objects if one["kind"] == "Queue")
    return [[objects[i]["metadata"]["name"] for i in wave] for wave in order.waves(objects, depths)]


def test_what_others_need_comes_first() -> None:
    kinds = [
        "ValidatingWebhookConfiguration",
        "Job",
        "Queue",
        "Secret",
        "RoleBinding",
        "Role",
        "CustomResourceDefinition",
        "Namespace",
    ]
    assert names([thing(kind, kind) for kind in kinds]) == [[kind] for kind in reversed(kinds)]


def test_queues_come_by_depth_and_side_by_side_within_one() -> None:
    queues = [
        thing("Queue", "leaf", parent="team"),
        thing("Queue", "team", parent="org"),
        thing("Queue", "org", parent="root"),
        thing("Queue", "other", parent="root"),
    ]
    assert names(queues) == [["org", "other"], ["team"], ["leaf"]]


def test_a_ring_of_parents_comes_to_an_end() -> None:
    ring = [thing("Queue", "a", parent="b"), thing("Queue", "b", parent="a"), thing("Queue", "c")]
    assert order.depths(ring) == {"a": 3, "b": 3, "c": 0}


def test_a_queue_of_another_group_is_any_object() -> None:
    assert order.phase({"apiVersion": "example.com/v1", "kind": "Queue"}) == order.phase({"kind": "Deployment"})


@pytest.mark.parametrize("spec", [None, [], "x", {"parent": ["a"]}, {"parent": None}])
def test_a_queue_of_another_form_has_no_parent(spec: Any) -> None:
    assert order.depths([{**thing("Queue", "a"), "spec": spec}, thing("Queue", "b", parent="a")]) == {"a": 0, "b": 1}
