# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""Rules of time: five fields as cron has them."""

from __future__ import annotations

import re
from typing import NamedTuple

_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
# Of each field: its name, the least and the greatest number, and words for its numbers.
_FIELDS: tuple[tuple[str, int, int, dict[str, int]], ...] = (
    ("minute", 0, 59, {}),
    ("hour", 0, 23, {}),
    ("day of the month", 1, 31, {}),
    ("month", 1, 12, {word: number for number, word in enumerate(_MONTHS, 1)}),
    ("day of the week", 0, 7, {word: number for number, word in enumerate(_DAYS)}),
)
_LONGEST = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


class Rule(NamedTuple):
    minutes: set[int]
    hours: set[int]
    days: set[int]
    months: set[int]
    weekdays: set[int]  # 0 is Sunday
    either: bool  # a day of the month or of the week; else it has to be both


def parse(text: str) -> Rule:
    """ValueError says what is wrong."""
    parts = text.split()
    if len(parts) != len(_FIELDS):
        raise ValueError(f"{len(parts)} fields, not five")
    minutes, hours, days, months, weekdays = [_field(part, *field) for part, field in zip(parts, _FIELDS, strict=True)]
    either = parts[2][0] not in "*?" and parts[4][0] not in "*?"
    if not either and not any(day <= _LONGEST[month - 1] for day in days for month in months):
        raise ValueError("a rule that never comes true: these months have no such day")
    return Rule(minutes, hours, days, months, {day % 7 for day in weekdays}, either)


def _field(text: str, name: str, low: int, high: int, words: dict[str, int]) -> set[int]:
    found: set[int] = set()
    for part in text.split(","):
        form = re.fullmatch(r"(?:[*?]|(\w{1,9})(?:-(\w{1,9}))?)(?:/([0-9]{1,3}))?", part, re.ASCII)
        if form is None:
            raise ValueError(f"{part!r} as {name}")
        step = int(form[3] or 1)
        first = low if form[1] is None else _number(form[1], words)
        last = _number(form[2], words) if form[2] else high if form[1] is None or form[3] else first
        if not (low <= first <= last <= high and step):
            raise ValueError(f"{part!r} as {name}, which is from {low} to {high}")
        found.update(range(first, last + 1, step))
    return found


def _number(text: str, words: dict[str, int]) -> int:
    """-1, which no field has, for what is none."""
    return words.get(text.upper(), int(text) if text.isdecimal() else -1)
