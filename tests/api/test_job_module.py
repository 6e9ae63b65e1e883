# SPDX-License-Identifier: Apache-2.0
"""The module job, with Volcano's real controllers. The test plays scheduler and kubelet."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support import jobs, modules
from tests.support.control_plane import ControlPlane
from tests.support.engine import Engine, engine_in
from tests.support.kube_api import define, definition
from tools import tree

SPACE = "job-module"
ONE = jobs.OPTIONS
GANG: dict[str, Any] = {
    **ONE,
    "kind": "distributed",
    "framework": "pytorch",
    "members": [{"role": "worker", "replicas": 2, "max_replicas": 4}],
}


@pytest.fixture(scope="module")
def engine(api: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    define(api, tree.ROOT / "crds")
    # Of an operator that is not there; before the engine, since the garbage collector knows the kinds of its start.
    define(api, objects=[definition("kubeflow.org", "v1", "PyTorchJob", "pytorchjobs")])
    classes = [
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value}
        for name, value in (("high", 100), ("low", -10))
    ]
    api.kubectl("apply", "--filename=-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": classes}))
    with engine_in(api, SPACE, tmp_path_factory.mktemp("engine"), "job-controller") as running:
        yield running


def run(engine: Engine, name: str, check: bool = False, **options: Any) -> dict[str, Any]:
    given = {"kubeconfig": str(engine.api.kubeconfig), "namespace": SPACE, "name": name, **options}
    return modules.run("job", given, check=check, diff=check)


def done(engine: Engine, name: str, **options: Any) -> str:
    answer = run(engine, name, **options)
    assert "failed" not in answer, answer
    (only,) = answer["objects"]
    action: str = only["action"]
    return action


def refused(engine: Engine, name: str, **options: Any) -> str:
    answer = run(engine, name, **options)
    assert answer.get("failed"), answer
    message: str = answer["msg"]
    return message


def test_a_job_is_run_once_whatever_becomes_of_it(engine: Engine) -> None:
    assert done(engine, "once", **ONE) == "created"
    engine.admit("once")
    assert done(engine, "once", **ONE) == "unchanged"
    (pod,) = engine.run("once", 1)
    assert done(engine, "once", **ONE) == "unchanged"
    engine.phase(pod, "Succeeded", 0)
    engine.becomes("once", "succeeded")
    assert done(engine, "once", **ONE, wait=True, wait_timeout=30) == "unchanged"
    assert done(engine, "once", state="absent") == "deleted"
    assert done(engine, "once", state="absent") == "unchanged"


def test_waiting_ends_with_the_job_and_a_failure_says_what_the_pod_said(engine: Engine) -> None:
    done(engine, "fails", **ONE)
    engine.admit("fails")
    (pod,) = engine.run("fails", 1)
    answers: list[dict[str, Any]] = []
    waiting = threading.Thread(target=lambda: answers.append(run(engine, "fails", **ONE, wait=True, wait_timeout=60)))
    waiting.start()
    engine.phase(pod, "Failed", 3)
    waiting.join(90)
    (answer,) = answers
    assert answer["failed"]
    assert "it has failed" in answer["msg"]
    assert f"It is failed: {pod}: exit code 3." in answer["msg"]


def test_waiting_until_it_runs(engine: Engine) -> None:
    late = refused(engine, "runs", **ONE, wait=True, wait_until="running", wait_timeout=2)
    assert "not yet so: it runs" in late
    engine.admit("runs")
    engine.run("runs", 1)
    assert done(engine, "runs", **ONE, wait=True, wait_until="running", wait_timeout=30) == "unchanged"


def test_what_may_change_is_changed_and_the_rest_is_another_job(engine: Engine) -> None:
    done(engine, "changes", **GANG)
    engine.admit("changes")
    uid = engine.get("changes")["metadata"]["uid"]
    more = {**GANG, "members": [{**GANG["members"][0], "replicas": 3}]}
    assert done(engine, "changes", **more, labels={"team": "a"}) == "changed"
    live = engine.get("changes")
    assert live["metadata"]["uid"] == uid
    assert live["metadata"]["labels"]["team"] == "a"
    assert [task["replicas"] for task in live["spec"]["tasks"]] == [3]
    assert done(engine, "changes", **more, labels={"team": "a"}) == "unchanged"
    other = {**more, "image": "registry.example.org/run:2"}
    message = refused(engine, "changes", **other)
    assert "image is changed from 'registry.example.org/run:1'" in message
    assert "use recreate" in message
    respelled = {**more, "flavour": {"cpu": "1000m", "memory": "1024Mi"}, "retry_limit": 0, "labels": {"team": "a"}}
    for recreate in (False, True):
        assert done(engine, "changes", **respelled, recreate=recreate) == "unchanged"
    assert run(engine, "changes", check=True, **other, recreate=True)["objects"][0]["action"] == "recreated"
    assert done(engine, "changes", **other, recreate=True) == "recreated"
    assert engine.get("changes")["metadata"]["uid"] != uid


def test_a_priority_changes_while_a_job_waits(engine: Engine) -> None:
    def with_priority(word: str) -> dict[str, Any]:
        return {**ONE, "scheduling_policy": {"queue": "vision", "priority": word}}

    done(engine, "urgent", **with_priority("LOW"))
    assert done(engine, "urgent", **with_priority("HIGH")) == "changed"
    assert engine.get("urgent")["spec"]["priorityClassName"] == "high"
    engine.admit("urgent")
    engine.run("urgent", 1)
    assert "while the job is running" in refused(engine, "urgent", **with_priority("LOW"))


def test_a_job_that_has_ended_is_only_run_anew_when_that_is_asked_for(engine: Engine) -> None:
    done(engine, "again", **ONE)
    engine.admit("again")
    (pod,) = engine.run("again", 1)
    engine.phase(pod, "Succeeded", 0)
    engine.becomes("again", "succeeded")
    other = {**ONE, "command": "run --more"}
    assert "(which has succeeded)" in refused(engine, "again", **other)
    assert done(engine, "again", **other, recreate=True) == "recreated"


def test_a_stopped_job_stays_known_and_is_stopped_once(engine: Engine) -> None:
    done(engine, "stops", **ONE)
    engine.admit("stops")
    engine.run("stops", 1)
    assert run(engine, "stops", check=True, state="stopped")["objects"][0]["action"] == "stopped"
    assert engine.state("stops")[0] == "running"
    assert done(engine, "stops", state="stopped", wait=True, wait_timeout=60) == "stopped"
    assert engine.state("stops") == ("terminated", "stopped by its owner")
    assert done(engine, "stops", state="stopped", wait=True, wait_timeout=60) == "unchanged"
    assert done(engine, "was-never-there", state="stopped") == "unchanged"


def test_flavours_and_queues_that_are_named_have_to_be_there(engine: Engine) -> None:
    assert "Queue nowhere does not exist" in refused(
        engine, "lost", **{**ONE, "scheduling_policy": {"queue": "nowhere"}}
    )
    assert "Queue visoin does not exist: did you mean vision? Else declare it first" in refused(
        engine, "lost", **{**ONE, "scheduling_policy": {"queue": "visoin"}}
    )
    assert "flavour.name is 'huge'" in refused(engine, "lost", **{**ONE, "flavour": {"name": "huge"}})
    # In check mode an earlier task may have left out to make them.
    lost = {**ONE, "scheduling_policy": {"queue": "nowhere"}, "flavour": {"name": "huge"}, "fs": {"name": "data"}}
    would = run(engine, "lost", check=True, **lost)
    assert [one["action"] for one in would["objects"]] == ["created"]
    warned = str(would["warnings"])
    for missing in ("Queue nowhere", "Flavour huge", "FileSystem data"):
        assert f"{missing} is not there: check mode takes it that an earlier task makes it." in warned
    huge = {"apiVersion": "paddleflow.org/v1alpha1", "kind": "Flavour", "metadata": {"name": "huge"}}
    size = {"cpu": "16", "memory": "64Gi"}
    engine.api.kubectl("apply", "--filename=-", stdin=json.dumps({**huge, "spec": size}))
    assert done(engine, "found", **{**ONE, "flavour": {"name": "huge"}}) == "created"
    container = engine.get("found")["spec"]["tasks"][0]["template"]["spec"]["containers"][0]
    assert container["resources"]["requests"] == size


def test_one_job_of_several_that_is_wrong_does_not_keep_the_others(engine: Engine) -> None:
    objects = [{"name": "right", **ONE}, {"name": "wrong", **ONE, "flavour": {"name": "no-such"}}]
    given = {"kubeconfig": str(engine.api.kubeconfig), "namespace": SPACE, "objects": objects}
    answer = modules.run("job", given)
    assert answer["failed"]
    assert answer["msg"].startswith(
        "1 of 2 objects failed, 1 were changed, 0 needed nothing:\nobjects[1]: Job job-module/wrong"
    )
    assert [one["action"] for one in answer["objects"]] == ["created", "failed"]


def test_check_mode_says_what_would_be_and_runs_nothing(engine: Engine) -> None:
    would = run(engine, "dry", check=True, **ONE)
    assert (would["changed"], would["objects"][0]["action"]) == (True, "created")
    names = engine.api.kubectl("get", "jobs.batch.volcano.sh", f"--namespace={SPACE}", "--output=name")
    assert "dry" not in names


def test_an_unchanged_job_stays_whatever_becomes_of_what_it_names(engine: Engine) -> None:
    """[D-104] [D-107], and jobs keep their copy of a flavour."""
    kubectl = engine.api.kubectl
    metadata = {"name": "brief"}
    queue = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": metadata,
        "spec": {"weight": 1},
    }
    flavour = {"apiVersion": "paddleflow.org/v1alpha1", "kind": "Flavour", "metadata": metadata}
    size = {"cpu": "2", "memory": "2Gi"}
    for one in (queue, {**flavour, "spec": size}):
        kubectl("apply", "--filename=-", stdin=json.dumps(one))
    spec = {**ONE, "scheduling_policy": {"queue": "brief"}, "flavour": {"name": "brief"}}
    assert done(engine, "stays", **spec) == "created"
    kubectl("apply", "--filename=-", stdin=json.dumps({**queue, "spec": {"weight": 1, "capability": {"cpu": "1"}}}))
    assert done(engine, "stays", **spec) == "unchanged"
    engine.api.kubectl("delete", "flavour.paddleflow.org", "brief")
    assert done(engine, "stays", **spec) == "unchanged"
    closed = json.dumps({"status": {"state": "Closed"}})
    kubectl(
        "patch", "queues.scheduling.volcano.sh", "brief", "--type=merge", f"--patch={closed}", "--subresource=status"
    )
    assert done(engine, "stays", **spec) == "unchanged"
    assert "which is Closed" in refused(engine, "other", **{**spec, "flavour": size})


def test_an_empty_value_takes_away_what_somebody_wrote(engine: Engine) -> None:
    """[D-146]"""
    done(engine, "labelled", **ONE, labels={"stage": "a"})
    where = f"--namespace={SPACE}"
    engine.api.kubectl("label", "jobs.batch.volcano.sh", "labelled", "team=theirs", where)
    engine.api.kubectl("annotate", "jobs.batch.volcano.sh", "labelled", "note=theirs", where)
    empty = {"labels": {"stage": "", "team": ""}, "annotations": {"note": ""}}
    assert run(engine, "labelled", check=True, **ONE, **empty)["objects"][0]["action"] == "changed"
    assert engine.get("labelled")["metadata"]["labels"]["team"] == "theirs"
    assert done(engine, "labelled", **ONE, **empty) == "changed"
    metadata = engine.get("labelled")["metadata"]
    assert not {"stage", "team", "note"} & {*metadata["labels"], *metadata["annotations"]}
    assert done(engine, "labelled", **ONE, **empty) == "unchanged"


OPERATOR = "PyTorchJob.kubeflow.org/v1"


def operators(engine: Engine, name: str) -> dict[str, Any]:
    text = engine.api.kubectl("get", "pytorchjobs", name, f"--namespace={SPACE}", "--output=json", "--ignore-not-found")
    found: dict[str, Any] = json.loads(text or "{}")
    return found


def test_what_may_change_of_an_operators_object_is_written(engine: Engine) -> None:
    asked = {**GANG, "annotations": {"paddleflow/job-kind-group-version": OPERATOR}}
    assert done(engine, "op", **asked) == "created"
    engine.status("pytorchjobs", "op", {"phase": "whatever an operator writes"})
    more = {
        **asked,
        "members": [{**GANG["members"][0], "replicas": 3}],
        "scheduling_policy": {"queue": "vision", "priority": "HIGH"},
    }
    assert run(engine, "op", check=True, **more)["objects"][0]["action"] == "changed"
    assert done(engine, "op", **more) == "changed"
    spec = operators(engine, "op")["spec"]
    assert spec["pytorchReplicaSpecs"]["Worker"]["replicas"] == 3
    assert spec["runPolicy"]["schedulingPolicy"]["priorityClass"] == "high"
    assert done(engine, "op", **more) == "unchanged"
    assert "image is changed" in refused(engine, "op", **{**more, "image": "registry.example.org/run:2"})
    assert done(engine, "op", state="absent") == "deleted"


@pytest.mark.parametrize(("state", "action"), [("absent", "deleted"), ("stopped", "stopped")])
def test_a_bare_name_finds_the_object_of_an_operator(engine: Engine, state: str, action: str) -> None:
    asked = {**GANG, "annotations": {"paddleflow/job-kind-group-version": OPERATOR}}
    done(engine, "bare", **asked)
    theirs = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "theirs", "namespace": SPACE}}
    engine.api.kubectl("apply", "--filename=-", stdin=json.dumps(theirs))
    assert run(engine, "bare", check=True, state=state)["objects"][0]["action"] == action
    assert operators(engine, "bare")
    who = "--user=volcano-only"
    where = f"--namespace={SPACE}"
    engine.api.kubectl(
        "create", "role", f"narrow-{state}", "--verb=get,delete", "--resource=jobs.batch.volcano.sh", where
    )
    engine.api.kubectl("create", "rolebinding", f"narrow-{state}", f"--role=narrow-{state}", who, where)
    # Who may not look for it is not told that it is not there.
    assert "volcano-only may not get" in refused(engine, "bare", state=state, impersonate_user="volcano-only")
    if state == "absent":
        named = {"annotations": {"paddleflow/job-kind-group-version": "Job.batch.volcano.sh/v1alpha1"}}
        assert done(engine, "bare", state=state, impersonate_user="volcano-only", **named) == "unchanged"
    assert done(engine, "bare", state=state, wait=True, wait_timeout=20) == action
    assert operators(engine, "bare") == {}
    assert done(engine, "bare", state=state) == "unchanged"
    assert done(engine, "theirs", state=state) == "unchanged"
    assert operators(engine, "theirs")  # nobody declared it


def test_a_file_system_of_another_namespace_is_mounted_by_the_claim_that_is_made_here(engine: Engine) -> None:
    """By its name with its namespace, and by its identifier."""
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "job-data"}}
    metadata = {"name": "set", "namespace": "job-data", "annotations": {"paddleflow.org/fs-id": "fs-ada-set"}}
    spec = {"url": "s3://x/", "properties": {"endpoint": "https://s3.example.org"}, "secretRef": {"name": "keys"}}
    system = {"apiVersion": "paddleflow.org/v1alpha1", "kind": "FileSystem", "metadata": metadata, "spec": spec}
    for one in (space, system):
        engine.api.kubectl("apply", "--filename=-", stdin=json.dumps(one))
    assert done(engine, "by-name", **ONE, fs={"name": "job-data/set"}) == "created"
    assert "fs.name is 'job-data/none'" in refused(engine, "lost", **ONE, fs={"name": "job-data/none"})
    assert "fs.name is 'fs-ada-set'" in refused(engine, "by-id", **ONE, fs={"id": "fs-ada-set"})
    claim = {
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "pfs-fs-ada-set-pvc", "namespace": SPACE},
        "spec": {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}},
    }  # fmt: skip
    engine.api.kubectl("apply", "--filename=-", stdin=json.dumps(claim))
    assert done(engine, "by-id", **ONE, fs={"id": "fs-ada-set"}) == "created"
    for name in ("by-name", "by-id"):
        pod = engine.get(name)["spec"]["tasks"][0]["template"]["spec"]
        assert pod["volumes"][0]["persistentVolumeClaim"] == {"claimName": "pfs-fs-ada-set-pvc"}
        assert pod["containers"][0]["volumeMounts"][0]["mountPath"] == "/home/paddleflow/storage/mnt/fs-ada-set"
