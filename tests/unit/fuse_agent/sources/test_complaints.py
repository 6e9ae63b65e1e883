# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import errno

import pytest
from paddleflow_fuse.sources.complaints import Complaints


def test_one_of_a_kind_is_told_a_minute_and_how_many_there_were(caplog: pytest.LogCaptureFixture) -> None:
    now = [0.0]
    complaints = Complaints(lambda: now[0])
    for number in range(5):
        complaints.tell("read", OSError(errno.EIO, f"the store is away {number}"))
    complaints.tell("read", OSError(errno.EACCES, "no keys"))
    complaints.tell("store", OSError(errno.EIO, "the store is away"))
    now[0] = 61
    complaints.tell("read", OSError(errno.EIO, "the store is still away"))
    assert [record.message for record in caplog.records] == [
        "[Errno 5] the store is away 0",
        "[Errno 13] no keys",
        "[Errno 5] the store is away",
        "[Errno 5] the store is still away (4 more of this kind since the last line)",
    ]


def test_what_files_are_like_is_no_trouble(caplog: pytest.LogCaptureFixture) -> None:
    for number in (errno.ENOENT, errno.EEXIST, errno.ESTALE, errno.ENOTEMPTY):
        Complaints().tell("find", OSError(number, "as it is"))
    assert caplog.records == []
