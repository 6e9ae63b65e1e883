# SPDX-License-Identifier: Apache-2.0
"""The table of what the disk holds, against a dictionary, and as it is kept."""

from __future__ import annotations

import tracemalloc
from hashlib import blake2b

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from paddleflow_fuse.cache.entries import PAGE, SUMMED, TRUSTED, WHOLE, DamagedError, Entries
from paddleflow_fuse.cache.policy import HOT


def key(number: int) -> bytes:
    return blake2b(b"%d" % number, digest_size=16).digest()


def pages(entries: Entries) -> list[tuple[int, bytes]]:
    found = [(number, entries.page(number)) for number in range(-(-len(entries.flags) // PAGE))]
    return [page for page in found if page[1]]


def again(entries: Entries, distrust: bool = False) -> Entries:
    loaded = Entries(1000)
    loaded.load(iter(pages(entries)), distrust)
    return loaded


class Table(RuleBasedStateMachine):
    """Entries come and go, are used, and are written and read again."""

    def __init__(self) -> None:
        super().__init__()
        self.entries = Entries(0)
        self.known: dict[bytes, tuple[int, int]] = {}

    @rule(number=st.integers(0, 40), cost=st.integers(0, 1 << 40), now=st.integers(0, 1000))
    def add(self, number: int, cost: int, now: int) -> None:
        if key(number) not in self.known:
            self.entries.add(key(number), cost, WHOLE | TRUSTED, now)
            self.known[key(number)] = (cost, now)

    @rule(number=st.integers(0, 40), remember=st.booleans())
    def remove(self, number: int, remember: bool) -> None:
        if self.known.pop(key(number), None):
            self.entries.remove(self.entries.find(key(number)), remember)

    @rule(number=st.integers(0, 40))
    def use(self, number: int) -> None:
        if key(number) in self.known:
            self.entries.order.use(self.entries.find(key(number)), again=True)

    @rule()
    def keep(self) -> None:
        self.entries = again(self.entries)

    @invariant()
    def all_are_found(self) -> None:
        assert len(self.entries) == len(self.known)
        for number in range(41):
            entry = self.entries.find(key(number))
            assert bool(entry) == (key(number) in self.known)
            if entry:
                assert (self.entries.order.cost[entry], self.entries.saved[entry]) == self.known[key(number)]
                assert self.entries.key(entry) == key(number)


TestTable = Table.TestCase


def test_what_fills_is_not_kept_and_what_is_used_again_is_kept_as_that() -> None:
    entries = Entries(100)
    entries.add(key(1), 5, 0, 10)
    whole = entries.add(key(2), 6, WHOLE | SUMMED, 11)
    entries.sums[whole] = 0xFFFFFFFF
    entries.order.use(whole, again=True)
    loaded = again(entries)
    found = loaded.find(key(2))
    assert (loaded.find(key(1)), loaded.order.where(found), loaded.sums[found]) == (0, HOT, 0xFFFFFFFF)
    assert loaded.flags[found] == WHOLE | SUMMED


def test_what_was_used_last_goes_last_after_it_was_read_again() -> None:
    entries = Entries(100)
    for number, used in enumerate([30, 10, 20]):
        entries.add(key(number), 1, WHOLE, used)
    loaded = again(entries)
    gone = []
    while loaded.order.first(()):
        entry = loaded.order.first(())
        gone.append(loaded.key(entry))
        loaded.remove(entry)
    assert gone == [key(1), key(2), key(0)]


def test_after_the_machine_died_nothing_is_trusted() -> None:
    entries = Entries(100)
    entries.add(key(1), 1, WHOLE | TRUSTED | SUMMED, 1)
    loaded = again(entries, distrust=True)
    assert loaded.flags[loaded.find(key(1))] == WHOLE | SUMMED


def test_pages_with_nothing_between_them_are_read() -> None:
    entries = Entries(2000)
    numbers = [entries.add(key(number), 1, WHOLE, 1) for number in range(4 * PAGE)]
    for entry in numbers:
        if PAGE <= entry < 3 * PAGE:
            entries.remove(entry)
    loaded = again(entries)
    assert len(loaded) == len(entries) == 2 * PAGE
    loaded.add(key(-1), 1, WHOLE, 1)
    assert all(bool(loaded.find(key(n))) == bool(entries.find(key(n))) for n in range(4 * PAGE))


@pytest.mark.parametrize("place", [0, 4, 5000])
def test_a_damaged_page_is_none(place: int) -> None:
    entries = Entries(100)
    entries.add(key(1), 1, WHOLE, 1)
    ((number, page),) = pages(entries)
    damaged = bytearray(page)
    damaged[place] ^= 1
    for body in (bytes(damaged), page[:-1], b""):
        with pytest.raises(DamagedError, match="Page 0"):
            Entries(100).load(iter([(number, body)]), distrust=False)


def filled(count: int) -> Entries:
    """They come as from the disk, which is the shortest way to have as many."""
    template = Entries(PAGE)
    for number in range(2 * PAGE):
        template.add(key(number), 4096, WHOLE, 1)
    page = template.page(1)
    entries = Entries(count)
    entries.load(((number, page) for number in range(count // PAGE)), distrust=False)
    return entries


def test_a_million_entries_cost_little_memory() -> None:
    entries = filled(1_000_000)
    assert len(entries) > 999_000
    assert entries.memory / len(entries) < 80


def test_the_memory_that_they_cost_is_told_as_it_is() -> None:
    tracemalloc.start()
    try:
        before, _peak = tracemalloc.get_traced_memory()
        entries = filled(50_000)
        after, _peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert entries.memory <= after - before < entries.memory * 1.2
