# SPDX-License-Identifier: Apache-2.0
"""Who goes first, as a rule over plain numbers."""

from __future__ import annotations

import hypothesis
from hypothesis import strategies as st
from paddleflow_fuse.cache.policy import FIRST, GONE, HOT, NEW, Order


class Kept:
    """So many entries of one byte, by name; who goes is what the order says."""

    def __init__(self, room: int) -> None:
        self.order, self.room = Order(), room
        self.order.grow(100_000)
        self._numbers: dict[str, int] = {}

    def has(self, name: str) -> bool:
        return self.order.where(self._number(name)) in (NEW, HOT)

    def read(self, name: str, again: bool = True) -> bool:
        """Whether it was there."""
        if self.has(name):
            self.order.use(self._number(name), again)
            return True
        while self.order.counts[NEW] + self.order.counts[HOT] >= self.room:
            self.order.retire(self.order.first(()))
        self.order.enter(self._number(name), 1)
        return False

    def _number(self, name: str) -> int:
        return self._numbers.setdefault(name, FIRST + len(self._numbers))


def names(kind: str, count: int) -> list[str]:
    return [f"{kind}{index}" for index in range(count)]


def test_what_was_used_once_goes_in_the_order_in_which_it_came() -> None:
    kept = Kept(3)
    for name in "abcd":
        kept.read(name)
    assert [kept.has(name) for name in "abcd"] == [False, True, True, True]


def test_one_scan_of_a_large_data_set_pushes_out_nothing_that_is_used_again_and_again() -> None:
    kept, often = Kept(100), names("often", 60)
    for _epoch in range(2):
        for name in often:
            kept.read(name)
    for name in names("scan", 10_000):
        kept.read(name)
    assert all(kept.has(name) for name in often)


def test_a_second_use_at_once_is_still_the_first() -> None:
    """As when a file is looked at, and then read."""
    kept, often = Kept(100), names("often", 60)
    for _epoch in range(2):
        for name in often:
            kept.read(name)
    for name in names("scan", 10_000):
        kept.read(name)
        kept.read(name, again=False)
    assert all(kept.has(name) for name in often)


def test_a_data_set_that_is_used_now_takes_over_from_one_that_was_used_often_long_ago() -> None:
    kept = Kept(100)
    for _epoch in range(5):
        for name in names("old", 100):
            kept.read(name)
    for _epoch in range(6):
        for name in names("now", 70):
            kept.read(name)
    assert all(kept.has(name) for name in names("now", 70))


def test_of_what_is_used_again_the_longest_unused_goes() -> None:
    kept = Kept(4)
    for name in "abcd" * 2:
        kept.read(name)
    kept.read("a")
    kept.read("e")
    assert [kept.has(name) for name in "abcde"] == [True, False, True, True, True]


def test_what_is_open_is_spared_and_counts_as_used() -> None:
    order = Order()
    order.grow(FIRST + 3)
    a, b, c = range(FIRST, FIRST + 3)
    for entry in (a, b, c):
        order.enter(entry, 1)
    assert order.first({a, b}) == c
    assert order.first(()) == c
    assert order.first({a, b, c}) == 0


def test_only_so_many_that_went_are_remembered() -> None:
    kept = Kept(10)
    for name in names("scan", 5000):
        kept.read(name)
    assert kept.order.counts[GONE] <= 64


@hypothesis.given(
    st.lists(
        st.tuples(st.sampled_from(["enter", "use", "resize", "leave", "retire"]), st.integers(0, 7), st.integers(0, 9))
    )
)
def test_totals_are_those_of_the_entries(steps: list[tuple[str, int, int]]) -> None:
    order = Order()
    order.grow(FIRST + 8)
    costs: dict[int, int] = {}
    for what, which, cost in steps:
        entry = FIRST + which
        if what == "enter" and entry not in costs:
            order.enter(entry, cost)
            costs[entry] = cost
        elif entry in costs and what != "enter":
            if what == "use":
                order.use(entry, bool(cost % 2))
            elif what == "resize":
                order.resize(entry, cost)
                costs[entry] = cost
            else:
                getattr(order, what)(entry)
                del costs[entry]
        assert order.counts[NEW] + order.counts[HOT] == len(costs)
        assert order.bytes[NEW] + order.bytes[HOT] == sum(costs.values())
        assert bool(order.first(())) == bool(costs)
