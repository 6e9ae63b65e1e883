# SPDX-License-Identifier: Apache-2.0
"""Fields as options, and options as fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from paddleflow_core.model import options

if TYPE_CHECKING:
    from paddleflow_core.model.table import Field

INNER: dict[str, Field] = {"podIPs": {"type": "string"}, "secretKey": {"type": "string", "secret": True}}
FIELDS: dict[str, Field] = {
    "maxJobs": {"type": "int"},
    "max": {"type": "resources", "aliases": ["maxResources"]},
    "words": {"type": "list", "items": {"type": "quantity"}},
    "anything": {"type": "list"},
    "inner": {"type": "object", "fields": INNER},
    "rows": {"type": "list", "items": {"type": "object", "fields": INNER}},
    "text": {"type": "document"},
    "runKey": {"type": "string", "secret": False},
    "byState": {"type": "string", "no_option": True},
}
SUBOPTIONS = {"pod_ips": {"type": "str"}, "secret_key": {"type": "str", "no_log": True}}


def test_a_field_is_an_option_of_a_type_that_ansible_knows() -> None:
    assert options.fields(FIELDS) == {
        "max_jobs": {"type": "int"},
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
