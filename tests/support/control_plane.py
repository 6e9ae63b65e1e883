# SPDX-License-Identifier: Apache-2.0
"""A real etcd and kube-apiserver on free loopback ports, with certificates from kubeadm; gone when the block ends."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support import checklogs
from tests.support.binaries import built

SERVICES = "10.250.0.0/16"
KUBEADM = """\
apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
localAPIEndpoint: {{advertiseAddress: 198.51.100.1, bindPort: {port}}}  # kubeadm refuses loopback; nothing is sent there
nodeRegistration: {{name: test, criSocket: "unix:///nowhere"}}
---
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
clusterName: test
kubernetesVersion: v1.34.4
certificatesDir: {pki}
controlPlaneEndpoint: 127.0.0.1:{port}
apiServer: {{certSANs: [127.0.0.1]}}
etcd: {{local: {{serverCertSANs: [127.0.0.1]}}}}
encryptionAlgorithm: ECDSA-P256
networking: {{serviceSubnet: {services}}}
"""


@dataclass(frozen=True)
class ControlPlane:
    folder: Path
    port: int
    seconds: float  # from the start of etcd until the API server was ready

    @property
    def pki(self) -> Path:
        return self.folder / "pki"

    @property
    def kubeconfig(self) -> Path:
        return self.folder / "super-admin.conf"

    def kubectl(self, *arguments: str, stdin: str = "", kubeconfig: Path | None = None) -> str:
        """What kubectl prints; raises with what it said when it fails."""
        done = self.try_kubectl(*arguments, stdin=stdin, kubeconfig=kubeconfig)
        assert done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr}"
        return done.stdout

    def try_kubectl(
        self, *arguments: str, stdin: str = "", kubeconfig: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        command = [str(self.folder / "bin/kubectl"), f"--kubeconfig={kubeconfig or self.kubeconfig}", *arguments]
        env = {"HOME": str(self.folder), "PATH": os.environ["PATH"]}
        return subprocess.run(command, input=stdin, capture_output=True, text=True, env=env, check=False)


def free_port() -> int:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return int(server.getsockname()[1])


@contextlib.contextmanager
def control_plane(*flags: str) -> Iterator[ControlPlane]:
    """Its programs may not crash, nor, in the extended run, say anything unexpected.

    :param flags: further ones of the API server
    """
    folder = Path(tempfile.mkdtemp(prefix="paddleflow-api-"))
    processes: list[subprocess.Popen[bytes]] = []
    try:
        yield _start(folder, processes, flags)
        said = checklogs.said_by_api(folder)
        assert not said, "\n".join(said)
    finally:
        for process in reversed(processes):
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(folder)


@contextlib.contextmanager
def controllers(api: ControlPlane, *names: str) -> Iterator[None]:
    """Some of Kubernetes' own controllers."""
    command = [str(built("kube") / "kube"), "kube-controller-manager", f"--kubeconfig={api.kubeconfig}"]
    command += ["--secure-port=0", f"--controllers={','.join(names)}", "--leader-elect=false"]
    with (
        (api.folder / "controllers.log").open("wb") as log,
        subprocess.Popen(command, stdout=log, stderr=log) as process,
    ):
        try:
            yield
        finally:
            process.terminate()
            process.wait(30)


def _start(folder: Path, processes: list[subprocess.Popen[bytes]], more: tuple[str, ...]) -> ControlPlane:
    (folder / "bin").mkdir()
    for name in ("etcd", "kube-apiserver", "kubectl", "kubeadm"):
        (folder / "bin" / name).symlink_to(built("kube") / "kube")
    port, etcd, peer = free_port(), free_port(), free_port()
    pki = folder / "pki"
    config = folder / "kubeadm.yaml"
    config.write_text(KUBEADM.format(port=port, pki=pki, services=SERVICES))
    phases = [str(folder / "bin/kubeadm"), "init", "phase"]
    subprocess.run([*phases, "certs", "all", f"--config={config}"], check=True, capture_output=True)
    subprocess.run(
        [*phases, "kubeconfig", "super-admin", f"--kubeconfig-dir={folder}", f"--config={config}"],
        check=True, capture_output=True,
    )  # fmt: skip
    started = time.monotonic()

    def start(name: str, *flags: str) -> None:
        with (folder / f"{name}.log").open("wb") as log:
            processes.append(subprocess.Popen([folder / "bin" / name, *flags], stdout=log, stderr=log, cwd=folder))

    start(
        "etcd",
        f"--data-dir={folder}/etcd", f"--listen-client-urls=https://127.0.0.1:{etcd}", "--unsafe-no-fsync",
        f"--advertise-client-urls=https://127.0.0.1:{etcd}", f"--listen-peer-urls=http://127.0.0.1:{peer}",
        f"--cert-file={pki}/etcd/server.crt", f"--key-file={pki}/etcd/server.key",
        "--client-cert-auth", f"--trusted-ca-file={pki}/etcd/ca.crt", "--log-level=error",
    )  # fmt: skip
    start(
        "kube-apiserver",
        f"--secure-port={port}", "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", "--anonymous-auth=false",
        f"--etcd-servers=https://127.0.0.1:{etcd}", f"--etcd-cafile={pki}/etcd/ca.crt", "--allow-privileged",
        f"--etcd-certfile={pki}/apiserver-etcd-client.crt", f"--etcd-keyfile={pki}/apiserver-etcd-client.key",
        f"--client-ca-file={pki}/ca.crt", f"--tls-cert-file={pki}/apiserver.crt", "--authorization-mode=RBAC",
        f"--tls-private-key-file={pki}/apiserver.key", f"--service-cluster-ip-range={SERVICES}",
        "--endpoint-reconciler-type=none",  # a loopback address would be refused, and retried for ever
        "--service-account-issuer=https://test", f"--service-account-key-file={pki}/sa.pub",
        f"--service-account-signing-key-file={pki}/sa.key", *more,
    )  # fmt: skip
    plane = ControlPlane(folder, port, 0.0)
    wait_until_ready(plane, processes)
    return ControlPlane(folder, port, time.monotonic() - started)


def wait_until_ready(plane: ControlPlane, processes: list[subprocess.Popen[bytes]], patience: float = 120) -> None:
    """Nothing announces that a server listens, so it is asked, ten times a second."""
    context = ssl.create_default_context(cafile=str(plane.pki / "ca.crt"))
    context.load_cert_chain(plane.pki / "apiserver-kubelet-client.crt", plane.pki / "apiserver-kubelet-client.key")
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))
    deadline = time.monotonic() + patience
    while True:
        try:
            opener.open(f"https://127.0.0.1:{plane.port}/readyz", timeout=5).close()
        except OSError as error:
            ended = [process for process in processes if process.poll() is not None]
            if ended or time.monotonic() > deadline:
                logs = "\n".join(f"{log.name}: {log.read_text()[-3000:]}" for log in plane.folder.glob("*.log"))
                raise AssertionError(f"The API server did not get ready: {error}\n{logs}") from error
            time.sleep(0.1)
        else:
            return
