# SPDX-License-Identifier: Apache-2.0
"""What came of requests, found by whoever comes after the one that wrote it down, whenever that was killed."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from paddleflow_fuse.nodes.region import MOST_RESULTS, Region
from paddleflow_fuse.nodes.results import Result, Results

from tests.support.mortal import KilledError, Life, mortal

NODE = 3 << 32 | 5


@contextmanager
def next_one(region: Region) -> Iterator[Results]:
    after = Region.adopt(os.dup(region.descriptor))
    yield Results(after)
    after.close()


@pytest.mark.parametrize("body", [b"", b"x", b"12345678", bytes(range(144))])
def test_an_answer_is_found_as_it_was(region: Region, body: bytes) -> None:
    results = Results(region)
    results.begin(10, NODE)
    results.end(10, 0, body)
    results.end(12, 17)
    with next_one(region) as after:
        assert after.find(10) == Result(0, body)
        assert after.find(12) == Result(17, b"")
        assert after.find(14) is None
        assert after.before(14) is None


def test_what_was_begun_is_told_from_what_was_not(region: Region) -> None:
    Results(region).begin(10, NODE)
    with next_one(region) as after:
        assert (after.before(10), after.find(10)) == (NODE, None)
        after.begin(10, NODE)
        after.end(10, 0, b"done")
    with next_one(region) as last:
        assert last.find(10) == Result(0, b"done")


def test_the_last_ones_are_kept(region: Region) -> None:
    results = Results(region)
    numbers = range(2, 2 * MOST_RESULTS * 3, 2)
    for number in numbers:
        results.end(number, number % 7)
    with next_one(region) as after:
        kept = [number for number in numbers if after.find(number)]
        assert kept == list(numbers[-MOST_RESULTS:])
        assert after.find(numbers[-1]) == Result(numbers[-1] % 7, b"")


def test_what_takes_long_is_not_pushed_out(region: Region) -> None:
    results = Results(region)
    results.begin(2, NODE)
    for number in range(4, 2 * MOST_RESULTS * 2, 2):
        results.end(number, 0)
    with next_one(region) as after:
        assert after.before(2) == NODE
        for number in range(4, 2 * MOST_RESULTS * 2, 2):
            after.end(number, 0)
        assert after.before(2) == NODE, "nor is what the kernel will ask again"


@pytest.mark.parametrize("writes", range(20))
def test_a_writer_killed_anywhere_leaves_all_or_nothing(region: Region, writes: int) -> None:
    before = Results(region)
    for number in range(2, 2 * MOST_RESULTS + 2, 2):  # so that places are used again
        before.end(number, 5, b"of before" * 9)
    life = Life()
    mine = Region.adopt(os.dup(region.descriptor))
    doomed = Results(mortal(mine, life))
    life.doom(writes)
    begun = ended = False
    with contextlib.suppress(KilledError):
        doomed.begin(10_000, NODE)
        begun = True
        doomed.end(10_000, 0, b"mine")
        ended = True
    mine.close()
    with next_one(region) as after:
        found = after.find(10_000)
        assert found in (None, Result(0, b"mine"))
        assert (found is not None) >= ended
        assert after.before(10_000) in ((NODE,) if begun else (None, NODE))
        assert all(after.find(number) in (None, Result(5, b"of before" * 9)) for number in range(2, 9000, 2))
        after.end(10_002, 1)
        assert after.find(10_000) == found
