# SPDX-License-Identifier: Apache-2.0
"""What of a changed file is sent, within what S3 takes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from paddleflow_fuse.files.read.ahead import Range, joined
from paddleflow_fuse.files.written.patch import MOST_PARTS, plan
from paddleflow_fuse.sources.base import Part

MIB, GIB = 1 << 20, 1 << 30
LEAST = 5 * MIB


def sent(parts: list[Part]) -> int:
    return sum(part.size for part in parts if not part.copied)


def test_what_is_appended_is_all_that_is_sent() -> None:
    parts = plan(GIB + MIB, [Range(0, GIB)], LEAST)
    assert sent(parts) == MIB
    assert parts[-1] == Part(GIB, MIB, copied=False)


def test_of_what_is_changed_in_the_middle_one_part_is_sent() -> None:
    piece = 128 << 10
    parts = plan(GIB, [Range(0, GIB // 2), Range(GIB // 2 + piece, GIB // 2 - piece)], LEAST)
    assert sent(parts) == LEAST


@pytest.mark.parametrize(
    ("size", "same"), [(4 * MIB, []), (9 * MIB, [Range(0, 9 * MIB)]), (GIB, []), (0, []), (GIB, [Range(7, MIB)])]
)
def test_what_is_as_well_sent_whole_has_no_parts(size: int, same: list[Range]) -> None:
    assert plan(size, same, LEAST) == []


@pytest.mark.parametrize("size", [GIB, 300 * GIB, 5 << 40])
def test_parts_are_never_too_many_or_too_large(size: int) -> None:
    step = max(size // 50_000, 6 * MIB)
    same = [Range(offset, step - MIB) for offset in range(0, size - step, step)]
    parts = plan(size, same, LEAST)
    assert len(parts) <= MOST_PARTS
    assert all(part.size <= 5 * GIB for part in parts)


RUNS = st.lists(st.tuples(st.integers(0, 300), st.integers(1, 300)), max_size=12)


@given(runs=RUNS, rest=st.integers(0, 300), least=st.integers(1, 100), most=st.integers(25, 60))
def test_parts_are_the_file_and_copy_only_what_is_the_same(
    runs: list[tuple[int, int]], rest: int, least: int, most: int
) -> None:
    same, place = [], 0
    for gap, length in runs:
        same.append(Range(place + gap, length))
        place = same[-1].end
    size = place + rest
    parts = plan(size, same, least, most)
    if not parts:
        return
    assert [part.offset for part in parts] == [
        sum(part.size for part in parts[:number]) for number in range(len(parts))
    ]
    assert sum(part.size for part in parts) == size
    assert all(part.size >= least for part in parts[:-1])
    assert len(parts) <= most
    for part in parts:
        if part.copied:
            assert any(one.offset <= part.offset and part.offset + part.size <= one.end for one in joined(same))
