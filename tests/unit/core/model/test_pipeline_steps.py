# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest
from paddleflow_core.model.pipeline_run import NOUN
from paddleflow_core.model.pipeline_steps import LONGEST, Step, line, observe, read

LONG_NAME = "r" * 63


@pytest.mark.parametrize(
    ("step", "written"),
    [
        (Step("init"), "init"),
        (Step("running", 2, 80), "running x2 80.."),
        (Step("succeeded", 1, 12, 75), "succeeded x1 12..75"),
        (Step("succeeded", 0, 3, 3, "cached", "digits-1"), "succeeded 3..3 cached digits-1"),
        (Step("skipped", 0, -9, -8, "kept", "digits-1", "no items"), "skipped -9..-8 kept digits-1: no items"),
        (Step("failed", 3, 80, 95, reason="exit code 7: no space"), "failed x3 80..95: exit code 7: no space"),
    ],
)
def test_a_line_says_it_all(step: Step, written: str) -> None:
    assert line(step) == written
    assert read(written) == step


def test_a_reason_is_cut_to_what_fits_and_is_one_line() -> None:
    assert NOUN["status"]["steps"]["items"]["max"] == LONGEST
    assert line(Step("failed", reason="a\n b")) == "failed: a b"
    written = line(Step("terminated", 12, 999999, 999999, reason="why " * 50))
    assert len(written) == LONGEST
    assert read(written).end == 999999


@pytest.mark.parametrize("attempt", [0, 1, 12, 123, 1234])
def test_a_name_is_never_cut(attempt: int) -> None:
    """The last of these is longer than the API server takes, so that it is noticed."""
    step = Step("succeeded", attempt, 999999, 999999, "cached", LONG_NAME, "why " * 50)
    assert read(line(step)).run == LONG_NAME
    assert len(line(step)) <= LONGEST + (attempt > 999)


@pytest.mark.parametrize("written", ["", "Step 7 is done", "failed x 1..2", "failed 1...2", "failed 9999999999..9"])
def test_what_somebody_else_wrote_is_shown_as_it_is(written: str) -> None:
    assert read(written) == Step("", reason=written)


def run(began: str = "2026-01-31T23:59:50+01:00", **steps: str) -> dict[str, Any]:
    return {"metadata": {"name": "digits-2"}, "status": {"startTime": began, "steps": steps}}


def test_a_run_is_told_in_the_order_in_which_it_went() -> None:
    found = observe(
        run(
            later="running x1 20..",
            cancelled="cancelled: train has failed",
            kept="succeeded x1 -5..0 kept digits-1",
            fetched="succeeded 20..20 cached other-1",
            made="succeeded x2 1..15",
        )
    )
    assert [(one["name"], one["phase"], one["attempt"], one["cached"], one["results_of"]) for one in found] == [
        ("kept", "succeeded", 1, False, "digits-1"),
        ("made", "succeeded", 2, False, "digits-2"),
        ("fetched", "succeeded", 0, True, "other-1"),
        ("later", "running", 1, False, ""),
        ("cancelled", "cancelled", 0, False, ""),
    ]
    assert [(one["start_time"], one["end_time"]) for one in found] == [
        ("2026-01-31T22:59:45Z", "2026-01-31T22:59:50Z"),
        ("2026-01-31T22:59:51Z", "2026-01-31T23:00:05Z"),
        ("2026-01-31T23:00:10Z", "2026-01-31T23:00:10Z"),
        ("2026-01-31T23:00:10Z", ""),
        ("", ""),
    ]
    assert found[-1]["reason"] == "train has failed"


def test_a_run_that_has_not_begun_has_no_steps_and_no_times() -> None:
    assert observe({"metadata": {"name": "digits"}}) == []
    (one,) = observe({"metadata": {"name": "digits"}, "status": {"steps": {"a": "pending x1 1.."}}})
    assert one["start_time"] == ""
