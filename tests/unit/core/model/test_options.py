# SPDX-License-Identifier: Apache-2.0
"""Fields as options, and options as fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from paddleflow_core.model import job, options

from tests.support import documents

if TYPE_CHECKING:
    from paddleflow_core.model.table import Field

INNER: dict[str, Field] = {
    "podIPs": {"type": "string"},
    "secretKey": {"type": "string", "secret": True},
    "keyOfAMap": {"type": "string"},
}
FIELDS: dict[str, Field] = {
    "maxJobs": {"type": "int"},
    "mode": {"type": "string", "quoted": True},
    "max": {"type": "resources", "aliases": ["maxResources"]},
    "words": {"type": "list", "items": {"type": "quantity"}},
    "anything": {"type": "list"},
    "inner": {"type": "object", "fields": INNER},
    "rows": {"type": "list", "items": {"type": "object", "fields": INNER}},
    "text": {"type": "document"},
    "runKey": {"type": "string"},
    "byState": {"type": "string", "no_option": True},
}
SUBOPTIONS = {
    "pod_ips": {"type": "str"},
    "secret_key": {"type": "str", "no_log": True},
    "key_of_a_map": {"type": "str", "no_log": False},
}


def test_a_field_is_an_option_of_a_type_that_ansible_knows() -> None:
    assert options.fields(FIELDS) == {
        "max_jobs": {"type": "int"},
        "mode": {"type": "raw"},
        "max": {"type": "dict", "aliases": ["max_resources"]},
        "words": {"type": "list", "elements": "raw"},
        "anything": {"type": "list", "elements": "raw"},
        "inner": {"type": "dict", "options": SUBOPTIONS},
        "rows": {"type": "list", "elements": "dict", "options": SUBOPTIONS},
        "text": {"type": "raw"},
        "run_key": {"type": "str", "no_log": False},
    }


@pytest.mark.parametrize(
    ("given", "declared"),
    [
        ({"max_jobs": 0, "words": None, "unknown": 1}, {"maxJobs": 0}),
        ({"inner": {"pod_ips": "a", "secret_key": None}}, {"inner": {"podIPs": "a"}}),
        ({"rows": [{"pod_ips": "a"}, {}]}, {"rows": [{"podIPs": "a"}, {}]}),
        ({"inner": "no mapping", "rows": "no list"}, {"inner": "no mapping", "rows": "no list"}),
    ],
)
def test_what_was_given_is_declared_by_the_fields_own_names(given: dict[str, Any], declared: dict[str, Any]) -> None:
    assert options.declared(FIELDS, given) == declared


def test_a_noun_may_have_states_of_its_own() -> None:
    without: Any = {"kind": "Wall"}
    with_some: Any = {"kind": "Door", "states": {"open": "opened"}}
    assert options.states(without) == ["present", "absent"]
    assert options.states(with_some) == ["present", "absent", "open"]


@given(documents.objects(job.NOUN["spec"]))
def test_options_and_fields_are_the_same_said_twice(spec: dict[str, Any]) -> None:
    assert options.declared(job.NOUN["spec"], options.shown(job.NOUN["spec"], spec)) == spec


def test_what_somebody_else_wrote_is_shown_as_it_is() -> None:
    found = {"theirField": {"a": 1}, "inner": "no mapping", "rows": "no list", "maxJobs": 1}
    assert options.shown(FIELDS, found) == {
        "theirField": {"a": 1},
        "inner": "no mapping",
        "rows": "no list",
        "max_jobs": 1,
    }


def test_an_alias_is_left_out_where_it_would_be_the_option_itself_or_one_of_the_connection() -> None:
    assert options.aliases("dir_mode", {"type": "string", "aliases": ["dir-mode", "mode"]}) == ["mode"]
    assert options.aliases("owner", {"type": "string", "aliases": ["username"]}) == []
