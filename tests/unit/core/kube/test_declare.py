# SPDX-License-Identifier: Apache-2.0
"""What is said of each object when the server goes away on the way. What a real one does is seen in tests/api."""

from __future__ import annotations

import math
from typing import Any

import pytest
from paddleflow_core.kube.client import Client
from paddleflow_core.kube.declare import declare
from paddleflow_core.kube.discovery import Discovery
from paddleflow_core.kube.errors import UnreachableError
from paddleflow_core.kube.wanted import Outcome, Run, Wanted
from paddleflow_core.plan import compare

from tests.support.kube_stub import Handler, Stub, answer, ok, reset

# More than are got one by one.
NAMES = ("a", "b", "c", "d", "e", "f")


def settings(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "team"},
        "data": {"k": "v"},
    }


def live(name: str) -> dict[str, Any]:
    fields: dict[str, Any] = {"f:data": {"f:k": {}}}
    owned = {"manager": compare.MANAGER, "operation": "Apply", "fieldsV1": fields}
    found = settings(name)
    return {**found, "metadata": {**found["metadata"], "uid": name, "resourceVersion": "1", "managedFields": [owned]}}


def page(*names: str, more: str = "") -> Any:
    return ok({"metadata": {"resourceVersion": "7", "continue": more}, "items": [live(name) for name in names]})


def carried(client: Client, whole: bool = True) -> list[Outcome]:
    run = Run(client, math.inf, writers=1, whole=whole)
    return declare(run, [Wanted(settings(name), where=f"objects[{name}]") for name in NAMES])


@pytest.mark.parametrize("whole", [True, False])
def test_a_server_that_goes_away_in_the_middle_of_a_list_has_got_nothing(
    stub: Stub, client: Client, whole: bool
) -> None:
    stub.steps, stub.always = [page("a", "b", more="x")], reset
    outcomes = carried(client, whole)
    assert [one.action for one in outcomes] == ["failed"] * len(NAMES)
    for one in outcomes:
        assert isinstance(one.error, UnreachableError)
        assert "Could not list ConfigMap in team (after 2 objects): the API server" in str(one.error)
    assert {seen.method for seen in stub.seen} == {"GET"}


def test_of_a_server_that_goes_away_between_two_writes_it_is_known_which_were_done(stub: Stub, client: Client) -> None:
    stub.steps, stub.always = [page("a"), ok(live("b")), ok(live("c"))], reset
    outcomes = carried(client)
    assert [one.action for one in outcomes] == ["unchanged", "created", "created", "failed", "failed", "failed"]
    doubtful = outcomes[3].error
    assert isinstance(doubtful, UnreachableError)
    assert str(doubtful).startswith("Could not apply ConfigMap team/d: the API server")
    assert {seen.path.rpartition("/")[2] for seen in stub.seen if seen.method == "PATCH"} <= set(NAMES) - {"a"}


def test_of_many_objects_no_more_is_kept_than_what_is_told_of_them(stub: Stub, client: Client) -> None:
    other = {**live("b"), "data": {"k": "other"}}
    expired = answer(410, {"code": 410, "reason": "Expired"})
    listed = ok({"metadata": {"resourceVersion": "7"}, "items": [live("a"), other]})
    # What was as declared is so no longer, or gone, when the list has to begin anew.
    written = [ok({**live("b"), "metadata": {**live("b")["metadata"], "resourceVersion": "2"}})] * 2  # a dry run first
    stub.steps = [page("a", "b", "c", more="x"), expired, listed, *written, *(ok(live(name)) for name in NAMES[2:])]
    outcomes = carried(client, whole=False)
    assert [one.action for one in outcomes] == ["unchanged", "changed", *["created"] * 4]
    assert all(one.after is one.wanted.object for one in outcomes)
    assert [one.before for one in outcomes] == [settings("a"), settings("b"), None, None, None, None]


def test_what_is_told_of_an_object_is_where_it_went(stub: Stub, client: Client) -> None:
    client.namespace = "team"
    stub.steps = [MISSING, ok(live("a"))]
    declared = {**settings("a"), "metadata": {"name": "a"}}
    (outcome,) = declare(Run(client, math.inf, whole=False), [Wanted(declared)])
    assert outcome.after == {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "team"}}


MISSING = answer(404, {"code": 404, "reason": "NotFound", "details": {"name": "x", "kind": "x"}})
UNSERVED = answer(404, {"code": 404, "reason": "NotFound", "details": {}})
DEFINITIONS = "apiextensions.k8s.io/v1"


class Defining:
    """Answers for kinds that it has definitions of, but for the second one only when it was asked a few times more."""

    def __init__(self, stub: Stub) -> None:
        self.stub, self.objects, self.asked = stub, dict[str, Any](), 0
        stub.always = self.respond

    def respond(self, handler: Handler) -> None:
        seen = self.stub.seen[-1]
        if seen.method == "PATCH":
            status = {"status": {"conditions": [{"type": "Established", "status": "True"}]}}
            metadata = {**seen.body["metadata"], "uid": seen.path, "resourceVersion": "1"}
            self.objects[seen.path] = {**seen.body, **status, "metadata": metadata}
        served = seen.path.rpartition("/")[2]
        if seen.path in self.objects:
            ok(self.objects[seen.path])(handler)
        elif seen.path in ("/apis/early.org/v1", "/apis/late.org/v1"):
            self.asked += seen.path == "/apis/late.org/v1"
            defined = f"/apis/{DEFINITIONS}/customresourcedefinitions/{seen.path.split('/')[2]}" in self.objects
            there = defined and (seen.path == "/apis/early.org/v1" or self.asked > 4)
            kind = {"kind": "Thing", "name": "things", "namespaced": True}
            (ok({"resources": [kind]}) if there else UNSERVED)(handler)
        else:
            (MISSING if served else UNSERVED)(handler)


def defined(group: str) -> list[dict[str, Any]]:
    definition = {"apiVersion": DEFINITIONS, "kind": "CustomResourceDefinition", "metadata": {"name": group}}
    return [definition, {"apiVersion": f"{group}/v1", "kind": "Thing", "metadata": {"name": "one"}}]


def test_what_was_created_stays_so_while_others_wait_for_their_kind(stub: Stub, client: Client) -> None:
    client = Client(client.transport, Discovery(client.transport, None))
    Defining(stub)
    wanted = [Wanted(one) for group in ("early.org", "late.org") for one in defined(group)]
    assert [one.action for one in declare(Run(client, math.inf), wanted)] == ["created"] * 4
    assert len([seen for seen in stub.seen if seen.path.endswith("early.org/v1/namespaces/default/things/one")]) == 2


@pytest.mark.parametrize("state", ["found", "amended"])
def test_in_check_mode_what_an_earlier_task_would_have_made_is_changed(stub: Stub, client: Client, state: Any) -> None:
    stub.always = MISSING
    wanted = [Wanted(settings("a"), state, purpose="stopped")]
    (would,) = declare(Run(client, math.inf, check=True), wanted)
    assert (would.action, would.error) == ("changed", None)
    (refused,) = declare(Run(client, math.inf), wanted)
    assert refused.action == "failed"
    said = {"found": "does not exist: declare it first.", "amended": "is not there and cannot become stopped"}
    assert f"ConfigMap team/a {said[state]}" in str(refused.error)


def test_so_it_is_when_not_even_its_kind_is_there(stub: Stub, client: Client) -> None:
    stub.always = UNSERVED
    wanted = [Wanted(settings("a"), "amended"), Wanted(settings("b"), "present", part=True), Wanted(settings("c"))]
    assert [one.action for one in declare(Run(client, math.inf, check=True), wanted)] == [
        "changed",
        "changed",
        "created",
    ]
