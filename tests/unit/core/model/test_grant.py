# SPDX-License-Identifier: Apache-2.0
"""A grant's declaration, and the role and binding that it becomes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from paddleflow_core.model import check, grant, own, user

from tests.support import documents

SPEC = grant.NOUN["spec"]


def said(**spec: Any) -> list[str]:
    read, problems = check.read(SPEC, spec)
    return [problem.text() for problem in [*problems, *grant.problems("g", read)]]


def queue(name: str, parent: str = "root") -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"parent": parent}}


def test_a_queue_is_granted_to_people_and_namespaces() -> None:
    role, binding = grant.build("research", "", {"queue": "q", "users": ["b", "a", "b"], "namespaces": ["n"]})
    metadata = {
        "name": "paddleflow-grant-research",
        "labels": {"app.kubernetes.io/managed-by": "paddleflow", "paddleflow.org/queue": "q"},
        "annotations": {"paddleflow.org/name": "research"},
    }
    assert role["metadata"] == binding["metadata"] == metadata
    assert [(rule["resources"], rule["resourceNames"], rule["verbs"]) for rule in role["rules"]] == [
        (["queues"], ["q"], ["use"]),
        (["boundnamespaces"], ["n"], ["use"]),
    ]
    assert binding["roleRef"]["name"] == metadata["name"]
    assert [(one["kind"], one["name"], one.get("namespace")) for one in binding["subjects"]] == [
        ("User", "a", None),
        ("User", "b", None),
        ("ServiceAccount", "default", "n"),
    ]


def test_people_alone_bind_no_namespace() -> None:
    role, _binding = grant.build("g", "", {"queue": "q", "groups": ["system:authenticated"]})
    assert [rule["resources"] for rule in role["rules"]] == [["queues"]]


def test_a_file_system_is_granted_by_its_objects_name() -> None:
    role, binding = grant.build("Data", "", {"fileSystem": "data/Data_Sets", "namespaces": ["n"]})
    (rule,) = role["rules"]
    assert (rule["apiGroups"], rule["resources"]) == (["paddleflow.org"], ["filesystems"])
    assert rule["resourceNames"] == [grant.resource("data/Data_Sets")] != ["data/Data_Sets"]
    assert binding["metadata"]["annotations"] == {
        "paddleflow.org/name": "Data",
        "paddleflow.org/file-system": "data/Data_Sets",
    }
    assert own.name_of(binding) == "Data"


def test_names_of_grants_are_never_those_of_other_roles() -> None:
    for name in ("cluster-admin", "Cluster Admin", "x" * 253, "paddleflow-grant-x"):
        (role,) = grant.belongings(name, "")
        built = grant.build(name, "", {"queue": "q", "users": ["a"]})
        assert [(one["kind"], one["metadata"]["name"]) for one in built] == [
            (kind, own.object_name(grant.NOUN, name)) for kind in ("ClusterRole", "ClusterRoleBinding")
        ]
        assert role["metadata"]["name"] == built[0]["metadata"]["name"]
        assert role["metadata"]["name"].startswith("paddleflow-grant-")
        assert own.name_of(built[1]) == name


def required(*fields: str) -> st.SearchStrategy[dict[str, Any]]:
    return documents.objects({name: {**SPEC[name], "required": True, "min": 1} for name in fields})


@given(
    required("queue", "people", "users", "groups", "namespaces")
    | required("fileSystem", "namespaces")
    | required("queue", "users")
)
def test_a_live_binding_says_the_declaration_that_it_was_built_from(spec: dict[str, Any]) -> None:
    read, problems = check.read(SPEC, spec)
    assert problems == []
    assume(read.get("queue") != "root")
    built = grant.build("g", "", read)
    assert grant.build("g", "", grant.declared(built[1])) == built


def test_the_account_of_a_robot_is_a_user() -> None:
    binding = {
        "metadata": {"labels": {"paddleflow.org/queue": "q"}},
        "subjects": [{"kind": "ServiceAccount", "namespace": "n", "name": "robot"}],
    }
    assert grant.declared(binding) == {"queue": "q", "users": ["system:serviceaccount:n:robot"]}


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"users": ["a"]}, "queue is missing, but must be the queue, or fileSystem the file system, that is granted."),
        (
            {"queue": "q", "fileSystem": "n/f", "namespaces": ["n"]},
            "fileSystem is given beside queue, but must be left",
        ),
        ({"queue": "root", "users": ["a"]}, "queue is 'root', but must be a queue without children."),
        ({"fileSystem": "n/f", "groups": ["a"], "namespaces": ["n"]}, "groups is given, but must be left out beside"),
        (
            {"queue": "q", "users": []},
            "namespaces is missing, but must be given where no people, users and groups are.",
        ),
        ({"queue": "q", "users": [""]}, "users[0] is '', but must be text from 1 to 253 characters."),
    ],
)
def test_what_is_wrong_with_a_grant(spec: dict[str, Any], text: str) -> None:
    assert any(line.startswith(text) for line in said(**spec)), said(**spec)


def test_a_queue_with_children_is_not_granted() -> None:
    queues = [queue("top"), *(queue(f"leaf-{number}", "top") for number in range(7)), {"metadata": {"name": "root"}}]
    (problem,) = grant.beside("g", {"queue": "top"}, queues)
    assert problem.text() == (
        "queue is 'top', which has the children leaf-0, leaf-1, leaf-2, leaf-3, leaf-4 and 2 more, but must be a queue "
        "without any. Grant those of them that are meant."
    )
    (few,) = grant.beside("g", {"queue": "top"}, queues[:2])
    assert "the children leaf-0, but" in few.text()
    assert list(grant.beside("g", {"queue": "leaf-0"}, queues)) == []
    assert list(grant.beside("g", {"fileSystem": "n/f"}, queues)) == []


TO: dict[str, Any] = {"queue": "q", "people": ["Alice", "bob"]}


@pytest.mark.parametrize(
    ("spec", "queues", "people", "left"),
    [
        (TO, ["other"], ["carol"], None),
        (TO, ["q"], [], []),
        (TO, [], ["Alice"], {"queue": "q", "people": ["bob"]}),
        (TO, [], ["Alice", "bob"], []),
        ({**TO, "groups": ["g"]}, [], ["Alice", "bob"], {"queue": "q", "people": [], "groups": ["g"]}),
        ({"fileSystem": "team/data", "namespaces": ["n"]}, ["data", "team/data"], ["n"], None),
    ],
)
def test_a_grant_without_a_queue_or_user_that_is_gone(
    spec: dict[str, Any], queues: list[str], people: list[str], left: dict[str, Any] | list[Any] | None
) -> None:
    *_roles, binding = grant.build("G", "", spec)
    objects = [own.object_name(user.NOUN, one) for one in people]
    expected = grant.build("G", "", left) if isinstance(left, dict) else left
    assert grant.left(binding, queues, objects) == expected


@pytest.mark.parametrize(("gone", "left"), [("team/data", None), ("team/my-data-2", None), ("other/my-data", None)])
def test_a_grant_of_a_file_system_that_is_gone(gone: str, left: None) -> None:
    *_roles, binding = grant.build("G", "", {"fileSystem": "team/my_Data", "namespaces": ["n"]})
    assert grant.left(binding, [], [], [gone]) is left
    assert grant.left(binding, [], [], [gone, grant.resource("team/my_Data")]) == []


def test_what_else_was_declared_of_a_grant_stays() -> None:
    *_roles, binding = grant.build("g", "", TO)
    binding["metadata"]["labels"]["cost"] = "1"
    binding["metadata"]["annotations"]["why"] = "it"
    for one in grant.left(binding, [], ["paddleflow-user-bob"]) or [{}]:
        labels = one["metadata"]["labels"]
        assert (labels["cost"], one["metadata"]["annotations"]["why"]) == ("1", "it")
        assert f"{user.LABEL}bob" not in labels
        assert f"{user.LABEL}Alice" in labels


def test_a_binding_that_is_no_grant_is_nobodys_to_take_away() -> None:
    *_roles, binding = user.build("bob", "", {"identities": ["b"]})
    binding["metadata"]["labels"][grant.QUEUE] = "q"
    assert grant.left(binding, ["q"], ["paddleflow-user-bob"]) is None
