# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""The line that a run's status has for each instance of a step or DAG: who runs the step writes it, who tells of the run reads it.

    succeeded x1 12..75
    running x2 80..
    failed x3 80..95: exit code 7
    succeeded 3..3 cached digits-0123456789
    skipped: its condition is false

Its phase; with which attempt, where a job was made for it; when it began and ended, in seconds after the run did; which run
its results are from, where that is another one; and why it is so. No time fits whole beside the longest name of a run.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

LONGEST = 100

_PARTS = re.compile(
    r"(?P<phase>\w+)(?: x(?P<attempt>\d+))?(?: (?P<begin>-?\d{1,9})\.\.(?P<end>-?\d{1,9})?)?"
    r"(?: (?P<origin>cached|kept) (?P<run>\S+))?(?:: (?P<reason>.*))?"
)


class Step(NamedTuple):
    phase: str
    attempt: int = 0
    # Seconds since the run began; a step that was kept began before it.
    begin: int | None = None
    end: int | None = None
    # cached: its results are those of another run, by the cache; kept: by a retry of that run.
    origin: str = ""
    run: str = ""
    reason: str = ""


def line(step: Step) -> str:
    """A reason is cut to what fits, and nothing else is."""
    times = f"{step.begin}..{'' if step.end is None else step.end}"
    parts = [
        step.phase,
        f"x{step.attempt}" if step.attempt else "",
        "" if step.begin is None else times,
        f"{step.origin} {step.run}" if step.origin else "",
    ]
    written = " ".join(part for part in parts if part)
    reason = f": {' '.join(step.reason.split())}"[: max(LONGEST - len(written), 0)]
    return written + reason if len(reason) > len(": ") else written


def read(written: str) -> Step:
    """What is no such line, written by somebody else, is the reason of a step without a phase."""
    found = _PARTS.fullmatch(written)
    if found is None:
        return Step("", reason=written)
    begin, end = (None if found[part] is None else int(found[part]) for part in ("begin", "end"))
    parts = {part: found[part] or "" for part in ("origin", "run", "reason")}
    return Step(found["phase"], int(found["attempt"] or 0), begin, end, **parts)


def observe(run: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The instances of a run as people are told of them: those that began first come first."""
    status = run.get("status", {})
    began = status.get("startTime")
    found = sorted(((name, read(written)) for name, written in status.get("steps", {}).items()), key=_order)
    return [
        {
            "name": name,
            "phase": step.phase,
            "attempt": step.attempt,
            "reason": step.reason,
            "cached": step.origin == "cached",
            "results_of": step.run or (run["metadata"]["name"] if step.phase == "succeeded" else ""),
            "start_time": _time(began, step.begin),
            "end_time": _time(began, step.end),
        }
        for name, step in found
    ]


def _order(entry: tuple[str, Step]) -> tuple[bool, int, str]:
    name, step = entry
    return step.begin is None, step.begin or 0, name


def _time(began: str | None, seconds: int | None) -> str:
    if began is None or seconds is None:
        return ""
    then = datetime.fromisoformat(began).astimezone(UTC) + timedelta(seconds=seconds)
    return f"{then.replace(tzinfo=None).isoformat()}Z"
