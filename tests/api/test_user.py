# SPDX-License-Identifier: Apache-2.0
"""The module user against a real API server, with Kubernetes' own controller that collects the rules of roles."""

from __future__ import annotations

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
    assert [one["action"] for one in gone["objects"]] == ["deleted", "deleted"]
    until("the end of bob", lambda: not may_use(collecting, "oidc:bob", "research"))
