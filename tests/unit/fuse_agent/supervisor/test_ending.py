# SPDX-License-Identifier: Apache-2.0
"""What comes after what when a mount is to end."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from paddleflow_fuse.supervisor.ending import Ending, Phase, Step

GRACE, BOUND = 30.0, 5.0
LATE = GRACE + 1  # when somebody who had no time to store everything would have said so


def begun() -> Ending:
    ending = Ending(0, GRACE, BOUND)
    assert ending.decide(0) is Step.NOTHING
    return ending


def phase(ending: Ending) -> Phase:
    return ending.phase


def test_all_is_stored_then_it_is_unmounted_then_let_go() -> None:
    ending = begun()
    assert ending.left(10) == 20
    assert ending.saved(10) is Step.TAKE
    assert ending.taken(11, lazily=False) is Step.NOTHING
    assert ending.phase is Phase.LEAVING
    assert not ending.aborted


def test_what_came_in_between_is_stored_too_where_somebody_has_it_open() -> None:
    ending = begun()
    ending.saved(10)
    assert ending.taken(11, lazily=True) is Step.SAVE
    assert ending.left(11) == 19
    assert ending.saved(12) is Step.LEAVE
    assert ending.phase is Phase.LEAVING


def test_there_is_time_for_that_even_when_the_first_took_all() -> None:
    ending = begun()
    ending.saved(30.5)
    ending.taken(31, lazily=True)
    assert ending.left(31) == BOUND


def test_who_does_not_say_in_time_that_all_is_stored_is_not_waited_for() -> None:
    ending = begun()
    assert ending.decide(GRACE) is Step.NOTHING
    assert ending.decide(LATE) is Step.ABORT
    assert ending.aborted
    assert ending.decide(LATE) is Step.NOTHING
    assert ending.taken(LATE, lazily=True) is Step.NOTHING
    assert ending.phase is Phase.LEAVING


def test_what_nobody_served_yet_has_nothing_to_store() -> None:
    ending = begun()
    assert ending.unused(1) is Step.TAKE
    assert ending.taken(2, lazily=True) is Step.NOTHING
    assert phase(ending) is Phase.LEAVING


def test_an_unmount_that_does_not_end_is_helped() -> None:
    ending = begun()
    ending.saved(1)
    assert ending.decide(6) is Step.ABORT
    assert ending.decide(11) is Step.END


def test_who_does_not_store_the_rest_and_does_not_leave_is_killed() -> None:
    ending = begun()
    ending.saved(1)
    ending.taken(2, lazily=True)
    assert ending.decide(LATE) is Step.LEAVE
    assert ending.decide(LATE + BOUND) is Step.KILL


def test_a_mount_that_went_by_itself_is_let_go_but_an_unmount_under_way_is_waited_for() -> None:
    ending = begun()
    ending.saved(1)
    ending.gone(2)
    assert phase(ending) is Phase.TAKING
    ending.taken(3, lazily=False)
    assert phase(ending) is Phase.LEAVING
    other = begun()
    other.gone(1)
    assert other.phase is Phase.LEAVING


def test_what_is_said_late_changes_nothing() -> None:
    ending = begun()
    ending.saved(1)
    assert ending.saved(2) is Step.NOTHING
    ending.taken(3, lazily=False)
    assert ending.saved(4) is Step.NOTHING


def test_what_nobody_serves_any_more_is_taken_away_and_let_go() -> None:
    ending = begun()
    assert ending.lost(1) is Step.ABORT
    assert (ending.phase, ending.aborted) == (Phase.TAKING, True)
    assert ending.lost(2) is Step.NOTHING
    ending.taken(3, lazily=True)
    assert phase(ending) is Phase.LEAVING
    other = begun()
    other.saved(1)
    other.taken(2, lazily=True)
    assert other.lost(3) is Step.ABORT
    assert other.phase is Phase.LEAVING


@given(st.lists(st.sampled_from(["saved", "lazily", "taken", "gone", "lost", "nothing"])))
def test_whatever_happens_it_ends_in_a_bounded_time(events: list[str]) -> None:
    ending, now, last = Ending(0, GRACE, BOUND), 0.0, Step.NOTHING
    taken = False
    for event in [*events, *["nothing"] * 10]:
        if event == "saved":
            ending.saved(now)
        elif event in ("lazily", "taken") and ending.phase is Phase.TAKING and not taken:
            taken = True
            ending.taken(now, lazily=event == "lazily")
        elif event == "gone":
            ending.gone(now)
        elif event == "lost":
            ending.lost(now)
        elif event == "nothing":
            now = max(now, ending.due())
            last = ending.decide(now)
    assert ending.phase is Phase.LEAVING
    assert last in (Step.KILL, Step.END)
