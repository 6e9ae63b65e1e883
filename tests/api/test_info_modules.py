# SPDX-License-Identifier: Apache-2.0
"""The info modules against a real API server with Volcano's controllers."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from typing import Any

import pytest
from paddleflow_core.kube.client import Client
from paddleflow_core.model.pipeline_steps import Step, line

from tests.support import inventories, jobs, modules
from tests.support.control_plane import ControlPlane
from tests.support.engine import Engine, engine_in
from tests.support.kube_api import define, definition
from tools import tree

SPACE = "info"
NAMESPACE = "info-direct"
CLUSTER_WIDE = ("queue", "flavour", "grant", "user", "node_group", "cluster")
NOWHERE = {"host": "https://127.0.0.1:9", "api_key": "a-token-for-nobody", "timeout": 5}
ONE = jobs.OPTIONS


@pytest.fixture(scope="module")
def engine(api: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    define(api, tree.ROOT / "crds")
    with engine_in(api, SPACE, tmp_path_factory.mktemp("engine"), "job-controller") as running:
        yield running


def run(engine: Engine, module: str, **options: Any) -> dict[str, Any]:
    given = {"kubeconfig": str(engine.api.kubeconfig), **options}
    return modules.run(module, given if module.startswith(CLUSTER_WIDE) else {"namespace": SPACE, **given})


def declare(engine: Engine, module: str, **options: Any) -> None:
    answer = run(engine, module, **options)
    assert "failed" not in answer, answer


def found(engine: Engine, module: str, **options: Any) -> list[dict[str, Any]]:
    answer = run(engine, module, **options)
    assert "failed" not in answer, answer
    assert answer["changed"] is False
    objects: list[dict[str, Any]] = answer["objects"]
    return objects


def reported(engine: Engine, kind: str, name: str, status: dict[str, Any]) -> None:
    """As the controller of our own kinds does."""
    engine.status(kind, name, status, "--subresource=status")


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
    for module in ("queue_info", "node_group_info", "cluster_info"):
        nowhere = modules.run(module, NOWHERE)
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
    engine.becomes("other", "pending")
    assert {one["name"]: one["state"] for one in found(engine, "job_info")} == {"seen": "failed", "other": "pending"}
    assert [one["name"] for one in found(engine, "job_info", states=["failed"])] == ["seen"]
    assert [one["name"] for one in found(engine, "job_info", states=["failed", "pending"])] == ["other", "seen"]
    assert found(engine, "job_info", states=["running"]) == []
    nowhere = {"kubeconfig": str(engine.api.kubeconfig), "namespace": "default"}  # where there is none
    wrong = modules.run("job_info", {**nowhere, "changed_since": "yesterday"})
    assert wrong["msg"] == "changed_since is 'yesterday', but must be a time, such as 2026-01-31T08:00:00Z."
    asked = {
        "a": {"queue": ONE["scheduling_policy"]["queue"], "states": ["failed"]},
        "b": {"changed_since": "2026-01-31", "states": ["failed"]},
        "c": {"started_since": job["acceptTime"]},  # the other one waits still
        "none of the queue": {"queue": "elsewhere"},
        "none since": {"changed_since": "9999-01-01"},
    }
    assert {key: [one["name"] for one in found(engine, "job_info", **options)] for key, options in asked.items()} == {
        "a": ["seen"], "b": ["seen"], "c": ["seen"], "none of the queue": [], "none since": [],
    }  # fmt: skip


def test_a_job_of_an_operator_is_found_by_its_kind(engine: Engine) -> None:
    define(engine.api, objects=[definition("kubeflow.org", "v1", "PyTorchJob", "pytorchjobs")])
    metadata = {"name": "bert", "namespace": SPACE}
    running = {"conditions": [{"type": "Running", "status": "True", "reason": "PyTorchJobRunning"}]}
    live = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": metadata, "spec": {}, "status": running}
    pod = {
        "apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"name": "main", "image": "localhost/none:1"}]},
        "metadata": {"name": "bert-worker-0", "namespace": SPACE, "labels": {"paddleflow-job-id": "bert"}},
    }  # fmt: skip
    for one in (live, pod):
        engine.api.kubectl("create", "--filename=-", stdin=json.dumps(one))
    assert found(engine, "job_info", name="bert") == []
    (job,) = found(engine, "job_info", name="bert", kind="PyTorchJob.kubeflow.org/v1")
    assert (job["name"], job["state"]) == ("bert", "running")
    assert [task["name"] for task in job["tasks"]] == ["bert-worker-0"]
    engine.api.kubectl("delete", "pod", "bert-worker-0", f"--namespace={SPACE}", "--grace-period=0", "--force")
    assert run(engine, "job_info", kind="PyTorchJob")["msg"] == (
        "kind is 'PyTorchJob', but must be one of Job, PaddleJob, TrainingJob, or <Kind>.<group>/<version>, "
        "such as PyTorchJob.kubeflow.org/v1."
    )


def test_a_file_system_tells_what_each_node_holds_of_it(engine: Engine, client: Client) -> None:
    s3 = {"url": "s3://x/", "properties": {"endpoint": "https://s3.example.org"}, "secret_ref": {"name": "keys"}}
    declare(engine, "filesystem", name="cached", **s3)
    for node, size in (("n2", 7), ("n1", 0), ("n3", 2**30)):
        inventories.put(client, inventories.cache(node, info_cached=size))
    (one,) = found(engine, "filesystem_info", name="cached")
    assert one["cached_bytes"] == {"n2": 7, "n3": 2**30}


def test_who_may_not_see_the_caches_of_nodes_is_told_by_the_file_system(engine: Engine) -> None:
    s3 = {"url": "s3://x/", "properties": {"endpoint": "https://s3.example.org"}, "secret_ref": {"name": "keys"}}
    declare(engine, "filesystem", name="mine", **s3)
    held = [{"node": "n1", "cachedBytes": 5, "cachedFiles": 1}]
    reported(engine, "filesystems.paddleflow.org", "mine", {"cachedBytes": 5, "cachedFiles": 1, "nodes": held})
    create = functools.partial(engine.api.kubectl, "create", f"--namespace={SPACE}")
    create("role", "reader", "--verb=get,list", "--resource=filesystems.paddleflow.org")
    create("rolebinding", "reader", "--role=reader", "--user=member")
    (one,) = found(engine, "filesystem_info", name="mine", impersonate_user="member")
    assert one["cached_bytes"] == {"n1": 5}


def test_grants_and_users_are_told_without_what_others_bound(engine: Engine) -> None:
    declare(engine, "user", name="Alice", identities=["oidc:alice"])
    declare(engine, "grant", name="the team", queue="told", people=["Alice"], namespaces=[SPACE])
    declare(engine, "grant", name="all", queue="default", groups=["system:authenticated"])
    assert [one["name"] for one in found(engine, "user_info")] == ["Alice"]
    assert {one["name"] for one in found(engine, "grant_info")} == {"the team", "all"}
    (grant,) = found(engine, "grant_info", label_selectors=["user.paddleflow.org/Alice=true"])
    assert grant["declared"] == {"queue": "told", "people": ["Alice"], "namespaces": [SPACE]}
    (user,) = found(engine, "user_info", name="Alice")
    for module, one in (("grant", grant), ("user", user)):
        again = run(engine, module, name=one["name"], **one["declared"])
        assert again["changed"] is False, again
    assert found(engine, "grant_info", name="never") == []


def test_a_group_of_nodes_is_told_from_its_nodes(engine: Engine, client: Client) -> None:
    for name in ("g1", "g2", "g3"):
        inventories.put(client, inventories.node(name))
    declare(engine, "node_group", name="fast", nodes=["g1", "g2"])
    (group,) = found(engine, "node_group_info", name="fast")
    assert group["declared"] == {"nodes": ["g1", "g2"], "exclusive": True}
    assert run(engine, "node_group", name="fast", **group["declared"])["changed"] is False
    assert group["status"]["total"]["usable"] == 2
    assert group["status"]["total"]["allocatable"]["cpu"] == "31"
    (part,) = found(engine, "node_group_info", field_selectors=["metadata.name=g2"])
    assert [one["name"] for one in part["status"]["nodes"]] == ["g2"]
    assert found(engine, "node_group_info", name="never") == []


def test_a_cluster_tells_what_it_has_and_what_is_free(engine: Engine, client: Client) -> None:
    for name in ("c1", "c2", "c3"):
        inventories.put(client, inventories.node(name, rack="7"))
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": NAMESPACE}}
    inventories.put(client, account)
    inventories.put(client, inventories.pod("busy", NAMESPACE, on="c1"))
    engine.api.kubectl("cordon", "c3")
    answer = run(engine, "cluster_info", label_selectors=["rack=7"])
    assert (answer["changed"], answer["server"]) == (False, client.transport.connection.server)
    assert answer["version"].startswith("v1.")
    assert answer["served"] == {"volcano": True, "paddleflow": True, "missing": []}
    assert answer["queues"] == len([one for one in found(engine, "queue_info") if one["name"] != "root"])
    assert [one["name"] for one in answer["nodes"]] == ["c1", "c2", "c3"]
    busy = answer["nodes"][0]
    assert (busy["requested"]["cpu"], busy["free"]["cpu"], busy["free"]["pods"]) == ("1500m", "14", "109")
    total = answer["total"]
    assert (total["nodes"], total["usable"]) == (3, 2)
    assert [total[part]["cpu"] for part in ("capacity", "allocatable", "requested", "free")] == [
        "32", "31", "1500m", "29500m",
    ]  # fmt: skip


def test_who_sees_only_nodes_is_told_of_nodes_with_a_warning(engine: Engine, client: Client) -> None:
    inventories.put(client, inventories.node("seen"))
    create = functools.partial(engine.api.kubectl, "create")
    create("clusterrole", "only-nodes", "--verb=list", "--resource=nodes")
    create("clusterrolebinding", "only-nodes", "--clusterrole=only-nodes", "--user=looker")
    answer = run(engine, "cluster_info", impersonate_user="looker")
    assert answer["queues"] is None
    assert "free" not in answer["total"]
    warnings = json.dumps(answer["warnings"])
    assert all(f"without {part}: Could not list" in warnings for part in ("pods", "queues", "caches"))
    refused = run(engine, "cluster_info", impersonate_user="nobody-in-particular")
    assert refused["failed"]
    assert "nodes" in refused["msg"]


def test_a_run_tells_of_its_steps(engine: Engine) -> None:
    document = "name: digits\ndocker_env: python:3.11\nentry_points:\n  train:\n    command: echo\n"
    declare(engine, "pipeline", name="digits", document=document)
    reported(engine, "pipelines.paddleflow.org", "digits", {"version": 1, "schedules": ["nightly"]})
    declare(engine, "pipeline_schedule", name="nightly", pipeline={"name": "digits"}, crontab="0 3 * * *")
    reported(engine, "pipelineschedules.paddleflow.org", "nightly", {"phase": "running", "active": ["digits-1"]})
    declare(engine, "pipeline_run", name="digits-1", pipeline={"name": "digits"})
    steps = {
        "digits.entry_points.train": line(Step("failed", 2, 2, 281, reason="exit code 7")),
        "digits.entry_points.fetch": line(Step("succeeded", 0, 1, 1, "cached", "digits-0")),
    }
    status = {"phase": "failed", "message": "train", "startTime": "2026-01-31T12:00:00Z", "steps": steps}
    reported(engine, "pipelineruns.paddleflow.org", "digits-1", status)
    (told,) = found(engine, "pipeline_run_info", name="digits-1")
    assert told["status"] == {key: value for key, value in status.items() if key != "steps"}
    assert told["steps"] == [
        {
            "name": "digits.entry_points.fetch", "phase": "succeeded", "attempt": 0, "reason": "", "cached": True,
            "results_of": "digits-0", "start_time": "2026-01-31T12:00:01Z", "end_time": "2026-01-31T12:00:01Z",
        },
        {
            "name": "digits.entry_points.train", "phase": "failed", "attempt": 2, "reason": "exit code 7", "cached": False,
            "results_of": "", "start_time": "2026-01-31T12:00:02Z", "end_time": "2026-01-31T12:04:41Z",
        },
    ]  # fmt: skip
    (schedule,) = found(engine, "pipeline_schedule_info")
    assert (schedule["declared"]["crontab"], schedule["status"]["active"]) == ("0 3 * * *", ["digits-1"])
    (pipeline,) = found(engine, "pipeline_info", name="digits")
    assert (pipeline["declared"]["document"], pipeline["status"]["version"]) == (document, 1)
