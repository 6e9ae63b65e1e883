# SPDX-License-Identifier: Apache-2.0
"""From field tables to definitions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from paddleflow_core.model import crd as crd_module
from paddleflow_core.model.crd import crd
from paddleflow_core.model.nodecache import NOUN
from paddleflow_core.model.table import OwnNoun as NounTable

if TYPE_CHECKING:
    from paddleflow_core.model.table import Field, OwnNoun, Rule

TEXTS = {
    "": "noun",
    "spec": "spec",
    "status": "status",
    "spec.field": "text",
    "spec.field.inner": "inner",
    "other": "shared",
}


QUANTITY = crd_module._TYPES["quantity"]


def noun(**fields: Field) -> OwnNoun:
    return {
        "api": "paddleflow.org/v1alpha1",
        "name": {"type": "string"},
        "kind": "Thing",
        "plural": "things",
        "short_names": [],
        "scope": "Namespaced",
        "spec": fields,
        "status": {},
        "rules": [],
        "columns": [],
    }


def definition(**fields: Field) -> dict[str, Any]:
    return crd(noun(**fields), TEXTS)


def schema(made: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = made["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return found


def spec_of(**fields: Field) -> dict[str, Any]:
    found: dict[str, Any] = schema(definition(**fields))["properties"]["spec"]
    return found


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ({"type": "string", "min": 1, "max": 5, "pattern": "^a", "enum": ["a", "ab"]},
         {"type": "string", "minLength": 1, "maxLength": 5, "pattern": "^a", "enum": ["a", "ab"]}),
        ({"type": "int", "min": 0, "default": 3}, {"type": "integer", "format": "int64", "minimum": 0, "default": 3}),
        ({"type": "bool", "default": False}, {"type": "boolean", "default": False}),
        ({"type": "resources"}, {"type": "object", "additionalProperties": QUANTITY}),
        ({"type": "datetime"}, {"type": "string", "format": "date-time"}),
        ({"type": "map", "max": 9, "items": {"type": "string"}},
         {"type": "object", "maxProperties": 9, "additionalProperties": {"type": "string"}}),
        ({"type": "map", "max": 9, "pattern": "^[a-z]+$"},
         {"type": "object", "maxProperties": 9, "x-kubernetes-validations": [
             {"rule": "self.all(name,\nname.matches(r'^[a-z]+$'))", "message": "names are like ^[a-z]+$"}]}),
        ({"type": "list", "max": 9, "items": {"type": "int"}},
         {"type": "array", "maxItems": 9, "items": {"type": "integer", "format": "int64"}}),
    ],
)  # fmt: skip
def test_a_field_becomes_its_schema(field: Field, expected: dict[str, Any]) -> None:
    assert spec_of(field=field)["properties"]["field"] == {"description": "text", **expected}


@pytest.mark.parametrize(
    ("value", "good"),
    [
        ("1", True),
        ("500m", True),
        ("1.5Gi", True),
        ("1e3", True),
        ("-1", True),
        ("1 Gi", False),
        ("GiB", False),
        ("", False),
    ],
)
def test_a_quantity_is_what_kubernetes_reads(value: str, good: bool) -> None:
    quantity = spec_of(field={"type": "quantity"})["properties"]["field"]
    assert quantity["x-kubernetes-int-or-string"] is True
    assert bool(re.match(quantity["pattern"], value)) is good


def test_an_object_nests_and_lists_what_it_requires() -> None:
    field: Field = {"type": "object", "fields": {"inner": {"type": "string", "required": True}}}
    assert spec_of(field=field)["properties"]["field"] == {
        "type": "object",
        "description": "text",
        "properties": {"inner": {"type": "string", "description": "inner"}},
        "required": ["inner"],
    }


def test_a_required_immutable_field_checks_itself() -> None:
    made = spec_of(field={"type": "string", "required": True, "immutable": True})
    assert made["properties"]["field"]["x-kubernetes-validations"] == [
        {"rule": "self == oldSelf", "message": "cannot be changed"}
    ]
    assert "x-kubernetes-validations" not in made


def test_an_optional_immutable_field_is_checked_by_its_parent() -> None:
    made = spec_of(field={"type": "string", "immutable": True})
    assert "x-kubernetes-validations" not in made["properties"]["field"]
    assert made["x-kubernetes-validations"] == [
        {
            "rule": "has(self.field) == has(oldSelf.field) && (!has(self.field) || self.field == oldSelf.field)",
            "message": "field cannot be changed",
            "fieldPath": ".field",
        }
    ]


def test_a_text_can_be_shared() -> None:
    assert spec_of(field={"type": "bool", "doc": "other"})["properties"]["field"]["description"] == "shared"


def test_the_texts_below_a_shared_text_are_beside_it() -> None:
    inner: Field = {"type": "object", "doc": "other", "fields": {"part": {"type": "bool"}}}
    made = crd({**noun(field=inner)}, {**TEXTS, "other.part": "part"})
    field = schema(made)["properties"]["spec"]["properties"]["field"]
    assert (field["description"], field["properties"]["part"]["description"]) == ("shared", "part")


def test_what_is_secret_is_no_part_of_the_object() -> None:
    inner: Field = {"type": "string", "required": True, "secret": True}
    field = spec_of(field={"type": "object", "fields": {"inner": inner}})["properties"]["field"]
    assert field == {"type": "object", "description": "text"}


def test_rules_stand_where_they_hold() -> None:
    rule: Rule = {"rule": "self != ''", "message": "must be something"}
    field: Field = {"type": "string", "required": True, "immutable": True, "rules": [rule]}
    made = schema(
        crd({**noun(field=field, other={"type": "bool", "immutable": True}), "spec_rules": [rule]}, _AnyText())
    )
    spec = made["properties"]["spec"]
    assert [each["message"] for each in spec["x-kubernetes-validations"]] == [
        "other cannot be changed",
        "must be something",
    ]
    assert [each["message"] for each in spec["properties"]["field"]["x-kubernetes-validations"]] == [
        "must be something",
        "cannot be changed",
    ]


def test_a_number_that_can_be_scaled() -> None:
    scaled: OwnNoun = {**noun(), "scale": {"spec": ".spec.size", "status": ".status.size"}}
    assert crd(scaled, TEXTS)["spec"]["versions"][0]["subresources"] == {
        "status": {},
        "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"},
    }
    assert definition()["spec"]["versions"][0]["subresources"] == {"status": {}}


def test_a_field_without_text_is_an_error() -> None:
    with pytest.raises(KeyError, match=re.escape("spec.nameless")):
        definition(nameless={"type": "bool"})


def test_the_definition_names_group_kind_and_scope() -> None:
    made = definition()
    assert made["metadata"]["name"] == "things.paddleflow.org"
    assert made["spec"]["scope"] == "Namespaced"
    assert made["spec"]["names"] == {
        "kind": "Thing",
        "listKind": "ThingList",
        "plural": "things",
        "singular": "thing",
        "shortNames": [],
        "categories": ["paddleflow"],
    }
    assert "x-kubernetes-validations" not in schema(made)
    assert schema(made)["required"] == ["spec"]


def test_a_noun_has_exactly_the_parts_of_the_table() -> None:
    assert set(NOUN) == NounTable.__required_keys__


class TestNodeCache:
    """What cannot be said in a table: that its patterns mean what Kubernetes means by names."""

    @pytest.mark.parametrize(
        ("name", "good"), [("node-1.site.example", True), ("a", True), ("Node", False), ("-a", False), ("a..b", False)]
    )
    def test_node_names(self, name: str, good: bool) -> None:
        assert bool(re.search(NOUN["spec"]["nodeName"]["pattern"], name)) is good

    @pytest.mark.parametrize(
        ("name", "good"),
        [
            ("team/data", True),
            ("team/data.v2", True),
            ("data", False),
            ("a.b/data", False),
            ("a/b/c", False),
            ("/a", False),
        ],
    )
    def test_file_system_names(self, name: str, good: bool) -> None:
        item = NOUN["status"]["fileSystems"]["items"]["fields"]["fileSystem"]
        assert bool(re.search(item["pattern"], name)) is good

    def test_the_name_is_the_node_s(self) -> None:
        made = crd(NOUN, _AnyText())
        assert schema(made)["x-kubernetes-validations"][0]["rule"] == "self.metadata.name == self.spec.nodeName"
        assert made["spec"]["scope"] == "Cluster"


class _AnyText(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return key
