# SPDX-License-Identifier: Apache-2.0
"""What the API server refuses of people and of controllers that use queues and file systems, and what it lets through."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from paddleflow_core.model import policies
from paddleflow_core.model.names import slug

from tests.support import granted
from tests.support.binaries import ROOT
from tests.support.control_plane import ControlPlane, controllers
from tests.support.granted import (
    PADDLEFLOW,
    REPLICA_SETS,
    VOLCANO,
    Granted,
    claim,
    inline,
    owned,
    pod,
    pod_group,
    thing,
)
from tests.support.kube_api import Session, kubeconfig

pytestmark = pytest.mark.own_api

NAMESPACE = "grant-policies"
KINDS = [f"{number}-{item['kind']}" for number, item in enumerate(granted.kinds("room", "team"))]


@pytest.fixture(scope="module")
def world(api: ControlPlane, session: Session) -> Granted:
    made = granted.install(api, session)
    updates = [{"apiGroups": ["scheduling.volcano.sh"], "resources": ["podgroups"], "verbs": ["update", "patch"]}]
    movers = [granted.subject("User", name) for name in ("alice", "mallory", VOLCANO)]
    made.apply(*granted.role("movers", updates, *movers))
    made.settle()
    return made


def kind(position: str, namespace: str, queue: str) -> dict[str, Any]:
    return list(granted.kinds(namespace, queue))[int(position.partition("-")[0])]


@pytest.mark.parametrize("which", KINDS)
def test_every_kind_asks_for_the_grant_of_the_person(world: Granted, which: str) -> None:
    item = kind(which, "room", "team")
    assert world.refusal("alice", item) == ""
    said = world.refusal("bob", item)
    assert f"{item['kind']} room/one: the queue 'team' is not granted to the user bob." in said
    assert "paddleflow.core.grant: {name: 'team for bob', queue: 'team', users: ['bob']}" in said
    assert "ValidatingAdmissionPolicy 'paddleflow-" in said


@pytest.mark.parametrize("which", KINDS)
def test_every_kind_asks_for_the_grant_of_the_namespace_where_a_controller_makes_it(world: Granted, which: str) -> None:
    for controller in (PADDLEFLOW, REPLICA_SETS):
        assert world.refusal(controller, kind(which, "bound", "team")) == ""
        item = kind(which, "room", "team")
        said = world.refusal(controller, item)
        assert "the queue 'team' is not granted to the namespace room." in said
        assert "{name: 'team for room', queue: 'team', namespaces: ['room']}" in said


@pytest.mark.parametrize("which", KINDS)
def test_an_administrator_needs_no_grant(world: Granted, which: str) -> None:
    item = kind(which, "room", "team")
    assert granted.said(lambda: world.admin.create(item, dry_run=True)) == ""


def test_a_controller_that_nobody_named_is_a_user(world: Granted) -> None:
    said = world.refusal("system:serviceaccount:operators:training", pod_group("one", "bound", "team"))
    assert "not granted to the user system:serviceaccount:operators:training." in said


def test_the_grant_of_a_namespace_is_none_of_its_people(world: Granted) -> None:
    assert world.refusal("bob", pod_group("one", "bound", "team")) != ""
    assert world.refusal("system:serviceaccount:bound:default", pod_group("one", "bound", "team")) == ""


def test_who_has_a_client_certificate_is_asked_like_everybody(world: Granted) -> None:
    for name, refused in (("alice", False), ("carol", True)):
        client = world.session.client(kubeconfig=kubeconfig(world.api, name, f"--org={granted.MAKERS}"))
        said = granted.said(lambda client=client: client.create(pod_group("mine", "room", "team"), dry_run=True))  # type: ignore[misc]
        assert ("not granted to the user carol" in said) if refused else said == ""


def test_what_is_made_for_an_object_that_was_asked_about_is_not_asked_about_again(world: Granted) -> None:
    """Else a job that somebody may run in a namespace without a grant would hang without a word."""
    group = pod_group("one-1", "room", "team")
    worker = pod("one-0", "room", {policies.QUEUE_KEYS[1]: "team", policies.GROUP_KEYS[0]: "one-1"})
    worker["spec"]["schedulerName"] = "volcano"
    for item in (group, worker):
        assert world.refusal(VOLCANO, owned(item, "batch.volcano.sh/v1alpha1", "Job")) == ""
        assert "the namespace room" in world.refusal(VOLCANO, owned(item, "apps/v1", "ReplicaSet"))
        assert "the user bob" in world.refusal("bob", owned(item, "batch.volcano.sh/v1alpha1", "Job"))
    assert world.refusal(VOLCANO, owned(group, "v1", "Pod")) == ""
    job = next(item for item in granted.kinds("room", "team") if item["kind"] == "Job")
    assert world.refusal(PADDLEFLOW, owned(job, "batch.paddlepaddle.org/v1", "PaddleJob")) == ""
    assert world.refusal(PADDLEFLOW, owned(job, "paddleflow.org/v1alpha1", "PipelineRun")) != ""


def test_volcanos_kinds_without_a_queue_are_in_the_default_one(world: Granted) -> None:
    for item in granted.kinds("room", "team"):
        item["spec"].pop("queue", None)
        item["spec"].pop("schedulingPolicy", None)
        item["metadata"].pop("annotations", None)
        said = world.refusal("alice", item)
        if item["kind"] in ("PodGroup", "Job", "JobTemplate", "Pod"):
            assert "the queue 'default' is not granted to the user alice" in said
        elif item["kind"] != "CronJob":
            assert said == ""


# --- changes ---


def test_a_group_of_pods_is_not_moved_into_a_queue_that_is_not_granted(world: Granted) -> None:
    world.apply(pod_group("moved", "room", "elsewhere"))
    target = world.admin.kind("scheduling.volcano.sh/v1beta1", "PodGroup")

    def move(user: str, **spec: Any) -> str:
        client = world.as_user(user)
        return granted.said(lambda: client.patch(target, "moved", {"spec": spec}, "room", dry_run=True))

    assert "PodGroup room/moved: the queue 'team' is not granted to the user mallory" in move("mallory", queue="team")
    assert move("alice", queue="team") == ""
    # It keeps its queue, whoever changes something else, and after its grant has gone.
    assert move("mallory", minMember=2) == ""
    assert "the queue 'default'" in move("alice", queue=None)


def test_a_pod_is_not_moved_by_its_annotations(world: Granted) -> None:
    world.apply(pod("still", "room", {policies.QUEUE_KEY: "elsewhere"}, schedulerName="volcano"))
    target = world.admin.kind("v1", "Pod")

    def annotate(user: str, annotations: dict[str, str | None]) -> str:
        change = {"metadata": {"annotations": annotations}}
        return granted.said(lambda: world.as_user(user).patch(target, "still", change, "room", dry_run=True))

    for key in policies.QUEUE_KEYS:
        assert "the queue 'team' is not granted to the user bob" in annotate("bob", {key: "team"})
        assert annotate("alice", {key: "team"}) == ""
    assert "the queue 'default'" in annotate("bob", {policies.QUEUE_KEY: None})
    assert "the queue 'default'" in annotate("bob", {policies.QUEUE_KEY: ""})
    assert "PodGroup 'moved', which the user bob may not update" in annotate("bob", {policies.GROUP_KEYS[0]: "moved"})
    assert annotate("bob", {"note": "x"}) == ""
    # As Volcano's controllers do once they have made its group.
    assert annotate(VOLCANO, {policies.GROUP_KEYS[0]: "podgroup-1"}) == ""


# --- ways around ---


@pytest.mark.parametrize("key", policies.GROUP_KEYS)
def test_a_pod_with_a_group_and_no_queue_needs_to_update_the_group(world: Granted, key: str) -> None:
    item = pod("one", "room", {key: "theirs", policies.QUEUE_KEY: "team"}, schedulerName="volcano")
    assert world.refusal("alice", item) == ""
    del item["metadata"]["annotations"][policies.QUEUE_KEY]
    # Only the first of the two keys is read by Volcano.
    if key == policies.GROUP_KEYS[0]:
        assert world.refusal("mallory", item) == ""
    item["spec"]["schedulerName"] = "mine"
    said = world.refusal("bob", item)
    assert f"the annotation {key} puts it into the PodGroup 'theirs', which the user bob may not update" in said
    # A Deployment's template is no way around: its controller may not update groups, nor may the namespace.
    assert "which the namespace room may not update" in world.refusal(REPLICA_SETS, item)


def test_a_pod_of_volcano_that_names_no_queue_is_in_that_of_its_namespace(world: Granted) -> None:
    plain = pod("one", "room", schedulerName="volcano")
    assert "the queue 'default' is not granted to the user alice" in world.refusal("alice", plain)
    world.namespace("annotated", {policies.QUEUE_KEY: "team"})
    there = pod("one", "annotated", schedulerName="volcano")
    granted.until("the annotation of the namespace", lambda: world.refusal("alice", there) == "")
    assert "the queue 'team' is not granted to the user bob" in world.refusal("bob", there)


def test_a_pod_of_another_scheduler_is_nobodys_business_outside_of_bound_namespaces(world: Granted) -> None:
    assert world.refusal("bob", pod("one", "room")) == ""
    assert world.refusal("bob", pod("one", "room", nodeName="n1")) == ""


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({}, "is for the scheduler default-scheduler"),
        ({"schedulerName": "mine"}, "is for the scheduler mine"),
        ({"schedulerName": "volcano", "nodeName": "n1"}, "names the node n1"),
    ],
)
def test_nothing_runs_beside_the_queue_in_a_bound_namespace(world: Granted, spec: dict[str, Any], said: str) -> None:
    for user in ("alice", REPLICA_SETS, VOLCANO):
        refused = world.refusal(user, pod("one", "bound", {policies.QUEUE_KEY: "team"}, **spec))
        assert said in refused
        assert "the namespace bound is bound to a queue" in refused
    item = pod("one", "bound", {policies.QUEUE_KEY: "team"}, **spec)
    assert granted.said(lambda: world.admin.create(item, dry_run=True)) == ""


def test_static_pods_are_the_nodes_own(world: Granted) -> None:
    node = world.session.client(
        kubeconfig=world.session.admin,
        impersonate_user="system:node:n1",
        impersonate_groups=["system:nodes", granted.MAKERS],
    )
    mirror = pod("static-n1", "bound", {"kubernetes.io/config.mirror": "x"}, nodeName="n1")
    assert granted.said(lambda: node.create(mirror, dry_run=True)) == ""


def test_a_service_account_that_may_do_anything_binds_no_namespace(world: Granted) -> None:
    world.namespace("careless")
    everything = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
    account = {"kind": "ServiceAccount", "name": "default", "namespace": "careless"}
    world.apply(*granted.role("careless", everything, account))
    world.grant("everybody", queue="open", groups=["system:authenticated"], namespaces=["bound"])
    opened = pod_group("one", "careless", "team")
    granted.until("the role of the account", lambda: world.refusal(REPLICA_SETS, opened) == "")
    granted.until("the grant for everybody", lambda: world.refusal("bob", pod_group("one", "room", "open")) == "")
    for namespace in ("careless", "room"):
        assert world.refusal("bob", pod("one", namespace)) == ""


def test_a_queue_with_children_is_not_open_to_who_may_use_a_child(world: Granted) -> None:
    for name, above in (("science", "root"), ("physics", "science")):
        queue = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": name}}
        world.apply({**queue, "spec": {"parent": above, "weight": 1}})
    world.grant("physics", queue="physics", users=["dora"])
    granted.until("the grant", lambda: world.refusal("dora", pod_group("one", "room", "physics")) == "")
    for above in ("science", "root"):
        assert f"the queue '{above}' is not granted" in world.refusal("dora", pod_group("one", "room", above))


def test_the_clusters_own_namespaces_are_left_alone(world: Granted) -> None:
    for namespace in ("kube-system", "paddleflow-system", "volcano-system"):
        world.namespace(namespace)
        assert world.refusal("bob", pod("one", namespace, {policies.QUEUE_KEY: "team"})) == ""


# --- file systems ---


def test_a_claim_asks_for_the_grant_of_its_namespace(world: Granted) -> None:
    world.grant("datasets", fileSystem="data/Data_Sets", namespaces=["bound"])
    name = "data/" + slug("Data_Sets")
    granted.until("the grant", lambda: world.refusal("bob", claim("one", "bound", name)) == "")
    said = world.refusal("alice", claim("one", "room", name))
    assert f"PersistentVolumeClaim room/one: the file system '{name}' is not granted to the namespace room." in said
    assert f"{{name: '{name} for room', file_system: '{name}', namespaces: ['room']}}" in said
    # Nor is another one of the same name, nor one whose name only begins like it.
    for other in (f"room2/{name}", f"other/{name.partition('/')[2]}", name + "/x", name[:-1], "/", "/x"):
        assert world.refusal("bob", claim("one", "bound", other)) != "", other


@pytest.mark.parametrize("file_system", ["", "own", "room/own"])
def test_a_namespace_may_claim_what_is_its_own(world: Granted, file_system: str) -> None:
    assert world.refusal("bob", claim("one", "room", file_system)) == ""


def test_a_claim_is_not_given_another_file_system_later(world: Granted) -> None:
    world.apply(claim("later", "room", "own"))
    target = world.admin.kind("v1", "PersistentVolumeClaim")
    change = {"metadata": {"annotations": {policies.FILE_SYSTEM: "data/secret"}}}
    said = granted.said(lambda: world.as_user("bob").patch(target, "later", change, "room", dry_run=True))
    assert "the file system 'data/secret' is not granted to the namespace room" in said


def test_a_link_stays_within_its_namespace(world: Granted) -> None:
    link = thing("paddleflow.org/v1alpha1", "FileSystemLink", "one", "room", fileSystem="own", path="/x")
    link["spec"]["url"] = "s3://store.example.com/bucket"
    link["spec"]["properties"] = {"endpoint": "store.example.com"}
    link["spec"]["secretRef"] = {"name": "keys"}
    assert world.refusal("bob", link) == ""
    link["spec"]["fileSystem"] = "data/secret"
    assert "spec.fileSystem" in world.refusal("bob", link)


def test_a_volume_in_the_pod_itself_is_no_way_around(world: Granted) -> None:
    said = world.refusal("bob", pod("one", "room", volumes=[inline()]))
    assert "but a file system is mounted by a claim: use persistentVolumeClaim" in said
    other = copy.deepcopy(inline())
    other["csi"]["driver"] = "other.example.com"
    assert world.refusal("bob", pod("one", "room", volumes=[other, {"name": "none", "emptyDir": {}}])) == ""
    # The claim of a generic ephemeral volume is made by a controller, and asked about like any other.
    ephemeral = "system:serviceaccount:kube-system:ephemeral-volume-controller"
    assert "not granted to the namespace room" in world.refusal(ephemeral, claim("one-data", "room", "data/secret"))


def test_a_second_apply_of_the_policies_changes_nothing(world: Granted) -> None:
    """As the role looks for a difference."""
    command = ("diff", "--server-side", "--field-manager=paddleflow", f"--filename={ROOT / 'crds/policies'}")
    done = world.api.try_kubectl(*command)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_api_server_finds_nothing_wrong_with_the_expressions(world: Granted) -> None:
    """It checks the types of what it knows of the kinds, and says it in the status: the work of a controller."""
    with controllers(world.api, "validatingadmissionpolicy-status-controller"):
        kind = world.admin.kind("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy")

        def looked_at() -> bool:
            found = world.admin.list(kind, labels="app.kubernetes.io/managed-by=paddleflow").items
            warnings = [one["status"].get("typeChecking", {}) for one in found if one.get("status")]
            assert not any(one.get("expressionWarnings") for one in warnings), warnings
            return len(warnings) == len(policies.policies())

        granted.until("a look at every policy", looked_at)
