# SPDX-License-Identifier: Apache-2.0
"""Rules of time."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from paddleflow_core.model import cron

EVERY = cron.Rule(set(range(60)), set(range(24)), set(range(1, 32)), set(range(1, 13)), set(range(7)), False)


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("* * * * *", {}),
        ("? ? ? ? ?", {}),
        ("30 2 * * *", {"minutes": {30}, "hours": {2}}),
        ("*/20 * * * *", {"minutes": {0, 20, 40}}),
        ("50/5 * * * *", {"minutes": {50, 55}}),
        ("1-9/4,0 * * * *", {"minutes": {0, 1, 5, 9}}),
        ("* * * feb,JUN-Aug *", {"months": {2, 6, 7, 8}}),
        ("* * * * mon-fri", {"weekdays": {1, 2, 3, 4, 5}}),
        ("* * * * 7", {"weekdays": {0}}),
        ("* * 13 * 5", {"days": {13}, "weekdays": {5}, "either": True}),
        ("* * 29 2 *", {"days": {29}, "months": {2}}),
        ("* * 31 2 1", {"days": {31}, "months": {2}, "weekdays": {1}, "either": True}),
    ],
)
def test_a_rule_is_read(text: str, changed: dict[str, Any]) -> None:
    assert cron.parse(text) == EVERY._replace(**changed)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "0 fields, not five"),
        ("* * * *", "4 fields, not five"),
        ("@hourly", "1 fields, not five"),
        ("60 * * * *", "'60' as minute, which is from 0 to 59"),
        ("* 24 * * *", "'24' as hour, which is from 0 to 23"),
        ("* * 0 * *", "'0' as day of the month"),
        ("* * * 13 *", "'13' as month"),
        ("* * * * 8", "'8' as day of the week"),
        ("* * * * someday", "'someday' as day of the week"),
        ("MON * * * *", "'MON' as minute"),
        ("9-1 * * * *", "'9-1' as minute"),
        ("*/0 * * * *", "'*/0' as minute"),
        ("1,,2 * * * *", "'' as minute"),
        ("-1 * * * *", "'-1' as minute"),
        ("*-5 * * * *", "'*-5' as minute"),
        ("* * 31 2,4 *", "never comes true"),
    ],
)
def test_what_is_no_rule_is_refused(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        cron.parse(text)


@given(st.text() | st.lists(st.text("*?/-,0123456789JAN"), min_size=5, max_size=5).map(" ".join))
def test_no_text_whatsoever_makes_it_fail_otherwise(text: str) -> None:
    try:
        rule = cron.parse(text)
    except ValueError:
        return
    assert all(rule[:5])
