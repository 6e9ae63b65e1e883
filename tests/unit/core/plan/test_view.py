# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest
from paddleflow_core.plan import view

SECRET: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "one", "namespace": "team", "uid": "1", "annotations": {"a": "b"}},
    "data": {"key": "cGxhbnRlZA=="},
    "stringData": {"other": "planted"},
}


def test_the_servers_bookkeeping_is_not_shown() -> None:
    metadata = {"name": "one", "managedFields": [], "resourceVersion": "3", "generation": 2, "labels": {"a": "b"}}
    found = {"kind": "Queue", "metadata": metadata, "spec": {"weight": 1}, "status": {"state": "Open"}}
    expected = {"kind": "Queue", "metadata": {"name": "one", "labels": {"a": "b"}}, "spec": {"weight": 1}}
    assert view.pair(None, found) == ({}, expected)


def test_no_secret_is_shown_and_its_change_is() -> None:
    rotated = {**SECRET, "data": {"key": "b3RoZXI=", "new": "bmV3"}}
    before, after = view.pair(SECRET, rotated)
    assert (before["data"], after["data"]) == ({"key": "hidden"}, {"key": "hidden, changed", "new": "hidden"})
    assert not {"planted", "cGxhbnRlZA", "b3RoZXI", "bmV3"} & set(str((before, after)).replace("'", " ").split())
    same, again = view.pair(SECRET, {**SECRET, "status": 1})
    assert same == again
    assert view.pair(SECRET, None)[1] == {}
    assert view.pair(None, SECRET)[1]["data"] == {"key": "hidden"}


def test_the_copy_that_kubectl_keeps_is_not_shown() -> None:
    copy = {"kubectl.kubernetes.io/last-applied-configuration": "planted"}
    found = {"metadata": {"annotations": {**copy, "a": "b"}}}
    assert view.pair(found, {"metadata": {"annotations": copy}}) == (
        {"metadata": {"annotations": {"a": "b"}}},
        {"metadata": {}},
    )


def test_annotations_may_be_empty() -> None:
    found = {"metadata": {"name": "a", "annotations": None}}
    assert view.pair(None, found) == ({}, {"metadata": {"name": "a"}})
    assert view.shown(found) == {"metadata": {"name": "a"}}


def test_a_live_object_is_shown_without_the_record_of_its_writers() -> None:
    live: dict[str, Any] = {
        "kind": "Queue",
        "metadata": {"name": "a", "uid": "1", "managedFields": [1]},
        "status": {"state": "Open"},
    }
    assert view.shown(live) == {"kind": "Queue", "metadata": {"name": "a", "uid": "1"}, "status": {"state": "Open"}}
    copy = {"kubectl.kubernetes.io/last-applied-configuration": "planted", "a": "b"}
    assert view.shown({"metadata": {"annotations": copy}}) == {"metadata": {"annotations": {"a": "b"}}}
    assert live["metadata"]["managedFields"] == [1]


@pytest.mark.parametrize(
    ("found", "title"),
    [
        ({"kind": "Queue", "metadata": {"name": "one"}}, "Queue one"),
        ({"kind": "Job", "metadata": {"name": "one", "namespace": "team"}}, "Job team/one"),
        ({"kind": "Job", "metadata": {"generateName": "one-"}}, "Job one-*"),
        ({}, "object *"),
    ],
)
def test_an_object_is_named_by_kind_and_name(found: dict[str, Any], title: str) -> None:
    assert view.title(found) == title
