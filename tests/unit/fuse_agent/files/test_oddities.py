# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from paddleflow_fuse.files.known.oddities import Oddities


def test_each_is_counted_once_and_of_the_first_a_line_is_written(caplog: pytest.LogCaptureFixture) -> None:
    found = Oddities("what is odd is left out: rename it")
    for _time in range(2):
        found.add(b"folder", [b"a\xff\n", b"b"])
        found.add(b"", [b"c"])
    assert len(found) == 3
    assert found.shown() == ["folder/a\\xff\n", "folder/b", "c"]
    assert caplog.messages == [
        r"what is odd is left out: rename it path=b'folder/a\xff\n'; status counts all, and names some"
    ]
