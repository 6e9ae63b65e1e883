# SPDX-License-Identifier: Apache-2.0
"""Reading a declaration by its table: what becomes of good values, and what is said of bad ones."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from paddleflow_core.model import check, names

if TYPE_CHECKING:
    from paddleflow_core.model.table import Field

FIELDS: dict[str, Field] = {
    "name": {"type": "string", "pattern": "^[a-z]+$"},
    "title": {"type": "string", "min": 1, "max": 5},
    "kind": {"type": "string", "enum": ["One", "Two"]},
    "size": {"type": "int", "min": 1, "max": 9},
    "least": {"type": "int", "min": 1},
    "most": {"type": "int", "max": 9},
    "on": {"type": "bool"},
    "memory": {"type": "quantity"},
    "max": {"type": "resources", "aliases": ["maxResources"]},
    "since": {"type": "datetime"},
    "labels": {"type": "map", "items": {"type": "string"}, "pattern": "^[a-z/]+$"},
    "raw": {"type": "map", "max": 2},
    "rows": {"type": "list", "max": 3, "keys": ["id"], "items": {"type": "object", "fields": {"id": {"type": "int"}}}},
    "words": {"type": "list"},
    "inner": {"type": "object", "fields": {"podIPs": {"type": "string", "required": True}}},
    "free": {"type": "object"},
    "driver": {"type": "string", "enum": ["mem", "disk"], "spellings": {"old": "disk", "": "mem"}},
    "mode": {"type": "string", "quoted": True, "pattern": "^[0-7]{4}$"},
    "key": {"type": "string", "max": 5, "secret": True},
    "keys": {"type": "object", "fields": {"key": {"type": "quantity", "secret": True}}},
}


def good(declared: dict[Any, Any]) -> dict[str, Any]:
    value, problems = check.read(FIELDS, declared)
    assert problems == []
    return value


def bad(declared: object) -> list[str]:
    return [problem.text() for problem in check.read(FIELDS, declared)[1]]


@pytest.mark.parametrize(
    ("declared", "read"),
    [
        ({"name": "abc", "title": None}, {"name": "abc"}),
        ({"title": 12}, {"title": "12"}),
        ({"kind": "two"}, {"kind": "Two"}),
        ({"size": "7"}, {"size": 7}),
        ({"on": "Yes"}, {"on": True}),
        ({"on": False}, {"on": False}),
        ({"memory": "1Gi"}, {"memory": "1Gi"}),
        ({"memory": 1}, {"memory": 1}),
        ({"memory": 0.5}, {"memory": "0.5"}),
        ({"max": {"cpu": 4, "memory": "1Gi"}}, {"max": {"cpu": 4, "memory": "1Gi"}}),
        ({"since": "2026-01-31T08:00:00Z"}, {"since": "2026-01-31T08:00:00Z"}),
        ({"since": datetime(2026, 1, 31, tzinfo=UTC)}, {"since": "2026-01-31T00:00:00+00:00"}),
        ({"labels": {"a/b": "c"}}, {"labels": {"a/b": "c"}}),
        ({"raw": {1: [2]}}, {"raw": {"1": [2]}}),
        ({"rows": ({"id": 1}, {"id": 2})}, {"rows": [{"id": 1}, {"id": 2}]}),
        ({"words": [1, "x"]}, {"words": [1, "x"]}),
        ({"inner": {"podIPs": "x"}}, {"inner": {"podIPs": "x"}}),
        ({"free": {"any": {"thing": 1}}}, {"free": {"any": {"thing": 1}}}),
        ({"driver": "Mem"}, {"driver": "mem"}),
        ({"driver": "OLD"}, {"driver": "disk"}),
        ({"driver": ""}, {"driver": "mem"}),
        ({"mode": "0755"}, {"mode": "0755"}),
        ({"key": 12}, {"key": "12"}),
    ],
)
def test_good_values_are_read(declared: dict[Any, Any], read: dict[str, Any]) -> None:
    assert good(declared) == read


def test_the_references_spelling_of_resources_is_read_as_kubernetes_own() -> None:
    reference = {"maxResources": {"cpu": "20", "mem": "1Gi", "scalarResources": {"nvidia.com/gpu": "2", "x": None}}}
    assert good(reference) == {"max": {"cpu": "20", "memory": "1Gi", "nvidia.com/gpu": "2"}}


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        ({"inner": []}, "inner is [], but must be a mapping."),
        ({"nmae": 1}, "nmae is not known here, but must be one of driver, free, inner, "),
        ({"nmae": 1}, "Did you mean name?"),
        ({3: 1}, "3 is not known here"),
        ({"name": "A"}, "name is 'A', but must be text like ^[a-z]+$."),
        ({"name": 1.5}, "name is 1.5, but must be text like ^[a-z]+$. Put it into quotes."),
        ({"name": []}, "name is [], but must be text like ^[a-z]+$."),
        ({"name": "abc\n"}, "name is 'abc\\n', but must be text like ^[a-z]+$."),
        ({"labels": {"a\n": "x"}}, "labels.a\n is a name of the wrong form, but must be like ^[a-z/]+$."),
        ({"title": ""}, "title is '', but must be text from 1 to 5 characters."),
        ({"kind": "Three"}, "kind is 'Three', but must be one of One, Two."),
        ({"size": 10}, "size is 10, but must be a whole number from 1 to 9."),
        ({"size": "many"}, "size is 'many', but must be a whole number from 1 to 9."),
        ({"size": True}, "size is True, but must be a whole number from 1 to 9."),
        ({"least": 0}, "least is 0, but must be a whole number of at least 1."),
        ({"most": 10}, "most is 10, but must be a whole number of at most 9."),
        ({"on": "maybe"}, "on is 'maybe', but must be true or false."),
        ({"memory": "1 GB"}, "memory is '1 GB', but must be a quantity of at least 0, such as 2, 500m or 1.5Gi."),
        ({"memory": -1}, "memory is -1, but must be a quantity of at least 0"),
        ({"max": 4}, "max is 4, but must be a mapping of resource names to quantities"),
        ({"max": {"cpu": "x"}}, "max.cpu is 'x', but must be a quantity of at least 0, such as 2, 500m or 1.5Gi."),
        ({"max": {"mem": 1, "memory": 1}}, "max.memory is given twice, but must be given once."),
        ({"max": {"scalarResources": 1}}, "max.scalarResources is 1, but must be a mapping"),
        ({"max": {}, "maxResources": {}}, "max is given twice, but must be given once. Leave maxResources out."),
        ({"since": "yesterday"}, "since is 'yesterday', but must be a time such as 2026-01-31T08:00:00Z."),
        ({"labels": {"A": "x"}}, "labels.A is a name of the wrong form, but must be like ^[a-z/]+$."),
        ({"labels": {"a": []}}, "labels.a is [], but must be text."),
        ({"labels": "x"}, "labels is 'x', but must be a mapping."),
        ({"raw": {"a": 1, "b": 2, "c": 3}}, "but must be a mapping of at most 2 entries."),
        ({"rows": {}}, "rows is {}, but must be a list of at most 3 entries."),
        ({"rows": [{"id": 1}, {"id": 1}]}, "rows[1] is the same id as [0], but must be another one."),
        ({"rows": [1]}, "rows[0] is 1, but must be a mapping."),
        ({"inner": {}}, "inner.podIPs is missing, but must be text."),
        ({"free": []}, "free is [], but must be a mapping."),
        ({"name": "x" * 200 + "!"}, "xxx..., but must be"),
        ({"driver": "older"}, "driver is 'older', but must be one of mem, disk."),
        ({"mode": 493}, "mode is 493, but must be text like ^[0-7]{4}$. Put it into quotes."),
    ],
)
def test_what_is_wrong_is_said_with_place_finding_and_remedy(declared: object, said: str) -> None:
    assert any(said in text for text in bad(declared)), bad(declared)


@pytest.mark.parametrize(
    "declared", [{"key": "planted"}, {"key": ["planted"]}, {"keys": {"key": "planted"}}, {"keys": "planted"}, "planted"]
)
def test_what_is_secret_is_not_repeated(declared: object) -> None:
    (line,) = bad(declared)
    assert "a value that is not shown, but must be" in line
    assert "planted" not in line


def test_everything_wrong_is_said_at_once() -> None:
    assert len(bad({"size": 0, "on": 3, "inner": {}, "oops": 1})) == 4


def test_problems_speak_the_language_of_the_reader() -> None:
    (problem,) = check.read(FIELDS, {"inner": {}})[1]
    assert problem.text(names.option) == "inner.pod_ips is missing, but must be text."


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.sampled_from(sorted(FIELDS)), inner),
)


@pytest.mark.parametrize(
    ("path", "own", "code"),
    [
        (("name",), "", "NameEmpty"),
        (("name", 1), "NameTaken", "NameTaken"),
        (("size",), "", "InvalidField"),
        ((), "", "InvalidField"),
    ],
)
def test_a_problem_has_the_references_code(path: check.Path, own: str, code: str) -> None:
    problem = check.Problem(path, "x", "y", code=own)
    assert check.code({"name": "NameEmpty", "": "InvalidField"}, problem) == code
    assert check.code({}, check.Problem(("name",), "x", "y")) == "InvalidArguments"


def test_an_empty_mapping_is_none_unless_there_has_to_be_one() -> None:
    """The API server refuses an apply that leaves one empty: it takes it for null."""
    fields: dict[str, Field] = {
        "labels": {"type": "map"},
        "inner": {"type": "object", "fields": {"deep": {"type": "map"}}},
        "needed": {"type": "object", "required": True},
        "rows": {"type": "list", "items": {"type": "object"}},
    }
    given = {"labels": {}, "inner": {"deep": {}}, "needed": {}, "rows": [{}]}
    assert check.read(fields, given) == ({"needed": {}, "rows": [{}]}, [])


@given(JSON)
def test_no_document_whatsoever_makes_it_fail(document: object) -> None:
    check.read(FIELDS, document)


@given(JSON)
def test_what_was_read_without_problems_is_read_the_same_again(document: object) -> None:
    value, problems = check.read(FIELDS, document)
    if not problems:
        assert check.read(FIELDS, value) == (value, [])
