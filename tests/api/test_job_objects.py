# SPDX-License-Identifier: Apache-2.0
"""The objects that jobs become, on a real API server: their fields are Volcano's and Kubernetes' own."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support import jobs
from tests.support.binaries import built
from tests.support.control_plane import ControlPlane
from tests.support.kube_api import define

PRIORITIES = {"very-low": -2000, "low": -10, "normal": 0, "high": 100, "very-high": 2000}


@pytest.fixture(scope="module")
def served(api: ControlPlane) -> ControlPlane:
    define(api, built("volcano") / "crds")
    items: list[dict[str, Any]] = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": jobs.NAMESPACE}}]
    items += [
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value}
        for name, value in PRIORITIES.items()
    ]
    items += [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": jobs.NAMESPACE}}
        for name in ("default", "trainer")  # nobody else makes them here
    ]
    bundle = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    api.kubectl("apply", "--server-side", "--field-manager=paddleflow", "--filename=-", stdin=bundle)
    return api


def refused(api: ControlPlane, item: dict[str, Any]) -> str:
    """What is said against an object."""
    command = ("create", "--dry-run=server", "--validate=strict", "--filename=-")
    done = api.try_kubectl(*command, stdin=json.dumps(item))
    return done.stderr if done.returncode or "unknown field" in done.stderr else ""


@pytest.mark.parametrize("case", jobs.VOLCANO)
def test_a_volcano_job_is_taken_as_it_is(served: ControlPlane, case: str) -> None:
    found = jobs.built(case)
    assert refused(served, found) == ""
    applied = served.kubectl(
        "apply", "--server-side", "--field-manager=paddleflow", "--dry-run=server", "--validate=strict",
        "--filename=-", "--output=json", stdin=json.dumps(found),
    )  # fmt: skip
    spec = json.loads(applied)["spec"]
    assert [task["name"] for task in spec["tasks"]] == [task["name"] for task in found["spec"]["tasks"]]
    assert spec["queue"] == "vision"


@pytest.mark.parametrize("case", jobs.VOLCANO)
def test_so_is_each_pod_that_its_engine_would_make(served: ControlPlane, case: str) -> None:
    found = jobs.built(case)
    for task in found["spec"]["tasks"]:
        template = task["template"]
        annotations = {**template["metadata"]["annotations"], "volcano.sh/task-index": "0"}
        metadata: dict[str, Any] = {"name": f"{case.replace('_', '-')}-{task['name']}-0", "namespace": jobs.NAMESPACE}
        metadata = {**template["metadata"], **metadata, "annotations": annotations}
        spec = {"priorityClassName": found["spec"]["priorityClassName"], **template["spec"]}
        assert refused(served, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}) == ""


def test_a_field_that_is_not_there_would_have_been_seen(served: ControlPlane) -> None:
    found = jobs.built("mpi")
    found["spec"]["tasks"][0]["template"]["spec"]["containers"][0]["comand"] = []
    assert "comand" in refused(served, found)
