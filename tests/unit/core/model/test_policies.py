# SPDX-License-Identifier: Apache-2.0
"""The admission policies as data. What they refuse is tried on a real API server: tests/api/test_grant_policies.py."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from paddleflow_core.model import policies

PAIRS = policies.policies()
OBJECTS = [item for pair in PAIRS for item in pair]
NAMES = [policy["metadata"]["name"] for policy, _binding in PAIRS]


def settled(action: str = "enforce", **more: Any) -> dict[str, dict[str, Any]]:
    found = policies.configured(OBJECTS, action, **more)
    return {f"{item['kind']} {item['metadata']['name']}": item["spec"] for item in found}


def variable(spec: dict[str, Any], name: str) -> Any:
    (found,) = [json.loads(one["expression"]) for one in spec["variables"] if one["name"] == name]
    return found


def test_each_policy_is_in_force_and_fails_closed() -> None:
    for policy, binding in PAIRS:
        assert policy["spec"]["failurePolicy"] == "Fail"
        assert binding["spec"] == {"policyName": policy["metadata"]["name"], "validationActions": ["Deny"]}
        assert binding["metadata"]["name"] == policy["metadata"]["name"]


@pytest.mark.parametrize(("policy", "_binding"), PAIRS, ids=NAMES)
def test_variables_are_known_before_they_are_used_and_none_is_left_over(policy: dict[str, Any], _binding: Any) -> None:
    seen: set[str] = set()
    texts = [(one["name"], one["expression"]) for one in policy["spec"]["variables"]]
    used = set(re.findall(r"variables\.(\w+)", json.dumps(policy["spec"])))
    for name, text in texts:
        assert set(re.findall(r"variables\.(\w+)", text)) <= seen
        seen.add(name)
    assert seen == used


def test_every_refusal_has_a_plain_message_beside_the_one_with_names() -> None:
    for policy, _binding in PAIRS:
        for check in policy["spec"]["validations"]:
            assert check["reason"] == "Forbidden"
            assert check["message"]
            assert "\n" not in check["message"]
            assert check["messageExpression"].startswith("variables.what + ")


def test_every_kind_is_matched_when_it_is_made_and_when_it_is_changed() -> None:
    (queues,) = [policy["spec"] for policy, _binding in PAIRS if policy["metadata"]["name"] == "paddleflow-queues"]
    rules = queues["matchConstraints"]["resourceRules"]
    assert {rule["apiGroups"][0]: tuple(rule["resources"]) for rule in rules} == policies.KINDS
    assert all(rule["operations"] == ["CREATE", "UPDATE"] for rule in rules)


def test_a_sites_settings_are_put_in() -> None:
    found = settled("warn", controllers=["operators", "system:kube-controller-manager"], volcano="vc", scheduler="mine")
    pods = found["ValidatingAdmissionPolicy paddleflow-pods"]
    assert variable(pods, "controllers") == [
        "system:kube-controller-manager",
        "system:serviceaccounts:kube-system",
        "system:serviceaccounts:paddleflow-system",
        "system:serviceaccount:vc:volcano-controllers",
        "operators",
    ]
    assert variable(pods, "scheduler") == "mine"
    (outside,) = pods["matchConstraints"]["namespaceSelector"]["matchExpressions"]
    assert outside["values"] == ["kube-system", "paddleflow-system", "vc"]
    assert found["ValidatingAdmissionPolicyBinding paddleflow-pods"]["validationActions"] == ["Warn", "Audit"]


def test_without_a_sites_settings_they_stay_as_they_are() -> None:
    before = json.dumps(OBJECTS)
    assert policies.configured(OBJECTS, "enforce") == OBJECTS
    settled("audit", scheduler="mine")
    assert json.dumps(OBJECTS) == before


def test_an_unknown_action_is_refused() -> None:
    with pytest.raises(ValueError, match="the action of grants is 'off', but must be one of enforce, warn, audit"):
        settled("off")
