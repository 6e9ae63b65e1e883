# SPDX-License-Identifier: Apache-2.0
"""What an installation asks to be allowed, and what the answers mean."""

from __future__ import annotations

import typing as t

from paddleflow_core.plan.access import ADOPTING, GRANTING, NEEDS, PLACES, denied, refused, reviews


def answered(allowed: bool, **attributes: str) -> dict[str, t.Any]:
    return {"spec": {"resourceAttributes": attributes}, "status": {"allowed": allowed}}


def _asked(**options: t.Any) -> list[dict[str, str]]:
    return [item["spec"]["resourceAttributes"] for item in reviews(**options)["items"]]


def test_every_need_is_asked_for_by_verb_resource_and_namespace() -> None:
    asked = _asked()
    assert {"verb": "create", "resource": "namespaces"} in asked
    assert {"verb": "patch", "group": "apps", "resource": "deployments", "namespace": "volcano-system"} in asked
    assert {"verb": "get", "resource": "pods", "subresource": "log"} in asked
    assert len(asked) == len({tuple(sorted(item.items())) for item in asked}), "none twice"
    assert len(asked) == sum(len(need.resources) * len(need.verbs) for need in (*NEEDS, *GRANTING))
    # kubectl lets 50 requests a second through after the first 300.
    assert len(asked) < 300


def test_needs_follow_what_the_variables_say() -> None:
    places = {"volcano": "batch", "demo": "try"}
    assert set(places) == set(PLACES) == {need.place for need in NEEDS} - {""}
    assert {item["namespace"] for item in _asked(places=places) if "namespace" in item} == {"batch", "try"}
    adopting = [item for item in _asked(adopt_volcano=True) if item not in _asked()]
    assert {"verb": "delete", "group": "apps", "resource": "statefulsets"} in adopting
    assert {item["resource"] for item in adopting} == {name for need in ADOPTING for name in need.resources}


def test_what_only_grants_is_told_apart_and_a_subresource_is_named() -> None:
    answers = [
        answered(False, verb="get", resource="pods", subresource="log"),
        answered(False, verb="bind", resource="roles"),
    ]
    assert refused(answers) == (["get pods/log"], ["bind roles"])


def test_nothing_is_denied_when_all_is_allowed() -> None:
    assert denied([answered(True, verb="get", resource="nodes")]) == []
