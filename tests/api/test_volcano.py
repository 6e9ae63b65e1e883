# SPDX-License-Identifier: Apache-2.0
"""Volcano's objects on a real API server, and its programs with the permissions of the role and no more."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support import volcano
from tests.support.binaries import ROOT, built
from tests.support.control_plane import ControlPlane, free_port
from tests.support.kube_api import define

NAMESPACE = "volcano-system"
PROGRAMS = {"scheduler": "vc-scheduler", "controllers": "vc-controller-manager", "webhooks": "vc-webhook-manager"}


def certificate() -> dict[str, Any]:
    request = {"secret": None, "names": ["localhost"], "days": 2, "ca_days": 2, "renew_days": 1}
    program = ROOT / "roles/volcano/files/webhook_certificate.py"
    done = subprocess.run(
        ["python3", str(program)], input=json.dumps(request), check=True, capture_output=True, text=True
    )
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@dataclass(frozen=True)
class Installed:
    api: ControlPlane
    folder: Path
    objects: dict[str, list[dict[str, Any]]]

    def kubeconfig(self, component: str) -> Path:
        """Credentials of a program's service account, as its pod would have them."""
        token = self.api.kubectl("create", "token", f"volcano-{component}", f"--namespace={NAMESPACE}").strip()
        path = self.folder / f"{component}.kubeconfig"
        cluster = {
            "server": f"https://127.0.0.1:{self.api.port}",
            "certificate-authority": str(self.api.pki / "ca.crt"),
        }
        path.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "x", "users": [{"name": "x", "user": {"token": token}}],
            "clusters": [{"name": "x", "cluster": cluster}], "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
        }))  # fmt: skip
        return path

    @contextlib.contextmanager
    def running(self, component: str) -> Iterator[Path]:
        """A program with the arguments of its Deployment; its log."""
        deployment = volcano.one(self.objects["workloads"], "Deployment", f"volcano-{component}")
        (container,) = deployment["spec"]["template"]["spec"]["containers"]
        port = free_port()
        arguments = [
            word.replace("/etc/volcano", str(self.folder))
            for word in container["args"]
            if not word.startswith("--port=")
        ]
        arguments += [f"--kubeconfig={self.kubeconfig(component)}", f"--healthz-address=127.0.0.1:{free_port()}"]
        arguments += [f"--port={port}"] if component == "webhooks" else [f"--listen-address=127.0.0.1:{free_port()}"]
        environment = {item["name"]: item["value"] for item in container.get("env", [])}
        environment |= {"PATH": os.environ["PATH"], "DEBUG_SOCKET_DIR": str(self.folder)}
        log = self.folder / f"{component}.log"
        command = [str(built("volcano") / "volcano"), PROGRAMS[component], *arguments]
        with (
            log.open("wb") as stream,
            subprocess.Popen(command, stdout=stream, stderr=stream, env=environment) as process,
        ):
            try:
                yield log
                assert process.poll() is None, log.read_text()[-3000:]
            finally:
                process.terminate()
                process.wait(30)


@pytest.fixture(scope="module")
def installed(api: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    folder = tmp_path_factory.mktemp("volcano")
    pair = certificate()
    (folder.with_name(folder.name + "-tls")).mkdir()
    for part, text in pair["data"].items():
        (folder.with_name(folder.name + "-tls") / part).write_bytes(base64.b64decode(text))
    objects = {name: volcano.rendered(name, volcano_certificate=pair) for name in volcano.TEMPLATES}
    for item in objects["config"]:
        for name, text in item.get("data", {}).items():
            (folder / name).write_text(text)

    def apply(items: list[dict[str, Any]]) -> None:
        bundle = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
        api.kubectl("apply", "--server-side", "--field-manager=paddleflow", "--filename=-", stdin=bundle)

    # As the roles do, which another test may have run.
    define(api, built("volcano") / "crds", ROOT / "crds")
    for name in ("namespace", "rbac", "config", "admission", "workloads"):
        apply(objects[name])
    yield Installed(api, folder, objects)
    kinds = "mutatingwebhookconfigurations,validatingwebhookconfigurations,validatingadmissionpolicybindings,validatingadmissionpolicies"
    api.kubectl("delete", kinds, "--selector=app.kubernetes.io/name=volcano")


def test_a_second_apply_changes_nothing(installed: Installed) -> None:
    items = [
        item for name in ("namespace", "rbac", "config", "admission", "workloads") for item in installed.objects[name]
    ]
    bundle = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    done = installed.api.try_kubectl(
        "diff", "--server-side", "--field-manager=paddleflow", "--filename=-", stdin=bundle
    )
    assert done.returncode == 0, done.stdout


def test_without_its_webhooks_queues_are_refused_and_pods_are_not(installed: Installed) -> None:
    queue = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": "q"},
        "spec": {"weight": 1},
    }
    done = installed.api.try_kubectl("create", "--filename=-", stdin=json.dumps(queue))
    assert done.returncode != 0
    assert "failed calling webhook" in done.stderr
    assert pod(installed, "plain", schedulerName="volcano") == ""


def pod(installed: Installed, name: str, annotations: dict[str, str] | None = None, **spec: Any) -> str:
    """What is said against a pod."""
    installed.api.try_kubectl("create", "serviceaccount", "default", "--namespace=default")  # nobody else makes it here
    item = {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "annotations": annotations or {}},
        "spec": {"containers": [{"name": "main", "image": "x"}], **spec},
    }  # fmt: skip
    return installed.api.try_kubectl("create", "--dry-run=server", "--filename=-", stdin=json.dumps(item)).stderr


@pytest.mark.parametrize(
    ("annotations", "refused"),
    [
        ({"volcano.sh/jdb-min-available": "0"}, "volcano.sh/jdb-min-available must be"),
        ({"volcano.sh/jdb-min-available": "2"}, ""),
        ({"volcano.sh/jdb-max-unavailable": "100%"}, "volcano.sh/jdb-max-unavailable must be"),
        ({"volcano.sh/jdb-max-unavailable": "99%"}, ""),
        ({"volcano.sh/jdb-max-unavailable": "1", "volcano.sh/jdb-min-available": "1"}, "exclude each other"),
    ],
)
def test_pods_of_volcano_are_checked_by_the_api_server(
    installed: Installed, annotations: dict[str, str], refused: str
) -> None:
    said = pod(installed, "annotated", annotations, schedulerName="volcano")
    assert refused in said if refused else said == ""
    assert pod(installed, "annotated", annotations) == "", "pods of other schedulers are nobody's business here"


def test_the_scheduler_starts_with_its_permissions_only_and_without_webhooks(installed: Installed) -> None:
    with installed.running("scheduler") as log:
        for queue in ("root", "default"):
            installed.api.kubectl("wait", "--for=create", "--timeout=60s", f"queue.scheduling.volcano.sh/{queue}")
        holder = "jsonpath={.spec.holderIdentity}"
        installed.api.kubectl("wait", f"--for={holder}", "--timeout=60s", f"--namespace={NAMESPACE}", "lease/volcano")
        # A pod group leaves Pending in the first cycle, so the configuration was read and all caches are filled.
        group = {
            "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup",
            "metadata": {"name": "first", "namespace": "kube-system"}, "spec": {"minMember": 1, "queue": "default"},
        }  # fmt: skip
        with installed.running("controllers") as controllers:
            opened = "--for=jsonpath={.status.state}=Open"
            installed.api.kubectl("wait", opened, "--timeout=60s", "queue.scheduling.volcano.sh/default")
            installed.api.kubectl("create", "--filename=-", stdin=json.dumps(group))
            inqueue = "--for=jsonpath={.status.phase}=Inqueue"
            installed.api.kubectl(
                "wait", inqueue, "--timeout=60s", "--namespace=kube-system", "podgroup.scheduling.volcano.sh/first"
            )
    for text in (log.read_text(), controllers.read_text()):
        assert "forbidden" not in text.lower()
        assert "is invalid" not in text
    assert (
        "plugins=[capacity priority gang conformance predicates nodeorder binpack nodegroup cacheaffinity]"
        in log.read_text()
    )


def test_the_webhooks_start_with_their_permissions_only(installed: Installed) -> None:
    with installed.running("webhooks") as log:
        # Nothing announces it, so its log is read, ten times a second.
        deadline = time.monotonic() + 60
        while 'type="*v1beta1.Queue"' not in log.read_text() and time.monotonic() < deadline:
            time.sleep(0.1)
        assert 'type="*v1beta1.Queue"' in log.read_text(), log.read_text()[-3000:]
    assert "forbidden" not in log.read_text().lower()
