# SPDX-License-Identifier: Apache-2.0
"""Flavours (scheduling.md 8)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from paddleflow_core.model import check, flavour, own

from tests.support import documents

SPEC = flavour.NOUN["spec"]


def said(name: str = "large", **spec: Any) -> list[str]:
    read, problems = check.read(SPEC, spec)
    return [problem.text() for problem in problems or flavour.problems(name, read)]


def test_a_flavour_is_its_declaration() -> None:
    (built,) = flavour.build("large", "ignored", {"cpu": 4, "memory": "8Gi"})
    assert (built["apiVersion"], built["kind"]) == ("paddleflow.org/v1alpha1", "Flavour")
    assert built["metadata"] == {"name": "large", "labels": {"app.kubernetes.io/managed-by": "paddleflow"}}
    assert built["spec"] == {"cpu": 4, "memory": "8Gi"}


def test_the_reference_s_word_for_memory_is_read() -> None:
    assert check.read(SPEC, {"cpu": "1", "mem": "1Gi"}) == ({"cpu": "1", "memory": "1Gi"}, [])


@given(documents.objects(SPEC))
def test_a_live_flavour_says_the_declaration_that_it_was_built_from(spec: dict[str, Any]) -> None:
    read, problems = check.read(SPEC, spec)
    assert problems == []
    assume(not list(flavour.problems("Large_One", read)))
    (built,) = flavour.build("Large_One", "", read)
    assert flavour.build(own.name_of(built), "", flavour.declared(built)) == [built]


@pytest.mark.parametrize(
    ("name", "spec", "text"),
    [
        ("a", {"memory": "1Gi"}, "cpu is missing, but must be a quantity"),
        ("a", {"cpu": 1}, "memory is missing, but must be a quantity"),
        ("a", {"cpu": "0m", "memory": "1Gi"}, "cpu is 0m, but must be above 0."),
        ("a", {"cpu": 1, "mem": 0}, "memory is 0, but must be above 0."),
        ("a", {"cpu": -1, "mem": 1}, "cpu is -1, but must be a quantity of at least 0"),
        ("a", {"cpu": 1, "mem": 1, "scalarResources": {"x/y": -1}}, "scalarResources.x/y is -1, but must be"),
        ("a", {"cpu": 1, "mem": 1, "scalarResources": {"x y": 1}}, "scalarResources.x y is a name of the wrong form"),
        ("a", {"cpu": 1, "mem": 1, "scalarResources": {"mem": 1}},
         "scalarResources.mem is given, but must be left out. mem is a field of its own."),
        ("a", {"cpu": 1, "mem": 1, "scalarResources": {f"x/y{number}": 1 for number in range(13)}},
         "scalarResources is {'x/y0': 1"),
        ("a", {"cpu": 1, "mem": 1, "clusterName": "-"}, "clusterName is '-', but must be text like"),
        ("customFlavour", {"cpu": 1, "mem": 1}, "name is 'customFlavour', but must be another name."),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_flavour(name: str, spec: dict[str, Any], text: str) -> None:
    assert any(line.startswith(text) for line in said(name, **spec)), said(name, **spec)


def test_errors_have_the_reference_s_codes() -> None:
    codes = flavour.NOUN["codes"]
    assert {codes[field] for field in SPEC} == {"FlavourInvalidField"}
    assert codes["name"] == "FlavourNameEmpty"
    (problem,) = flavour.problems("customFlavour", {"cpu": 1, "memory": 1})
    assert problem.code == "FlavourInvalidField"


def test_those_that_are_built_in() -> None:
    amounts = {name: flavour.resources(spec) for name, spec in flavour.BUILT_IN.items()}
    assert amounts == {
        "flavour1": {"cpu": "1", "memory": "1Gi"},
        "flavour2": {"cpu": "4", "memory": "8Gi", "nvidia.com/gpu": "1"},
        "flavour3": {"cpu": "4", "memory": "8Gi", "nvidia.com/gpu": "2"},
    }
    assert [line for name, spec in flavour.BUILT_IN.items() for line in said(name, **spec)] == []


def test_its_cluster_is_listed() -> None:
    """[D-128]"""
    assert ".spec.clusterName" in [column["path"] for column in flavour.NOUN["columns"]]


def test_twelve_scalars_are_the_most() -> None:
    spec = {"cpu": 1, "memory": 1, "scalarResources": {f"x/y{number}": 1 for number in range(12)}}
    assert check.read(SPEC, spec)[1] == []
