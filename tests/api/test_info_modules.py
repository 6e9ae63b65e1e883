# SPDX-License-Identifier: Apache-2.0
"""The info modules against a real API server with Volcano's controllers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support import jobs, modules
from tests.support.control_plane import ControlPlane
from tests.support.engine import Engine, engine_in
from tests.support.kube_api import define
from tools import tree

SPACE = "info"
ONE = jobs.OPTIONS


@pytest.fixture(scope="module")
def engine(api: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    define(api, tree.ROOT / "crds")
    with engine_in(api, SPACE, tmp_path_factory.mktemp("engine"), "job-controller") as running:
        yield running


def run(engine: Engine, module: str, **options: Any) -> dict[str, Any]:
    given = {"kubeconfig": str(engine.api.kubeconfig), **options}
    return modules.run(module, given if module.startswith(("queue", "flavour")) else {"namespace": SPACE, **given})


def declare(engine: Engine, module: str, **options: Any) -> None:
    answer = run(engine, module, **options)
    assert "failed" not in answer, answer


def found(engine: Engine, module: str, **options: Any) -> list[dict[str, Any]]:
    answer = run(engine, module, **options)
    assert "failed" not in answer, answer
    assert answer["changed"] is False
    objects: list[dict[str, Any]] = answer["objects"]
    return objects


def test_what_is_declared_is_told_in_the_words_of_the_module(engine: Engine) -> None:
    options = {
        "name": "told",
        "min": {"cpu": "1"},
        "max": {"cpu": "4"},
        "max_running_jobs": 3,
        "ordering": "StrictFIFO",
    }
    declare(engine, "queue", **options)
    (queue,) = found(engine, "queue_info", name="told")
    assert queue["name"] == "told"
    # So it can be declared again as it was told.
    again = run(engine, "queue", name=queue["name"], **queue["declared"])
    assert again["changed"] is False, again
    assert {key: queue["declared"][key] for key in options if key != "name"} == {
        key: value for key, value in options.items() if key != "name"
    }


def test_what_is_not_there_is_empty_and_what_does_not_answer_is_an_error(engine: Engine) -> None:
    assert found(engine, "queue_info", name="never") == []
    assert found(engine, "flavour_info") == []
    nowhere = modules.run("queue_info", {"host": "https://127.0.0.1:9", "api_key": "a-token-for-nobody", "timeout": 5})
    assert nowhere["failed"]
    assert "127.0.0.1:9" in nowhere["msg"]


def test_what_is_not_permitted_is_an_error(engine: Engine) -> None:
    refused = run(engine, "filesystem_info", impersonate_user="nobody-in-particular")
    assert refused["failed"]
    assert "nobody-in-particular" in refused["msg"]
    assert "list" in refused["msg"]


def test_objects_are_selected_by_labels_names_and_namespaces(engine: Engine) -> None:
    s3 = {"url": "s3://x/", "properties": {"endpoint": "https://s3.example.org"}, "secret_ref": {"name": "keys"}}
    declare(engine, "filesystem", name="one", labels={"team": "a"}, **s3)
    declare(engine, "filesystem", name="two", labels={"team": "b"}, **s3)
    engine.api.kubectl("create", "namespace", "info-other")
    declare(engine, "filesystem", **{"name": "one", **s3, "namespace": "info-other"})
    assert [one["name"] for one in found(engine, "filesystem_info")] == ["one", "two"]
    assert [one["name"] for one in found(engine, "filesystem_info", label_selectors=["team=b"])] == ["two"]
    assert [one["name"] for one in found(engine, "filesystem_info", field_selectors=["metadata.name=one"])] == ["one"]
    everywhere = found(engine, "filesystem_info", name="one", all_namespaces=True)
    assert sorted(one["namespace"] for one in everywhere) == [SPACE, "info-other"]


def test_a_queue_tells_who_waits_in_which_order_and_why(engine: Engine) -> None:
    for name, priority in (("first", "normal"), ("second", "normal"), ("urgent", "high")):
        group = {
            "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup",
            "metadata": {"name": name, "namespace": SPACE},
            "spec": {"minMember": 1, "queue": "told", "minResources": {"cpu": "2"}, "priorityClassName": priority},
        }  # fmt: skip
        engine.api.kubectl("create", "--filename=-", stdin=json.dumps(group))
    why = {"type": "Unschedulable", "status": "True", "message": "no node has 2 cpu", "transitionID": "1"}
    engine.status("podgroups.scheduling.volcano.sh", "second", {"phase": "Pending", "conditions": [why]})
    engine.status("podgroups.scheduling.volcano.sh", "first", {"phase": "Running"})
    allocated = {"allocated": {"cpu": "2"}}
    patch = f"--patch={json.dumps({'status': allocated})}"
    engine.api.kubectl("patch", "queues.scheduling.volcano.sh", "told", "--type=merge", "--subresource=status", patch)
    (queue,) = found(engine, "queue_info", name="told")
    assert (queue["running"], queue["used"]) == (1, {"cpu": "2"})
    assert [(one["position"], one["name"], one["reason"]) for one in queue["pending"]] == [
        (1, "urgent", ""),
        (2, "second", "no node has 2 cpu"),
    ]


def test_a_job_tells_its_state_and_that_of_its_pods(engine: Engine) -> None:
    declare(engine, "job", name="seen", **ONE)
    engine.admit("seen")
    (pod,) = engine.run("seen", 1)
    (job,) = found(engine, "job_info", name="seen")
    assert (job["state"], [task["status"] for task in job["tasks"]]) == ("running", ["running"])
    engine.phase(pod, "Failed", 7)
    engine.becomes("seen", "failed")
    (job,) = found(engine, "job_info", name="seen", logs=True)
    assert job["message"] == f"{pod}: exit code 7"
    assert job["tasks"][0]["log"] == ""  # it never was on a node
    assert job["declared"]["image"] == ONE["image"]
    declare(engine, "job", name="other", **ONE)
    assert {one["name"]: one["state"] for one in found(engine, "job_info")} == {"seen": "failed", "other": "pending"}
