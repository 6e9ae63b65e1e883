# SPDX-License-Identifier: Apache-2.0
"""Parts of what is still written: which are sent when, which are sent again, and that nothing of them stays at the store."""

from __future__ import annotations

import hashlib
import os
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from paddleflow_fuse.sources.base import ChangedError
from paddleflow_fuse.sources.objects import ObjectSource, Options
from paddleflow_fuse.sources.s3 import behind
from paddleflow_fuse.sources.s3.behind import due, growing, is_there
from paddleflow_fuse.sources.s3.bodies import Copy
from paddleflow_fuse.sources.s3.journal import Journal
from paddleflow_fuse.sources.s3.multipart import Part, Sent, Sizes
from paddleflow_fuse.sources.s3.store import S3Store

from tests.support.granted import until
from tests.support.kube_stub import Seen, Step, answer
from tests.support.s3_stub import found, refused

from .conftest import Tried

MIB, GIB, TIB = 1 << 20, 1 << 30, 1 << 40
FIRST = 8 * MIB


# --- which parts --------------------------------------------------------------------------------


def test_parts_stay_where_they_are_while_a_file_grows() -> None:
    for size, larger in pairwise([1, FIRST, FIRST + 1, 3 * FIRST - 1, 9 * GIB, 9 * GIB + 7, TIB]):
        before, after = list(growing(size, FIRST)), list(growing(larger, FIRST))
        assert before[:-1] == after[: len(before) - 1]
        assert (before[-1].number, before[-1].offset) == after[len(before) - 1][:2]
        assert sum(part.size for part in before) == size


def test_no_object_has_more_parts_than_it_may_and_none_is_too_large() -> None:
    parts = list(growing(5 * TIB, FIRST))
    assert len(parts) <= 10_000
    assert max(part.size for part in parts) <= 5 * GIB
    assert min(part.size for part in parts[:-1]) >= 5 * MIB


def whole(size: int) -> Callable[[int], int]:
    return lambda _offset: size


@pytest.mark.parametrize(("size", "known", "number"), [
    (2 * FIRST - 1, [], None),  # less than as much again lies behind the first
    (2 * FIRST, [], 1),
    (2 * FIRST, [1], None),
    (3 * FIRST - 1, [1], None),
    (3 * FIRST, [1], 2),
    (9 * FIRST, [1, 3], 2),  # what a try before did not bring
    (9 * FIRST, range(1, 9), None),
    (0, [], None),
])  # fmt: skip
def test_a_part_is_sent_when_as_much_again_lies_behind_it(size: int, known: list[int], number: int | None) -> None:
    part = due(size, FIRST, known, whole(size))
    assert (part and part.number) == number


@pytest.mark.parametrize(("ends", "known", "number"), [
    ({0: 0}, [], None),  # a file that got its size before anything was written
    ({0: 2 * FIRST}, [], 1),
    ({0: 2 * FIRST}, [1], None),
    ({0: FIRST, FIRST: 8 * FIRST}, [], 2),  # another place was written first
])  # fmt: skip
def test_what_has_a_hole_is_not_sent(ends: dict[int, int], known: list[int], number: int | None) -> None:
    part = due(8 * FIRST, FIRST, known, lambda offset: ends.get(offset, offset))
    assert (part and part.number) == number


def test_parts_that_are_too_large_to_be_copied_to_memory_wait_for_the_close() -> None:
    parts = list(growing(TIB, FIRST))
    sent = {part.number for part in parts if part.size <= behind.LARGEST}
    assert due(TIB, FIRST, sent, whole(TIB)) is None
    last = due(TIB, FIRST, sent - {max(sent)}, whole(TIB))
    assert last is not None
    assert last.size == behind.LARGEST
    assert last.offset > 50 * 10**9


@pytest.mark.parametrize(("sent", "there"), [
    (Sent(5, "sum", {}), True),
    (Sent(5, "another", {}), False),
    (Sent(4, "sum", {}), False),  # it was the end of the file
    (None, False),
])  # fmt: skip
def test_a_part_is_there_when_what_was_sent_is_what_it_holds(sent: Sent | None, there: bool) -> None:
    assert is_there(Part(1, 0, 5), sent, lambda _part: "sum") is there


# --- what a store is asked ----------------------------------------------------------------------

SIZE = 16  # of a part


@dataclass
class Uploads:
    """A store that keeps what it is sent.

    :ivar fails: what it answers to some requests, by their names
    """

    open: dict[str, dict[int, bytes]] = field(default_factory=dict)
    objects: dict[str, bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    arrived: list[str] = field(default_factory=list)
    fails: dict[str, Step] = field(default_factory=dict)
    held: threading.Event = field(default_factory=threading.Event)
    conditions: list[str] = field(default_factory=list)
    marks: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.held.set()
        self._lock = threading.Lock()

    def choose(self, seen: Seen) -> Step:
        name = _name(seen)
        self.arrived.append(name)
        if name.startswith("part"):
            self.held.wait(30)
        with self._lock:
            self.asked.append(name)
            if name in self.fails:
                return self.fails.pop(name)
            return self._do(name.partition(" ")[0], seen)

    def _do(self, name: str, seen: Seen) -> Step:
        upload = seen.query.get("uploadId", "")
        if name == "begin":
            upload = f"upload-{len(self.asked)}"
            self.open[upload] = {}
            self.marks[upload] = seen.header("x-amz-meta-pfs-write")
            return answer(200, f"<R><UploadId>{upload}</UploadId></R>".encode())
        if name in ("part", "complete", "abort") and upload not in self.open:
            return refused(404, "NoSuchUpload")
        if name == "part":
            self.open[upload][int(seen.query["partNumber"])] = seen.body
            return answer(200, b"", {"ETag": f'"{_etag(seen.body)}"'})
        if name == "complete":
            self.conditions.append(seen.header("If-None-Match") + seen.header("If-Match"))
            wanted = re.findall(rb"<PartNumber>(\d+)</PartNumber>", seen.body), re.findall(rb"[0-9a-f]{64}", seen.body)
            parts = self.open.pop(upload)
            numbers = [int(one) for one in wanted[0]]
            assert numbers == list(range(1, len(numbers) + 1))
            assert [_etag(parts[one]) for one in numbers] == [one.decode() for one in wanted[1]]
            self.objects[seen.path] = b"".join(parts[one] for one in numbers)
            return answer(200, b"<R><ETag>&quot;v2&quot;</ETag></R>")
        if name == "abort":
            del self.open[upload]
            return answer(204, b"")
        if name == "put":
            self.objects[seen.path] = seen.body
            return answer(200, b"", {"ETag": '"v2"'})
        there = self.objects.get(seen.path)
        return refused(404) if there is None else found(len(there), "v2")

    def take(self) -> list[str]:
        asked, self.asked = [one for one in self.asked if one != "head"], []
        return asked


def _name(seen: Seen) -> str:
    if seen.method == "POST":
        return "begin" if "uploads" in seen.query else "complete"
    if seen.method == "PUT":
        return f"part {seen.query['partNumber']}" if "partNumber" in seen.query else "put"
    return {"DELETE": "abort", "HEAD": "head"}[seen.method]


def _etag(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


@dataclass
class Case:
    store: S3Store
    uploads: Uploads
    file: int
    folder: Path

    def write(self, offset: int, data: bytes) -> None:
        os.pwrite(self.file, data, offset)

    def send_all(self) -> int:
        count = 0
        while self.store.send_behind("key", self.file):
            count += 1
        return count

    def put(self, over: bytes | None = None) -> None:
        self.store.put("key", self.file, os.fstat(self.file).st_size, {}, over)

    def check(self) -> None:
        """The store has what the file holds, and nothing else."""
        size = os.fstat(self.file).st_size
        assert self.uploads.objects["/bucket/key"] == os.pread(self.file, size, 0)
        self.check_nothing_is_left()

    def check_nothing_is_left(self) -> None:
        assert self.uploads.open == {}
        assert Journal(self.folder).left() == []


@pytest.fixture
def case(tried: Tried, tmp_path: Path) -> Iterator[Case]:
    uploads = Uploads()
    tried.stub.choose = uploads.choose  # type: ignore[method-assign]
    store = tried.store(sizes=Sizes(put=2 * SIZE - 1, first=SIZE), journal=Journal(tmp_path))
    file = os.memfd_create("staged")
    yield Case(store, uploads, file, tmp_path)
    os.close(file)


DATA = bytes(range(100))


def test_only_the_rest_is_sent_when_the_file_is_stored(case: Case) -> None:
    case.write(0, DATA[: 2 * SIZE - 1])
    assert case.send_all() == 0
    assert case.uploads.take() == []
    case.write(0, DATA[: 4 * SIZE + 3])
    assert case.send_all() == 3
    assert case.uploads.take() == ["begin", "part 1", "part 2", "part 3"]
    assert case.uploads.objects == {}
    assert len(Journal(case.folder).left()) == 1
    case.write(0, DATA)
    assert case.send_all() == 2
    case.put(b"")
    assert sorted(case.uploads.take()) == ["complete", "part 4", "part 5", "part 6", "part 7"]
    assert case.uploads.conditions == ["*"]
    case.check()


def test_what_was_written_to_again_is_sent_again(case: Case) -> None:
    case.write(0, DATA)
    assert case.send_all() == 5
    case.write(SIZE + 3, b"new")
    case.uploads.take()
    case.put()
    assert sorted(case.uploads.take()) == ["complete", "part 2", "part 6", "part 7"]
    case.check()


@pytest.mark.parametrize("size", [0, 2 * SIZE, 2 * SIZE + 5, 5 * SIZE])
@pytest.mark.parametrize("again", [b"", DATA[::-1]])
def test_of_what_was_cut_off_and_written_anew_that_is_stored_which_it_is(case: Case, size: int, again: bytes) -> None:
    case.write(0, DATA)
    case.send_all()
    os.ftruncate(case.file, size)
    case.write(size, again)
    case.send_all()
    case.put()
    case.check()


def test_the_upload_of_what_is_small_in_the_end_is_ended(case: Case) -> None:
    case.write(0, DATA)
    case.send_all()
    os.ftruncate(case.file, 2 * SIZE - 1)
    case.uploads.take()
    case.put()
    assert case.uploads.take() == ["abort", "put"]
    case.check()


def test_the_upload_of_what_nobody_stores_is_ended(case: Case) -> None:
    case.write(0, DATA)
    case.send_all()
    case.store.drop_behind("key")
    case.store.drop_behind("another")
    case.check_nothing_is_left()
    case.put()  # after all
    case.check()


def test_an_upload_that_cannot_be_ended_now_is_for_the_next_start(case: Case) -> None:
    case.write(0, DATA)
    case.send_all()
    case.uploads.fails["abort"] = refused(500)
    case.store.drop_behind("key")
    assert len(Journal(case.folder).left()) == 1


def test_a_file_is_stored_whole_when_its_upload_is_gone(case: Case) -> None:
    """As by the rule of a bucket that ends those which take too long."""
    case.write(0, DATA)
    case.send_all()
    case.uploads.open.clear()
    case.put(b"")
    assert case.uploads.conditions == ["*"]
    case.check()


def test_another_s_file_is_not_replaced(case: Case) -> None:
    case.write(0, DATA)
    case.send_all()
    case.uploads.fails["complete"] = refused(412, "PreconditionFailed")
    with pytest.raises(ChangedError):
        case.put(b"")
    assert case.uploads.objects == {}
    case.check_nothing_is_left()


def test_who_is_told_of_a_failure_can_store_it_later(case: Case) -> None:
    case.write(0, DATA)
    case.send_all()
    case.uploads.fails["part 7"] = refused(403, "AccessDenied")
    with pytest.raises(PermissionError):
        case.put()
    case.check_nothing_is_left()
    case.put()
    case.check()


def test_what_was_stored_before_the_answer_was_lost_is_known_again(case: Case) -> None:
    case.write(0, DATA)
    case.send_all()
    (mark,) = case.uploads.marks.values()
    case.uploads.fails |= {
        "complete": refused(404, "NoSuchUpload"), "head": found(len(DATA), "v2", pfs_write=mark),
    }  # fmt: skip
    case.put(b"")
    assert "begin" not in case.uploads.take()[1:]


@pytest.mark.parametrize("what", ["begin", "part 1"])
def test_what_fails_is_tried_once_and_brought_by_who_stores_it(case: Case, what: str) -> None:
    case.write(0, DATA)
    case.uploads.fails[what] = refused(503, "SlowDown")
    with pytest.raises(OSError, match="SlowDown"):
        case.store.send_behind("key", case.file)
    assert case.uploads.asked.count(what) == 1
    case.put()
    case.check()


def test_of_several_who_send_each_part_is_sent_once_in_one_upload(case: Case) -> None:
    case.write(0, DATA)
    threads = [threading.Thread(target=case.send_all) for _one in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(case.uploads.take()) == ["begin", *(f"part {number}" for number in range(1, 6))]
    case.put()
    case.check()


def test_who_stores_it_waits_for_what_is_on_its_way(case: Case) -> None:
    case.write(0, DATA)
    case.store.send_behind("key", case.file)
    case.uploads.held.clear()
    sender = threading.Thread(target=case.store.send_behind, args=("key", case.file))
    sender.start()
    until("it is on its way", lambda: "part 2" in case.uploads.arrived)
    storing = threading.Thread(target=case.put)
    storing.start()
    storing.join(0.1)
    assert "complete" not in case.uploads.asked
    case.uploads.held.set()
    for thread in (sender, storing):
        thread.join(30)
    assert case.uploads.asked.count("part 2") == 1
    case.check()


def test_a_hole_is_not_sent_before_the_file_is_stored(tried: Tried) -> None:
    page = os.sysconf("SC_PAGE_SIZE")
    uploads = Uploads()
    tried.stub.choose = uploads.choose  # type: ignore[method-assign]
    store = tried.store(sizes=Sizes(put=page, first=page))
    file = os.memfd_create("staged")
    try:
        os.ftruncate(file, 9 * page)
        assert store.send_behind("key", file) == 0
        os.pwrite(file, b"x" * 2 * page, 4 * page)
        assert store.send_behind("key", file) == page
        assert store.send_behind("key", file) == 0
        assert uploads.take() == ["begin", "part 5"]
        store.put("key", file, 9 * page, {})
        assert uploads.objects["/bucket/key"] == os.pread(file, 9 * page, 0)
    finally:
        os.close(file)


def test_what_is_kept_beside_a_file_is_said_when_an_upload_begins_so_none_begins_early(tried: Tried) -> None:
    for persist, least in ((False, 16 * MIB), (True, 0)):
        source = ObjectSource(tried.store(), "", Options(persist=persist))
        assert source.abilities.behind == least
        source.close()


# --- by which a part is known -------------------------------------------------------------------


def test_the_sum_of_a_part_is_that_of_its_signature(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    noted: list[bytes] = []
    note = Copy.signed

    def spy(copy: Copy, sum_: bytes) -> None:
        noted.append(sum_)
        note(copy, sum_)

    monkeypatch.setattr(Copy, "signed", spy)
    case.write(0, DATA)
    assert case.store.send_behind("key", case.file) == SIZE
    assert noted == [hashlib.sha256(DATA[:SIZE]).hexdigest().encode()]


def test_where_signatures_are_not_of_what_is_sent_it_is_summed_up(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where checksums go along behind the body, over TLS."""
    copy = Copy(b"abc")
    copy.signed(b"STREAMING-UNSIGNED-PAYLOAD-TRAILER")
    assert copy.sum == ""
    monkeypatch.setattr(Copy, "signed", lambda _copy, _sum: None)
    case.write(0, DATA)
    case.send_all()
    case.write(0, b"new")
    case.uploads.take()
    case.put()
    assert sorted(case.uploads.take()) == ["complete", "part 1", "part 6", "part 7"]
    case.check()


def test_a_body_is_sent_from_its_begin_each_time() -> None:
    copy: Any = Copy(b"abc")
    assert (len(copy), copy.again().read(), copy.again().read(), copy.sum) == (3, b"abc", b"abc", "")
