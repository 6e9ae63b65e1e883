# SPDX-License-Identifier: Apache-2.0
"""Whether a folder has anything else is asked now and then, and always where it may be the last that goes."""

from __future__ import annotations

import pytest
from paddleflow_fuse.sources.siblings import Look, Siblings


class Case:
    def __init__(self) -> None:
        self.now = 100.0
        self.siblings = Siblings(lambda: self.now)

    def asks(self, name: bytes, folder: bytes = b"folder") -> Look:
        look = self.siblings.removed(folder, name)
        assert look is not None
        return look

    def is_sure(self, name: bytes, folder: bytes = b"folder") -> bool:
        return self.siblings.removed(folder, name) is None


@pytest.fixture
def case() -> Case:
    return Case()


def test_who_removes_many_asks_once_and_for_the_last(case: Case) -> None:
    case.siblings.saw(case.asks(b"a"), [b"b", b"c"])
    assert case.is_sure(b"b")
    case.asks(b"c")


def test_what_was_seen_of_one_folder_says_nothing_of_another(case: Case) -> None:
    case.siblings.saw(case.asks(b"a"), [b"b"])
    case.asks(b"a", b"other")


def test_what_was_seen_is_not_believed_for_long(case: Case) -> None:
    case.siblings.saw(case.asks(b"a"), [b"b", b"c", b"d"])
    case.now += 0.9
    assert case.is_sure(b"b")
    case.now += 0.2
    case.asks(b"c")


def test_a_look_counts_from_its_begin(case: Case) -> None:
    look = case.asks(b"a")
    case.now += 5
    case.siblings.saw(look, [b"b", b"c"])
    case.asks(b"b")


def test_of_two_who_remove_the_last_two_one_looks_when_both_are_gone(case: Case) -> None:
    case.siblings.saw(case.asks(b"x"), [b"a", b"b"])
    assert [case.siblings.removed(b"folder", name) is None for name in (b"a", b"b")] == [True, False]


def test_what_was_seen_before_another_removed_it_is_not_believed(case: Case) -> None:
    look = case.asks(b"a")
    case.asks(b"b")
    case.siblings.saw(look, [b"b"])
    case.asks(b"c")


def test_nothing_is_believed_while_names_go_in_another_way_or_after_that(case: Case) -> None:
    case.siblings.saw(case.asks(b"a"), [b"b", b"c", b"d"])
    with case.siblings.changing():
        look = case.asks(b"b")
        case.siblings.saw(look, [b"c", b"d"])
        begun = case.asks(b"c")
    case.siblings.saw(look, [b"d"])
    case.asks(b"d")
    case.siblings.saw(begun, [b"e"])
    case.asks(b"f")
