# SPDX-License-Identifier: Apache-2.0
"""What the client sends, and how it takes up what breaks. That a real server takes it is seen in tests/api."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from paddleflow_core.kube import errors
from paddleflow_core.kube.access import Access, can
from paddleflow_core.kube.client import Client
from paddleflow_core.kube.discovery import Discovery
from paddleflow_core.kube.events import last_events
from paddleflow_core.kube.kinds import Kind
from paddleflow_core.kube.logs import logs
from paddleflow_core.kube.transport import Transport

from tests.support.kube_stub import Stream, Stub, answer, ok, refuse, reset

CONFIG = Kind("v1", "ConfigMap", "configmaps", True)
QUEUE = Kind("scheduling.volcano.sh/v1beta1", "Queue", "queues", False)
SETTINGS = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "team"}}


def missing(name: str) -> Any:
    return answer(404, {"kind": "Status", "reason": "NotFound", "details": {"name": name}})


NOT_SERVED = answer(404, b"404 page not found\n")


def page(*names: str, more: str = "", version: str = "7") -> Any:
    return ok({"metadata": {"resourceVersion": version, "continue": more}, "items": [{"metadata": {"name": name}} for name in names]})  # fmt: skip


# ---- lists ----------------------------------------------------------------------------------------------------------


def test_pages_become_one_list(stub: Stub, client: Client) -> None:
    stub.steps = [page("a", "b", more="x"), page("c")]
    found = client.list(CONFIG, "team", labels="a=b", fields="metadata.name=c", page=2)
    assert [item["metadata"]["name"] for item in found.items] == ["a", "b", "c"]
    assert found.items[0] == {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    assert found.resource_version == "7"
    selectors = {"limit": "2", "labelSelector": "a=b", "fieldSelector": "metadata.name=c"}
    assert [seen.query for seen in stub.seen] == [selectors, {**selectors, "continue": "x"}]
    assert {seen.path for seen in stub.seen} == {"/api/v1/namespaces/team/configmaps"}


def test_only_what_is_wanted_of_a_list_is_kept(stub: Stub, client: Client) -> None:
    stub.steps = [page("a")]
    assert client.list(CONFIG, keep=lambda item: item["metadata"]["name"]).items == ["a"]


def test_an_empty_list_may_be_null(stub: Stub, client: Client) -> None:
    stub.steps = [ok({"metadata": {}, "items": None})]
    assert client.list(CONFIG).items == []


def test_a_list_whose_pages_are_forgotten_starts_again_in_one_piece(stub: Stub, client: Client) -> None:
    stub.steps = [page("a", more="x"), refuse(410, "Expired"), page("b", "c")]
    assert [item["metadata"]["name"] for item in client.list(CONFIG).items] == ["b", "c"]
    assert stub.seen[2].query == {}


def test_a_list_that_is_forgotten_twice_is_given_up(stub: Stub, client: Client) -> None:
    stub.always = refuse(410, "Expired", "too old")
    with pytest.raises(errors.GoneError):
        client.list(CONFIG)
    assert len(stub.seen) == 2


def test_a_server_that_goes_away_in_the_middle_is_told_with_how_far_it_was(stub: Stub, client: Client) -> None:
    stub.steps = [page("a", "b", more="x")]
    stub.always = reset
    with pytest.raises(errors.UnreachableError) as raised:
        client.list(CONFIG, "team")
    assert str(raised.value).startswith("Could not list ConfigMap in team (after 2 objects): the API server http")


# ---- single objects -------------------------------------------------------------------------------------------------


def test_what_is_not_there_is_not_what_cannot_be_there(stub: Stub, client: Client) -> None:
    stub.steps = [missing("ml"), missing("ml"), NOT_SERVED, ok({"n": 1})]
    assert client.find(QUEUE, "ml") is None
    with pytest.raises(errors.NotFoundError):
        client.get(QUEUE, "ml")
    with pytest.raises(errors.KindNotServedError):
        client.find(QUEUE, "ml")
    assert client.find(QUEUE, "ml") == {"n": 1}


def test_apply(stub: Stub, client: Client) -> None:
    stub.always = ok({})
    client.apply(SETTINGS)
    client.apply(SETTINGS, force_conflicts=True, dry_run=True, subresource="status")
    plain, forced = stub.seen
    path = "/api/v1/namespaces/team/configmaps/settings"
    common = {"fieldManager": "paddleflow", "fieldValidation": "Strict"}
    assert (plain.method, plain.path, plain.query, plain.body) == ("PATCH", path, common, SETTINGS)
    assert plain.header("Content-Type") == "application/apply-patch+yaml"
    assert (forced.path, forced.query) == (f"{path}/status", {**common, "force": "true", "dryRun": "All"})


def test_apply_may_be_sent_again_and_create_may_not(stub: Stub, client: Client) -> None:
    stub.steps = [reset, ok({"n": 1}), reset]
    assert client.apply(SETTINGS) == {"n": 1}
    with pytest.raises(errors.UnreachableError, match=r"Could not create ConfigMap team/run-: "):
        client.create({**SETTINGS, "metadata": {"generateName": "run-", "namespace": "team"}})


def test_create(stub: Stub, client: Client) -> None:
    stub.steps = [ok({})]
    client.create(SETTINGS, dry_run=True)
    assert (stub.seen[0].method, stub.seen[0].path) == ("POST", "/api/v1/namespaces/team/configmaps")
    assert stub.seen[0].query == {"fieldManager": "paddleflow", "fieldValidation": "Strict", "dryRun": "All"}


@pytest.mark.parametrize(
    ("change", "content_type"),
    [
        ({"status": {}}, "application/merge-patch+json"),
        ([{"op": "remove", "path": "/a"}], "application/json-patch+json"),
    ],
)
def test_patch(stub: Stub, client: Client, change: Any, content_type: str) -> None:
    stub.steps = [ok({})]
    client.patch(CONFIG, "settings", change, "team", subresource="status")
    (seen,) = stub.seen
    assert (seen.method, seen.body, seen.header("Content-Type")) == ("PATCH", change, content_type)
    assert seen.path.endswith("/configmaps/settings/status")


def test_a_part_that_a_kind_does_not_have_is_named(stub: Stub, client: Client) -> None:
    stub.always = NOT_SERVED
    with pytest.raises(errors.KindNotServedError, match="Could not patch the status of ConfigMap team/settings: "):
        client.patch(CONFIG, "settings", {}, "team", subresource="status")
    with pytest.raises(errors.KindNotServedError, match="Could not apply the status of ConfigMap team/settings: "):
        client.apply(SETTINGS, subresource="status")


def test_delete(stub: Stub, client: Client) -> None:
    stub.steps = [ok({}), ok({}), missing("ml"), NOT_SERVED]
    assert client.delete(QUEUE, "ml")
    assert client.delete(QUEUE, "ml", propagation="Foreground", uid="u", resource_version="7", grace=0, dry_run=True)
    assert not client.delete(QUEUE, "ml")
    with pytest.raises(errors.KindNotServedError):
        client.delete(QUEUE, "ml")
    options = {"apiVersion": "v1", "kind": "DeleteOptions"}
    assert stub.seen[0].body == {**options, "propagationPolicy": "Background"}
    assert stub.seen[1].body == {
        **options,
        "propagationPolicy": "Foreground",
        "preconditions": {"uid": "u", "resourceVersion": "7"},
        "gracePeriodSeconds": 0,
        "dryRun": ["All"],
    }


def test_delete_is_sent_again_only_when_it_can_hit_nothing_else(stub: Stub, client: Client) -> None:
    stub.steps = [reset, ok({}), reset]
    assert client.delete(QUEUE, "ml", uid="u")
    with pytest.raises(errors.UnreachableError, match=r"not known whether the server did it"):
        client.delete(QUEUE, "ml")


@pytest.mark.parametrize("call", ["get", "delete"])
def test_nothing_is_asked_of_an_object_without_a_name(stub: Stub, client: Client, call: str) -> None:
    with pytest.raises(errors.BadRequestError):
        getattr(client, call)(QUEUE, "")
    with pytest.raises(errors.BadRequestError):
        client.apply({**SETTINGS, "metadata": {}})
    assert stub.seen == []


@pytest.mark.parametrize("target", [{}, {"kind": "ConfigMap"}, {"apiVersion": "v1", "kind": ""}])
def test_an_object_needs_a_kind(client: Client, target: dict[str, Any]) -> None:
    with pytest.raises(errors.BadRequestError, match=r"has no apiVersion or no kind"):
        client.apply(target)


def test_an_object_without_a_namespace_is_in_the_connections(connect: Callable[..., Transport]) -> None:
    client = Client(connect(namespace="mine"))
    assert client.address({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": 3}}) == (CONFIG, "3", "mine")
    assert client.address({"apiVersion": QUEUE.api_version, "kind": "Queue"}) == (QUEUE, "", "")


def test_a_foreign_kind_needs_discovery(client: Client) -> None:
    with pytest.raises(errors.BadRequestError, match=r"The kind TFJob of kubeflow.org/v1 is not known"):
        client.kind("kubeflow.org/v1", "TFJob")


def test_a_kind_that_moved_is_looked_up_once_more(stub: Stub, connect: Callable[..., Transport]) -> None:
    """Its definition was deleted, and another one made."""
    transport = connect()
    client = Client(transport, Discovery(transport, None))
    old = [{"kind": "TFJob", "name": "tfjobs", "namespaced": True}]
    new = [{"kind": "TFJob", "name": "tensorflowjobs", "namespaced": True}]
    stub.steps = [ok({"resources": old}), NOT_SERVED, ok({"resources": new}), ok({"n": 1})]
    kind = client.kind("kubeflow.org/v1", "TFJob")
    assert client.get(kind, "a", "team") == {"n": 1}
    assert stub.seen[-1].path == "/apis/kubeflow.org/v1/namespaces/team/tensorflowjobs/a"
    stub.steps = [NOT_SERVED, ok({"resources": new})]
    with pytest.raises(errors.KindNotServedError):
        client.get(client.kind("kubeflow.org/v1", "TFJob"), "a", "team")


def test_a_known_kind_that_is_not_served_is_not_looked_up(stub: Stub, connect: Callable[..., Transport]) -> None:
    transport = connect()
    stub.steps = [NOT_SERVED]
    with pytest.raises(errors.KindNotServedError):
        Client(transport, Discovery(transport, None)).get(QUEUE, "ml")
    assert len(stub.seen) == 1


def test_the_version(stub: Stub, client: Client) -> None:
    stub.steps = [ok({"gitVersion": "v1.34.4"})]
    assert client.version()["gitVersion"] == "v1.34.4"


# ---- permissions ----------------------------------------------------------------------------------------------------


def test_permissions(stub: Stub, client: Client) -> None:
    stub.steps = [ok({"status": {"allowed": True}}), ok({"status": {"allowed": False, "reason": "no rule"}})]
    assert can(client, "patch", QUEUE, name="ml", subresource="status") == Access(True, "")
    assert can(client, "list", CONFIG, namespace="team", user="ann", groups=["g"]) == Access(False, "no rule")
    own, others = stub.seen
    assert own.path == "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    assert own.body["spec"] == {
        "resourceAttributes": {
            "verb": "patch",
            "group": "scheduling.volcano.sh",
            "resource": "queues",
            "subresource": "status",
            "name": "ml",
        }
    }
    assert others.path == "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    assert others.body["spec"] == {
        "resourceAttributes": {"verb": "list", "resource": "configmaps", "namespace": "team"},
        "user": "ann",
        "groups": ["g"],
    }


# ---- logs and events ------------------------------------------------------------------------------------------------


def test_logs(stub: Stub, client: Client) -> None:
    stub.steps = [answer(200, b"one\n\xff two\n")]
    found = logs(client, "pod", "team", container="main", tail=2, since_seconds=0, previous=True, timestamps=True)
    assert list(found) == ["one", "� two"]
    assert stub.seen[0].path == "/api/v1/namespaces/team/pods/pod/log"
    assert stub.seen[0].query == {
        "container": "main", "tailLines": "2", "sinceSeconds": "0", "previous": "true", "timestamps": "true",
    }  # fmt: skip


def test_logs_are_followed(stub: Stub, client: Client) -> None:
    stream = Stream(b"one\n")
    stub.steps = [stream]
    client.transport.timeout = 0.1  # which is for answers, and not for what a container has to say
    lines = logs(client, "pod", "team", follow=True)
    assert next(lines) == "one"
    stream.write(b"two\n").end()
    assert list(lines) == ["two"]
    assert stub.seen[0].query == {"follow": "true"}


def event(reason: str, **fields: Any) -> dict[str, Any]:
    return {"metadata": {"creationTimestamp": "2026-01-01T00:00:00Z"}, "reason": reason, **fields}


def test_the_last_events(stub: Stub, client: Client) -> None:
    items = [
        event("Last", lastTimestamp="2026-01-05T00:00:00Z", message="the\n end", type="Warning", count=3),
        event("First"),
        event("Second", eventTime="2026-01-02T00:00:00.123456Z", message="x"),
        event("Third", series={"lastObservedTime": "2026-01-04T00:00:00Z", "count": 12}, message="y"),
    ]
    stub.steps = [ok({"metadata": {}, "items": items}), ok({"metadata": {}, "items": []}), refuse(403, "Forbidden")]
    assert last_events(client, CONFIG, "a", "team") == [
        "Normal Second: x",
        "Normal Third: y (12 times)",
        "Warning Last: the end (3 times)",
    ]
    assert last_events(client, QUEUE, "ml") == []
    assert last_events(client, QUEUE, "ml") == []
    assert stub.seen[0].query["fieldSelector"] == "involvedObject.kind=ConfigMap,involvedObject.name=a"
    assert [seen.path for seen in stub.seen[:2]] == [
        "/api/v1/namespaces/team/events",
        "/api/v1/namespaces/default/events",
    ]
