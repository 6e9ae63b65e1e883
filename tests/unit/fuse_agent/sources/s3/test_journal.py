# SPDX-License-Identifier: Apache-2.0
"""Uploads that one who died left behind are ended by the next, and no others. [D-45]"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from paddleflow_fuse.sources.s3.journal import Begun, Journal
from paddleflow_fuse.sources.s3.multipart import Sizes

from tests.support.kube_stub import answer
from tests.support.s3_stub import found, refused, stored

from .conftest import Tried

BEGUN = answer(200, b"<R><UploadId>upload-1</UploadId></R>")
COMPLETE = answer(200, b"<R><ETag>&quot;v2&quot;</ETag></R>")
DONE = answer(204, b"")


def put(tried: Tried, folder: Path) -> None:
    descriptor = os.memfd_create("staged")
    os.write(descriptor, b"abc")
    try:
        tried.store(sizes=Sizes(put=2), journal=Journal(folder)).put("a key/ü", descriptor, 3, {})
    finally:
        os.close(descriptor)


def test_what_is_begun_is_noted_until_it_is_ended(tried: Tried, tmp_path: Path) -> None:
    folder = tmp_path / "uploads"
    tried.stub.steps += [BEGUN, stored("p1"), COMPLETE, found(3, "v2")]
    put(tried, folder)
    assert (folder.exists(), list(folder.iterdir())) == (True, [])
    tried.stub.steps += [BEGUN, refused(403, "AccessDenied"), DONE, refused(404)]
    with pytest.raises(PermissionError):
        put(tried, folder)
    assert list(folder.iterdir()) == []


def test_what_was_left_is_ended_once_and_nothing_else(tried: Tried, tmp_path: Path) -> None:
    tried.stub.steps += [BEGUN, refused(403, "AccessDenied"), refused(500), refused(404)]
    with pytest.raises(PermissionError):
        put(tried, tmp_path)
    (tmp_path / "torn.json").write_text('["a')
    (tmp_path / "other.json").write_text("5")
    assert Journal(tmp_path).left() == [Begun("a key/ü", "upload-1")]
    again = tried.store(journal=Journal(tmp_path))
    journal = Journal(tmp_path)
    journal.begun(Begun("ours", "upload-2"))
    tried.stub.steps += [DONE]
    again.end_left()
    assert (tried.stub.seen[-1].method, tried.stub.seen[-1].query["uploadId"]) == ("DELETE", "upload-1")
    assert journal.left() == [Begun("ours", "upload-2")]


def test_what_cannot_be_ended_now_is_kept_for_the_next(
    tried: Tried, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    Journal(tmp_path).begun(Begun("key", "upload-1"))
    tried.stub.steps += [refused(403, "AccessDenied"), refused(404, "NoSuchUpload")]
    tried.store(journal=Journal(tmp_path)).end_left()
    assert "could not be ended" in caplog.text
    assert Journal(tmp_path).left() == [Begun("key", "upload-1")]
    tried.store(journal=Journal(tmp_path)).end_left()  # it is gone
    assert Journal(tmp_path).left() == []


def test_a_disk_that_takes_no_notes_is_no_reason_to_store_nothing(tried: Tried, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    tried.stub.steps += [BEGUN, stored("p1"), COMPLETE, found(3, "v2")]
    put(tried, tmp_path / "file")
