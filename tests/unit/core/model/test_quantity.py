# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from paddleflow_core.model import quantity

BILLIONTHS = st.integers(min_value=-(10**30), max_value=10**30)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1000m", 1),
        ("1024Mi", "1Gi"),
        ("1e3", "1k"),
        ("12E2", "1200"),
        ("12e-1", "1200m"),
        ("0.5", "500m"),
        (".5", "500m"),
        ("5.", 5),
        ("1.5Gi", "1536Mi"),
        (0.1, "100m"),
        ("-1", "-1000m"),
        ("+1", 1),
        ("1E", "1000P"),
        ("1n", "0.000000001"),
        ("0.1n", "1n"),  # rounded up, as the API server does
        ("any text", "any text"),
        (True, True),
    ],
)
def test_quantities_are_compared_by_value(one: object, other: object) -> None:
    assert quantity.same(one, other)


@pytest.mark.parametrize(
    ("one", "other"), [("1", "2"), ("1Gi", "1G"), ("1", "one"), (True, 1.5), (None, "0"), ("one", 1)]
)
def test_different_values_are_different(one: object, other: object) -> None:
    assert not quantity.same(one, other)


@pytest.mark.parametrize(
    "value",
    ["", "x", "1x", "1 Gi", True, None, "1ki", "Gi", "١", "1e", [], "nan", float("nan"), float("inf"), "--1", "1e9999"],
)
def test_what_is_no_quantity_is_refused(value: object) -> None:
    assert not quantity.is_quantity(value)
    with pytest.raises(ValueError, match="is not a quantity"):
        quantity.parse(value)


@pytest.mark.parametrize(
    ("value", "plain", "binary"),
    [
        ("1", "1", "1"),
        ("500m", "500m", "500m"),
        ("0.0005", "500u", "500u"),
        ("1n", "1n", "1n"),
        ("0", "0", "0"),
        ("2048", "2048", "2Ki"),
        ("1536Mi", "1610612736", "1536Mi"),
        ("-1Gi", "-1073741824", "-1Gi"),
    ],
)
def test_the_text_is_short_and_loses_nothing(value: str, plain: str, binary: str) -> None:
    assert quantity.text(quantity.parse(value)) == plain
    assert quantity.text(quantity.parse(value), binary=True) == binary


@given(BILLIONTHS, st.booleans())
def test_every_amount_survives_its_text(amount: int, binary: bool) -> None:
    assert quantity.parse(quantity.text(amount, binary)) == amount
