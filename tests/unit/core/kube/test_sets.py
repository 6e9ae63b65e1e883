# SPDX-License-Identifier: Apache-2.0
"""Where the objects of a set are looked for."""

from __future__ import annotations

import math
from typing import Any

import pytest
from paddleflow_core.kube import sets
from paddleflow_core.kube.client import Client
from paddleflow_core.kube.discovery import Discovery
from paddleflow_core.kube.wanted import Run

from tests.support.kube_stub import Stub, answer, ok

GONE = answer(404, {"code": 404, "reason": "NotFound", "details": {}})
LISTED = ok({"metadata": {"resourceVersion": "1"}, "items": [{"metadata": {"name": "one"}}]})


@pytest.fixture
def run(client: Client) -> Run:
    client.namespace = "home"
    return Run(Client(client.transport, Discovery(client.transport, None)), math.inf)


def serves(*versions: str) -> Any:
    return ok({"versions": [{"groupVersion": version} for version in versions]})


def kinds(*names: str) -> Any:
    return ok({"resources": [{"kind": name, "name": f"{name.lower()}s", "namespaced": True} for name in names]})


def test_versions_of_a_kind_are_listed_once(stub: Stub, run: Run) -> None:
    stub.steps = [kinds("Thing"), LISTED]
    found = sets.live(run, "s", {sets.Place("x.org/v1", "Thing", "a"), sets.Place("x.org/v1beta1", "Thing", "a")})
    assert [one["metadata"]["name"] for one in found] == ["one"]
    assert (
        stub.seen[-1].query["labelSelector"]
        == f"paddleflow.org/set=s,paddleflow.org/set-namespace={run.client.namespace}"
    )


def test_a_version_that_is_gone_is_looked_for_in_those_that_are_there(stub: Stub, run: Run) -> None:
    stub.steps = [GONE, serves("x.org/v1beta1", "x.org/v2", "x.org/v1"), kinds("Other"), kinds("Thing"), LISTED]
    found = sets.live(run, "s", [sets.Place("x.org/v1beta1", "Thing", "a")])
    assert [one["apiVersion"] for one in found] == ["x.org/v1"]
    assert [seen.path for seen in stub.seen][-2:] == ["/apis/x.org/v1", "/apis/x.org/v1/namespaces/a/things"]


@pytest.mark.parametrize("steps", [[GONE, GONE], [GONE, serves("x.org/v2"), kinds("Other")]])
def test_of_a_kind_that_is_gone_nothing_is_there(stub: Stub, run: Run, steps: list[Any]) -> None:
    stub.steps = steps
    assert sets.live(run, "s", [sets.Place("x.org/v1", "Thing", "a")]) == []


def definition(**spec: Any) -> dict[str, Any]:
    given = {"group": "x.org", "names": {"kind": "Thing"}, **spec}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "a"},
        "spec": given,
    }


def thing(**metadata: str) -> dict[str, Any]:
    return {"apiVersion": "x.org/v1", "kind": "Thing", "metadata": {"name": "one", **metadata}}


CRDS = sets.Place("apiextensions.k8s.io/v1", "CustomResourceDefinition", "")


@pytest.mark.parametrize(
    ("objects", "place"),
    [
        ([thing(), definition()], sets.Place("x.org/v1", "Thing", "NAMESPACE")),
        ([thing(namespace="b"), definition()], sets.Place("x.org/v1", "Thing", "b")),
        ([thing(), definition(scope="Cluster")], sets.Place("x.org/v1", "Thing", "")),
        ([thing(), definition(group="y.org")], None),
        ([thing(), definition(names=None)], None),
        ([thing(), {**definition(), "spec": None}], None),
    ],
)
def test_kinds_that_a_set_defines_itself_are_where_their_definitions_say(
    stub: Stub, run: Run, objects: list[Any], place: sets.Place | None
) -> None:
    stub.always = GONE
    expected = {CRDS} | (
        {place._replace(namespace=place.namespace.replace("NAMESPACE", run.client.namespace))} if place else set()
    )
    assert sets.places(run, objects) == expected


@pytest.mark.parametrize(
    ("objects", "namespace"),
    [
        ([thing(), definition()], "home"),
        ([thing(namespace="b"), definition()], "b"),
        ([thing(), definition(scope="Cluster")], None),
        ([thing()], None),
    ],
)
def test_a_member_of_a_kind_that_is_not_served_yet_is_where_its_definition_says(
    stub: Stub, run: Run, objects: list[Any], namespace: str | None
) -> None:
    stub.always = GONE
    run.client.namespace = "home"
    first = sets.members(run, objects, "s")[0]["metadata"]
    assert first.get("namespace") == namespace
    assert first["labels"] == {"paddleflow.org/set": "s", "paddleflow.org/set-namespace": "home"}
