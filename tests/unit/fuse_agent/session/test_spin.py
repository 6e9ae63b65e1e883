# SPDX-License-Identifier: Apache-2.0
"""When the loop looks for the next request, on a clock that the test moves."""

from __future__ import annotations

import pytest
from paddleflow_fuse.session.spin import Spin

LONGEST = 0.0001


def look_in_vain(spin: Spin, now: float) -> float:
    """When it gave up."""
    assert spin.begin(now)
    while spin.goes_on(now):
        now += LONGEST / 10
    return now


def test_who_looks_is_done_after_the_longest_time() -> None:
    spin = Spin(LONGEST)
    assert look_in_vain(spin, 5.0) == pytest.approx(5.0 + LONGEST, abs=LONGEST / 5)
    assert (spin.caught, spin.missed) == (0, 1)


def test_what_comes_in_time_is_caught_again_and_again() -> None:
    spin = Spin(LONGEST)
    for number in range(100):
        assert spin.begin(float(number))
        assert spin.goes_on(number + LONGEST / 4)
        spin.came(number + LONGEST / 2)
    assert (spin.caught, spin.missed) == (100, 0)
    assert spin.looked == pytest.approx(100 * LONGEST / 2)


def test_in_vain_it_rests_twice_as_long_each_time_and_never_for_more_than_a_second() -> None:
    spin, now, rests = Spin(LONGEST), 1.0, []
    for _time in range(15):
        ended = now = look_in_vain(spin, now)
        while not spin.begin(now):
            now += 0.0001
        rests.append(now - ended)
    assert rests[:4] == pytest.approx([0.001, 0.002, 0.004, 0.008], abs=0.0003)
    assert rests[-1] == pytest.approx(1.0, abs=0.001)


def test_of_a_client_that_asks_now_and_then_little_of_a_processor_is_spent() -> None:
    spin, now = Spin(LONGEST), 0.0
    for _request in range(10_000):
        now += 0.002
        if spin.begin(now):
            look_in_vain(spin, now)
    assert spin.looked < now / 1000


def test_what_came_while_others_had_the_processor_does_not_count_as_caught() -> None:
    spin = Spin(LONGEST)
    assert spin.begin(1.0)
    spin.came(1.003)
    assert (spin.caught, spin.missed) == (0, 1)
    assert spin.looked == pytest.approx(LONGEST)
    assert not spin.begin(1.0035)


def test_what_is_caught_shortens_the_next_rest() -> None:
    spin, now = Spin(LONGEST), 1.0
    for _time in range(6):
        now = look_in_vain(spin, now) + 2.0
    assert spin.begin(now)
    spin.came(now)
    ended = look_in_vain(spin, now)
    assert not spin.begin(ended + 0.0009)
    assert spin.begin(ended + 0.0011)


def test_without_a_time_it_never_looks() -> None:
    assert not Spin(0.0).begin(1.0)
