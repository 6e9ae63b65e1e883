# SPDX-License-Identifier: Apache-2.0
"""Node affinity and tolerations."""

from __future__ import annotations

from typing import Any

import pytest
from paddleflow_core.model import check, placement

FIELDS = {"nodeAffinity": placement.NODE_AFFINITY, "tolerations": placement.TOLERATIONS}


def said(declared: dict[str, Any]) -> list[str]:
    read, problems = check.read(FIELDS, declared)
    affinity = read.get("nodeAffinity", {})
    return [one.text() for one in problems or placement.affinity_problems(affinity, ("nodeAffinity",))]


def required(*expressions: dict[str, Any]) -> dict[str, Any]:
    terms = [{"matchExpressions": list(expressions)}]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


@pytest.mark.parametrize(
    ("operator", "values", "text"),
    [
        ("In", ["a"], ""),
        ("NotIn", ["a", "b"], ""),
        ("Exists", [], ""),
        ("DoesNotExist", [], ""),
        ("Gt", ["5"], ""),
        ("Lt", ["-5"], ""),
        ("In", [], "values is [], but must be at least one value for operator In."),
        ("Exists", ["a"], "values is ['a'], but must be left out for operator Exists."),
        ("Gt", ["a"], "values is ['a'], but must be one whole number for operator Gt."),
        ("Lt", ["1", "2"], "values is ['1', '2'], but must be one whole number for operator Lt."),
        ("Is", [], "operator is 'Is', but must be one of In, NotIn, Exists, DoesNotExist, Gt, Lt."),
    ],
)
def test_an_operator_has_its_values(operator: str, values: list[str], text: str) -> None:
    lines = said(required({"key": "site/rack", "operator": operator, "values": values}))
    assert [line.endswith(text) for line in lines] == ([True] if text else [])


@pytest.mark.parametrize(
    ("declared", "text"),
    [
        (required({"key": "a b", "operator": "Exists"}), "matchExpressions[0].key is 'a b', but must be text like"),
        ({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}},
         "nodeSelectorTerms is [], but must be a list from 1 to 64 entries."),
        ({"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 0, "preference": {}}]}},
         "[0].weight is 0, but must be a whole number from 1 to 100."),
        ({"nodeAffinity": {"required": {}}}, "nodeAffinity.required is not known here"),
        ({"tolerations": [{"effect": "Never"}]}, "tolerations[0].effect is 'Never', but must be one of NoSchedule,"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_placement(declared: dict[str, Any], text: str) -> None:
    assert any(text in line for line in said(declared)), said(declared)


def test_both_kinds_of_terms_are_looked_at() -> None:
    wrong = {"key": "metadata.name", "operator": "In"}
    declared = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{}, {"matchFields": [wrong]}]},
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": {"matchFields": [wrong]}}],
        }
    }
    assert len(said(declared)) == 2


def test_empty_words_of_a_toleration_are_kubernetes_own() -> None:
    assert said({"tolerations": [{"key": "gpu", "operator": "", "effect": "", "tolerationSeconds": -1}]}) == []
