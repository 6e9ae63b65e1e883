# SPDX-License-Identifier: Apache-2.0
"""What check mode says of a few declarations of each noun is what then happens, and the second time nothing does."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from paddleflow_core.kube import jobs, nodes
from paddleflow_core.kube.client import Client
from paddleflow_core.kube.declare import declare
from paddleflow_core.kube.wanted import Outcome, Run, Wanted
from paddleflow_core.model import node_group, storage_objects
from paddleflow_core.plan import compare, node_groups, view

from tests.support import documents
from tests.support.binaries import built
from tests.support.control_plane import ControlPlane
from tests.support.kube_api import define
from tests.support.nouns import APPLIED, FILES, KnownJob
from tools import tree

NAMESPACE = "nouns"
# Each example is an object of its own and the same one declared otherwise: no failure is made smaller by trying again.
FEW = settings(max_examples=3, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
NUMBERS = itertools.count()
NODES = ("gpu-1", "gpu-2", "cpu-1")


@pytest.fixture(scope="module", autouse=True)
def cluster(api: ControlPlane, client: Client) -> Iterator[None]:
    define(api, built("volcano") / "crds", tree.ROOT / "crds")
    client.apply(FILES["queue"].build("vision", "", {})[-1])
    for name in NODES:
        client.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(storage_objects, "ROUNDS", 1)
        yield


def the_same(carry: Callable[[bool], list[Outcome]], client: Client) -> None:
    """`carry` is what a module does, in check mode or not."""
    would, did = carry(True), carry(False)
    assert [said(one) for one in would] == [said(one) for one in did]
    for one in did:
        found = one.after or one.before or one.wanted.object
        metadata = found["metadata"]
        kind = client.kind(found["apiVersion"], found["kind"])
        live = client.find(kind, metadata["name"], metadata.get("namespace", ""))
        if one.after is not None:
            assert view.pair(None, live) == view.pair(None, one.after)
    if any(one.error for one in did):
        return
    for check in (True, False):
        again = carry(check)
        assert [(one.action, str(one.error or "")) for one in again] == [("unchanged", "")] * len(again)


def said(one: Outcome) -> tuple[Any, ...]:
    return one.action, str(one.error or ""), *view.pair(one.before, one.after)


def run(client: Client, check: bool) -> Run:
    return Run(client, time.monotonic() + 60, check)


@pytest.mark.parametrize("name", APPLIED)
@FEW
@given(st.data())
def test_check_mode_says_what_then_happens(client: Client, name: str, data: st.DataObject) -> None:
    file = FILES[name]
    called, manager = f"n{next(NUMBERS)}", file.NOUN.get("manager", compare.MANAGER)
    by = client if manager == compare.MANAGER else Client(client.transport, None, manager)
    if manager != compare.MANAGER:
        client.apply(FILES["filesystem"].build(called, NAMESPACE, {"url": "glusterfs://store:volume"})[-1])
    for spec in (data.draw(documents.valid(file)), data.draw(documents.valid(file))):
        wanted = wanted_of(file, called, spec)
        the_same(lambda check, wanted=wanted: declare(run(by, check), wanted), client)  # type: ignore[misc]


def wanted_of(file: Any, name: str, spec: Mapping[str, Any]) -> list[Wanted]:
    needs = file.needs(NAMESPACE, spec) if hasattr(file, "needs") else []
    part = "manager" in file.NOUN
    return [Wanted(one, "ensured") for one in needs] + [
        Wanted(one, exact=one["kind"] == file.NOUN["kind"], part=part) for one in file.build(name, NAMESPACE, spec)
    ]


@FEW
@given(st.data())
def test_of_jobs_too(client: Client, data: st.DataObject) -> None:
    called = f"n{next(NUMBERS)}"
    for _number in range(2):
        spec = data.draw(documents.valid(KnownJob, name=called))
        spec["schedulingPolicy"]["queue"] = "vision"
        request = jobs.Request(called, NAMESPACE, "present", spec, {}, "")
        the_same(lambda check, request=request: jobs.carry(run(client, check), [request], False)[0], client)  # type: ignore[misc]  # a default of a lambda


@FEW
@given(st.lists(st.sampled_from(NODES), unique=True), st.booleans())
def test_of_groups_of_nodes_too(client: Client, names: list[str], exclusive: bool) -> None:
    groups = [node_groups.Group("group", {"nodes": names, "exclusive": exclusive})]

    def carry(check: bool) -> list[Outcome]:
        found = client.list(nodes.kind(client)).items
        places, wrong = node_groups.places(groups, found)
        assert wrong == []
        return nodes.place(run(client, check), found, places)

    would, did = carry(True), carry(False)
    assert [said(one) for one in would] == [said(one) for one in did]
    assert [one.action for one in carry(False) if one.action != "unchanged"] == []
    live = client.list(nodes.kind(client)).items
    assert {node["metadata"]["name"] for node in live if node_group.group_of(node) == "group"} == set(names)
