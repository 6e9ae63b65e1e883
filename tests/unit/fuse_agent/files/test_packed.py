# SPDX-License-Identifier: Apache-2.0
"""Pages of listings as bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some
from paddleflow_fuse.files.known.packed import DamagedError, Moment, age, pack, unpack
from paddleflow_fuse.sources.base import Found, Kind, Listed, Page

NUMBERS = some.integers(-(1 << 63), (1 << 63) - 1)
MAYBE = some.none() | some.integers(0, (1 << 32) - 1)
FOUND = some.builds(
    Found, some.sampled_from(Kind), NUMBERS, NUMBERS, some.binary(), MAYBE, MAYBE, MAYBE, some.booleans(), NUMBERS, some.binary()
)  # fmt: skip
NAMES = some.lists(some.binary(min_size=1)).map(tuple)
PAGES = some.builds(Page, some.lists(some.builds(Listed, some.binary(min_size=1), FOUND)), NAMES, NAMES)
PAGE = Page(
    [Listed(b"\xff\x00name", Found(Kind.FILE, 5, 7, b'"etag"', 0o640, 1, 2, True, 3, b"\x80file"))], (b"//",), (b"s",)
)


@given(PAGES)
def test_a_page_is_found_as_it_was(page: Page) -> None:
    assert unpack(pack(page, b"label"), b"label") == page


def test_what_is_damaged_or_of_another_place_is_told() -> None:
    packed = pack(PAGE, b"label")
    assert unpack(packed, b"label") == PAGE
    for place in range(len(packed)):
        damaged = packed[:place] + bytes([packed[place] ^ 1]) + packed[place + 1 :]
        with pytest.raises(DamagedError):
            unpack(damaged, b"label")
        with pytest.raises(DamagedError):
            unpack(packed[:place], b"label")
    with pytest.raises(DamagedError):
        unpack(packed, b"other")


@pytest.mark.parametrize(
    ("now", "span"),
    [
        (Moment(110.0, "a", 12), 10_000_000_000),
        (Moment(101.0, "a", 8_000_000_005), 8_000_000_000),
        (Moment(100.0, "a", 5), 0),
        (Moment(99.0, "a", 10), None),
        (Moment(110.0, "a", 4), None),
        (Moment(110.0, "b", 4), 10_000_000_000),
        (Moment(99.0, "b", 10), None),
    ],
)
def test_an_age_is_the_most_that_it_may_be_and_nothing_is_of_the_future(now: Moment, span: int | None) -> None:
    assert age(Moment(100.0, "a", 5), now) == span
