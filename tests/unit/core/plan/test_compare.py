# SPDX-License-Identifier: Apache-2.0
"""Whether a live object is as declared. What our manager owns is written as the API server records it."""

from __future__ import annotations

from typing import Any

import pytest
from paddleflow_core.plan.compare import Verdict, compare, owned_fields

DECLARED: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Thing",
    "metadata": {"name": "one", "labels": {"a": "b"}},
    "spec": {"cpu": "1000m", "list": [1, {"name": "x", "port": 80}], "flag": True, "empty": {}, "none": []},
}
OWNED: dict[str, Any] = {
    "f:metadata": {"f:labels": {"f:a": {}}},
    "f:spec": {"f:cpu": {}, "f:flag": {}, "f:list": {}, "f:empty": {}, "f:none": {}},
}


def live(spec: dict[str, Any] | None = None, owned: dict[str, Any] | None = None, **entry: Any) -> dict[str, Any]:
    record = {"manager": "paddleflow", "operation": "Apply", "fieldsV1": OWNED if owned is None else owned, **entry}
    return {
        "metadata": {
            "name": "one",
            "uid": "1",
            "labels": {"a": "b", "theirs": "x"},
            "managedFields": [{"manager": "kubectl", "operation": "Update", "fieldsV1": {"f:spec": {}}}, record],
        },
        "spec": {
            "cpu": "1",
            "list": [1, {"name": "x", "port": 80, "protocol": "TCP"}],
            "flag": True,
            "defaulted": 3,
            **(spec or {}),
        },
        "status": {"phase": "Ready"},
    }


def test_equal_by_value_in_all_that_is_declared_is_the_same() -> None:
    assert compare(DECLARED, live(), exact=True) is Verdict.SAME


def test_what_is_not_there_is_different() -> None:
    assert compare(DECLARED, None, exact=True) is Verdict.DIFFERENT


@pytest.mark.parametrize(
    "spec",
    [
        {"cpu": "2"},
        {"cpu": None},
        {"list": [1]},
        {"list": [1, {"name": "y", "port": 80}]},
        {"list": "x"},
        {"flag": "true"},
        {"flag": 1},
        {"empty": "x"},
        {"none": {"a": 1}},
    ],
)
def test_another_value_is_a_difference_or_a_question(spec: dict[str, Any]) -> None:
    assert compare(DECLARED, live(spec), exact=True) is Verdict.DIFFERENT
    assert compare(DECLARED, live(spec), exact=False) is Verdict.ASK


@pytest.mark.parametrize("entry", [{"manager": "someone"}, {"operation": "Update"}, {"subresource": "status"}])
def test_what_we_do_not_own_is_taken_over(entry: dict[str, Any]) -> None:
    assert owned_fields(live(**entry)) is None
    assert compare(DECLARED, live(**entry), exact=False) is Verdict.DIFFERENT


def spec_owned(**fields: Any) -> dict[str, Any]:
    return {"f:spec": {f"f:{name}": below for name, below in fields.items()}}


@pytest.mark.parametrize(
    "owned",
    [
        spec_owned(dropped={}),
        spec_owned(cpu={"f:inner": {}}),
        spec_owned(list={"i:5": {}}),
        spec_owned(list={"v:2": {}}),
        spec_owned(list={'k:{"name":"gone"}': {}}),
        spec_owned(list={'k:{"name":"x"}': {".": {}, "f:gone": {}}}),
        spec_owned(flag={"i:0": {}}),
        {"f:metadata": {"f:annotations": {"f:old": {}}}},
    ],
)
def test_what_we_own_and_no_longer_declare_is_a_difference(owned: dict[str, Any]) -> None:
    assert compare(DECLARED, live(owned=owned), exact=True) is Verdict.DIFFERENT


@pytest.mark.parametrize(
    "owned",
    [
        {".": {}},
        spec_owned(list={"i:1": {"f:port": {}}}),
        spec_owned(list={"v:1": {}}),
        spec_owned(list={'k:{"name":"x","protocol":"TCP"}': {".": {}, "f:name": {}, "f:port": {}}}),
    ],
)
def test_what_we_own_and_declare_is_none(owned: dict[str, Any]) -> None:
    assert compare(DECLARED, live(owned=owned), exact=True) is Verdict.SAME


def test_null_is_declared_to_be_absent() -> None:
    declared = {"spec": {"gone": None, "cpu": 1}}
    assert compare(declared, live(owned=spec_owned(cpu={})), exact=True) is Verdict.SAME
    assert compare(declared, live({"gone": 1}, spec_owned(cpu={})), exact=True) is Verdict.DIFFERENT
