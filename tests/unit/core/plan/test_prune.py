# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest
from paddleflow_core.plan import prune

APPLIED = [{"manager": "paddleflow", "operation": "Apply", "fieldsV1": {"f:spec": {}}}]


def thing(name: str, version: str = "v1", **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"example.com/{version}",
        "kind": "Thing",
        "metadata": {"name": name, "namespace": "team", "managedFields": APPLIED, **metadata},
    }


def test_what_the_set_holds_and_nobody_declares_is_surplus() -> None:
    live = [thing("c"), thing("b"), thing("a")]
    found = prune.surplus([thing("a")], live, "mine", 10)
    assert [one["metadata"]["name"] for one in found] == ["b", "c"]


def test_an_object_is_the_same_in_every_version_of_its_kind() -> None:
    assert prune.surplus([thing("a", version="v2")], [thing("a")], "mine", 10) == []
    assert prune.key({"apiVersion": "v1", "kind": "Pod"}) == prune.Key("", "Pod", "", "")


def test_an_object_that_names_no_namespace_is_the_one_in_the_default_namespace() -> None:
    nameless = thing("a")
    del nameless["metadata"]["namespace"]
    of_none = {**thing("c"), "kind": "ClusterThing", "metadata": {**nameless["metadata"], "name": "c"}}
    live = [thing("a"), thing("a", namespace="other"), of_none]
    found = prune.surplus([nameless, of_none], live, "mine", 10, namespace="team")
    assert [one["metadata"]["namespace"] for one in found] == ["other"]


def test_an_object_that_was_read_in_two_versions_is_one() -> None:
    assert len(prune.surplus([], [thing("a"), thing("a", version="v1beta1")], "mine", 1)) == 1


@pytest.mark.parametrize(
    "metadata",
    [
        {"ownerReferences": [{"kind": "Job", "name": "x", "controller": True}]},
        {"managedFields": []},
        {"managedFields": [{"manager": "endpoint-controller", "operation": "Update", "fieldsV1": {}}]},
    ],
)
def test_what_others_made_is_left_to_them_whatever_its_labels_say(metadata: dict[str, Any]) -> None:
    assert prune.surplus([], [thing("a", **metadata)], "mine", 0) == []


def test_an_owner_that_does_not_control_only_takes_it_along() -> None:
    assert len(prune.surplus([], [thing("a", ownerReferences=[{"kind": "Job", "name": "x"}])], "mine", 1)) == 1


def test_what_is_on_its_way_out_is_left_to_go() -> None:
    assert prune.surplus([], [thing("a", deletionTimestamp="now")], "mine", 0) == []


def test_more_than_allowed_removes_nothing_and_says_how_to_go_on() -> None:
    with pytest.raises(
        prune.TooManyError, match=r"'mine' would lose 2 objects, and prune_max allows 1\. Nothing was changed\."
    ):
        prune.surplus([], [thing("a"), thing("b")], "mine", 1)
