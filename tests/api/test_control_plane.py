# SPDX-License-Identifier: Apache-2.0
"""The compiled binary is the Kubernetes that it says it is."""

from __future__ import annotations

import json

from tests.support.binaries import artifacts, built
from tests.support.control_plane import ControlPlane


def test_version_and_etcd(api: ControlPlane) -> None:
    version = json.loads(api.kubectl("version", "--output=json"))
    expected = f"v{artifacts()['artifacts_kubernetes_version']}"
    assert version["clientVersion"]["gitVersion"] == version["serverVersion"]["gitVersion"] == expected
    assert "[+]etcd ok" in api.kubectl("get", "--raw", "/readyz?verbose")


def test_strangers_are_refused(api: ControlPlane) -> None:
    nobody = api.folder / "nobody.conf"
    cluster = {"server": f"https://127.0.0.1:{api.port}", "certificate-authority": str(api.pki / "ca.crt")}
    nobody.write_text(json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "x", "users": [{"name": "x", "user": {"token": "made-up"}}],
        "clusters": [{"name": "x", "cluster": cluster}], "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
    }))  # fmt: skip
    done = api.try_kubectl("get", "--raw", "/version", kubeconfig=nobody)
    assert done.returncode != 0
    assert "Unauthorized" in done.stderr or "must be logged in" in done.stderr


def test_every_name_of_the_binary_answers(api: ControlPlane) -> None:
    applets = sorted(path.name for path in (api.folder / "bin").iterdir())
    assert applets == ["etcd", "kube-apiserver", "kubeadm", "kubectl"]
    assert (built("kube") / "kube").stat().st_size < 250 * 1024 * 1024
