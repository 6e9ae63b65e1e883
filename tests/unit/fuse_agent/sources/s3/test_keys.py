# SPDX-License-Identifier: Apache-2.0
"""Keys are text of any kind, and none is taken for another, whichever client sends it."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from paddleflow_fuse.sources.base import Kind
from paddleflow_fuse.sources.objects import ObjectSource
from paddleflow_fuse.sources.s3.bodies import Slice
from paddleflow_fuse.sources.s3.multipart import part_size, parts
from paddleflow_fuse.sources.s3.quick import plain
from paddleflow_fuse.sources.s3.store import S3Store

from tests.support.kube_stub import answer
from tests.support.s3_stub import Stub, listed, part, s3_stub

from .conftest import Tried

PARTS = st.sampled_from(
    ["a", "..", ".", "", " ", "+", "%2F", "ä", "?#&", "'\"\\", "x.y", "...", "~", "\t", "\x7f", "日"]
)
KEYS = st.lists(PARTS, min_size=1, max_size=4).map("/".join).filter(bool)


@pytest.fixture(scope="module")
def stub() -> Iterator[Stub]:
    with s3_stub() as stub:
        yield stub


@pytest.fixture(scope="module")
def store(stub: Stub) -> Iterator[S3Store]:
    store = S3Store(stub.options)
    yield store
    store.close()


@given(key=KEYS)
@example(key="a/")
@example(key="a//b")
@example(key="../a")
def test_the_key_that_is_asked_for_is_the_key_that_is_sent(stub: Stub, store: S3Store, key: str) -> None:
    stub.seen.clear()
    stub.steps[:] = [part(b"a", 1)]
    assert store.get(key, b"v1", 0, 1) == b"a"
    assert [seen.path for seen in stub.seen] == [f"/bucket/{key}"]


def test_keys_that_obstore_would_change_are_known() -> None:
    odd = ("", "a/", "/a", "a//b", ".", "..", "./a", "a/..", "a/./b", "a\tb", "a\nb", "\x7f")
    assert [key for key in odd if plain(key)] == []
    assert [key for key in ("a", "a/b", "...", ".a", "a.", "a/..b", "ä b+%2F") if not plain(key)] == []


def test_what_no_file_can_be_is_hidden_and_a_folder_wins(tried: Tried) -> None:
    tried.stub.steps += [listed(["both", "plain", "..", "x" * 256], ("both/", "/", "./"))]
    source = ObjectSource(tried.store())
    (page,) = source.list(b"")
    assert {one.name: one.found.kind for one in page.listed} == {b"both": Kind.FOLDER, b"plain": Kind.FILE}
    assert (page.hidden, page.shadowed) == ((b"/", b"./", b"..", b"x" * 256), (b"both",))
    source.close()


def test_a_file_has_one_time_however_it_is_found(tried: Tried) -> None:
    """A listing tells thousandths of a second, and a HEAD does not."""
    tried.stub.steps += [listed(["a"])]
    ((one,),) = (keys.objects for keys in tried.store().list(""))
    assert one.mtime_ns == 1445412480 * 10**9
    assert one.version == b"v1"


def test_only_as_many_are_listed_as_are_wanted(tried: Tried) -> None:
    tried.stub.steps += [listed(["a", "b"], IsTruncated="true", NextContinuationToken="on")]
    assert [len(keys.objects) for keys in tried.store().list("", most=2)] == [2]
    assert tried.stub.seen[0].query["max-keys"] == "2"


def test_keys_that_xml_cannot_say_are_removed_one_by_one(tried: Tried) -> None:
    tried.stub.steps += [answer(200, b"<DeleteResult/>"), answer(204, b"")]
    tried.store().delete(["a", "bell\x07", "b"])
    assert [(seen.method, seen.path) for seen in tried.stub.seen] == [
        ("POST", "/bucket"),
        ("DELETE", "/bucket/bell\x07"),
    ]


GIB = 1 << 30


@given(st.integers(min_value=1, max_value=5 << 40))
def test_parts_make_up_the_object(size: int) -> None:
    step = part_size(size)
    count = -(-size // step)
    assert count <= 10_000
    if count < 2000:
        whole = list(parts(size))
        assert [one.number for one in whole] == list(range(1, count + 1))
        assert sum(one.size for one in whole) == size
        assert all(one.offset == (one.number - 1) * step for one in whole)


@pytest.mark.parametrize(
    ("size", "mib"),
    [(8 * GIB, 8), (8 * GIB + 1, 64), (256 * GIB, 64), (256 * GIB + 1, 512), (2048 * GIB, 512), (2048 * GIB + 1, 1024)],
)
def test_parts_grow_with_the_object(size: int, mib: int) -> None:
    assert part_size(size) == mib << 20


def test_a_slice_is_a_part_of_a_file() -> None:
    descriptor = os.memfd_create("staged")
    os.write(descriptor, bytes(range(100)))
    piece = Slice(descriptor, 10, 20)
    assert (len(piece), piece.read(5), piece.tell(), piece.read()) == (
        20,
        bytes(range(10, 15)),
        5,
        bytes(range(15, 30)),
    )
    assert (piece.read(), piece.seek(-2, os.SEEK_END), piece.read(9)) == (b"", 18, bytes([28, 29]))
    os.close(descriptor)
