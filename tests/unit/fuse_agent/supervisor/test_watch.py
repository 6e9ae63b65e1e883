# SPDX-License-Identifier: Apache-2.0
"""When a worker is started, taken for stuck, or given up."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from paddleflow_fuse.supervisor.watch import Do, Limits, Watch

LIMITS = Limits()


def started(now: float = 0.0, limits: Limits = LIMITS) -> Watch:
    watch = Watch(limits, now)
    assert watch.decide(now) is Do.START
    watch.started(now)
    return watch


def served(now: float = 0.0) -> Watch:
    watch = started(now)
    watch.beat(now)
    watch.ready(now)
    return watch


def test_the_first_is_started_at_once() -> None:
    assert Watch(LIMITS, 5).decide(5) is Do.START


def test_who_gives_a_sign_of_life_in_time_is_left_alone() -> None:
    watch = served()
    for now in range(1, 200):
        assert watch.decide(now) is Do.NOTHING
        watch.beat(now)


def test_who_gives_none_is_killed_once() -> None:
    watch = served()
    assert watch.decide(9.9) is Do.NOTHING
    assert watch.due() == 10
    assert watch.decide(10) is Do.KILL
    assert watch.decide(11) is Do.NOTHING
    assert watch.due() == math.inf  # only its end is waited for
    watch.ended(12)
    assert watch.failures == 1
    assert watch.decide(12) is Do.START


def test_who_ends_by_itself_again_and_again_is_not_replaced_for_ever_however_long_it_lives() -> None:
    watch, now = Watch(LIMITS, 0), 0.0
    for _worker in range(LIMITS.failures):
        now = watch.due()
        assert watch.decide(now) is Do.START
        watch.started(now)
        watch.ready(now)
        now += 5
        watch.ended(now, by_itself=True)
    assert watch.decide(now) is Do.GIVE_UP


def test_the_first_sign_may_take_longer() -> None:
    watch = started()
    assert watch.decide(29) is Do.NOTHING
    watch.beat(29)
    assert watch.decide(38) is Do.NOTHING
    assert watch.decide(39) is Do.KILL


def test_who_others_killed_has_not_failed_however_often() -> None:
    watch, now = Watch(LIMITS, 0), 0.0
    for _kill in range(20):
        assert watch.decide(now) is Do.START
        watch.started(now)
        watch.ready(now)
        now += LIMITS.settled
        watch.ended(now)
        assert watch.failures == 0


@pytest.mark.parametrize("ready", [True, False])
def test_who_fails_again_and_again_is_given_up(ready: bool) -> None:
    watch, now, pauses = Watch(LIMITS, 0), 0.0, []
    for _failure in range(LIMITS.failures):
        begin = watch.due()
        pauses.append(begin - now)
        now = begin
        assert watch.decide(now) is Do.START
        watch.started(now)
        if ready:
            watch.ready(now)
        now += LIMITS.settled / 2
        watch.ended(now)
    assert watch.decide(now) is Do.GIVE_UP
    assert pauses == pytest.approx([0, 0, 0.1, 0.2, 0.4])


def test_who_is_stuck_again_and_again_is_given_up() -> None:
    watch, now = Watch(LIMITS, 0), 0.0
    for _failure in range(LIMITS.failures):
        now = max(now, watch.due())
        assert watch.decide(now) is Do.START
        watch.started(now)
        watch.ready(now)
        now += LIMITS.patience
        assert watch.decide(now) is Do.KILL
        watch.ended(now)
    assert now < LIMITS.window
    assert watch.decide(now) is Do.GIVE_UP


def test_failures_are_forgotten_in_time() -> None:
    watch, now = Watch(LIMITS, 0), 0.0
    for _failure in range(LIMITS.in_a_row - 1):
        assert watch.decide(now) is Do.START
        watch.started(now)
        watch.ended(now)
        now += LIMITS.window / (LIMITS.failures - 1)
        assert watch.decide(now) is not Do.GIVE_UP


def lives(watch: Watch, now: float, seconds: float) -> float:
    """One that serves for so long and then fails; when the next may begin."""
    watch.started(now)
    watch.ready(now)
    for beat in range(int(seconds)):
        watch.beat(now + beat)
    watch.ended(now + seconds, by_itself=True)
    return now + seconds


def test_who_fails_slowly_again_and_again_is_given_up_too() -> None:
    watch, now, pauses = Watch(LIMITS, 0), 0.0, []
    while watch.decide(now) is Do.START:
        now = lives(watch, now, LIMITS.window / 2)
        pauses.append(watch.due() - now)
        now = watch.due()
        assert watch.failures < LIMITS.failures
    assert watch.decide(now) is Do.GIVE_UP
    assert len(pauses) == watch.in_a_row == LIMITS.in_a_row
    assert pauses == pytest.approx([0, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5, 5, 5])


@pytest.mark.parametrize("between", ["serves long", "is killed by others", "leaves"])
def test_who_fails_now_and_then_is_replaced_at_once_for_ever(between: str) -> None:
    watch, now = Watch(LIMITS, 0), 0.0
    for _failure in range(3 * LIMITS.in_a_row):
        assert watch.decide(now) is Do.START
        now = lives(watch, now, LIMITS.window if between == "serves long" else LIMITS.window / 2)
        assert watch.due() == now
        if between == "serves long":
            continue
        assert watch.decide(now) is Do.START
        watch.started(now)
        watch.ready(now)
        now += LIMITS.settled
        if between == "leaves":
            watch.leaves(now, 1)
        watch.ended(now)
        now += LIMITS.window / LIMITS.failures


def test_a_worker_that_served_makes_the_next_begin_at_once() -> None:
    watch, now = Watch(LIMITS, 0), 0.0
    for _failure in range(3):
        watch.started(now)
        watch.ended(now)
        now = watch.due()
    watch.started(now)
    watch.ready(now)
    watch.ended(now + LIMITS.settled)
    assert watch.due() == now + LIMITS.settled


def test_who_was_told_to_leave_has_not_failed_and_has_its_time() -> None:
    watch = served()
    watch.leaves(0.5, 20)
    watch.beat(1)  # tells nothing of whether it will
    assert watch.decide(20) is Do.NOTHING
    assert watch.decide(20.5) is Do.KILL
    watch.ended(21)
    assert watch.failures == 0
    assert watch.decide(21) is Do.START


@given(st.lists(st.tuples(st.sampled_from(["beat", "ready", "ended", "leaves"]), st.floats(0, 20))))
def test_whatever_happens_no_pause_is_longer_than_the_bound_and_nobody_is_killed_twice(
    events: list[tuple[str, float]],
) -> None:
    watch, now, runs, killed = Watch(LIMITS, 0), 0.0, False, False
    for event, later in events:
        now += later
        do = watch.decide(now)
        if do is Do.GIVE_UP:
            assert not runs
            return
        if do is Do.START:
            assert not runs
            watch.started(now)
            runs, killed = True, False
        elif do is Do.KILL:
            assert runs
            assert not killed
            killed = True
        if not runs:
            assert watch.due() - now <= LIMITS.longest_pause
            continue
        if event == "ended":
            watch.ended(now)
            runs = False
        elif event == "leaves":
            watch.leaves(now, 5)
        else:
            getattr(watch, event)(now)
