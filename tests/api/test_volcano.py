# SPDX-License-Identifier: Apache-2.0
"""Volcano's objects on a real API server, and its programs with the permissions of the role and no more."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.control_plane import ControlPlane
from tests.support.volcano_programs import NAMESPACE, Installed, installed_in, listening

pytestmark = pytest.mark.own_api


@pytest.fixture(scope="module")
def installed(api: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    with installed_in(api, tmp_path_factory.mktemp("volcano")) as running:
        yield running


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
        listening(log)
    assert "forbidden" not in log.read_text().lower()
