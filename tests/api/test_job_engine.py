# SPDX-License-Identifier: Apache-2.0
"""What Volcano's real controllers do with the jobs that we build, when pods end, fail, are evicted or are not wanted any more.
The test plays scheduler and kubelet."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from paddleflow_core.model import job
from paddleflow_core.model.jobs import changes, state

from tests.support import jobs
from tests.support.control_plane import ControlPlane
from tests.support.engine import Engine, engine_in

SPACE = "engine"
PODS = {"command": "run", "flavour": {"cpu": 1}}


@pytest.fixture(scope="module")
def engine(api: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with engine_in(api, SPACE, tmp_path_factory.mktemp("engine"), "job-controller") as running:
        yield running


def test_a_gang_that_is_evicted_starts_anew_and_that_is_never_a_failure(engine: Engine) -> None:
    """Volcano counts each of these as a try; the declared limit counts failures of the command only."""
    spec = jobs.distributed("pytorch", {"role": "master"}, {"role": "worker", "replicas": 2}, **PODS)
    engine.create("evicted", spec)
    for times in range(1, 6):  # more often than Volcano's own limit
        before = engine.run("evicted", 3)
        engine.phase("evicted-worker-1", "Failed", 143)
        engine.retried("evicted", times)
        engine.admit("evicted")
        engine.renewed("evicted", before)
    assert engine.state("evicted")[0] in ("pending", "running")


def test_a_gang_of_which_one_fails_has_failed_and_says_why(engine: Engine) -> None:
    spec = jobs.distributed("pytorch", {"role": "master"}, {"role": "worker", "replicas": 2}, **PODS)
    engine.create("failing", spec)
    engine.run("failing", 3)
    engine.phase("failing-worker-0", "Failed", 3)
    engine.becomes("failing", "failed")
    assert engine.state("failing") == ("failed", "failing-worker-0: exit code 3")


def test_a_single_pod_decides_alone(engine: Engine) -> None:
    single = {"schedulingPolicy": jobs.POLICY, "image": "x", **PODS}
    for name, code, expected in (("well", 0, "succeeded"), ("badly", 9, "failed")):
        engine.create(name, single)
        engine.run(name, 1)
        engine.phase(f"{name}-worker-0", "Failed" if code else "Succeeded", code)
        engine.becomes(name, expected)


def test_an_evicted_job_that_is_not_to_wait_again_ends_as_preempted(engine: Engine) -> None:
    policy = {**jobs.POLICY, "requeueOnPreempt": False}
    engine.create("leaving", {"schedulingPolicy": policy, "image": "x", **PODS})
    engine.run("leaving", 1)
    engine.api.kubectl("delete", "pod", "leaving-worker-0", f"--namespace={SPACE}")
    engine.becomes("leaving", "preempted")


def test_a_job_that_is_stopped_says_by_whom(engine: Engine) -> None:
    engine.create("stopped", jobs.distributed("pytorch", {"role": "master"}, {"role": "worker"}, **PODS))
    engine.run("stopped", 2)
    found = changes.stop(engine.get("stopped"), "running", "by ada")
    assert found is not None
    patch, command = found
    engine.api.kubectl(
        "patch",
        "jobs.batch.volcano.sh",
        "stopped",
        f"--namespace={SPACE}",
        "--type=merge",
        f"--patch={json.dumps(patch)}",
    )
    engine.api.kubectl("create", "--filename=-", stdin=json.dumps(command))
    engine.wait(lambda: engine.state("stopped") == ("terminated", "by ada"))
    assert engine.pods("stopped") == {}


def test_the_end_of_the_workers_is_the_jobs_whatever_servers_still_do(engine: Engine) -> None:
    engine.create("served", jobs.distributed("paddle", {"role": "pserver"}, {"role": "worker", "replicas": 2}, **PODS))
    engine.run("served", 3)
    engine.phase("served-worker-0", "Succeeded", 0)
    assert engine.state("served")[0] == "running"
    engine.phase("served-worker-1", "Succeeded", 0)
    engine.becomes("served", "succeeded")
    assert "served-pserver-0" not in engine.pods("served")


def test_of_several_that_lead_all_have_to_succeed(engine: Engine) -> None:
    members = [{"role": "pserver"}, {"role": "worker"}, {"role": "worker"}]
    engine.create("groups", jobs.distributed("paddle", *members, **PODS))
    engine.run("groups", 3)
    engine.phase("groups-worker-0", "Succeeded", 0)
    engine.ended("groups", succeeded=1)
    assert engine.state("groups")[0] == "running"
    engine.phase("groups-worker-1-0", "Succeeded", 0)
    engine.becomes("groups", "succeeded")


def test_a_job_is_resized_without_losing_those_that_stay(engine: Engine) -> None:
    spec = jobs.distributed("pytorch", {"role": "worker", "replicas": 3, "minAvailable": 1, "maxReplicas": 4}, **PODS)
    engine.create("resized", spec)
    before = engine.run("resized", 3)
    for replicas in (2, 4):
        wanted = {**spec, "members": [{**spec["members"][0], "replicas": replicas}]}
        live = engine.get("resized")
        assert list(changes.problems(job.declared(live), wanted, "running")) == []
        (again,) = job.build("resized", SPACE, wanted)
        revised = changes.revised(live, again, wanted, {})
        engine.api.kubectl(
            "replace",
            "--filename=-",
            stdin=json.dumps({**revised, "metadata": {**live["metadata"], **again["metadata"]}}),
        )
        engine.has("resized", replicas)
    after = {pod: found["metadata"]["uid"] for pod, found in engine.pods("resized").items()}
    assert {pod: after[pod] for pod in ("resized-worker-0", "resized-worker-1")} == {
        pod: before[pod] for pod in ("resized-worker-0", "resized-worker-1")
    }
    assert engine.get("resized")["status"].get("retryCount", 0) == 0
    # One that fails for good is missed by nobody but itself.
    engine.phase("resized-worker-1", "Failed", 1)
    engine.ended("resized", failed=1)
    assert engine.state("resized")[0] == "running"


def test_pods_know_their_index_and_find_each_other(engine: Engine) -> None:
    engine.create("named", jobs.distributed("mpi", {"role": "master"}, {"role": "worker", "replicas": 2}, **PODS))
    engine.has("named", 3)
    pods = engine.pods("named")
    worker = pods["named-worker-1"]
    assert worker["metadata"]["annotations"]["volcano.sh/task-index"] == "1"
    assert (worker["spec"]["hostname"], worker["spec"]["subdomain"]) == ("named-worker-1", "named")
    service = json.loads(engine.api.kubectl("get", "service", "named", f"--namespace={SPACE}", "--output=json"))
    assert service["spec"]["publishNotReadyAddresses"] is True
    hosts = json.loads(engine.api.kubectl("get", "configmap", "named-svc", f"--namespace={SPACE}", "--output=json"))
    assert hosts["data"]["worker.host"] == "named-worker-0.named\nnamed-worker-1.named"
    assert engine.api.kubectl("get", "networkpolicies", f"--namespace={SPACE}", "--output=name") == ""
    tasks = state.observe(engine.get("named"), pods.values())["tasks"]
    assert sorted((task["role"], task["index"]) for task in tasks) == [("master", 0), ("worker", 0), ("worker", 1)]
