# SPDX-License-Identifier: Apache-2.0
"""The kinds that need no discovery, and the paths of objects."""

from __future__ import annotations

import pytest
from paddleflow_core.kube.errors import BadRequestError
from paddleflow_core.kube.kinds import Kind, kinds, known
from paddleflow_core.kube.served import OURS, VOLCANO

from tests.support.binaries import ROOT

QUEUE = Kind("scheduling.volcano.sh/v1beta1", "Queue", "queues", False)
POD = Kind("v1", "Pod", "pods", True)


@pytest.mark.parametrize(
    ("api_version", "kind", "expected"),
    [
        ("v1", "Pod", POD),
        ("v1", "Endpoints", Kind("v1", "Endpoints", "endpoints", True)),
        ("v1", "Namespace", Kind("v1", "Namespace", "namespaces", False)),
        (
            "networking.k8s.io/v1",
            "NetworkPolicy",
            Kind("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies", True),
        ),
        ("storage.k8s.io/v1", "StorageClass", Kind("storage.k8s.io/v1", "StorageClass", "storageclasses", False)),
        ("scheduling.volcano.sh/v1beta1", "Queue", QUEUE),
        ("paddlepaddle.org/v1", "TrainingJob", Kind("paddlepaddle.org/v1", "TrainingJob", "trainingjobs", True)),
        ("v1", "Queue", None),
        ("v2", "Pod", None),
        ("", "", None),
    ],
)
def test_known_kinds(api_version: str, kind: str, expected: Kind | None) -> None:
    assert known(api_version, kind) == expected


@pytest.mark.parametrize("path", sorted((ROOT / "crds").glob("*.yaml")), ids=lambda path: path.stem)
def test_our_own_kinds_are_those_of_their_definitions(path: object) -> None:
    import yaml

    spec = yaml.safe_load((ROOT / "crds" / str(path)).read_text(encoding="utf-8"))["spec"]
    for version in spec["versions"]:
        name = spec["names"]["kind"]
        expected = Kind(
            f"{spec['group']}/{version['name']}", name, spec["names"]["plural"], spec["scope"] == "Namespaced"
        )
        assert known(expected.api_version, name) == expected
        # So who asks what a cluster serves of the platform asks for it.
        assert expected.api_version in OURS


def test_what_is_asked_for_is_known() -> None:
    assert kinds("scheduling.volcano.sh/v1beta1") == ["PodGroup", "Queue"]
    assert all(kinds(api_version) for api_version in (*OURS, *VOLCANO))


@pytest.mark.parametrize(
    ("kind", "arguments", "path"),
    [
        (POD, {"name": "a", "namespace": "team"}, "/api/v1/namespaces/team/pods/a"),
        (POD, {"name": "a", "namespace": "team", "subresource": "log"}, "/api/v1/namespaces/team/pods/a/log"),
        (POD, {"namespace": "team"}, "/api/v1/namespaces/team/pods"),
        (POD, {}, "/api/v1/pods"),
        (QUEUE, {"name": "ml"}, "/apis/scheduling.volcano.sh/v1beta1/queues/ml"),
        (QUEUE, {"name": "system:a?b#c d"}, "/apis/scheduling.volcano.sh/v1beta1/queues/system:a%3Fb%23c%20d"),
    ],
)
def test_paths(kind: Kind, arguments: dict[str, str], path: str) -> None:
    assert kind.path(**arguments) == path
    if "name" in arguments:
        assert kind.object_path(**arguments) == path


@pytest.mark.parametrize("name", ["..", ".", "a/b", "a%2fb", "a\nb", "x" * 254, "\x00"])
def test_names_that_would_lead_elsewhere_are_refused(name: str) -> None:
    with pytest.raises(BadRequestError, match="cannot be the name of a Queue: use lower-case"):
        QUEUE.object_path(name)
    with pytest.raises(BadRequestError, match="cannot be the namespace: use lower-case"):
        POD.path(name)


def test_an_object_without_a_name_is_never_all_of_them() -> None:
    with pytest.raises(BadRequestError, match="A Queue was given no name, but is meant alone: set name"):
        QUEUE.object_path("")


def test_a_namespace_belongs_to_the_kind() -> None:
    with pytest.raises(BadRequestError, match="Queue ml was given the namespace team, but a Queue is in none"):
        QUEUE.path("team", "ml")
    with pytest.raises(BadRequestError, match="Pod a was given no namespace, but each Pod is in one: set namespace"):
        POD.path("", "a")


def test_the_group() -> None:
    assert (POD.group, QUEUE.group) == ("", "scheduling.volcano.sh")
