# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from paddleflow_fuse.files.known.changes import Changes


def test_what_was_changed_before_somebody_asked_is_told_as_it_is() -> None:
    changes = Changes()
    changes.touch(b"a")
    assert not changes.since(changes.begin(), b"a")


def test_what_is_changed_while_somebody_asks_may_be_told_as_it_was() -> None:
    changes = Changes()
    before = changes.begin()
    changes.touch(b"a", b"d/e")
    after = changes.begin()
    assert changes.since(before, b"a")
    assert changes.since(before, b"d/e")
    assert not changes.since(before, b"b")
    assert not changes.since(before, b"d")
    assert not changes.since(after, b"a")


def test_with_a_folder_all_below_it_changes() -> None:
    changes = Changes()
    began = changes.begin()
    changes.touch(b"d")
    assert changes.since(began, b"d/e/f")
    assert not changes.since(began, b"de")
    changes.touch(b"")
    assert changes.since(began, b"de")


def test_nothing_is_kept_when_nobody_asks_any_more() -> None:
    changes = Changes()
    first, second = changes.begin(), changes.begin()
    changes.touch(b"a")
    third = changes.begin()
    changes.end(first)
    changes.end(third)
    assert changes.since(second, b"a")
    changes.end(second)
    assert not changes.since(second, b"a")
