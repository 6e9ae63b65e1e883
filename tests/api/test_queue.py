# SPDX-License-Identifier: Apache-2.0
"""The module queue, and with it what the modules of all nouns share, against a real API server."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support import modules
from tests.support.binaries import built
from tests.support.control_plane import ControlPlane
from tests.support.kube_api import define


@pytest.fixture(scope="module")
def served(api: ControlPlane) -> ControlPlane:
    define(api, built("volcano") / "crds")
    return api


def queue(api: ControlPlane, check: bool = False, **options: Any) -> dict[str, Any]:
    return modules.run("queue", {"kubeconfig": str(api.kubeconfig), **options}, check=check, diff=check)


def live(api: ControlPlane, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(api.kubectl("get", "queues.scheduling.volcano.sh", name, "-o", "json"))
    return found


def test_a_queue_is_declared_once(served: ControlPlane) -> None:
    options: dict[str, Any] = {"name": "q-once", "namespace": "q-once-team", "min": {"cpu": "1000m"}, "max": {"cpu": 2}}
    first = queue(served, **options)
    assert first["changed"], first
    assert [(one["kind"], one["action"]) for one in first["objects"]] == [
        ("Namespace", "created"),
        ("Queue", "created"),
    ]
    assert live(served, "q-once")["spec"]["capability"] == {"cpu": "2"}
    again = queue(served, **{**options, "min": {"cpu": 1}, "max": {"cpu": "2000m"}})
    assert [(one["changed"], one["action"]) for one in again["objects"]] == [(False, "unchanged")] * 2


def test_check_and_diff_say_what_would_be_and_write_nothing(served: ControlPlane) -> None:
    queue(served, name="q-check", max={"cpu": 1})
    would = queue(served, check=True, name="q-check", max={"cpu": 2})
    (difference,) = would["diff"]
    assert would["changed"]
    assert difference["before_header"] == "Queue q-check"
    assert "cpu: '1'" in difference["before"]
    assert "cpu: '2'" in difference["after"]
    assert "resourceVersion" not in difference["before"]
    assert live(served, "q-check")["spec"]["capability"] == {"cpu": "1"}


def test_a_dropped_field_is_dropped_and_another_managers_stays(served: ControlPlane) -> None:
    queue(served, name="q-drop", max={"cpu": 1, "memory": "1Gi"})
    served.kubectl("label", "queues.scheduling.volcano.sh", "q-drop", "theirs=kept")
    assert queue(served, name="q-drop", max={"cpu": 1})["changed"]
    found = live(served, "q-drop")
    assert found["spec"]["capability"] == {"cpu": "1"}
    assert found["metadata"]["labels"]["theirs"] == "kept"
    assert not queue(served, name="q-drop", max={"cpu": 1})["changed"]


def test_what_a_queue_was_made_for_stays(served: ControlPlane) -> None:
    queue(served, name="q-made", max={"cpu": 1})
    for check in (True, False):
        refused = queue(served, check=check, name="q-made", quota_type="volcanoCapabilityQuota", recreate=True)
        assert refused["msg"] == (
            "Queue q-made cannot become present: its quota_type is elasticQuota and cannot become volcanoCapabilityQuota;"
            " remove the queue (state absent), then declare it anew."
        )
    assert "annotations" not in live(served, "q-made")["metadata"]


def test_many_in_one_task_share_what_stands_beside_them(served: ControlPlane) -> None:
    objects: list[dict[str, Any]] = [
        {"name": "q-leaf", "parent": "q-tree", "labels": {"own": "1"}},
        {"name": "q-tree", "max": {"cpu": 9}},
    ]
    answer = queue(served, objects=objects, labels={"team": "a"}, return_content=True)
    assert [one["name"] for one in answer["objects"]] == ["q-leaf", "q-tree"]
    assert live(served, "q-leaf")["metadata"]["labels"] == {
        "app.kubernetes.io/managed-by": "paddleflow",
        "own": "1",
        "team": "a",
    }
    assert answer["objects"][1]["object"]["spec"]["capability"] == {"cpu": "9"}
    gone = queue(served, objects=[{"name": "q-leaf"}, {"name": "q-tree"}, {"name": "q-never"}], state="absent")
    assert [one["action"] for one in gone["objects"]] == ["deleted", "deleted", "unchanged"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "name is missing, but must be text"),
        ({"name": "Upper"}, "queue Upper: name is 'Upper', but must be text like"),
        ({"name": "q", "min": {"cpu": 2}, "max": {"cpu": 1}}, "queue q: min.cpu is 2, but must be at most max.cpu, 1."),
        ({"name": "q", "max_running_jobs": 0}, "queue q: max_running_jobs is 0, but must be a whole number from 1"),
        ({"objects": [{"name": "a"}, {"name": "a"}]}, "objects[1]: a is declared in objects[0] already"),
        ({"objects": [{"name": "a", "max": {"cpu": "x"}}]}, "objects[0]: queue a: max.cpu is 'x', but must be"),
        ({"objects": [], "name": "a", "parent": "b"}, "name, parent and objects are both given"),
    ],
)
def test_bad_input_is_refused_before_the_server_is_asked(options: dict[str, Any], said: str) -> None:
    answer = modules.run("queue", {"host": "https://127.0.0.1:9", "api_key": "a-token-for-nobody", **options})
    assert answer["failed"]
    assert said in answer["msg"]


def test_everything_wrong_is_said_at_once() -> None:
    objects = [{"name": "A"}, {"name": "b", "min": {"cpu": -1}}, {"name": "c", "parent": "c"}]
    answer = modules.run("queue", {"objects": objects})
    assert len(answer["problems"]) == 3
    assert [(one["code"], one["field"]) for one in answer["errors"]] == [
        ("QueueInvalidField", "objects[0].name"),
        ("QueueResourceNotMatch", "objects[1].min.cpu"),
        ("QueueInvalidField", "objects[2].parent"),
    ]


@pytest.mark.parametrize(
    ("options", "code", "field", "hint"),
    [
        ({"name": "default"}, "QueueNameDuplicated", "name", "Volcano's own queues have these names."),
        (
            {"name": "a", "quota_type": "x"},
            "QueueQuotaTypeIsNotSupported",
            "quota_type",
            "It must be one of elasticQuota,",
        ),
    ],
)
def test_programs_are_told_code_field_and_hint(options: dict[str, Any], code: str, field: str, hint: str) -> None:
    answer = modules.run("queue", options)
    assert (answer["code"], answer["field"]) == (code, field)
    assert answer["hint"].startswith(hint)


def test_a_server_that_is_not_there_and_one_that_nobody_named_are_told_apart() -> None:
    nowhere = modules.run("queue", {"host": "https://127.0.0.1:9", "api_key": "a-token-for-nobody", "name": "q"})
    assert nowhere["failed"]
    assert "127.0.0.1:9" in nowhere["msg"]
    nothing = modules.run("queue", {"name": "q"}, HOME="/nonexistent")
    assert nothing["failed"]
    assert "kubeconfig" in nothing["msg"]


def test_what_fails_is_named_and_what_was_written_is_said(served: ControlPlane) -> None:
    objects = [{"name": "q-good"}, {"name": "q-bad", "annotations": {"not a key": "x"}}]
    answer = queue(served, objects=objects)
    assert answer["failed"]
    assert answer["msg"].startswith("1 of 2 objects failed, 1 were changed, 0 needed nothing:\nobjects[1]: ")
    assert [one["action"] for one in answer["objects"]] == ["created", "failed"]


def test_waiting_ends_when_the_queue_is_open_and_says_why_when_it_does_not(served: ControlPlane) -> None:
    late = queue(served, name="q-wait", wait=True, wait_timeout=2)
    assert late["failed"]
    assert "Queue q-wait" in late["msg"]
    assert "status.state" in late["msg"]
    assert late["objects"][0]["changed"]  # it was written all the same
    opened = '{"status":{"state":"Open"}}'
    served.kubectl(
        "patch", "queues.scheduling.volcano.sh", "q-wait", "--subresource=status", "--type=merge", "-p", opened
    )
    done = queue(served, name="q-wait", wait=True, wait_timeout=60, return_content=True)
    assert done["objects"][0]["object"]["status"]["state"] == "Open"


def test_no_secret_of_the_connection_is_printed(served: ControlPlane) -> None:
    kubeconfig = json.loads(served.kubectl("config", "view", "--raw", "-o", "json"))
    answer = queue(served, kubeconfig=kubeconfig, name="q-secret")
    assert "failed" not in answer, answer
    key = kubeconfig["users"][0]["user"]["client-key-data"]
    assert key not in json.dumps(answer)
