# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from paddleflow_core.model import quantity
from paddleflow_core.plan import amounts


@pytest.mark.parametrize(
    ("value", "expected"),
    [("16Gi", 16 * 2**30), ("500m", 0.5), (2, 2), ("-1500m", -1.5), ("1e3", 1000), ("0", 0)],
)
def test_a_quantity_as_a_number(value: object, expected: float) -> None:
    found = amounts.number(value)
    assert found == expected
    assert isinstance(found, type(expected))


@pytest.mark.parametrize("value", ["", "12x", None, True, [], "1 Gi"])
def test_what_is_no_quantity_is_refused_with_its_form(value: object) -> None:
    with pytest.raises(ValueError, match="must be a quantity: write a number, with a unit"):
        amounts.number(value)


@pytest.mark.parametrize(
    ("one", "other", "expected"), [("1000m", 1, 0), ("1Gi", "1G", 1), ("999m", "1", -1), ("-1", "0", -1)]
)
def test_quantities_are_compared_by_value(one: object, other: object, expected: int) -> None:
    assert amounts.compare(one, other) == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], "0"),
        ([16, "-8500m"], "7500m"),
        (["1Gi", "1024Mi"], "2Gi"),
        (["1024", "1024"], "2048"),  # a count of something stays one
        (["1Gi", "-1G"], "73741824"),
    ],
)
def test_a_sum_loses_nothing(values: list[Any], expected: str) -> None:
    assert amounts.total(values) == expected


def test_resources_are_added_one_by_one() -> None:
    entries = [
        {"cpu": 8, "memory": "1536Mi"},
        {"memory": "512Mi", "nvidia.com/gpu": 2048},
        {"hugepages-2Mi": 2**21},
        {},
    ]
    assert amounts.total_resources(entries) == {
        "cpu": "8",
        "hugepages-2Mi": "2Mi",
        "memory": "2Gi",
        "nvidia.com/gpu": "2048",
    }
    assert amounts.total_resources([]) == {}


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: amounts.total(["1", "one"]), "entry 1 is 'one', but must be a quantity"),
        (lambda: amounts.total_resources([{"cpu": "x"}]), "cpu of entry 0 is 'x', but must be a quantity"),
        (lambda: amounts.total_resources([{}, "cpu"]), "entry 1 is 'cpu', but must be a mapping"),
    ],
)
def test_a_wrong_entry_is_named(call: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        call()


@pytest.mark.parametrize(
    ("value", "options", "expected"),
    [
        (0, {}, "0"),
        (1, {}, "1"),
        (1023, {}, "1023"),
        (1024, {}, "1Ki"),
        ("1536Mi", {}, "1.5Gi"),
        (45097156608, {}, "42Gi"),
        (1234567, {"binary": False, "digits": 2}, "1.23M"),
        (1234567, {"binary": False, "digits": 0}, "1M"),
        ("1500m", {}, "1.5"),
        ("250m", {}, "250m"),
        ("1u", {}, "1u"),
        ("3n", {}, "3n"),
        ("-1536Mi", {}, "-1.5Gi"),
        ("1048575.99Ki", {}, "1Gi"),  # rounding reaches the next unit, more than once
        ("999999", {"binary": False}, "1M"),
        ("1024Ei", {}, "1024Ei"),
        ("1.04", {}, "1"),
        ("1.05", {}, "1.1"),
    ],
)
def test_a_form_for_people(value: object, options: dict[str, Any], expected: str) -> None:
    assert amounts.human(value, **options) == expected


@pytest.mark.parametrize("digits", [-1, 10])
def test_digits_that_cannot_be_shown_are_refused(digits: int) -> None:
    with pytest.raises(ValueError, match=f"digits is {digits}, but must be a whole number from 0 to 9"):
        amounts.human(1, digits=digits)


@given(st.integers(min_value=0, max_value=10**28), st.booleans(), st.integers(min_value=0, max_value=4))
def test_the_form_for_people_is_near_the_truth(billionths: int, binary: bool, digits: int) -> None:
    shown = amounts.human(quantity.text(billionths), binary, digits)
    unit = quantity.parse("1" + shown.lstrip("0123456789.-"))
    assert abs(quantity.parse(shown) - billionths) <= unit // (2 * 10**digits) + 1
