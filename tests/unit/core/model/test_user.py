# SPDX-License-Identifier: Apache-2.0
"""A user's declaration, and the role and binding that it becomes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from paddleflow_core.model import check, filesystem, grant, user

from tests.support import documents

SPEC = user.NOUN["spec"]


def said(name: str = "alice", **spec: Any) -> list[str]:
    _name, wrong = check.read({"name": user.NOUN["name"]}, {"name": name})
    read, problems = check.read(SPEC, spec)
    return [problem.text() for problem in [*wrong, *(problems or user.problems(name, read))]]


def test_a_user_collects_what_is_granted_to_their_name() -> None:
    role, binding = user.build("alice", "", {"identities": ["b", "a", "b"]})
    assert role["aggregationRule"]["clusterRoleSelectors"] == [{"matchLabels": {"user.paddleflow.org/alice": "true"}}]
    assert "rules" not in role  # they are Kubernetes' to write
    assert binding["roleRef"]["name"] == role["metadata"]["name"] == "paddleflow-user-alice"
    assert [(one["kind"], one["name"]) for one in binding["subjects"]] == [("User", "a"), ("User", "b")]
    granted = grant.build("g", "", {"queue": "q", "people": ["alice"]})
    assert all(one["metadata"]["labels"]["user.paddleflow.org/alice"] == "true" for one in granted)
    assert granted[1]["subjects"] == []


def test_names_of_users_are_those_of_owners_and_never_those_of_other_roles() -> None:
    owner = filesystem.NOUN["spec"]["owner"]
    assert {key: user.NAME[key] for key in ("pattern", "min", "max")} == {
        key: owner[key] for key in ("pattern", "min", "max")
    }
    names = [
        one["metadata"]["name"]
        for name in ("cluster-admin", "Alice", "alice")
        for one in user.build(name, "", {"identities": []})
    ]
    assert all(name.startswith("paddleflow-user-") for name in names)
    assert len(set(names)) == 3
    assert [one["kind"] for one in user.belongings("alice", "")] == ["ClusterRole"]


@given(documents.objects(SPEC))
def test_a_live_binding_says_the_declaration_that_it_was_built_from(spec: dict[str, Any]) -> None:
    read, problems = check.read(SPEC, spec)
    assert problems == []
    assume(not list(user.problems("alice", read)))
    built = user.build("alice", "", read)
    assert user.build("alice", "", user.declared(built[1])) == built


def test_a_user_without_identities_is_a_good_one() -> None:
    assert said(identities=[]) == said(identities=["system:serviceaccount:n:robot"]) == []
    assert user.declared({"subjects": None}) == {"identities": []}


@pytest.mark.parametrize(
    ("name", "spec", "text"),
    [
        ("-a", {"identities": []}, "name is '-a', but must be text like"),
        ("a", {}, "identities is missing, but must be a list of at most 100 entries."),
        (
            "a",
            {"identities": ["system:masters"]},
            "identities[0] is 'system:masters', but must be a person or a service",
        ),
    ],
)
def test_what_is_wrong_with_a_user(name: str, spec: dict[str, Any], text: str) -> None:
    assert any(line.startswith(text) for line in said(name, **spec)), said(name, **spec)
