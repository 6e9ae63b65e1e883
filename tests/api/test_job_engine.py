# SPDX-License-Identifier: Apache-2.0
"""What Volcano's real controllers do with the jobs that we build, when pods end, fail, are evicted or are not wanted any more.
The test plays scheduler and kubelet: it writes the status of gangs and pods."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from paddleflow_core.model import check, job
from paddleflow_core.model.jobs import changes, state

from tests.support import jobs
from tests.support.binaries import built
from tests.support.control_plane import ControlPlane, free_port

SPACE = "engine"
PODS = {"command": "run", "flavour": {"cpu": 1}}


class Engine:
    def __init__(self, api: ControlPlane) -> None:
        self.api = api

    def create(self, name: str, spec: dict[str, Any]) -> dict[str, Any]:
        read, problems = check.read(job.NOUN["spec"], spec)
        assert [*problems, *job.problems(name, read)] == []
        (found,) = job.build(name, SPACE, read)
        self.api.kubectl("create", "--filename=-", stdin=json.dumps(found))
        self.admit(name)
        return found

    def get(self, name: str) -> dict[str, Any]:
        text = self.api.kubectl("get", "jobs.batch.volcano.sh", name, f"--namespace={SPACE}", "--output=json")
        found: dict[str, Any] = json.loads(text)
        return found

    def pods(self, name: str) -> dict[str, dict[str, Any]]:
        selector = f"--selector=volcano.sh/job-name={name}"
        text = self.api.kubectl("get", "pods", selector, f"--namespace={SPACE}", "--output=json")
        return {pod["metadata"]["name"]: pod for pod in json.loads(text)["items"]}

    def state(self, name: str) -> tuple[str, str]:
        found = state.observe(self.get(name), self.pods(name).values())
        return found["state"], found["message"]

    def status(self, kind: str, name: str, status: dict[str, Any], *more: str) -> None:
        patch = f"--patch={json.dumps({'status': status})}"
        self.api.kubectl("patch", kind, name, f"--namespace={SPACE}", "--type=merge", patch, *more)

    def admit(self, name: str) -> None:
        """As the scheduler does once there is room."""
        groups = f"--output=jsonpath={{.items[?(@.metadata.ownerReferences[0].name=='{name}')].metadata.name}}"
        kind = "podgroups.scheduling.volcano.sh"
        group = self.wait(lambda: self.api.kubectl("get", kind, f"--namespace={SPACE}", groups))
        self.status(kind, group, {"phase": "Inqueue"})

    def phase(self, pod: str, phase: str, code: int | None = None) -> None:
        """As the kubelet does."""
        status: dict[str, Any] = {"phase": phase}
        if code is not None:
            ended = {"exitCode": code, "reason": "Error" if code else "Completed"}
            container = {"name": "main", "image": "x", "imageID": "x", "ready": False, "restartCount": 0}
            status["containerStatuses"] = [{**container, "state": {"terminated": ended}}]
        self.status("pods", pod, status, "--subresource=status")

    def run(self, name: str, count: int) -> dict[str, str]:
        """The job's pods once they are there and run: names and identities."""
        self.has(name, count)
        for pod in self.pods(name):
            self.phase(pod, "Running")
        self.becomes(name, "running")
        return {pod: found["metadata"]["uid"] for pod, found in self.pods(name).items()}

    def retried(self, name: str, times: int) -> None:
        self.wait(lambda: self.get(name)["status"].get("retryCount") == times)

    def renewed(self, name: str, before: dict[str, str]) -> None:
        def now() -> set[str]:
            return {pod["metadata"]["uid"] for pod in self.pods(name).values()}

        self.wait(lambda: len(now()) == len(before) and not now() & set(before.values()))

    def becomes(self, name: str, expected: str) -> None:
        self.wait(lambda: self.state(name)[0] == expected)

    def has(self, name: str, count: int) -> None:
        self.wait(lambda: len(self.pods(name)) == count)

    @staticmethod
    def wait(ready: Callable[[], Any]) -> Any:
        deadline = time.monotonic() + 60
        while not (found := ready()):
            assert time.monotonic() < deadline, "nothing came of it"
            time.sleep(0.1)
        return found


@pytest.fixture(scope="module")
def engine(api: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    api.kubectl("apply", "--server-side", f"--filename={built('volcano') / 'crds'}")
    crds = ("jobs.batch", "commands.bus", "podgroups.scheduling", "queues.scheduling")
    api.kubectl("wait", "--for=condition=Established", "--timeout=60s", *(f"crd/{name}.volcano.sh" for name in crds))
    items: list[dict[str, Any]] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": SPACE}},
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "normal"}, "value": 0},
        {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "vision"}, "spec": {"weight": 1}},
    ]  # fmt: skip
    bundle = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    api.kubectl("apply", "--server-side", "--field-manager=paddleflow", "--filename=-", stdin=bundle)
    folder = tmp_path_factory.mktemp("engine")
    command = [
        str(built("volcano") / "volcano"), "vc-controller-manager", f"--kubeconfig={api.kubeconfig}", "--controllers=job-controller",
        "--leader-elect=false", "--max-requeue-num=-1", f"--listen-address=127.0.0.1:{free_port()}",
        f"--healthz-address=127.0.0.1:{free_port()}", "--scheduler-name=volcano",
    ]  # fmt: skip
    environment = {"PATH": os.environ["PATH"], "DEBUG_SOCKET_DIR": str(folder), "KUBE_POD_NAMESPACE": SPACE}
    with (
        Path(folder / "controllers.log").open("wb") as log,
        subprocess.Popen(command, stdout=log, stderr=log, env=environment) as process,
    ):
        try:
            yield Engine(api)
            assert process.poll() is None, (folder / "controllers.log").read_text()[-3000:]
            for kind in (
                "jobs.batch.volcano.sh",
                "podgroups.scheduling.volcano.sh",
                "pods",
                "services",
                "configmaps",
                "secrets",
            ):
                api.kubectl("delete", kind, "--all", f"--namespace={SPACE}")
            api.kubectl("delete", "queue.scheduling.volcano.sh/vision")
        finally:
            process.terminate()
            process.wait(30)


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
    time.sleep(1)  # nothing may come of it
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
        assert list(changes.problems(job.NOUN["spec"], job.declared(live), wanted, "running")) == []
        (again,) = job.build("resized", SPACE, wanted)
        revised = changes.revised(live, again)
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
    time.sleep(1)
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
