# SPDX-License-Identifier: Apache-2.0
"""Values as text (pipelines.md T-31, T-32)."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from paddleflow_core.model import values


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a b", "a b"), ("", ""), (True, "true"), (1, "1"), (-1, "-1"), (1.5, "1.5"), (3.0, "3"), (-0.0, "0"),
        (1e6, "1000000"), (1e22, "10000000000000000000000"), (1e-7, "0.0000001"), (0.1, "0.1"), (math.inf, "Infinity"),
        ([1, 2, 3], "[1,2,3]"), ([1e22, ["é"]], '[10000000000000000000000,["é"]]'), ((1, "a"), '[1,"a"]'),
        ({"a": [1.0], 2: None}, '{"a":[1],"2":null}'),
    ],
)  # fmt: skip
def test_a_value_as_text(value: object, text: str) -> None:
    assert values.text(value) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_no_digit_of_a_number_is_lost(value: float) -> None:
    text = values.text(value)
    assert float(text) == value
    assert "e" not in text.lower()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(st.lists(JSON))
def test_a_list_is_json(value: list[object]) -> None:
    assert json.loads(values.text(value)) == value
