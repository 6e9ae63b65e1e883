# SPDX-License-Identifier: Apache-2.0
"""Objects on a real API server: what is written, what is refused, and who owns what."""

from __future__ import annotations

import base64
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml
from paddleflow_core.kube import errors
from paddleflow_core.kube.client import Client
from paddleflow_core.kube.conditions import condition
from paddleflow_core.kube.discovery import Discovery
from paddleflow_core.kube.errors import FieldProblem, Owner
from paddleflow_core.kube.kinds import _KNOWN, Kind, known
from paddleflow_core.kube.wait import Target, wait

from tests.support.binaries import ROOT
from tests.support.kube_api import Session, config_map, definition, when_served
from tests.support.relay import Relay, closing

NAMESPACE = "kube-objects"
CONFIG, SECRET = Kind("v1", "ConfigMap", "configmaps", True), Kind("v1", "Secret", "secrets", True)


def thing(name: str, **data: str) -> dict[str, Any]:
    return config_map(NAMESPACE, name, **data)


# ---- writing --------------------------------------------------------------------------------------------------------


def test_apply_owns_what_it_says_and_drops_what_it_says_no_more(client: Client) -> None:
    made = client.apply(thing("owned", a="1", b="2"))
    again = client.apply(thing("owned", a="1", b="2"))
    assert again["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
    client.patch(CONFIG, "owned", {"data": {"c": "3"}}, NAMESPACE)
    left = client.apply(thing("owned", a="4"))
    assert left["data"] == {"a": "4", "c": "3"}
    assert {(one["manager"], one["operation"]) for one in left["metadata"]["managedFields"]} == {
        ("paddleflow", "Apply"),
        ("paddleflow", "Update"),
    }


def test_a_dry_run_writes_nothing(client: Client) -> None:
    assert client.apply(thing("dry", a="1"), dry_run=True)["data"] == {"a": "1"}
    assert client.create(thing("dry", a="1"), dry_run=True)["data"] == {"a": "1"}
    assert client.find(CONFIG, "dry", NAMESPACE) is None
    client.apply(thing("dry", a="1"))
    assert client.patch(CONFIG, "dry", {"data": {"a": "2"}}, NAMESPACE, dry_run=True)["data"] == {"a": "2"}
    assert client.delete(CONFIG, "dry", NAMESPACE, dry_run=True)
    assert client.get(CONFIG, "dry", NAMESPACE)["data"] == {"a": "1"}


def test_a_field_of_another_manager_is_a_conflict_with_its_owner(session: Session, client: Client) -> None:
    client.apply(thing("shared", a="1", b="1"))
    other = Client(session.transport(), manager="helm")
    with pytest.raises(errors.ConflictError) as raised:
        other.apply(thing("shared", a="2", b="1"))
    assert raised.value.owners == [Owner(".data.a", "paddleflow")]
    assert str(raised.value) == (
        "Could not apply ConfigMap kube-objects/shared: .data.a belongs to paddleflow: leave these fields to their "
        "managers, or take them over with force_conflicts."
    )
    assert other.apply(thing("shared", a="2"), force_conflicts=True)["data"] == {"a": "2", "b": "1"}
    with pytest.raises(errors.ConflictError, match=r"\.data\.a belongs to helm"):
        client.apply(thing("shared", a="1", b="1"))


def test_names_that_the_server_makes(client: Client) -> None:
    metadata = {"generateName": "run-", "namespace": NAMESPACE}
    names = {client.create({**thing(""), "metadata": metadata})["metadata"]["name"] for _time in range(3)}
    assert len(names) == 3
    assert all(name.startswith("run-") for name in names)


def test_what_exists_cannot_be_created(client: Client) -> None:
    client.create(thing("once"))
    with pytest.raises(
        errors.AlreadyExistsError, match=r"Could not create ConfigMap kube-objects/once: it exists already"
    ):
        client.create(thing("once"))


def test_patches(client: Client) -> None:
    client.apply(thing("patched", a="1", b="2"))
    assert client.patch(CONFIG, "patched", {"data": {"a": None, "c": "3"}}, NAMESPACE)["data"] == {"b": "2", "c": "3"}
    test_and_set = [{"op": "test", "path": "/data/b", "value": "2"}, {"op": "replace", "path": "/data/b", "value": "9"}]
    assert client.patch(CONFIG, "patched", test_and_set, NAMESPACE)["data"]["b"] == "9"
    with pytest.raises(errors.InvalidError):
        client.patch(CONFIG, "patched", test_and_set, NAMESPACE)


def test_another_version_than_expected_is_a_conflict_without_owners(client: Client) -> None:
    old = client.apply(thing("versioned", a="1"))["metadata"]["resourceVersion"]
    client.apply(thing("versioned", a="2"))
    with pytest.raises(errors.ConflictError, match=r"it is not in the state that was expected") as raised:
        client.patch(CONFIG, "versioned", {"metadata": {"resourceVersion": old}, "data": {"a": "3"}}, NAMESPACE)
    assert raised.value.owners == []


def test_eight_writers_share_one_client(client: Client) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda number: client.apply(thing(f"many-{number}", n=str(number))), range(80)))
    assert [one["data"]["n"] for one in made] == [str(number) for number in range(80)]


def test_names_that_need_quoting(client: Client) -> None:
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "kube:objects?#"}}
    client.apply(role)
    kind = client.kind(role["apiVersion"], "ClusterRole")  # type: ignore[arg-type]
    assert client.get(kind, "kube:objects?#")["metadata"]["name"] == "kube:objects?#"
    assert client.delete(kind, "kube:objects?#")


# ---- reading --------------------------------------------------------------------------------------------------------


def test_pages_and_selectors(client: Client) -> None:
    for number in range(7):
        labels = {"kube-objects/half": str(number % 2)}
        listed = thing(f"page-{number}")
        client.apply({**listed, "metadata": {**listed["metadata"], "labels": labels}})
    exists = {"labels": "kube-objects/half", "keep": lambda found: found["metadata"]["name"]}
    expected = [f"page-{number}" for number in range(7)]
    found = client.list(CONFIG, NAMESPACE, page=3, **exists)  # type: ignore[arg-type]
    assert found.items == expected
    assert int(found.resource_version)
    assert client.list(CONFIG, page=2, **exists).items == expected  # type: ignore[arg-type]
    half = client.list(CONFIG, NAMESPACE, labels="kube-objects/half=1").items
    assert [(one["kind"], one["metadata"]["name"]) for one in half] == [("ConfigMap", f"page-{n}") for n in (1, 3, 5)]
    assert len(client.list(CONFIG, NAMESPACE, fields="metadata.name=page-2").items) == 1


def test_a_server_that_is_gone_in_the_middle_of_a_list(session: Session) -> None:
    admin = session.client()
    for number in range(4):
        admin.apply(thing(f"gone-{number}"))
    with closing(lambda: Relay(("127.0.0.1", session.api.port))) as relay:
        client = session.client(kubeconfig=session.admin, host=f"https://127.0.0.1:{relay.port}")
        client.transport._sleep = lambda _seconds: None
        seen = 0

        def count(_found: object) -> None:
            nonlocal seen
            seen += 1
            if seen == 2:
                relay.close()

        with pytest.raises(errors.UnreachableError) as raised:
            client.list(CONFIG, NAMESPACE, page=2, keep=count)
    assert str(raised.value).startswith(
        "Could not list ConfigMap in kube-objects (after 2 objects): the API server https"
    )


def test_the_version(client: Client) -> None:
    assert client.version()["gitVersion"].startswith("v1.")


# ---- deleting -------------------------------------------------------------------------------------------------------


def test_delete(client: Client) -> None:
    client.apply(thing("deleted"))
    assert client.delete(CONFIG, "deleted", NAMESPACE, grace=0)
    assert not client.delete(CONFIG, "deleted", NAMESPACE)
    assert not client.delete(CONFIG, "deleted", "no-such-namespace")


def test_only_the_object_that_was_meant_is_deleted(client: Client) -> None:
    first = client.apply(thing("reborn"))["metadata"]
    assert client.delete(CONFIG, "reborn", NAMESPACE, uid=first["uid"])
    second = client.apply(thing("reborn"))["metadata"]
    with pytest.raises(errors.ConflictError, match=r"not in the state that was expected"):
        client.delete(CONFIG, "reborn", NAMESPACE, uid=first["uid"])
    with pytest.raises(errors.ConflictError):
        client.delete(CONFIG, "reborn", NAMESPACE, uid=second["uid"], resource_version="1")
    assert client.delete(CONFIG, "reborn", NAMESPACE, uid=second["uid"], resource_version=second["resourceVersion"])


# ---- what is refused ------------------------------------------------------------------------------------------------


def refusal(client: Client, wanted: dict[str, Any]) -> errors.InvalidError:
    with pytest.raises(errors.InvalidError) as raised:
        client.apply(wanted)
    return raised.value


def test_a_namespace_that_is_not_there(client: Client) -> None:
    with pytest.raises(errors.NotFoundError) as raised:
        client.apply(config_map("no-such-namespace", "x"))
    assert str(raised.value) == (
        "Could not apply ConfigMap no-such-namespace/x: the namespace no-such-namespace does not exist: create it first."
    )
    assert client.find(CONFIG, "x", "no-such-namespace") is None


def test_fields_that_there_are_not(client: Client) -> None:
    assert refusal(client, {**thing("x"), "datum": {}}).problems == [
        FieldProblem("datum", "Invalid", "field not declared in schema")
    ]
    found = refusal(client, {**thing("x"), "data": {"a": 1}})
    assert str(found) == "Could not apply ConfigMap kube-objects/x: data.a: expected string, got 1."
    with pytest.raises(errors.InvalidError, match='unknown field "datum"'):
        client.create({**thing("x"), "datum": {}})


def test_a_field_that_cannot_be_changed_is_named(client: Client) -> None:
    def job(image: str) -> dict[str, Any]:
        pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": image}]}
        metadata = {"name": "frozen", "namespace": NAMESPACE}
        return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"template": {"spec": pod}}}

    client.apply(job("one"))
    found = refusal(client, job("two"))
    assert found.immutable == ["spec.template"]
    assert str(found) == (
        "Could not apply Job kube-objects/frozen: spec.template: field is immutable. To change spec.template of what "
        "exists, it has to be deleted and made anew (recreate)."
    )
    client.apply({**thing("frozen", a="1"), "immutable": True})
    assert refusal(client, {**thing("frozen", a="2"), "immutable": True}).immutable == ["data"]


def test_a_secret_is_not_quoted(client: Client) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x", "namespace": NAMESPACE}}
    client.apply({**secret, "type": "Opaque", "immutable": True, "stringData": {"a": "planted"}})
    for wrong in (
        {"immutable": True, "stringData": {"a": "s3cret"}},
        {"data": {"a": {"s3cret": 1}}},
        {"data": {"a": "not base64: s3cret"}},
        {"type": "s3cret"},
        {"stringData": {"s3cret/name": "x"}},
    ):
        with pytest.raises(errors.StatusError) as raised:
            client.apply({**secret, "type": "Opaque", **wrong}, force_conflicts=True)
        said = str(raised.value)
        assert "planted" not in said
        assert said.count("s3cret") <= ("name" in str(wrong))  # a key is a name, and no secret


def test_what_is_too_large(client: Client) -> None:
    with pytest.raises(errors.StatusError) as raised:
        client.apply(thing("large", a="x" * 4_000_000))
    assert isinstance(raised.value, errors.TooLargeError)
    assert len(str(raised.value)) < 600


# ---- kinds ----------------------------------------------------------------------------------------------------------


def test_our_table_is_what_the_server_has(session: Session) -> None:
    """Of the kinds of other projects nothing is served here."""
    discovery = Discovery(session.transport(), None)
    checked = 0
    for api_version, entries in _KNOWN.items():
        if not any(word in api_version for word in ("volcano", "paddle")):
            for entry in entries.split():
                name = entry.rstrip("*").partition("/")[0]
                assert discovery.find(api_version, name) == known(api_version, name)
                checked += 1
    assert checked > 40


def define(client: Client, wanted: dict[str, Any]) -> None:
    made = client.apply(wanted)
    kind, name, _namespace = client.address(wanted)
    wait(client, [Target(kind, name, "", condition("Established"), made)], deadline=time.monotonic() + 60)


def test_a_kind_that_is_defined_later_is_found(session: Session, tmp_path: Path) -> None:
    client = session.client()
    transport = client.transport
    cached = Client(transport, Discovery(transport, tmp_path / "cache"))
    with pytest.raises(errors.KindNotServedError, match=r"does not serve Widget of example.org/v1: install its Custom"):
        cached.kind("example.org/v1", "Widget")
    define(client, definition("example.org", "v1", "Widget", "widgets"))
    widget = {"apiVersion": "example.org/v1", "kind": "Widget", "metadata": {"name": "w", "namespace": NAMESPACE}}
    assert when_served(lambda: cached.apply({**widget, "spec": {"n": 1}}))["spec"] == {"n": 1}
    define(client, definition("example.org", "v1", "Gadget", "gadgets"))
    assert when_served(lambda: cached.kind("example.org/v1", "Gadget")).plural == "gadgets"
    another = Client(transport, Discovery(transport, tmp_path / "cache"))
    assert another.get(another.kind("example.org/v1", "Widget"), "w", NAMESPACE)["spec"] == {"n": 1}


def test_a_known_kind_without_its_definition_is_told_with_the_remedy(client: Client) -> None:
    queue = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "ml"}}
    kind = client.kind("bus.volcano.sh/v1alpha1", "Command")
    for call in (
        lambda: client.list(kind),
        lambda: client.get(kind, "x", "team"),
        lambda: client.delete(kind, "x", "t"),
    ):
        with pytest.raises(
            errors.KindNotServedError, match=r"does not serve Command of bus.volcano.sh/v1alpha1: install"
        ):
            call()
    assert known(queue["apiVersion"], "Queue") is not None  # type: ignore[arg-type]


def test_a_status_is_written_by_its_subresource_and_an_immutable_field_of_ours_is_recognised(client: Client) -> None:
    crd = yaml.safe_load((ROOT / "crds/nodecaches.paddleflow.org.yaml").read_text(encoding="utf-8"))
    define(client, crd)
    cache = {"apiVersion": "paddleflow.org/v1alpha1", "kind": "NodeCache", "metadata": {"name": "kube-node"}}
    when_served(lambda: client.apply({**cache, "spec": {"nodeName": "kube-node"}}))
    kind = client.kind("paddleflow.org/v1alpha1", "NodeCache")
    status = {"observedTime": "2026-01-02T03:04:05Z"}
    assert client.patch(kind, "kube-node", {"status": status}, subresource="status")["status"] == status
    files = {"fileSystems": [{"fileSystem": "team/data", "cachedBytes": 1, "cachedFiles": 1}]}
    assert client.apply({**cache, "status": files}, subresource="status")["status"] == {**status, **files}
    found = refusal(client, {**cache, "spec": {"nodeName": "another"}})
    assert "spec.nodeName" in found.immutable


def test_base64_is_left_alone(client: Client) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "data", "namespace": NAMESPACE}}
    content = base64.b64encode(bytes(range(256))).decode()
    client.apply({**secret, "data": {"all": content}})
    assert client.get(SECRET, "data", NAMESPACE)["data"] == {"all": content}
