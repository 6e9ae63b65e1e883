# SPDX-License-Identifier: Apache-2.0
"""What is asked and written for jobs when something fails in the middle, or is not there yet. With real controllers: tests/api."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from paddleflow_core.kube import jobs
from paddleflow_core.kube.client import Client
from paddleflow_core.kube.discovery import Discovery
from paddleflow_core.kube.transport import Transport
from paddleflow_core.kube.wanted import Outcome, Run
from paddleflow_core.model import check, job
from paddleflow_core.model.jobs.stop import STOP

from tests.support.jobs import POLICY
from tests.support.kube_stub import Seen, Step, Stub, answer, ok, refuse

JOBS = "/apis/batch.volcano.sh/v1alpha1/namespaces/team/jobs"
COMMANDS = "/apis/bus.volcano.sh/v1alpha1/namespaces/team/commands"
ONE: dict[str, Any] = {"framework": "standalone", "image": "x", "command": "run", "schedulingPolicy": POLICY}
UNSERVED = answer(404, b"404 page not found")


class Cluster:
    """Objects by their path. What is not among them is not there; what a test plans for a verb and path comes first."""

    def __init__(self, stub: Stub, client: Client) -> None:
        self.stub, self.client = stub, client
        self.objects: dict[str, Any] = {}
        self.planned: dict[tuple[str, str], Step] = {}
        stub.always = lambda handler: self.answer(handler.server.seen[-1])(handler)

    def answer(self, seen: Seen) -> Step:
        step = self.planned.get((seen.method, seen.path))
        if step is not None:
            return step
        found = self.objects.get(seen.path)
        if seen.method == "GET":
            missing = {"reason": "NotFound", "details": {"name": seen.path.rpartition("/")[2]}}
            return ok(found) if found is not None else answer(404, missing)
        if seen.method == "POST":
            return answer(201, seen.body)
        merged = {**(found or seen.body), "metadata": {**(found or seen.body)["metadata"], **seen.body["metadata"]}}
        if seen.method == "PATCH" and "dryRun" not in seen.query:
            self.objects[seen.path] = merged
        return ok(merged)

    def carry(self, spec: dict[str, Any], *, dry: bool = False, state: str = "present", recreate: bool = False) -> Any:
        read, problems = check.read(job.NOUN["spec"], spec)
        assert problems == []
        request = jobs.Request("one", "team", state, read, {}, "")
        (only,), remarks = jobs.carry(Run(self.client, math.inf, dry), [request], recreate)
        return only, remarks

    def stop(self, *, dry: bool = False) -> tuple[str, bool, list[str]]:
        """What became of it, whether that is a change, and what was asked for it."""
        self.stub.seen.clear()
        only: Outcome = self.carry({}, dry=dry, state="stopped")[0]
        asked = [f"{seen.method}{' dry' if 'dryRun' in seen.query else ''}" for seen in self.stub.seen]
        return str(only.error or only.action), only.changed, asked


@pytest.fixture
def cluster(stub: Stub, connect: Callable[..., Transport]) -> Cluster:
    transport = connect()
    return Cluster(stub, Client(transport, Discovery(transport, None)))


def live(spec: dict[str, Any] | None = None, phase: str = "Running", reason: str = "") -> dict[str, Any]:
    (found,) = job.build("one", "team", spec or ONE, {"flavours": {}})
    annotations = {**found["metadata"]["annotations"], **({STOP: reason} if reason else {})}
    metadata = {**found["metadata"], "uid": "u1", "annotations": annotations}
    return {**found, "metadata": metadata, "status": {"state": {"phase": phase}}}


@pytest.mark.parametrize(
    "failing",
    [refuse(403, "Forbidden", 'commands is forbidden: User "ada" cannot create'), refuse(500, "InternalError")],
)
def test_a_stop_that_failed_after_its_reason_was_written_goes_on_at_the_next_run(
    cluster: Cluster, failing: Step
) -> None:
    cluster.objects[f"{JOBS}/one"] = live()
    cluster.planned[("POST", COMMANDS)] = failing
    said, changed, _asked = cluster.stop()
    assert not changed
    assert "Command" in said
    assert STOP in cluster.objects[f"{JOBS}/one"]["metadata"]["annotations"]
    del cluster.planned[("POST", COMMANDS)]
    assert cluster.stop() == ("unchanged", True, ["GET", "POST"])
    assert cluster.stub.seen[-1].body["metadata"]["name"] == "stop-u1"


def test_a_job_that_was_stopped_is_only_looked_at(cluster: Cluster) -> None:
    for phase in ("Terminating", "Terminated", "Aborting", "Aborted"):
        cluster.objects[f"{JOBS}/one"] = live(phase=phase, reason="by ada")
        assert cluster.stop() == ("unchanged", False, ["GET"]), phase


def test_a_job_whose_engine_was_told_but_has_not_begun_is_not_stopped_again(cluster: Cluster) -> None:
    cluster.objects[f"{JOBS}/one"] = live(reason="its queue is drained")
    cluster.planned[("POST", COMMANDS)] = refuse(409, "AlreadyExists")
    assert cluster.stop() == ("unchanged", False, ["GET", "POST"])
    assert cluster.stop(dry=True) == ("unchanged", False, ["GET", "POST dry"])
    assert cluster.objects[f"{JOBS}/one"]["metadata"]["annotations"][STOP] == "its queue is drained"


def test_check_mode_says_that_a_job_would_be_stopped_and_stops_nothing(cluster: Cluster) -> None:
    cluster.objects[f"{JOBS}/one"] = live()
    assert cluster.stop(dry=True) == ("unchanged", True, ["GET", "PATCH dry", "POST dry"])


QUEUES = "/apis/scheduling.volcano.sh/v1beta1/queues"
FLAVOURS = "/apis/paddleflow.org/v1alpha1/flavours"
SYSTEMS = "/apis/paddleflow.org/v1alpha1/namespaces/team/filesystems"
OPERATED = {"annotations": {"paddleflow/job-kind-group-version": "PyTorchJob.kubeflow.org/v1"}}
GANG = {"kind": "distributed", "framework": "pytorch", "members": [{"role": "worker"}], **OPERATED}
NAMING: list[tuple[dict[str, Any], str, str]] = [
    ({}, f"{QUEUES}/vision", "Queue vision"),
    ({"flavour": {"name": "huge"}}, FLAVOURS, "Flavour huge"),
    ({"limitFlavour": {"name": "huge"}}, FLAVOURS, "Flavour huge"),
    ({"fs": {"name": "data"}}, SYSTEMS, "FileSystem data"),
    ({"fs": {"name": "other/data"}}, SYSTEMS.replace("team", "other") + "/data", "FileSystem other/data"),
    (GANG, "/apis/kubeflow.org/v1", "The kind PyTorchJob.kubeflow.org/v1"),
]


@pytest.fixture
def equipped(cluster: Cluster) -> Cluster:
    cluster.objects[f"{QUEUES}/vision"] = {"metadata": {"name": "vision"}, "status": {"state": "Open"}}
    for path in (FLAVOURS, SYSTEMS):
        cluster.objects[path] = {"metadata": {}, "items": []}
    cluster.planned[("GET", "/apis/kubeflow.org/v1")] = UNSERVED
    return cluster


@pytest.mark.parametrize("served", [True, False])
@pytest.mark.parametrize(("naming", "path", "missing"), NAMING, ids=[missing for _n, _p, missing in NAMING])
def test_check_mode_takes_it_that_an_earlier_task_makes_what_a_job_names(
    equipped: Cluster, naming: dict[str, Any], path: str, missing: str, served: bool
) -> None:
    if not served:
        equipped.planned[("GET", path)] = UNSERVED
    elif path.endswith("/vision"):
        del equipped.objects[path]
    found, remarks = equipped.carry({**ONE, **naming}, dry=True)
    assert (found.action, found.error) == ("created", None)
    assert remarks == [f"{missing} is not there: check mode takes it that an earlier task makes it."]
    found, remarks = equipped.carry({**ONE, **naming})
    assert found.action == "failed"
    assert remarks == []


def test_check_mode_still_says_what_is_wrong_beside_what_is_not_there(equipped: Cluster) -> None:
    del equipped.objects[f"{QUEUES}/vision"]
    found, _remarks = equipped.carry({**ONE, "limitFlavour": {"cpu": "500m"}}, dry=True)
    assert "limit_flavour.cpu is 500m" in str(found.error)


@pytest.mark.parametrize("recreate", [False, True])
def test_check_mode_does_not_fail_for_what_a_webhook_says_of_a_queue_that_is_not_there(
    cluster: Cluster, recreate: bool
) -> None:
    """The queue has the job's name."""
    text = 'admission webhook "validatejob.volcano.sh" denied the request:  unable to find job queue: queue.scheduling.volcano.sh "one" not found;'
    spec = {**ONE, "schedulingPolicy": {"queue": "one"}}
    for verb, path in (("PATCH", f"{JOBS}/one"), ("POST", JOBS)):
        cluster.planned[(verb, path)] = refuse(422, "Invalid", text)
    if recreate:
        cluster.objects[f"{JOBS}/one"] = live({**spec, "image": "other"})
        cluster.planned[("DELETE", f"{JOBS}/one")] = ok({})
    found, remarks = cluster.carry(spec, dry=True, recreate=recreate)
    assert (found.action, found.error) == ("recreated" if recreate else "created", None)
    assert len(remarks) == 1


def test_what_a_misspelt_queue_may_mean_is_asked_once_for_many_jobs(cluster: Cluster) -> None:
    queues = "/apis/scheduling.volcano.sh/v1beta1/queues"
    cluster.objects[queues] = {"metadata": {}, "items": [{"metadata": {"name": "vision"}}]}
    spec = {**ONE, "schedulingPolicy": {**POLICY, "queue": "visoin"}}
    read, problems = check.read(job.NOUN["spec"], spec)
    assert problems == []
    requests = [jobs.Request(name, "team", "present", read, {}, "") for name in ("one", "two")]
    outcomes, _remarks = jobs.carry(Run(cluster.client, math.inf, False), requests, False)
    for outcome in outcomes:
        assert "Queue visoin does not exist: did you mean vision? Else declare it first" in str(outcome.error)
    assert [seen.path for seen in cluster.stub.seen].count(queues) == 1
