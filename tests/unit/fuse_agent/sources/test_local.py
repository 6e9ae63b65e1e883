# SPDX-License-Identifier: Apache-2.0
"""A folder of this machine as a source."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from paddleflow_fuse.sources.base import ChangedError, Kept
from paddleflow_fuse.sources.local import LocalSource
from paddleflow_fuse.sources.rates import Gate, Gates

from tests.support.source_suite import XattrSuite, content, failing, names, store


@pytest.fixture
def source(tmp_path: Path) -> Iterator[LocalSource]:
    (tmp_path / "root").mkdir()
    made = LocalSource(str(tmp_path / "root"))
    yield made
    made.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
class TestLocal(XattrSuite):
    pass


def test_no_link_leads_out_of_the_folder(tmp_path: Path, source: LocalSource) -> None:
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "root/file").symlink_to(tmp_path / "secret")
    (tmp_path / "root/folder").symlink_to(tmp_path)
    for code, act in (
        (errno.ELOOP, lambda: source.read(b"file", b"", 0, 9)),
        (errno.ELOOP, lambda: source.keep(b"file", Kept(mode=0o777))),
        (errno.ENOTDIR, lambda: source.read(b"folder/secret", b"", 0, 9)),
        (errno.ENOTDIR, lambda: source.find(b"folder/secret")),
        (errno.ENOTDIR, lambda: list(source.list(b"folder"))),
        (errno.ENOTDIR, lambda: source.remove(b"folder/secret")),
    ):
        with failing(code):
            act()
    store(source, b"file", b"new")  # takes the link's place
    assert (tmp_path / "secret").read_text() == "secret"


def test_a_file_is_there_whole_or_not_at_all(tmp_path: Path, source: LocalSource) -> None:
    store(source, b"a", b"before")
    descriptor = os.memfd_create("short")
    with failing(errno.EIO):
        source.store(b"a", descriptor, 10)
    os.close(descriptor)
    assert (tmp_path / "root/a").read_bytes() == b"before"
    assert [path.name for path in (tmp_path / "root").iterdir()] == ["a"]


def test_what_is_private_is_so_from_the_beginning(
    tmp_path: Path, source: LocalSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes: list[int] = []

    def sendfile(*given: int, really: Callable[..., int] = os.sendfile) -> int:
        modes.extend(one.stat().st_mode & 0o777 for one in (tmp_path / "root").iterdir())
        return really(*given)

    monkeypatch.setattr(os, "sendfile", sendfile)
    store(source, b"a", b"secret", kept=Kept(mode=0o640))
    assert modes == []  # it has no name before
    store(source, b"a", b"secret", kept=Kept(mode=0o640))
    assert sorted(modes) == [0o600, 0o640]
    assert (tmp_path / "root/a").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("has_nameless", [True, False])
def test_who_wants_to_be_the_first_replaces_nobody_who_was_faster(
    tmp_path: Path, source: LocalSource, monkeypatch: pytest.MonkeyPatch, has_nameless: bool
) -> None:
    def sendfile(*given: int, really: Callable[..., int] = os.sendfile) -> int:
        (tmp_path / "root/a").write_bytes(b"theirs")
        return really(*given)

    if not has_nameless:
        _without_nameless(monkeypatch)
    monkeypatch.setattr(os, "sendfile", sendfile)
    with pytest.raises(ChangedError):
        store(source, b"a", b"ours", over=b"")
    assert content(source, b"a") == b"theirs"
    store(source, b"b", b"ours")
    (tmp_path / "root/a").unlink()
    store(source, b"a", b"ours")
    assert content(source, b"a") == b"ours"
    assert names(source) == [b"a", b"b"]
    assert len(list((tmp_path / "root").iterdir())) == 2


def _without_nameless(monkeypatch: pytest.MonkeyPatch) -> None:
    """As NFS is."""

    def open_(path: bytes, flags: int, *given: int, really: Callable[..., int] = os.open, **more: int) -> int:
        if flags & os.O_TMPFILE == os.O_TMPFILE:
            raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))
        return really(path, flags, *given, **more)

    monkeypatch.setattr(os, "open", open_)


class _Synced:
    """
    :ivar steps: which inodes were brought to the disk, and None for each rename
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.steps: list[int | None] = []
        sync, rename = os.fsync, os.rename

        def synced(descriptor: int) -> None:
            sync(descriptor)
            self.steps.append(os.fstat(descriptor).st_ino)

        def renamed(*given: Any, **more: Any) -> None:
            rename(*given, **more)
            self.steps.append(None)

        monkeypatch.setattr(os, "fsync", synced)
        monkeypatch.setattr(os, "rename", renamed)


@pytest.mark.parametrize("has_nameless", [True, False])
def test_only_what_replaces_another_waits_for_the_disk(
    tmp_path: Path, source: LocalSource, monkeypatch: pytest.MonkeyPatch, has_nameless: bool
) -> None:
    if not has_nameless:
        _without_nameless(monkeypatch)
    synced, root = _Synced(monkeypatch), tmp_path / "root"
    store(source, b"a", b"1")
    store(source, b"b", b"2")
    source.rename(b"b", b"c")
    assert [step for step in synced.steps if step] == []
    synced.steps.clear()
    store(source, b"a", b"3")
    source.rename(b"c", b"a")
    (root / "link").symlink_to("a")
    source.rename(b"link", b"a")
    stored, renamed = synced.steps[0], synced.steps[2]
    assert synced.steps == [stored, None, renamed, None, None]
    assert stored
    assert renamed
    assert stored != renamed


def test_what_is_synced_is_on_the_disk_with_its_name(
    tmp_path: Path, source: LocalSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "root"
    source.make_folder(b"folder")
    store(source, b"folder/a", b"1")
    synced = _Synced(monkeypatch)
    folder, file = (root / "folder").stat().st_ino, (root / "folder/a").stat().st_ino
    source.sync(b"folder/a")
    source.sync(b"folder")
    source.sync(b"")
    assert synced.steps == [file, folder, folder, root.stat().st_ino, root.stat().st_ino, root.stat().st_ino]
    with failing(errno.ENOENT):
        source.sync(b"none")


def test_what_is_being_written_is_not_listed(tmp_path: Path, source: LocalSource) -> None:
    (tmp_path / "root/.paddleflow-unfinished-0123").touch()
    assert names(source) == []


def test_what_somebody_left_who_died_keeps_no_folder(tmp_path: Path, source: LocalSource) -> None:
    for name in ("gone", "old", "new"):
        (tmp_path / "root" / name).mkdir()
        (tmp_path / "root" / name / ".paddleflow-unfinished-0123").touch()
    (tmp_path / "root/old/file").touch()
    source.remove_folder(b"gone")
    with failing(errno.ENOTEMPTY):
        source.remove_folder(b"old")
    source.rename(b"old", b"new")
    assert names(source) == [b"new"]
    assert names(source, b"new") == [b"file"]


def test_what_is_read_and_stored_passes_the_gates(tmp_path: Path) -> None:
    passed: dict[str, int] = {"read": 0, "write": 0}

    class Counting(Gate):
        def __init__(self, way: str) -> None:
            super().__init__()
            self._way = way

        def admit(self, size: int) -> None:
            passed[self._way] += size

    source = LocalSource(str(tmp_path), Gates(Counting("read"), Counting("write")))
    found = store(source, b"a", b"x" * 1000)
    source.read(b"a", found.version, 10, 100)
    source.close()
    assert passed == {"read": 100, "write": 1000}


def test_what_is_no_file_is_hidden_and_counted(tmp_path: Path, source: LocalSource) -> None:
    os.mkfifo(tmp_path / "root/pipe")
    assert [(page.listed, page.hidden) for page in source.list(b"")] == [([], (b"pipe",))]
    with failing(errno.ENOENT):
        source.find(b"pipe")


def test_two_who_list_at_once_see_all_of_it(source: LocalSource) -> None:
    for index in range(1500):
        store(source, b"%d" % index)
    first, second = source.list(b""), source.list(b"")
    seen = [len(next(first).listed), len(next(second).listed)]
    assert [seen[0] + sum(len(page.listed) for page in first), seen[1] + sum(len(page.listed) for page in second)] == [
        1500,
        1500,
    ]
