# SPDX-License-Identifier: Apache-2.0
"""What every source answers, whatever stands behind it. A class of tests inherits it and gives a fixture ``source``."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest
from paddleflow_fuse.sources.base import NOTHING, UNTOLD, ChangedError, Data, Found, Kept, Kind, Source


@contextmanager
def failing(code: int) -> Iterator[None]:
    with pytest.raises(OSError) as refused:  # noqa: PT011 (told by its errno)
        yield
    assert refused.value.errno == code, refused.value


def refusal(act: Callable[[], object]) -> str:
    """The name of the errno, nothing when it was done."""
    try:
        act()
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    return ""


def store(source: Source, path: bytes, data: bytes = b"", over: bytes | None = None, kept: Kept = NOTHING) -> Found:
    descriptor = os.memfd_create("staged")
    try:
        os.write(descriptor, data)
        return source.store(path, descriptor, len(data), kept, over)
    finally:
        os.close(descriptor)


def names(source: Source, path: bytes = b"") -> list[bytes]:
    return sorted(one.name for page in source.list(path) for one in page.listed)


def content(source: Source, path: bytes) -> Data:
    found = source.find(path)
    return source.read(path, found.version, 0, found.size)


class SourceSuite:
    def test_the_root_is_a_folder(self, source: Source) -> None:
        assert source.find(b"").kind is Kind.FOLDER
        assert names(source) == []

    def test_what_was_stored_is_found_and_read(self, source: Source) -> None:
        stored = store(source, b"a", b"0123456789")
        assert (stored.kind, stored.size) == (Kind.FILE, 10)
        found = source.find(b"a")
        assert stored == (found._replace(mtime_ns=UNTOLD) if stored.mtime_ns == UNTOLD else found)
        assert source.read(b"a", stored.version, 2, 3) == b"234"
        assert source.read(b"a", stored.version, 8, 100) == b"89"
        assert source.read(b"a", stored.version, 10, 5) == b""
        assert source.read(b"a", b"", 0, 4) == b"0123"

    def test_an_empty_file_is_a_file(self, source: Source) -> None:
        store(source, b"empty")
        found = source.find(b"empty")
        assert (found.kind, found.size) == (Kind.FILE, 0)
        assert names(source) == [b"empty"]

    def test_what_was_a_file_is_found_whatever_it_is_by_now(self, source: Source) -> None:
        store(source, b"a", b"0")
        assert source.find_file(b"a") == source.find_new(b"a") == source.find(b"a")
        source.remove(b"a")
        source.make_folder(b"a")
        assert source.find_file(b"a").kind is Kind.FOLDER

    def test_what_is_not_there_is_said_so(self, source: Source) -> None:
        for act in (
            lambda: source.find(b"none"),
            lambda: source.find_file(b"none"),
            lambda: source.find_new(b"none"),
            lambda: list(source.list(b"none")),
            lambda: source.read(b"none", b"", 0, 1),
            lambda: source.remove(b"none"),
            lambda: source.remove_folder(b"none"),
            lambda: source.rename(b"none", b"other"),
        ):
            with failing(errno.ENOENT):
                act()

    def test_another_version_is_told_by_whoever_reads_the_old_one(self, source: Source) -> None:
        old = store(source, b"a", b"old")
        new = store(source, b"a", b"new")
        assert old.version != new.version
        with pytest.raises(ChangedError):
            source.read(b"a", old.version, 0, 3)
        assert source.read(b"a", new.version, 0, 3) == b"new"

    def test_who_expects_a_version_replaces_no_other(self, source: Source) -> None:
        old = store(source, b"a", b"old", over=b"")
        with pytest.raises(ChangedError):
            store(source, b"a", b"lost", over=b"")
        new = store(source, b"a", b"new", over=old.version)
        with pytest.raises(ChangedError):
            store(source, b"a", b"lost", over=old.version)
        assert content(source, b"a") == b"new"
        newer = store(source, b"a", b"newer", over=new.version)
        source.remove(b"a")
        with pytest.raises(ChangedError):  # what is not there any more
            store(source, b"a", b"lost", over=newer.version)
        assert names(source) == []

    def test_a_version_that_was_replaced_is_read_or_it_is_said_that_it_is_gone(self, source: Source) -> None:
        old = store(source, b"a", b"old")
        store(source, b"a", b"new")
        with suppress(ChangedError):
            assert source.read_replaced(b"a", old.version, 0, 3) == b"old"

    def test_folders_hold_what_lies_in_them(self, source: Source) -> None:
        assert source.make_folder(b"folder").kind is Kind.FOLDER
        assert names(source, b"folder") == []
        store(source, b"folder/b", b"b")
        source.make_folder(b"folder/a")
        store(source, b"folder/a/deep", b"deep")
        assert names(source) == [b"folder"]
        assert names(source, b"folder") == [b"a", b"b"]
        kinds = {one.name: one.found.kind for page in source.list(b"folder") for one in page.listed}
        assert kinds[b"a"] is Kind.FOLDER
        assert kinds[b"b"] in (Kind.FILE, Kind.UNSURE)
        assert source.find(b"folder/b").kind is Kind.FILE
        with failing(errno.EEXIST):
            source.make_folder(b"folder")
        with failing(errno.EEXIST):
            source.make_folder(b"folder/b")

    def test_only_an_empty_folder_is_removed(self, source: Source) -> None:
        source.make_folder(b"folder")
        store(source, b"folder/a")
        with failing(errno.ENOTEMPTY):
            source.remove_folder(b"folder")
        with failing(errno.EISDIR):
            source.remove(b"folder")
        with failing(errno.ENOTDIR):
            source.remove_folder(b"folder/a")
        source.remove(b"folder/a")
        assert names(source, b"folder") == []  # it is still there
        source.remove_folder(b"folder")
        assert names(source) == []

    def test_a_file_is_renamed_also_over_another(self, source: Source) -> None:
        store(source, b"a", b"a")
        store(source, b"b", b"b")
        source.make_folder(b"folder")
        source.rename(b"a", b"b")
        source.rename(b"b", b"folder/c")
        assert (names(source), content(source, b"folder/c")) == ([b"folder"], b"a")
        store(source, b"d", b"d")
        with failing(errno.EISDIR):
            source.rename(b"d", b"folder")

    def test_a_folder_is_renamed_with_all_that_it_holds(self, source: Source) -> None:
        source.make_folder(b"old")
        source.make_folder(b"old/empty")
        for index in range(30):
            store(source, b"old/%d" % index, b"%d" % index)
        source.make_folder(b"there")
        source.rename(b"old", b"there")
        assert names(source) == [b"there"]
        assert len(names(source, b"there")) == 31
        assert content(source, b"there/17") == b"17"
        assert names(source, b"there/empty") == []
        source.make_folder(b"full")
        store(source, b"full/a")
        with failing(errno.ENOTEMPTY):
            source.rename(b"there", b"full")
        store(source, b"file")
        with failing(errno.ENOTDIR):
            source.rename(b"there", b"file")

    def test_names_are_bytes(self, source: Source) -> None:
        for name in ("späte Größe".encode(), b"a b", b"a+b%20c", b"#?&=;:,'\"\\", b"x" * 255, b"-", b"..."):
            store(source, name, name)
            assert content(source, name) == name
        assert len(names(source)) == 7

    def test_names_beside_a_folder_are_not_in_it(self, source: Source) -> None:
        source.make_folder(b"a")
        for name in (b"a-b", b"a.txt", b"ab"):
            store(source, name, name)
        assert source.find(b"a").kind is Kind.FOLDER
        assert names(source, b"a") == []

    def test_links_lead_where_they_were_told_to(self, source: Source) -> None:
        assert source.abilities.links
        target = "../elsewhere/größer".encode() + b"\xff"
        assert source.link(b"link", target).kind is Kind.LINK
        found = source.find(b"link")
        assert (found.kind, found.size) == (Kind.LINK, len(target))
        assert source.target(b"link") == target
        source.rename(b"link", b"moved")
        assert source.target(b"moved") == target
        with failing(errno.EEXIST):
            source.link(b"moved", b"x")
        source.link(b"long", b"x" * 900)
        assert source.target(b"long") == b"x" * 900
        with failing(errno.ENAMETOOLONG):
            source.link(b"longer", b"x" * 4096)
        store(source, b"file")
        with failing(errno.EINVAL):
            source.target(b"file")
        source.remove(b"moved")
        source.remove(b"long")

    def test_many_names_are_listed_once_each(self, source: Source) -> None:
        wanted = [b"%05d" % index for index in range(2100)]
        for name in wanted:
            store(source, name)
        pages = [[one.name for one in page.listed] for page in source.list(b"")]
        assert sorted(name for page in pages for name in page) == wanted
        assert len(pages) > 1


class KeepingSuite(SourceSuite):
    """Of a source that keeps owners, modes and times."""

    def test_what_a_user_set_is_kept(self, source: Source) -> None:
        assert source.abilities.keeps
        kept = Kept(mode=0o640, uid=1000, gid=100, mtime_ns=1_500_000_000_123_456_789)
        store(source, b"a", b"a", kept=kept)
        found = source.find(b"a")
        assert (found.mode, found.uid, found.gid) == (0o640, 1000, 100)
        assert found.mtime_ns // 10**9 == 1_500_000_000
        source.keep(b"a", Kept(mode=0o600))
        found = source.find(b"a")
        assert (found.mode, found.uid) == (0o600, 1000)
        assert content(source, b"a") == b"a"
        source.make_folder(b"folder", Kept(mode=0o700))
        assert source.find(b"folder").mode == 0o700
        source.keep(b"folder", Kept(gid=7))
        assert (source.find(b"folder").mode, source.find(b"folder").gid) == (0o700, 7)


class XattrSuite(KeepingSuite):
    """Of one that keeps what users say of files beside that, too."""

    def test_what_users_say_of_a_file_is_kept(self, source: Source) -> None:
        assert source.abilities.xattrs
        wanted = {b"user.a": b"text", b"user.b c&=%+": bytes(range(256)), "user.\u00e4".encode(): b""}
        stored = store(source, b"a", b"a", kept=Kept(mode=0o600, xattrs={**wanted, b"user.none": None}))
        assert source.xattrs(b"a") == wanted
        assert stored.xattrs in (None, wanted)
        found = source.keep(b"a", Kept(xattrs={b"user.a": None, b"user.none": None, b"user.c": b"c"}))
        wanted = {**wanted, b"user.c": b"c"}
        del wanted[b"user.a"]
        assert (found.version, found.mode, source.xattrs(b"a")) == (source.find(b"a").version, 0o600, wanted)
        source.keep(b"a", Kept(mode=0o640))
        source.rename(b"a", b"b")
        assert source.xattrs(b"b") == wanted
        assert content(source, b"b") == b"a"
        store(source, b"b", b"b", kept=Kept(mode=0o600))
        assert source.xattrs(b"b") == {}  # whoever stores says what it has
        source.remove(b"b")
        with failing(errno.ENOENT):
            source.xattrs(b"b")

    def test_what_users_say_of_a_folder_is_kept(self, source: Source) -> None:
        source.make_folder(b"folder")
        assert source.xattrs(b"folder") == {}
        source.keep(b"folder", Kept(xattrs={b"user.a": b"1"}))
        store(source, b"folder/a")
        source.rename(b"folder", b"new")
        assert source.xattrs(b"new") == {b"user.a": b"1"}
        for page in source.list(b""):
            assert all(one.found.xattrs in (None, {b"user.a": b"1"}) for one in page.listed)
