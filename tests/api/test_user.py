# SPDX-License-Identifier: Apache-2.0
"""The module user against a real API server, with Kubernetes' own controller that collects the rules of roles."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support import modules
from tests.support.control_plane import ControlPlane, controllers
from tests.support.granted import may_use, until

NAMESPACE = "users"


@pytest.fixture(scope="module")
def collecting(api: ControlPlane) -> Iterator[ControlPlane]:
    with controllers(api, "clusterrole-aggregation-controller"):
        yield api


def declare(api: ControlPlane, module: str, check: bool = False, **options: Any) -> dict[str, Any]:
    answer = modules.run(module, {"kubeconfig": str(api.kubeconfig), **options}, check=check)
    assert "failed" not in answer, answer
    return answer


def test_a_grant_follows_its_user(collecting: ControlPlane) -> None:
    """Whichever is declared first, and whatever identities the user has meanwhile."""
    declare(collecting, "grant", name="alice", queue="research", people=["Alice"])
    first = declare(collecting, "user", name="Alice", identities=["oidc:alice"])
    assert [(one["kind"], one["action"]) for one in first["objects"]] == [
        ("ClusterRole", "created"),
        ("ClusterRoleBinding", "created"),
    ]
    until("the grant of alice", lambda: may_use(collecting, "oidc:alice", "research"))
    assert not may_use(collecting, "oidc:alice", "other")
    assert not may_use(collecting, "Alice", "research")
    # What the controller collected is nothing that another run would take away.
    assert not declare(collecting, "user", name="Alice", identities=["oidc:alice"])["changed"]
    assert not declare(collecting, "user", check=True, name="Alice", identities=["oidc:alice"])["changed"]
    declare(collecting, "user", name="Alice", identities=["ldap:alice"])
    until("the grant of her other identity", lambda: may_use(collecting, "ldap:alice", "research"))
    until("the end of the first", lambda: not may_use(collecting, "oidc:alice", "research"))
    declare(collecting, "grant", name="alice", state="absent")
    until("the end of the grant", lambda: not may_use(collecting, "ldap:alice", "research"))


def test_a_user_who_left_may_do_nothing(collecting: ControlPlane) -> None:
    declare(collecting, "user", name="bob", identities=["oidc:bob"])
    declare(collecting, "grant", name="bob", queue="research", people=["bob"])
    until("the grant of bob", lambda: may_use(collecting, "oidc:bob", "research"))
    gone = declare(collecting, "user", name="bob", state="absent")
    assert [one["action"] for one in gone["objects"]] == ["deleted"] * 4
    until("the end of bob", lambda: not may_use(collecting, "oidc:bob", "research"))
    assert not declare(collecting, "user", name="bob", state="absent")["changed"]


def test_who_gets_the_name_of_one_who_left_gets_no_grants(collecting: ControlPlane) -> None:
    declare(collecting, "user", name="carol", identities=["oidc:carol"])
    declare(collecting, "grant", name="both", queue="research", people=["carol", "dora"], labels={"cost": "1"})
    declare(collecting, "grant", name="hers", queue="research", people=["carol"])
    would = declare(collecting, "user", check=True, name="carol", state="absent")
    gone = declare(collecting, "user", name="carol", state="absent")
    said = [(one["kind"], one["name"].rpartition("-")[2], one["action"]) for one in gone["objects"][2:]]
    assert said == [
        ("ClusterRole", "both", "changed"),
        ("ClusterRoleBinding", "both", "changed"),
        ("ClusterRoleBinding", "hers", "deleted"),
        ("ClusterRole", "hers", "deleted"),
    ]
    assert would["objects"] == gone["objects"]
    labels = json.loads(collecting.kubectl("get", "clusterrole", "paddleflow-grant-both", "--output=json"))["metadata"][
        "labels"
    ]
    assert (labels["cost"], [key for key in labels if key.startswith("user.")]) == ("1", ["user.paddleflow.org/dora"])
    declare(collecting, "user", name="carol", identities=["oidc:other"])
    declare(collecting, "user", name="dora", identities=["oidc:dora"])
    until("the grant of dora", lambda: may_use(collecting, "oidc:dora", "research"))
    assert not may_use(collecting, "oidc:other", "research")
