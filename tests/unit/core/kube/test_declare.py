# SPDX-License-Identifier: Apache-2.0
"""What is said of each object when the server goes away on the way. What a real one does is seen in tests/api."""

from __future__ import annotations

import math
from typing import Any

from paddleflow_core.kube.client import Client
from paddleflow_core.kube.declare import declare
from paddleflow_core.kube.errors import UnreachableError
from paddleflow_core.kube.wanted import Outcome, Run, Wanted
from paddleflow_core.plan import compare

from tests.support.kube_stub import Stub, ok, reset

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


def carried(client: Client) -> list[Outcome]:
    return declare(
        Run(client, math.inf, writers=1), [Wanted(settings(name), where=f"objects[{name}]") for name in NAMES]
    )


def test_a_server_that_goes_away_in_the_middle_of_a_list_has_got_nothing(stub: Stub, client: Client) -> None:
    stub.steps, stub.always = [page("a", "b", more="x")], reset
    outcomes = carried(client)
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
