# SPDX-License-Identifier: Apache-2.0
"""Files and folders over keys: the rules that only stores of objects have, and those of every source, over a store in memory."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping, Sequence

import pytest
from paddleflow_fuse.sources.base import Kept, Kind, Source
from paddleflow_fuse.sources.memory import MemoryStore
from paddleflow_fuse.sources.objects import Keys, ObjectSource, Options

from tests.support.source_suite import SourceSuite, XattrSuite, content, failing, names, store


class Store(MemoryStore):
    """Fails when told to."""

    def __init__(self) -> None:
        super().__init__()
        self.copies_left = self.pages_left = -1
        self.deletes_fail = False

    def add(self, *keys: str, data: bytes = b"x", metadata: Mapping[str, str] | None = None) -> None:
        descriptor = os.memfd_create("object")
        os.write(descriptor, data)
        for key in keys:
            self.put(key, descriptor, len(data), metadata or {})
        os.close(descriptor)

    def keys(self) -> list[str]:
        return [item.key for page in super().list("") for item in page.objects]

    def list(self, prefix: str, delimiter: str = "", most: int = 0) -> Iterator[Keys]:
        for page in super().list(prefix, delimiter, most):
            if self.pages_left == 0:
                raise OSError(errno.EIO, "the store does not answer")
            self.pages_left -= 1
            yield page

    def copy(self, old: str, new: str, metadata: Mapping[str, str] | None = None) -> None:
        if self.copies_left == 0:
            raise OSError(errno.EIO, "the store does not answer")
        self.copies_left -= 1
        super().copy(old, new, metadata)

    def delete(self, keys: Sequence[str]) -> None:
        if self.deletes_fail:
            raise OSError(errno.EACCES, "no")
        super().delete(keys)


@pytest.fixture
def there() -> Store:
    return Store()


def over(there: Store, **options: bool) -> ObjectSource:
    return ObjectSource(there, "sub/path/", Options(at_once=2)._replace(**options))


@pytest.fixture
def objects(there: Store) -> Iterator[ObjectSource]:
    source = over(there)
    yield source
    source.close()


class TestPlain(SourceSuite):
    @pytest.fixture
    def source(self) -> Iterator[Source]:
        source = ObjectSource(MemoryStore())
        yield source
        source.close()


class TestKept(XattrSuite):
    @pytest.fixture
    def source(self) -> Iterator[Source]:
        source = ObjectSource(MemoryStore(), "below/here", Options(persist=True))
        yield source
        source.close()


def test_nothing_is_seen_or_touched_outside_the_root(there: Store, objects: ObjectSource) -> None:
    there.add("sub/other", "sub/path2", "top")
    store(objects, b"a")
    objects.make_folder(b"folder")
    assert there.keys() == ["sub/other", "sub/path/a", "sub/path/folder/", "sub/path2", "top"]
    assert names(objects) == [b"a", b"folder"]


def test_a_prefix_is_a_folder_without_an_object_of_its_own(there: Store, objects: ObjectSource) -> None:
    there.add("sub/path/implicit/deep/file")
    assert objects.find(b"implicit").kind is Kind.FOLDER
    assert names(objects, b"implicit") == [b"deep"]
    explicit = over(there, implicit_folders=False)
    with failing(errno.ENOENT):
        explicit.find(b"implicit")
    explicit.make_folder(b"made")
    assert explicit.find(b"made").kind is Kind.FOLDER
    explicit.close()


def test_a_folder_wins_over_an_object_of_its_name(there: Store, objects: ObjectSource) -> None:
    there.add("sub/path/both", "sub/path/both/file")
    assert (objects.find(b"both").kind, objects.find(b"both").shadows) == (Kind.FOLDER, True)
    (page,) = objects.list(b"")
    assert [(one.name, one.found.kind) for one in page.listed] == [(b"both", Kind.FOLDER)]
    assert page.shadowed == (b"both",)


def test_a_folder_stays_when_its_last_file_goes(there: Store, objects: ObjectSource) -> None:
    there.add("sub/path/implicit/file", "sub/path/other/file")
    objects.remove(b"implicit/file")
    objects.rename(b"other/file", b"moved")
    assert there.keys() == ["sub/path/implicit/", "sub/path/moved", "sub/path/other/"]


def test_keys_that_no_file_can_have_are_hidden_and_counted(there: Store, objects: ObjectSource) -> None:
    there.add(
        "sub/path/good", "sub/path//double", "sub/path/./dot", "sub/path/../up", "sub/path/" + "x" * 256,
        "sub/path/a\x00b", "sub/path/tab\there",
    )  # fmt: skip
    (page,) = objects.list(b"")
    assert sorted(one.name for one in page.listed) == [b"good", b"tab\there"]
    assert sorted(page.hidden) == [b"../", b"./", b"/", b"a\x00b", b"x" * 256]


def test_names_that_no_key_can_have_are_refused(objects: ObjectSource) -> None:
    with failing(errno.EILSEQ):
        store(objects, b"\xff")


def test_a_listing_that_breaks_off_is_none(there: Store, objects: ObjectSource) -> None:
    there.add(*(f"sub/path/{index:04}" for index in range(1500)))
    there.pages_left = 1
    pages = objects.list(b"")
    assert len(next(pages).listed) == 1000
    with failing(errno.EIO):
        next(pages)


def test_what_fails_in_the_middle_of_a_rename_is_undone(there: Store, objects: ObjectSource) -> None:
    wanted = [f"sub/path/old/{index}" for index in range(9)]
    there.add(*wanted)
    there.copies_left = 4
    with failing(errno.EIO):
        objects.rename(b"old", b"new")
    assert there.keys() == wanted


def test_what_was_copied_and_could_not_be_removed_is_told(there: Store, objects: ObjectSource) -> None:
    store(objects, b"a", b"a")
    there.deletes_fail = True
    with failing(errno.EACCES):
        objects.rename(b"a", b"b")
    assert content(objects, b"b") == b"a"


def test_a_link_may_be_an_empty_object_until_it_is_looked_at(there: Store, objects: ObjectSource) -> None:
    objects.link(b"link", b"target")
    there.add("sub/path/file")
    kinds = {one.name: one.found.kind for page in objects.list(b"") for one in page.listed}
    assert kinds == {b"file": Kind.FILE, b"link": Kind.UNSURE}


def test_what_is_not_kept_is_refused_with_the_remedy(there: Store, objects: ObjectSource) -> None:
    store(objects, b"a", kept=Kept(mode=0o600))
    assert objects.find(b"a").mode is None
    with pytest.raises(PermissionError, match="persistAttributes would"):
        objects.keep(b"a", Kept(mode=0o600))
    assert there.head("sub/path/a").metadata == {}


def test_what_s3fs_kept_is_read(there: Store) -> None:
    metadata = {"uid": "5", "gid": "6", "mode": str(0o100640), "mtime": "1500000000.25"}
    there.add("sub/path/a", metadata=metadata)
    there.add("sub/path/odd", metadata={"uid": "-1", "mode": "x", "mtime": "Infinity"})
    source = over(there, persist=True)
    found = source.find(b"a")
    assert (found.mode, found.uid, found.gid, found.mtime_ns) == (0o640, 5, 6, 1_500_000_000_250_000_000)
    odd = source.find(b"odd")
    assert (odd.mode, odd.uid) == (None, None)
    assert odd.mtime_ns > found.mtime_ns
    # Ours win.
    source.keep(b"a", Kept(uid=7))
    assert (source.find(b"a").uid, source.find(b"a").gid) == (7, 6)
    source.close()
