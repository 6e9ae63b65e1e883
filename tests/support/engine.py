# SPDX-License-Identifier: Apache-2.0
"""Volcano's real controllers at a real API server. Who uses it plays scheduler and kubelet: it writes the status of gangs
and pods."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from paddleflow_core.model import check, job
from paddleflow_core.model.jobs import state

from tests.support.binaries import built
from tests.support.control_plane import ControlPlane, free_port
from tests.support.kube_api import define

_USED = ("jobs.batch.volcano.sh", "podgroups.scheduling.volcano.sh", "pods", "services", "configmaps", "secrets")


class Engine:
    def __init__(self, api: ControlPlane, space: str) -> None:
        self.api, self.space = api, space

    def create(self, name: str, spec: dict[str, Any]) -> dict[str, Any]:
        read, problems = check.read(job.NOUN["spec"], spec)
        assert [*problems, *job.problems(name, read)] == []
        (found,) = job.build(name, self.space, read)
        self.api.kubectl("create", "--filename=-", stdin=json.dumps(found))
        self.admit(name)
        return found

    def get(self, name: str) -> dict[str, Any]:
        text = self.api.kubectl("get", "jobs.batch.volcano.sh", name, f"--namespace={self.space}", "--output=json")
        found: dict[str, Any] = json.loads(text)
        return found

    def pods(self, name: str) -> dict[str, dict[str, Any]]:
        selector = f"--selector=volcano.sh/job-name={name}"
        text = self.api.kubectl("get", "pods", selector, f"--namespace={self.space}", "--output=json")
        return {pod["metadata"]["name"]: pod for pod in json.loads(text)["items"]}

    def state(self, name: str) -> tuple[str, str]:
        found = state.observe(self.get(name), self.pods(name).values())
        return found["state"], found["message"]

    def status(self, kind: str, name: str, status: dict[str, Any], *more: str) -> None:
        patch = f"--patch={json.dumps({'status': status})}"
        self.api.kubectl("patch", kind, name, f"--namespace={self.space}", "--type=merge", patch, *more)

    def admit(self, name: str) -> None:
        """As the scheduler does once there is room."""
        groups = f"--output=jsonpath={{.items[?(@.metadata.ownerReferences[0].name=='{name}')].metadata.name}}"
        kind = "podgroups.scheduling.volcano.sh"
        group = self.wait(lambda: self.api.kubectl("get", kind, f"--namespace={self.space}", groups))
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

    def ended(self, name: str, **pods: int) -> None:
        """Once the engine has taken up that so many have: it decides what comes of that in the same step."""
        self.wait(lambda: pods.items() <= self.get(name)["status"].items())

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


@contextlib.contextmanager
def engine_in(
    api: ControlPlane, space: str, folder: Path, *controllers: str, kubeconfig: Path | None = None
) -> Iterator[Engine]:
    """With a namespace for jobs, and a queue `vision`. The controllers are the administrator, or whom `kubeconfig` names."""
    define(api, built("volcano") / "crds")
    items: list[dict[str, Any]] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": space}},
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "normal"}, "value": 0},
        {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "vision"}, "spec": {"weight": 1}},
    ]  # fmt: skip
    bundle = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    api.kubectl("apply", "--server-side", "--field-manager=paddleflow", "--filename=-", stdin=bundle)
    engine = [
        str(built("volcano") / "volcano"), "vc-controller-manager", f"--kubeconfig={kubeconfig or api.kubeconfig}",
        f"--controllers={','.join(controllers)}",
        "--leader-elect=false", "--max-requeue-num=-1", f"--listen-address=127.0.0.1:{free_port()}",
        f"--healthz-address=127.0.0.1:{free_port()}", "--scheduler-name=volcano",
    ]  # fmt: skip
    environment = {"PATH": os.environ["PATH"], "DEBUG_SOCKET_DIR": str(folder), "KUBE_POD_NAMESPACE": space}
    with garbage_collector(api, folder), _running(engine, folder / "engine.log", environment):
        try:
            yield Engine(api, space)
        finally:
            for kind in _USED:
                api.kubectl("delete", kind, "--all", f"--namespace={space}")
            api.kubectl("delete", "queue.scheduling.volcano.sh/vision")


@contextlib.contextmanager
def garbage_collector(api: ControlPlane, folder: Path) -> Iterator[None]:
    """Of the kinds that are there when it begins."""
    (folder / "kube-controller-manager").symlink_to(built("kube") / "kube")
    command = [
        str(folder / "kube-controller-manager"), f"--kubeconfig={api.kubeconfig}", "--controllers=garbage-collector-controller",
        "--leader-elect=false", "--bind-address=127.0.0.1", f"--secure-port={free_port()}", f"--cert-dir={folder}",
    ]  # fmt: skip
    with _running(command, folder / "collector.log", {"PATH": os.environ["PATH"]}):
        yield


@contextlib.contextmanager
def _running(command: list[str], output: Path, environment: dict[str, str]) -> Iterator[None]:
    with output.open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log, env=environment) as process:
        try:
            yield
            assert process.poll() is None, output.read_text()[-3000:]
        finally:
            process.terminate()
            process.wait(30)
