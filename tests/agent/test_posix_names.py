# SPDX-License-Identifier: Apache-2.0
"""What making, removing and renaming do."""

from __future__ import annotations

import ctypes
import errno
import os
import socket
import stat
from pathlib import Path

import pytest

from tests.support.places import Place, file
from tests.support.source_suite import failing

_LIBC = ctypes.CDLL(None, use_errno=True)
NOREPLACE, EXCHANGE = 1, 2
_HERE = -100
LARGE = 300 << 10
HUGE = 2 << 20  # more than is fetched at once


def rename(old: Path, new: Path, flags: int) -> None:
    """With what Python's own has no word for."""
    if _LIBC.renameat2(_HERE, os.fsencode(old), _HERE, os.fsencode(new), flags):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), str(old))


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


# --- folders ------------------------------------------------------------------------------------


def test_a_folder_is_made_once_and_removed_when_it_is_empty(place: Place) -> None:
    folder = place.root / "folder"
    folder.mkdir()
    assert stat.S_ISDIR(folder.lstat().st_mode)
    with failing(errno.EEXIST):
        folder.mkdir()
    (folder / "file").touch()
    with failing(errno.ENOTEMPTY):
        folder.rmdir()
    (folder / "file").unlink()
    (folder / "below").mkdir()
    with failing(errno.ENOTEMPTY):
        folder.rmdir()
    (folder / "below").rmdir()
    folder.rmdir()
    with failing(errno.ENOENT):
        folder.lstat()
    assert names(place.root) == []


def test_a_folder_is_made_only_below_a_folder(place: Place) -> None:
    (place.root / "file").touch()
    (place.root / "link").symlink_to("nothing")
    for there in ("file", "link"):
        with failing(errno.EEXIST):
            (place.root / there).mkdir()
    with failing(errno.ENOTDIR):
        (place.root / "file" / "folder").mkdir()
    with failing(errno.ENOENT):
        (place.root / "none" / "folder").mkdir()
    with failing(errno.ENOTDIR):
        (place.root / "file").rmdir()
    with failing(errno.ENOTDIR):
        (place.root / "link").rmdir()
    with failing(errno.ENOENT):
        (place.root / "none").rmdir()
    with failing(errno.EINVAL):
        os.rmdir(f"{place.root}/.")


def test_a_tree_is_made_and_removed(place: Place) -> None:
    deep = place.root.joinpath(*"abcdefghij")
    deep.mkdir(parents=True)
    (deep / "file").write_bytes(b"deep")
    assert (deep / "file").read_bytes() == b"deep"
    for folder in (deep, *deep.parents[:9]):
        with failing(errno.ENOTEMPTY):
            folder.rmdir()
    (deep / "file").unlink()
    for folder in (deep, *deep.parents[:9]):
        folder.rmdir()
    assert names(place.root) == []


def test_a_folder_that_is_removed_while_it_is_open_holds_nothing(place: Place) -> None:
    folder = place.root / "folder"
    folder.mkdir()
    with file(folder, os.O_RDONLY | os.O_DIRECTORY) as one:
        folder.rmdir()
        assert stat.S_ISDIR(os.fstat(one).st_mode)
        with failing(errno.ENOENT):
            os.open("file", os.O_WRONLY | os.O_CREAT, dir_fd=one)


# --- unlink -------------------------------------------------------------------------------------


def test_unlink_takes_files_and_links_only(place: Place) -> None:
    (place.root / "file").touch()
    (place.root / "folder").mkdir()
    (place.root / "link").symlink_to("folder")
    with failing(errno.EISDIR):
        (place.root / "folder").unlink()
    with failing(errno.ENOENT):
        (place.root / "none").unlink()
    with failing(errno.ENOTDIR):
        (place.root / "file" / "below").unlink()
    (place.root / "link").unlink()
    (place.root / "file").unlink()
    assert names(place.root) == ["folder"]


@pytest.mark.parametrize("size", [10, LARGE])
def test_who_reads_a_file_reads_on_when_it_is_removed(place: Place, size: int) -> None:
    path, data = place.root / "file", os.urandom(size)
    path.write_bytes(data)
    with file(path, os.O_RDONLY) as one:
        assert os.pread(one, 5, 0) == data[:5]
        path.unlink()
        with failing(errno.ENOENT):
            path.stat()
        assert os.pread(one, 2 * size, 0) == data
        status = os.fstat(one)
        assert (status.st_size, status.st_nlink) == (size, 0)
        path.write_bytes(b"another")
        assert os.pread(one, 2 * size, 0) == data
    assert path.read_bytes() == b"another"


@pytest.mark.parametrize("size", [5000, 3 << 20])
def test_who_reads_a_file_reads_on_when_a_folder_above_it_is_renamed(place: Place, size: int) -> None:
    """D-51. Also what was not read before: a copy may have another version."""
    root, data = place.root, os.urandom(size)
    (root / "above" / "folder").mkdir(parents=True)
    path = root / "above" / "folder" / "file"
    path.write_bytes(data)
    with file(path, os.O_RDONLY) as one:
        (root / "above").rename(root / "other")
        assert os.pread(one, size + 1, 0) == data
        (root / "other").rename(root / "above")
        assert os.pread(one, size + 1, size // 2) == data[size // 2 :]
    assert path.read_bytes() == data


@pytest.mark.parametrize("before", [None, b"before", b"b" * LARGE, b"b" * HUGE])
@pytest.mark.parametrize("way", ["unlink", "rename"])
def test_who_writes_a_file_writes_on_when_it_is_removed_or_replaced(
    place: Place, before: bytes | None, way: str
) -> None:
    path, other = place.root / "file", place.root / "other"
    if before is not None:
        path.write_bytes(before)
    other.write_bytes(b"other")
    with file(path, os.O_RDWR | os.O_CREAT) as one:
        os.pwrite(one, b"first", 0)
        if way == "rename":
            other.rename(path)
            assert path.read_bytes() == b"other"
            other = path
        else:
            path.unlink()
        os.pwrite(one, b"second", 5)
        expected = b"firstsecond" + (before or b"")[11:]
        assert os.pread(one, 2 * HUGE, 0) == expected
        os.ftruncate(one, 8)
        assert os.fstat(one).st_size == 8
        os.fsync(one)
        assert names(place.root) == [other.name]
    assert names(place.root) == [other.name]
    assert other.read_bytes() == b"other"


def test_a_name_is_used_again_while_what_it_meant_is_written(place: Place) -> None:
    path = place.root / "file"
    with file(path, os.O_RDWR | os.O_CREAT) as one:
        os.write(one, b"old")
        path.unlink()
        path.write_bytes(b"new")
        os.write(one, b"older")
        assert os.pread(one, 100, 0) == b"oldolder"
    assert path.read_bytes() == b"new"


# --- rename -------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 10, LARGE])
def test_a_file_is_renamed(place: Place, size: int) -> None:
    data = os.urandom(size)
    (place.root / "old").write_bytes(data)
    (place.root / "folder").mkdir()
    (place.root / "old").rename(place.root / "new")
    assert names(place.root) == ["folder", "new"]
    (place.root / "new").rename(place.root / "folder" / "newer")
    assert names(place.root) == ["folder"]
    assert (place.root / "folder" / "newer").read_bytes() == data
    with failing(errno.ENOENT):
        (place.root / "old").rename(place.root / "other")
    with failing(errno.ENOENT):
        (place.root / "folder").rename(place.root / "none" / "folder")


def test_a_file_replaces_a_file_and_nothing_else(place: Place) -> None:
    for name in ("a", "b"):
        (place.root / name).write_bytes(name.encode())
    (place.root / "folder").mkdir()
    (place.root / "link").symlink_to("b")
    (place.root / "a").rename(place.root / "b")
    assert (place.root / "b").read_bytes() == b"a"
    with failing(errno.EISDIR):
        (place.root / "b").rename(place.root / "folder")
    with failing(errno.ENOTDIR):
        (place.root / "b").rename(place.root / "b" / "c")
    (place.root / "b").rename(place.root / "link")
    assert names(place.root) == ["folder", "link"]
    assert not (place.root / "link").is_symlink()
    assert (place.root / "link").read_bytes() == b"a"


def test_a_name_that_is_renamed_to_itself_stays(place: Place) -> None:
    (place.root / "a").write_bytes(b"a")
    (place.root / "a").rename(place.root / "a")
    (place.root / "folder").mkdir()
    (place.root / "folder").rename(place.root / "folder")
    assert (place.root / "a").read_bytes() == b"a"
    assert names(place.root) == ["a", "folder"]


def test_a_folder_replaces_an_empty_folder_and_nothing_else(place: Place) -> None:
    for name in ("old", "empty", "full"):
        (place.root / name).mkdir()
    for path in ("old/a", "old/b", "full/c", "file"):
        (place.root / path).write_bytes(path.encode())
    (place.root / "old" / "below").mkdir()
    with failing(errno.ENOTDIR):
        (place.root / "old").rename(place.root / "file")
    with failing(errno.ENOTEMPTY):
        (place.root / "old").rename(place.root / "full")
    with failing(errno.EINVAL):
        (place.root / "old").rename(place.root / "old" / "below" / "old")
    with failing(errno.ENOTEMPTY):
        (place.root / "old" / "below").rename(place.root / "old")
    (place.root / "old").rename(place.root / "empty")
    assert names(place.root) == ["empty", "file", "full"]
    (place.root / "empty").rename(place.root / "new")
    assert names(place.root / "new") == ["a", "b", "below"]
    assert (place.root / "new" / "b").read_bytes() == b"old/b"
    with failing(errno.ENOENT):
        (place.root / "old" / "a").stat()


def test_who_reads_a_file_reads_on_when_another_replaces_it(place: Place) -> None:
    path, data = place.root / "file", os.urandom(LARGE)
    path.write_bytes(data)
    (place.root / "other").write_bytes(b"other")
    with file(path, os.O_RDONLY) as one:
        assert os.pread(one, 5, 0) == data[:5]
        (place.root / "other").rename(path)
        assert os.pread(one, LARGE, 0) == data
        assert os.fstat(one).st_size == LARGE
        assert path.read_bytes() == b"other"


def test_who_reads_a_file_reads_on_when_it_is_renamed(place: Place) -> None:
    path, data = place.root / "file", os.urandom(LARGE)
    path.write_bytes(data)
    with file(path, os.O_RDONLY) as one:
        assert os.pread(one, 5, 0) == data[:5]
        path.rename(place.root / "new")
        assert os.pread(one, LARGE, 0) == data
        path.write_bytes(b"another")
        assert os.pread(one, LARGE, 0) == data
    assert (place.root / "new").read_bytes() == data


@pytest.mark.parametrize("before", [None, b"before", b"b" * LARGE])
def test_who_writes_a_file_writes_on_when_it_is_renamed(place: Place, before: bytes | None) -> None:
    old, new = place.root / "old", place.root / "new"
    if before is not None:
        old.write_bytes(before)
    with file(old, os.O_RDWR | os.O_CREAT) as one:
        os.pwrite(one, b"first", 0)
        old.rename(new)
        os.pwrite(one, b"second", 5)
        expected = b"firstsecond" + (before or b"")[11:]
        assert os.pread(one, LARGE, 0) == expected
        assert new.read_bytes() == expected
        assert names(place.root) == ["new"]
    assert names(place.root) == ["new"]
    assert new.read_bytes() == expected


@pytest.mark.parametrize("before", [None, b"before"])
def test_what_is_written_replaces_another_file(place: Place, before: bytes | None) -> None:
    """As who saves a file does, before it is closed."""
    unfinished, path = place.root / "unfinished", place.root / "file"
    if before is not None:
        path.write_bytes(before)
    with file(unfinished, os.O_WRONLY | os.O_CREAT) as one:
        os.write(one, b"content")
        unfinished.rename(path)
        assert path.read_bytes() == b"content"
        os.write(one, b" and more")
    assert path.read_bytes() == b"content and more"
    assert names(place.root) == ["file"]


@pytest.mark.parametrize("stored", [False, True])
def test_a_folder_is_renamed_while_files_in_it_are_written(place: Place, stored: bool) -> None:
    folder = place.root / "old"
    (folder / "below").mkdir(parents=True)
    path = folder / "below" / "file"
    if stored:
        path.write_bytes(b"before")
    with file(path, os.O_RDWR | os.O_CREAT) as one:
        os.pwrite(one, b"first", 0)
        folder.rename(place.root / "new")
        os.pwrite(one, b"second", 5)
        assert (place.root / "new" / "below" / "file").read_bytes() == b"firstsecond"
        with failing(errno.ENOENT):
            path.stat()
    assert names(place.root) == ["new"]
    assert (place.root / "new" / "below" / "file").read_bytes() == b"firstsecond"
    (place.root / "new" / "below" / "file").unlink()
    (place.root / "new" / "below").rmdir()
    (place.root / "new").rmdir()


def test_a_folder_with_a_file_that_is_written_is_not_empty(place: Place) -> None:
    folder, other = place.root / "folder", place.root / "other"
    folder.mkdir()
    other.mkdir()
    with file(folder / "file", os.O_WRONLY | os.O_CREAT) as one:
        os.write(one, b"content")
        with failing(errno.ENOTEMPTY):
            folder.rmdir()
        with failing(errno.ENOTEMPTY):
            other.rename(folder)
        assert names(folder) == ["file"]
        (folder / "file").unlink()
        folder.rmdir()
    assert names(place.root) == ["other"]


def test_a_new_name_replaces_nothing_on_demand(place: Place) -> None:
    for name in ("a", "b"):
        (place.root / name).write_bytes(name.encode())
    with failing(errno.EEXIST):
        rename(place.root / "a", place.root / "b", NOREPLACE)
    rename(place.root / "a", place.root / "c", NOREPLACE)
    assert names(place.root) == ["b", "c"]
    assert (place.root / "b").read_bytes() == b"b"
    with file(place.root / "d", os.O_WRONLY | os.O_CREAT), failing(errno.EEXIST):
        rename(place.root / "b", place.root / "d", NOREPLACE)


def test_a_link_is_renamed_and_not_what_it_leads_to(place: Place) -> None:
    (place.root / "file").write_bytes(b"content")
    (place.root / "link").symlink_to("file")
    (place.root / "link").rename(place.root / "new")
    assert names(place.root) == ["file", "new"]
    assert os.readlink(place.root / "new") == "file"
    assert (place.root / "new").read_bytes() == b"content"


# --- links and others ---------------------------------------------------------------------------


TARGETS = ["a", "../x/y", "/", "nö\n", "t" * 255, "u/" * 450]
# Longer than what a store keeps with an object.
LONG_TARGETS = ["/".join(["u" * 255] * 15), "v/" * 2047 + "w"]


@pytest.mark.parametrize("target", [*TARGETS, *LONG_TARGETS])
def test_a_link_leads_where_it_was_told_to(place: Place, target: str) -> None:
    link = place.root / "link"
    if target in LONG_TARGETS and place.kind.source == "memory":
        with failing(errno.ENAMETOOLONG):
            link.symlink_to(target)
        return
    link.symlink_to(target)
    assert os.readlink(link) == target
    assert link.lstat().st_size == len(target.encode())
    assert stat.S_ISLNK(link.lstat().st_mode)
    assert [one.is_symlink() for one in os.scandir(place.root)] == [True]
    with failing(errno.EEXIST):
        link.symlink_to("other")


def test_what_no_link_can_be(place: Place) -> None:
    with failing(errno.ENAMETOOLONG):
        os.symlink("t" * 4096, place.root / "link")
    with failing(errno.ENOENT):
        os.symlink("", place.root / "link")
    (place.root / "file").touch()
    with failing(errno.EINVAL):
        os.readlink(place.root / "file")
    with failing(errno.EINVAL):
        os.readlink(place.root)


def test_files_and_folders_are_reached_by_links(place: Place) -> None:
    (place.root / "folder").mkdir()
    (place.root / "folder" / "file").write_bytes(b"content")
    (place.root / "to folder").symlink_to("folder")
    (place.root / "to file").symlink_to("to folder/file")
    (place.root / "nowhere").symlink_to("none")
    (place.root / "loop").symlink_to("loop")
    assert (place.root / "to file").read_bytes() == b"content"
    assert (place.root / "to file").stat().st_size == 7
    (place.root / "to file").write_bytes(b"changed")
    assert (place.root / "folder" / "file").read_bytes() == b"changed"
    assert names(place.root / "to folder") == ["file"]
    with failing(errno.ENOENT):
        (place.root / "nowhere").stat()
    with failing(errno.ELOOP):
        (place.root / "loop").stat()


def test_an_ordinary_file_is_made_as_a_node(place: Place) -> None:
    path = place.root / "file"
    os.mknod(path, stat.S_IFREG | 0o600)
    assert path.read_bytes() == b""
    with failing(errno.EEXIST):
        os.mknod(path, stat.S_IFREG | 0o600)


def test_pipes_devices_and_sockets_are_refused_and_leave_nothing(ours: Place) -> None:
    """Section 7 of the behaviour we follow: EPERM, and no name that is left over."""
    with failing(errno.EPERM):
        os.mkfifo(ours.root / "pipe")
    with failing(errno.EPERM):
        os.mknod(ours.root / "device", stat.S_IFCHR | 0o600, os.makedev(1, 3))
    with socket.socket(socket.AF_UNIX) as one, failing(errno.EPERM):
        os.chdir(ours.root)
        try:
            one.bind("socket")
        finally:
            os.chdir("/")
    assert names(ours.root) == []


def test_a_file_has_one_name(objects: Place) -> None:
    """D-28: hard links are EPERM."""
    (objects.root / "file").write_bytes(b"content")
    with failing(errno.EPERM):
        os.link(objects.root / "file", objects.root / "other")
    assert names(objects.root) == ["file"]
    assert (objects.root / "file").stat().st_nlink == 1


def test_names_are_not_exchanged(ours: Place) -> None:
    """D-51: EINVAL."""
    for name in ("a", "b"):
        (ours.root / name).write_bytes(name.encode())
    with failing(errno.EINVAL):
        rename(ours.root / "a", ours.root / "b", EXCHANGE)
    assert [(ours.root / name).read_bytes() for name in "ab"] == [b"a", b"b"]
