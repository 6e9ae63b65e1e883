# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest
from paddleflow_core.plan import prune


def thing(name: str, owner: str = "mine", version: str = "v1", **metadata: Any) -> dict[str, Any]:
    labels = {prune.SET: owner} if owner else {}
    return {
        "apiVersion": f"example.com/{version}",
        "kind": "Thing",
        "metadata": {"name": name, "namespace": "team", "labels": labels, **metadata},
    }


def test_what_the_set_holds_and_nobody_declares_is_surplus() -> None:
    live = [thing("c"), thing("b"), thing("a"), thing("theirs", owner="other"), thing("free", owner="")]
    found = prune.surplus([thing("a")], live, "mine", 10)
    assert [one["metadata"]["name"] for one in found] == ["b", "c"]


def test_an_object_is_the_same_in_every_version_of_its_kind() -> None:
    assert prune.surplus([thing("a", version="v2")], [thing("a")], "mine", 10) == []
    assert prune.key({"apiVersion": "v1", "kind": "Pod"}) == prune.Key("", "Pod", "", "")


def test_what_is_on_its_way_out_is_left_to_go() -> None:
    assert prune.surplus([], [thing("a", deletionTimestamp="now")], "mine", 0) == []


def test_more_than_allowed_removes_nothing_and_says_how_to_go_on() -> None:
    with pytest.raises(
        prune.TooManyError, match=r"'mine' would lose 2 objects, and prune_max allows 1\. Nothing was changed\."
    ):
        prune.surplus([], [thing("a"), thing("b")], "mine", 1)
