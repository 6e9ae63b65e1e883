# SPDX-License-Identifier: Apache-2.0
"""The module grant against a real API server: what it writes, what the API server then lets people do, and its refusals."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml
from paddleflow_core.kube.client import Object

from tests.support import granted, modules
from tests.support.control_plane import ControlPlane
from tests.support.granted import REPLICA_SETS, Granted, pod_group
from tests.support.kube_api import Session

pytestmark = pytest.mark.own_api

NAMESPACE = "grants"


@pytest.fixture(scope="module")
def world(api: ControlPlane, session: Session) -> Granted:
    made = granted.install(api, session)
    made.settle()
    return made


def declare(world: Granted, check: bool = False, **options: Any) -> dict[str, Any]:
    return modules.run("grant", {"kubeconfig": str(world.api.kubeconfig), **options}, check=check, diff=check)


def live(world: Granted, name: str) -> list[Object]:
    found = world.api.kubectl(
        "get", "clusterroles,clusterrolebindings", "-o", "json", "--selector=paddleflow.org/queue"
    )
    return [one for one in json.loads(found)["items"] if one["metadata"]["name"] == f"paddleflow-grant-{name}"]


def test_a_grant_lets_people_and_controllers_in_and_its_end_keeps_them_out(world: Granted) -> None:
    item = pod_group("one", "room", "g-life")
    assert "not granted" in world.refusal("eve", item)
    options: dict[str, Any] = {"name": "g-life", "queue": "g-life", "users": ["eve"], "namespaces": ["room"]}
    answer = declare(world, **options)
    assert [(one["kind"], one["action"]) for one in answer["objects"]] == [
        ("ClusterRole", "created"),
        ("ClusterRoleBinding", "created"),
    ]
    granted.until("the grant of eve", lambda: world.refusal("eve", item) == "")
    granted.until("the grant of the namespace", lambda: world.refusal(REPLICA_SETS, item) == "")
    assert not declare(world, **options)["changed"]
    gone = declare(world, name="g-life", state="absent")
    assert [one["action"] for one in gone["objects"]] == ["deleted", "deleted"]
    assert not declare(world, name="g-life", state="absent")["changed"]
    granted.until("the end of the grant of eve", lambda: world.refusal("eve", item) != "")
    granted.until("that of the namespace", lambda: world.refusal(REPLICA_SETS, item) != "")
    assert live(world, "g-life") == []


def test_the_task_that_a_refusal_names_is_the_remedy(world: Granted) -> None:
    item = pod_group("one", "room", "g-remedy")
    for user in ("frank@example.com", REPLICA_SETS, "system:serviceaccount:team:robot"):
        said = world.refusal(user, item)
        task = re.search(r"paddleflow\.core\.grant: (\{.*\})", said)
        assert task, said
        answer = declare(world, **yaml.safe_load(task[1]))
        assert answer["changed"], answer
        granted.until(f"what was granted to {user}", lambda user=user: world.refusal(user, item) == "")  # type: ignore[misc]


def test_it_grants_no_more_than_it_says(world: Granted) -> None:
    declare(world, name="g-less", queue="g-less", users=["gina"], groups=["g-group"], namespaces=["room"])
    role, binding = live(world, "g-less")
    assert role["rules"] == [
        {
            "apiGroups": ["scheduling.volcano.sh"],
            "resources": ["queues"],
            "resourceNames": ["g-less"],
            "verbs": ["use"],
        },
        {
            "apiGroups": ["paddleflow.org"],
            "resources": ["boundnamespaces"],
            "resourceNames": ["room"],
            "verbs": ["use"],
        },
    ]
    assert [one["name"] for one in binding["subjects"]] == ["gina", "g-group", "default"]
    # `auth can-i` says who may use what, without a look at roles.
    asked = ("auth", "can-i", "--quiet", "use", "queues.scheduling.volcano.sh/g-less")
    assert world.api.try_kubectl(*asked, "--as=gina").returncode == 0
    assert world.api.try_kubectl(*asked, "--as=hank", "--as-group=g-group").returncode == 0
    assert world.api.try_kubectl(*asked, "--as=hank").returncode == 1
    for verb in ("get", "update", "delete"):
        other = ("auth", "can-i", "--quiet", verb, "queues.scheduling.volcano.sh/g-less", "--as=gina")
        assert world.api.try_kubectl(*other).returncode == 1


def test_who_is_dropped_from_a_grant_loses_it_and_the_queue_can_change(world: Granted) -> None:
    declare(world, name="g-drop", queue="g-drop", users=["ida", "jack"])
    assert declare(world, name="g-drop", queue="g-other", users=["jack"])["changed"]
    role, binding = live(world, "g-drop")
    assert role["rules"][0]["resourceNames"] == ["g-other"]
    assert [one["name"] for one in binding["subjects"]] == ["jack"]


def test_what_somebody_widened_is_narrowed_again(world: Granted) -> None:
    options: dict[str, Any] = {"name": "g-drift", "queue": "g-drift", "users": ["kim"]}
    declare(world, **options)
    role, _binding = live(world, "g-drift")
    role["rules"][0]["resourceNames"] = ["g-drift", "team"]
    world.api.kubectl("replace", "--filename=-", stdin=json.dumps(role))
    would = declare(world, check=True, force_conflicts=True, **options)
    assert would["changed"]
    refused = declare(world, **options)
    assert "kubectl-replace" in refused["msg"]
    assert declare(world, force_conflicts=True, **options)["changed"]
    assert live(world, "g-drift")[0]["rules"][0]["resourceNames"] == ["g-drift"]


def test_a_name_that_is_a_foreign_bindings_is_not_the_foreign_binding(world: Granted) -> None:
    assert not declare(world, name="cluster-admin", state="absent")["changed"]
    assert world.api.kubectl("get", "clusterrolebinding", "cluster-admin", "--output=name").strip()


def test_a_thousand_grants_are_one_task(world: Granted) -> None:
    objects = [{"name": f"g {number}", "queue": f"g-{number}", "groups": ["many"]} for number in range(1000)]
    first = declare(world, objects=objects)
    assert sum(one["changed"] for one in first["objects"]) == 2000, first.get("msg", "")[:2000]
    assert not declare(world, objects=objects)["changed"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"name": "g", "queue": "q"},
            "grant g: namespaces is missing, but must be given where no people, users and groups",
        ),
        ({"name": "g", "users": ["a"]}, "grant g: queue is missing"),
        (
            {"name": "g", "queue": "root", "users": ["a"]},
            "grant g: queue is 'root', but must be a queue without children",
        ),
        (
            {"name": "g", "file_system": "data/x", "users": ["a"]},
            "grant g: users is given, but must be left out beside",
        ),
        ({"name": "g", "file_system": "x", "namespaces": ["a"]}, "grant g: file_system is 'x', but must be text like"),
    ],
)
def test_bad_input_is_refused_before_the_server_is_asked(options: dict[str, Any], said: str) -> None:
    answer = modules.run("grant", {"host": "https://127.0.0.1:9", "api_key": "a-token-for-nobody", **options})
    assert answer["failed"]
    assert said in answer["msg"]


def test_a_site_may_only_warn(world: Granted) -> None:
    item = pod_group("one", "room", "g-warned")
    assert "not granted" in world.refusal("nora", item)
    try:
        world.enforce("warn")
        granted.until("only a warning", lambda: world.refusal("nora", item) == "")
        said = world.api.try_kubectl(
            "create", "--dry-run=server", "--filename=-", "--as=nora", f"--as-group={granted.MAKERS}", stdin=json.dumps(item)
        )  # fmt: skip
        assert said.returncode == 0
        assert "Warning: Validation failed for ValidatingAdmissionPolicy 'paddleflow-queues'" in said.stderr
        assert "the queue 'g-warned' is not granted to the user nora." in said.stderr
    finally:
        world.enforce("enforce")
    granted.until("a refusal again", lambda: "not granted" in world.refusal("nora", item))


def test_a_queue_with_children_is_never_granted(world: Granted) -> None:
    for name, above in (("g-top", "root"), ("g-leaf", "g-top")):
        queue = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": name}}
        world.apply({**queue, "spec": {"parent": above, "weight": 1}})
    objects = [{"name": "leaf", "queue": "g-leaf"}, {"name": "top", "queue": "g-top"}]
    for check in (True, False):
        answer = declare(world, check=check, objects=[{**one, "users": ["lea"]} for one in objects])
        assert answer["failed"]
        assert answer["problems"] == [
            (
                "objects[1]: grant top: queue is 'g-top', which has the children g-leaf, but must be a queue without any. "
                "Grant those of them that are meant."
            )
        ]
    assert live(world, "leaf") == []
    assert not declare(world, name="top", state="absent").get("failed")
