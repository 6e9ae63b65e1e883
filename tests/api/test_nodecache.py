# SPDX-License-Identifier: Apache-2.0
"""The API server enforces what the model says of NodeCache."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.binaries import ROOT
from tests.support.control_plane import ControlPlane
from tests.support.kube_api import define

CRD = ROOT / "crds/nodecaches.paddleflow.org.yaml"
BYTES = {"fileSystem": "team/data", "cachedBytes": 5, "cachedFiles": 1}


@pytest.fixture(scope="module")
def caches(api: ControlPlane) -> ControlPlane:
    define(api, CRD)
    return api


def node_cache(name: str, node: str | None = None, **status: Any) -> str:
    spec = {"nodeName": name if node is None else node}
    return json.dumps({
        "apiVersion": "paddleflow.org/v1alpha1", "kind": "NodeCache", "metadata": {"name": name}, "spec": spec, "status": status,
    })  # fmt: skip


def report(caches: ControlPlane, name: str, **status: Any) -> tuple[int, str]:
    caches.kubectl("apply", "--server-side", "--filename=-", stdin=node_cache(name))
    done = caches.try_kubectl(
        "patch", "nodecache", name, "--subresource=status", "--type=merge", f"--patch={json.dumps({'status': status})}"
    )
    return done.returncode, done.stderr


def test_a_report_is_kept_and_shown(caches: ControlPlane) -> None:
    code, said = report(caches, "node-1", observedTime="2026-01-02T03:04:05Z", fileSystems=[BYTES])
    assert code == 0, said
    shown = caches.kubectl("get", "nc", "node-1")
    assert shown.splitlines()[0].split()[:2] == ["NAME", "NODE"]
    stored = json.loads(caches.kubectl("get", "nc", "node-1", "--output=json"))
    assert stored["status"]["fileSystems"] == [BYTES]


def test_status_is_written_by_its_subresource_alone(caches: ControlPlane) -> None:
    caches.kubectl("create", "--filename=-", stdin=node_cache("node-2", fileSystems=[BYTES]))
    assert "status" not in json.loads(caches.kubectl("get", "nc", "node-2", "--output=json"))


def test_the_object_is_named_as_its_node(caches: ControlPlane) -> None:
    done = caches.try_kubectl("create", "--filename=-", stdin=node_cache("node-3", node="node-4"))
    assert done.returncode != 0
    assert "metadata.name must be the node's name" in done.stderr


def test_the_node_cannot_be_changed(caches: ControlPlane) -> None:
    caches.kubectl("create", "--filename=-", stdin=node_cache("node-5"))
    done = caches.try_kubectl("patch", "nc", "node-5", "--type=merge", '--patch={"spec": {"nodeName": "node-6"}}')
    assert done.returncode != 0
    assert "cannot be changed" in done.stderr


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        ({**BYTES, "cachedBytes": -1}, "greater than or equal to 0"),
        ({**BYTES, "fileSystem": "no-namespace"}, "should match"),
        ({"fileSystem": "team/data"}, "cachedBytes: Required value"),
        ({**BYTES, "cachedFiles": "many"}, "must be of type integer"),
    ],
)
def test_a_wrong_report_is_refused(caches: ControlPlane, entry: dict[str, Any], complaint: str) -> None:
    code, said = report(caches, "node-7", fileSystems=[entry])
    assert code != 0
    assert complaint in said


def test_a_file_system_is_reported_once(caches: ControlPlane) -> None:
    code, said = report(caches, "node-8", fileSystems=[BYTES, BYTES])
    assert code != 0
    assert "Duplicate value" in said


def test_a_thousand_file_systems_fit(caches: ControlPlane) -> None:
    entries = [{**BYTES, "fileSystem": f"team/data-{number}"} for number in range(1000)]
    code, said = report(caches, "node-9", fileSystems=entries)
    assert code == 0, said
