# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""The rules of time of schedules: five fields as cron has them, a word such as @daily, or @every with a duration."""

from __future__ import annotations

import re
from typing import NamedTuple

from . import cron

WORDS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_UNITS = {"h": 3600, "m": 60, "s": 1}


class Crontab(NamedTuple):
    rule: cron.Rule | None
    every: int  # seconds; 0 where there is a rule
    zone: str  # nothing where the rule names none


def parse(text: str) -> Crontab:
    """ValueError says what is wrong."""
    prefix = re.match(r"\s*(?:CRON_)?TZ=(\S+)\s+", text)
    zone = prefix[1] if prefix else ""
    rest = text[prefix.end() if prefix else 0 :].strip()
    if rest.startswith("@every"):
        return Crontab(None, _seconds(rest.removeprefix("@every").strip()), zone)
    if rest.startswith("@") and rest not in WORDS:
        raise ValueError(f"{rest.split()[0]}, which is none of {', '.join(WORDS)} and @every")
    return Crontab(cron.parse(WORDS.get(rest, rest)), 0, zone)


def known(zone: str) -> bool:
    """Whether there is such a time zone; that of a machine, which is another one on each, is none."""
    if not zone:
        return True
    import zoneinfo  # most schedules name none

    for name in (zone, "UTC"):
        try:
            zoneinfo.ZoneInfo(name)
        except (KeyError, ValueError, OSError):
            continue
        return name == zone and zone not in ("localtime", "Factory")
    return True  # a machine without the database cannot tell


def _seconds(text: str) -> int:
    parts = re.findall(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)([hms])", text)
    found = int(round(sum(float(number) * _UNITS[unit] for number, unit in parts), 6))
    if "".join(number + unit for number, unit in parts) != text or found < 1:
        raise ValueError(f"@every {text!r}, not a duration such as 90s or 1h30m")
    return found
