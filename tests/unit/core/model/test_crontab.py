# SPDX-License-Identifier: Apache-2.0
"""The rules of time of schedules (pipelines.md 7.6)."""

from __future__ import annotations

import re
import zoneinfo

import pytest
from paddleflow_core.model import cron, crontab


@pytest.mark.parametrize(
    ("text", "rule", "every", "zone"),
    [
        ("30 2 * * *", "30 2 * * *", 0, ""),
        ("  30 2 * * mon-fri ", "30 2 * * 1-5", 0, ""),
        ("@daily", "0 0 * * *", 0, ""),
        ("@hourly", "0 * * * *", 0, ""),
        ("CRON_TZ=Europe/Berlin @midnight", "0 0 * * *", 0, "Europe/Berlin"),
        ("TZ=UTC 0 6 * * ?", "0 6 * * ?", 0, "UTC"),
        ("@every 90s", "", 90, ""),
        ("CRON_TZ=UTC @every 1h30m", "", 5400, "UTC"),
        ("@every 1.5h", "", 5400, ""),
        ("@every 2.3m", "", 138, ""),
    ],
)
def test_a_rule_is_read(text: str, rule: str, every: int, zone: str) -> None:
    assert crontab.parse(text) == (cron.parse(rule) if rule else None, every, zone)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "0 fields, not five"),
        ("* * * *", "4 fields, not five"),
        ("0 0 31 2 *", "never comes true"),
        ("@fortnightly", "@fortnightly, which is none of @yearly"),
        ("@every", "@every '', not a duration such as 90s or 1h30m"),
        ("@every 0s", "@every '0s', not a duration"),
        ("@every 0.5s", "@every '0.5s', not a duration"),
        ("@every 1.h", "@every '1.h', not a duration"),
        ("@every 5", "@every '5', not a duration"),
        ("@every 1h x", "@every '1h x', not a duration"),
    ],
)
def test_what_is_no_rule(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        crontab.parse(text)


@pytest.mark.parametrize(
    ("zone", "known"),
    [
        ("", True),
        ("UTC", True),
        ("Europe/Berlin", True),
        ("Nowhere/Nope", False),
        ("Local", False),
        ("localtime", False),
        ("../etc/passwd", False),
        ("Europe", False),
    ],
)
def test_which_zones_there_are(zone: str, known: bool) -> None:
    assert crontab.known(zone) is known


def test_a_machine_without_the_database_refuses_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise zoneinfo.ZoneInfoNotFoundError(name)

    monkeypatch.setattr(zoneinfo, "ZoneInfo", missing)
    assert crontab.known("Nowhere/Nope")
