# SPDX-License-Identifier: Apache-2.0
"""As many parts as an object may have, each of which is really sent; of a size that no store takes, so that they are few bytes."""

from __future__ import annotations

import os
import re
import tempfile
import threading

import pytest
from paddleflow_fuse.sources.s3 import multipart

from tests.conftest import EXTENDED
from tests.support.kube_stub import Seen, Step, answer
from tests.support.s3_stub import found

from .conftest import Tried

# S3 takes no more.
COUNT = 10_000 if EXTENDED else 600
PART = -(-(20 << 20) // COUNT)  # an object below is sent whole
SIZE = COUNT * PART - 1
_PART = re.compile(rb"<Part>(.*?)</Part>", re.DOTALL)


class Uploads:
    """A store of one upload, which remembers what its parts were."""

    def __init__(self) -> None:
        self.parts: dict[int, bytes] = {}
        self.completed: list[tuple[int, str]] = []
        self._lock = threading.Lock()

    def choose(self, seen: Seen) -> Step:
        if seen.method == "POST" and "uploads" in seen.query:
            return answer(200, b"<R><UploadId>upload-1</UploadId></R>")
        if seen.method == "PUT":
            number = int(seen.query["partNumber"])
            with self._lock:
                assert number not in self.parts
                self.parts[number] = seen.body
            return answer(200, b"", {"ETag": f'"part-{number}"'})
        if seen.method == "POST":
            for one in _PART.findall(seen.body):
                which, etag = re.search(rb"<PartNumber>(\d+)<", one), re.search(rb"part-\d+", one)
                assert which
                assert etag
                self.completed.append((int(which[1]), etag[0].decode()))
            return answer(200, b"<R><ETag>&quot;v2&quot;</ETag></R>")
        return found(SIZE, "v2")


def test_a_file_of_as_many_parts_as_there_may_be_is_sent_whole_and_in_order(
    tried: Tried, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(multipart, "_PARTS", ((SIZE, PART),))
    uploads = Uploads()
    tried.stub.choose = uploads.choose  # type: ignore[method-assign]
    with tempfile.TemporaryFile() as file:
        file.truncate(SIZE)  # only these are on the disk
        marks = {offset: b"%d" % offset for offset in range(PART // 2, SIZE, 7 * PART)}
        for offset, text in marks.items():
            os.pwrite(file.fileno(), text, offset)
        tried.store().put("a key", file.fileno(), SIZE, {})
    assert uploads.completed == [(number, f"part-{number}") for number in range(1, COUNT + 1)]
    sizes = {len(uploads.parts[number]) for number in range(1, COUNT)}
    assert (sizes, len(uploads.parts[COUNT])) == ({PART}, PART - 1)
    whole = b"".join(uploads.parts[number] for number in sorted(uploads.parts))
    expected = bytearray(SIZE)
    for offset, text in marks.items():
        expected[offset : offset + len(text)] = text
    assert whole == bytes(expected)
