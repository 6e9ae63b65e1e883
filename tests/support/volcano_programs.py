# SPDX-License-Identifier: Apache-2.0
"""Volcano on a real API server: the objects of the role, and its programs with their permissions and no more."""

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
    def running(self, component: str, port: int = 0) -> Iterator[Path]:
        """A program with the arguments of its Deployment; its log. The webhooks can be told their port."""
        deployment = volcano.one(self.objects["workloads"], "Deployment", f"volcano-{component}")
        (container,) = deployment["spec"]["template"]["spec"]["containers"]
        port = port or free_port()
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

    @contextlib.contextmanager
    def reached(self) -> Iterator[None]:
        """With the webhooks running, where the API server of a test, which has no network of pods, reaches them."""
        port = free_port()
        hooks = [one for one in self.objects["admission"] if one["kind"].endswith("WebhookConfiguration")]
        local = json.loads(json.dumps(hooks))
        for one in local:
            for hook in one["webhooks"]:
                path = hook["clientConfig"].pop("service")["path"]
                hook["clientConfig"]["url"] = f"https://localhost:{port}{path}"
        with self.running("webhooks", port) as log:
            listening(log)
            for one in hooks:
                self.api.kubectl("delete", one["kind"], one["metadata"]["name"])
            self.apply(local)
            yield

    def apply(self, items: list[dict[str, Any]]) -> None:
        bundle = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
        self.api.kubectl("apply", "--server-side", "--field-manager=paddleflow", "--filename=-", stdin=bundle)


def listening(log: Path) -> None:
    """Nothing announces that the webhooks are up, so their log is read, ten times a second."""
    deadline = time.monotonic() + 60
    while 'type="*v1beta1.Queue"' not in log.read_text() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert 'type="*v1beta1.Queue"' in log.read_text(), log.read_text()[-3000:]


@contextlib.contextmanager
def installed_in(api: ControlPlane, folder: Path) -> Iterator[Installed]:
    pair = certificate()
    (folder.with_name(folder.name + "-tls")).mkdir()
    for part, text in pair["data"].items():
        (folder.with_name(folder.name + "-tls") / part).write_bytes(base64.b64decode(text))
    objects = {name: volcano.rendered(name, volcano_certificate=pair) for name in volcano.TEMPLATES}
    for item in objects["config"]:
        for name, text in item.get("data", {}).items():
            (folder / name).write_text(text)

    # As the roles do, which another test may have run.
    define(api, built("volcano") / "crds", ROOT / "crds")
    running = Installed(api, folder, objects)
    for name in ("namespace", "rbac", "config", "admission", "workloads"):
        running.apply(objects[name])
    kinds = "mutatingwebhookconfigurations,validatingwebhookconfigurations,validatingadmissionpolicybindings,validatingadmissionpolicies"
    try:
        yield running
    finally:
        api.kubectl("delete", kinds, "--selector=app.kubernetes.io/name=volcano")
