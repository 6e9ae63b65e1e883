# SPDX-License-Identifier: Apache-2.0
"""Whether a live object is as declared. What our manager owns is written as the API server records it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from paddleflow_core.plan.compare import AMOUNTS, TEXTS, Verdict, compare, ours, owned_fields

from tests.support.nouns import FILES

DECLARED: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Thing",
    "metadata": {"name": "one", "labels": {"a": "b"}},
    "spec": {"cpu": "1000m", "list": [1, {"name": "x", "port": 80}], "flag": True, "empty": {}, "none": []},
}
OWNED: dict[str, Any] = {
    "f:metadata": {"f:labels": {"f:a": {}}},
    "f:spec": {
        "f:cpu": {},
        "f:flag": {},
        "f:list": {"v:1": {}, 'k:{"name":"x"}': {".": {}, "f:name": {}, "f:port": {}}},
        "f:empty": {},
        "f:none": {},
    },
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
        {"f:metadata": {}},
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


def atomic(declared: Any, live: Any, api: str = "v1", exact: bool = False) -> Verdict:
    """Of a field that the API server records as one: its record ends there."""
    record = {"manager": "paddleflow", "operation": "Apply", "fieldsV1": spec_owned(field={})}
    found = {"metadata": {"managedFields": [record]}, "spec": {"field": live}}
    return compare({"apiVersion": api, "kind": "Thing", "spec": {"field": declared}}, found, exact)


@pytest.mark.parametrize(
    ("declared", "live"),
    [
        ({"app": "a"}, {"app": "a", "tier": "b"}),
        ({}, {"app": "a"}),
        ([{"ports": [{"port": 80}]}], [{"ports": [{"port": 80}], "from": [{"podSelector": {}}]}]),
        ([{"verbs": ["get"]}], [{"verbs": ["get"], "resourceNames": ["one"]}]),
        ([{"key": "a"}], [{"key": "a", "operator": "Exists"}]),
    ],
)
def test_what_is_left_over_within_a_field_that_is_written_as_one_is_a_difference(declared: Any, live: Any) -> None:
    assert atomic(declared, live, exact=True) is Verdict.DIFFERENT
    assert atomic(declared, live) is Verdict.ASK


@pytest.mark.parametrize("field", [{"app": "a"}, [{"ports": [{"port": 80}]}], {}, [], "text", {"gone": None}])
def test_a_field_that_is_written_as_one_is_the_same_when_all_of_it_is(field: Any) -> None:
    assert atomic(field, {} if field == {"gone": None} else field, exact=True) is Verdict.SAME


def plainly(fields: dict[str, Any], live: dict[str, Any], api: str = "v1", exact: bool = False) -> Verdict:
    record = {"manager": "paddleflow", "operation": "Apply", "fieldsV1": {}}
    found = {"metadata": {"managedFields": [record]}, **live}
    return compare({"apiVersion": api, "kind": "Thing", **fields}, found, exact)


@pytest.mark.parametrize(("wanted", "there"), [("1.1", "1.10"), ("1k", "1000"), ("1.20", "1.2"), (1, "1")])
def test_text_that_looks_like_a_quantity_is_text(wanted: Any, there: str) -> None:
    for field in ("data", "stringData"):
        assert plainly({field: {"memory": wanted}}, {field: {"memory": there}}) is Verdict.ASK
    for exact in (True, False):
        for part in ("labels", "annotations"):
            declared = {"metadata": {part: {"limits": wanted}}}
            live = {"metadata": {**live_record(), part: {"limits": there}}}
            assert compare({"apiVersion": "v1", **declared}, live, exact) is not Verdict.SAME
    assert plainly({"spec": {"version": wanted}}, {"spec": {"version": there}}, exact=True) is Verdict.DIFFERENT


def live_record() -> dict[str, Any]:
    return {"managedFields": [{"manager": "paddleflow", "operation": "Apply", "fieldsV1": {}}]}


@pytest.mark.parametrize("key", ["requests", "limits", "hard", "capacity"])
def test_where_a_quantity_is_meant_its_value_counts(key: str) -> None:
    wanted, there = {"spec": {key: {"cpu": "1000m", "pods": 3}}}, {"spec": {key: {"cpu": "1", "pods": "3"}}}
    assert plainly(wanted, there) is Verdict.SAME
    assert plainly(wanted, there, "apps/v1") is Verdict.SAME
    assert plainly(wanted, there, "networking.k8s.io/v1") is Verdict.SAME
    # Of a foreign kind nobody here knows what its fields mean, and the server keeps what it was given.
    assert plainly(wanted, there, "example.org/v1") is Verdict.ASK
    assert plainly(wanted, there, "example.org/v1", exact=True) is Verdict.SAME


@pytest.mark.parametrize(("wanted", "there"), [("1", 1), (1, "1"), ("1000m", 1), ("1024Mi", "1Gi"), ("2", 1)])
def test_of_our_own_kinds_an_amount_stays_as_it_was_first_spelled(wanted: Any, there: Any) -> None:
    fields: dict[str, Any] = {"cpu": wanted, "scalarResources": {"nvidia.com/gpu": wanted}}
    verdict = Verdict.DIFFERENT if wanted == "2" else Verdict.SAME
    for key, value in fields.items():
        live = {"spec": {key: there if key == "cpu" else {"nvidia.com/gpu": there}}}
        assert plainly({"spec": {key: value}}, live, "paddleflow.org/v1alpha1", exact=True) is verdict


@pytest.mark.parametrize("name", FILES)
def test_where_the_model_says_quantity_one_is_meant_and_maps_of_text_are_text(name: str) -> None:
    missing = set(_unlike(FILES[name].NOUN["spec"], False))
    # The object has these under other names: capability, deserved, and an annotation.
    assert missing <= {"max", "min", "location"}


def _unlike(fields: dict[str, Any], within: bool) -> Iterator[str]:
    for key, field in fields.items():
        items = field.get("items", {})
        meant = within or key in AMOUNTS
        if field["type"] in ("quantity", "resources") or items.get("type") == "quantity":
            yield from () if meant else (key,)
        elif field["type"] == "map":
            yield from () if key in TEXTS else (key,)
        for below in (field.get("fields"), items.get("fields")):
            yield from _unlike(below or {}, meant)


def test_what_is_ours_of_an_object_brings_back_what_it_was() -> None:
    live = {
        "metadata": {"name": "q", "labels": {"a": "1", "theirs": "2"}, "uid": "u"},
        "spec": {"capability": {"cpu": "2"}, "reclaimable": True, "rules": [{"x": 1}]},
        "status": {"state": "Open"},
    }
    owned = {
        "f:metadata": {"f:labels": {".": {}, "f:a": {}}},
        "f:spec": {"f:capability": {"f:cpu": {}}, "f:rules": {'k:{"x":1}': {".": {}}}, "f:gone": {}},
    }
    assert ours(live, owned) == {
        "metadata": {"labels": {"a": "1"}},
        "spec": {"capability": {"cpu": "2"}, "rules": [{"x": 1}]},
    }
