# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from paddleflow_fuse.files.read.ahead import Range, Reader, overlap, requests, without

MIB = 1 << 20
MOST = 200 * MIB


def test_the_window_of_who_reads_in_order_grows_to_its_limit() -> None:
    reader = Reader()
    windows = [reader.window(Range(offset * MIB, MIB), MOST) for offset in range(200)]
    assert windows[0] == 3 * MIB
    assert all(after > before for before, after in pairwise(windows[:90]))
    assert windows[-1] == MOST


def test_requests_that_the_kernel_sends_in_another_order_are_in_order() -> None:
    reader = Reader()
    for offset in (0, 256, 128, 384, 640, 512):
        window = reader.window(Range(offset << 10, 128 << 10), MOST)
    assert window == MIB + 2 * 6 * (128 << 10)


def test_nothing_is_fetched_ahead_for_who_jumps() -> None:
    reader = Reader()
    windows = [reader.window(Range(offset * MIB, 4096), MOST) for offset in (10, 500, 30, 700, 100)]
    assert windows[-2:] == [0, 0]


def test_who_jumped_and_reads_in_order_then_is_read_ahead_for_again() -> None:
    reader = Reader()
    for offset in (10, 500, 30, 700):
        reader.window(Range(offset * MIB, 4096), MOST)
    windows = [reader.window(Range((900 + offset) * MIB, MIB), MOST) for offset in range(10)]
    assert windows[0] == 0
    assert windows[-1] > MIB


def test_small_pieces_come_first_and_large_ones_for_who_reads_much() -> None:
    file = [Range(0, 64 * MIB)]
    assert requests(file, 0, 8 * MIB)[0] == Range(0, MIB)
    assert requests(file, 16 * MIB, 8 * MIB)[0] == Range(0, 4 * MIB)
    assert requests(file, 200 * MIB, 8 * MIB)[0] == Range(0, 8 * MIB)
    assert requests([Range(5, 10)], 0, 8 * MIB) == [Range(5, 10)]


RANGES = st.builds(Range, st.integers(0, 60), st.integers(1, 20))


def numbers(ranges: list[Range]) -> list[int]:
    return [number for one in ranges for number in range(one.offset, one.end)]


@given(st.lists(RANGES, max_size=1), st.lists(RANGES, max_size=6))
def test_what_is_on_its_way_is_not_asked_for_again(wanted: list[Range], taken: list[Range]) -> None:
    assert numbers(without(wanted, taken)) == sorted(set(numbers(wanted)) - set(numbers(taken)))


@given(RANGES, RANGES)
def test_ranges_overlap_when_they_share_a_byte(one: Range, other: Range) -> None:
    assert overlap(one, other) == bool(set(numbers([one])) & set(numbers([other])))
