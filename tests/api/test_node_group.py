# SPDX-License-Identifier: Apache-2.0
"""The module node_group against a real API server, whose nodes have labels and taints of others."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from paddleflow_core.kube import nodes
from paddleflow_core.kube.client import Client, Object
from paddleflow_core.kube.wanted import Run
from paddleflow_core.plan.node_groups import Place

from tests.support import modules
from tests.support.control_plane import ControlPlane

NAMESPACE = "node-groups"
OURS = "paddleflow.org/node-group"
THEIRS = {"key": "theirs", "value": "x", "effect": "NoExecute"}


@pytest.fixture
def make(client: Client) -> Callable[..., None]:
    def made(*names: str, **labels: str) -> None:
        for name in names:
            metadata = {"name": name, "labels": {"theirs": "kept", **labels}}
            client.apply({"apiVersion": "v1", "kind": "Node", "metadata": metadata})
            # The API server taints every new node as not ready.
            client.patch(nodes.kind(client), name, {"spec": {"taints": [THEIRS]}})

    return made


def declare(api: ControlPlane, check: bool = False, **options: Any) -> dict[str, Any]:
    return modules.run("node_group", {"kubeconfig": str(api.kubeconfig), **options}, check=check, diff=check)


def live(api: ControlPlane, name: str) -> tuple[dict[str, str], list[Object]]:
    found = json.loads(api.kubectl("get", "node", name, "--output=json"))
    return found["metadata"]["labels"], found["spec"].get("taints", [])


def taint(group: str) -> Object:
    return {"key": OURS, "value": group, "effect": "NoSchedule"}


def test_a_node_joins_and_leaves_and_keeps_all_else(api: ControlPlane, make: Callable[..., None]) -> None:
    make("one-a", "one-b")
    before = live(api, "one-a")
    first = declare(api, name="one", nodes=["one-a", "one-b"])
    assert [(one["kind"], one["name"], one["action"]) for one in first["objects"]] == [
        ("Node", "one-a", "changed"),
        ("Node", "one-b", "changed"),
    ]
    labels, taints = live(api, "one-a")
    assert labels == {"theirs": "kept", OURS: "one", "volcano.sh/nodegroup-name": "one"}
    assert [THEIRS, taint("one")] == taints
    assert not declare(api, name="one", nodes=["one-b", "one-a"])["changed"]
    less = declare(api, name="one", nodes=["one-b"])
    assert [one["action"] for one in less["objects"]] == ["changed", "unchanged"]
    assert live(api, "one-a") == before
    gone = declare(api, name="one", state="absent")
    assert [one["name"] for one in gone["objects"]] == ["one-b"]
    assert live(api, "one-b") == before
    assert not declare(api, name="one", state="absent")["changed"]


def test_the_taint_goes_when_a_group_is_open_and_comes_back(api: ControlPlane, make: Callable[..., None]) -> None:
    make("open-a")
    for exclusive, taints in ((False, [THEIRS]), (True, [THEIRS, taint("open")]), (False, [THEIRS])):
        assert declare(api, name="open", nodes=["open-a"], exclusive=exclusive)["changed"]
        assert live(api, "open-a")[1] == taints


def test_nodes_are_found_by_their_labels(api: ControlPlane, make: Callable[..., None]) -> None:
    make("by-a", "by-b", zone="by")
    make("by-c", zone="other")
    declare(api, name="by", nodes=["by-c"], selector={"zone": "by", "theirs": "kept"})
    assert {name: live(api, name)[0].get(OURS) for name in ("by-a", "by-b", "by-c")} == dict.fromkeys(
        ("by-a", "by-b", "by-c"), "by"
    )
    declare(api, name="by", selector={"zone": "other"})
    assert [live(api, name)[0].get(OURS) for name in ("by-a", "by-b", "by-c")] == [None, None, "by"]


def test_a_node_moves_within_one_task_and_not_otherwise(api: ControlPlane, make: Callable[..., None]) -> None:
    make("move-a")
    declare(api, name="from", nodes=["move-a"])
    refused = declare(api, name="to", nodes=["move-a"])
    assert refused["problems"] == [
        (
            "node_group to: nodes[0] is 'move-a', a node of the group from, but must be one of no group. "
            "Declare from without it first, or in the same task."
        )
    ]
    moved = declare(api, objects=[{"name": "to", "nodes": ["move-a"]}, {"name": "from", "nodes": []}])
    assert [one["action"] for one in moved["objects"]] == ["changed"]
    assert live(api, "move-a")[1] == [THEIRS, taint("to")]


def test_check_and_diff_say_what_would_be_and_write_nothing(api: ControlPlane, make: Callable[..., None]) -> None:
    make("check-a")
    before = live(api, "check-a")
    would = declare(api, check=True, name="check", nodes=["check-a"])
    assert would["changed"]
    (difference,) = would["diff"]
    assert f"key: {OURS}" in difference["after"]
    assert OURS not in difference["before"]
    assert live(api, "check-a") == before


def test_no_node_is_made(api: ControlPlane) -> None:
    answer = declare(api, name="none", nodes=["never"])
    assert answer["problems"] == [
        "node_group none: nodes[0] is 'never', but must be the name of a node of the cluster."
    ]
    assert api.try_kubectl("get", "node", "never").returncode != 0
    unsupported = modules.run("node_group", {"name": "none", "nodes": [], "labels": {"a": "b"}})
    assert "Unsupported parameters" in unsupported["msg"]


def test_what_a_kubelet_writes_meanwhile_is_not_lost(
    api: ControlPlane, client: Client, make: Callable[..., None]
) -> None:
    """What was read is an old state by then: the change is worked out again from the new one."""
    make("late-a")
    kind = nodes.kind(client)
    old = client.get(kind, "late-a")
    client.patch(kind, "late-a", {"spec": {"taints": [THEIRS, {"key": "new", "effect": "NoSchedule"}]}})
    (outcome,) = nodes.place(Run(client, deadline=9e9), [old], {"late-a": Place("late", True)})
    assert outcome.action == "changed"
    assert [one["key"] for one in live(api, "late-a")[1]] == ["theirs", "new", OURS]


def test_a_node_that_never_stands_still_is_an_error_in_the_end(
    api: ControlPlane, client: Client, make: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    make("busy-a")
    kind = nodes.kind(client)
    read = client.get
    times: list[str] = []

    def get(*arguments: Any, **options: Any) -> Object:
        found = read(*arguments, **options)
        times.append(str(len(times)))
        client.patch(kind, "busy-a", {"metadata": {"annotations": {"beat": times[-1]}}})
        return found

    monkeypatch.setattr(client, "get", get)
    (outcome,) = nodes.place(Run(client, deadline=9e9), [client.get(kind, "busy-a")], {"busy-a": Place("busy", True)})
    assert (outcome.action, len(times)) == ("failed", nodes.ATTEMPTS)
    assert "busy-a" in str(outcome.error)
    assert OURS not in live(api, "busy-a")[0]


def test_the_api_server_takes_taints_as_one_value(client: Client, make: Callable[..., None]) -> None:
    """Why groups are not applied as the fields of a manager of their own: it would take the taints of others away."""
    make("atomic-a")
    applied = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "atomic-a"}, "spec": {"taints": [taint("x")]}}
    client.manager = "another"
    try:
        client.apply(applied, force_conflicts=True)
    finally:
        client.manager = "paddleflow"
    assert client.get(nodes.kind(client), "atomic-a")["spec"]["taints"] == [taint("x")]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"name": "n"}, "nodes is missing, but must be given where no selector is"),
        ({"name": "N", "nodes": []}, "name is 'N', but must be text like"),
        ({"name": "n", "selector": {OURS: "n"}}, f"selector is by {OURS}, but must be by other labels."),
    ],
)
def test_bad_input_is_refused_before_the_server_is_asked(options: dict[str, Any], said: str) -> None:
    answer = modules.run("node_group", {"host": "https://127.0.0.1:9", "api_key": "a-token-for-nobody", **options})
    assert answer["failed"]
    assert said in answer["msg"]
