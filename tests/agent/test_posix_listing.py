# SPDX-License-Identifier: Apache-2.0
"""What listing folders does."""

from __future__ import annotations

import ctypes
import errno
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.places import KINDS, Place, Places, file, python
from tests.support.source_suite import failing

_LIBC = ctypes.CDLL(None, use_errno=True)


class Dirent(ctypes.Structure):
    _fields_ = (
        ("number", ctypes.c_uint64), ("offset", ctypes.c_int64), ("length", ctypes.c_uint16),
        ("kind", ctypes.c_uint8), ("name", ctypes.c_char * 256),
    )  # fmt: skip


_LIBC.opendir.restype = _LIBC.fdopendir.restype = ctypes.c_void_p
_LIBC.opendir.argtypes = (ctypes.c_char_p,)
_LIBC.readdir.restype = ctypes.POINTER(Dirent)
_LIBC.telldir.restype = ctypes.c_long
_LIBC.seekdir.argtypes = (ctypes.c_void_p, ctypes.c_long)
for _call in (_LIBC.readdir, _LIBC.telldir, _LIBC.rewinddir, _LIBC.closedir):
    _call.argtypes = (ctypes.c_void_p,)


class Listing:
    """As C reads it, name by name."""

    def __init__(self, pointer: int) -> None:
        self._pointer = pointer

    def next(self) -> str | None:
        found = _LIBC.readdir(self._pointer)
        return os.fsdecode(found.contents.name) if found else None

    def rest(self) -> list[str]:
        return list(iter(self.next, None))

    def tell(self) -> int:
        place: int = _LIBC.telldir(self._pointer)
        return place

    def seek(self, place: int) -> None:
        _LIBC.seekdir(self._pointer, place)

    def rewind(self) -> None:
        _LIBC.rewinddir(self._pointer)


@contextmanager
def listing(folder: Path) -> Iterator[Listing]:
    pointer = _LIBC.opendir(os.fsencode(folder))
    assert pointer, os.strerror(ctypes.get_errno())
    try:
        yield Listing(pointer)
    finally:
        _LIBC.closedir(pointer)


def fill(folder: Path, count: int, prefix: str = "") -> list[str]:
    """Names as of a data set, made without a file each where that takes long."""
    names = [f"{prefix}{index:05}" for index in range(count)]
    for name in names:
        os.mknod(folder / name)
    return names


def made_below(place: Place, count: int) -> tuple[Path, list[str]]:
    """A folder that was made behind the mount's back, as most that are listed were."""
    assert place.mount
    below = place.mount.point.parent / "root" / f"{place.root.name} below"
    below.mkdir()
    names = [f"{index:05}" for index in range(count)]
    for name in names:
        (below / name).touch()
    return place.mount.point / below.name, names


@pytest.mark.parametrize("count", [0, 1, 300])
def test_every_name_is_listed_once(place: Place, count: int) -> None:
    names = fill(place.root, count)
    assert sorted(os.listdir(place.root)) == names
    with listing(place.root) as one:
        found = one.rest()
    assert sorted(found) == sorted([".", "..", *names])


@pytest.mark.parametrize("name", ["local", "local-without-passthrough"])
@pytest.mark.parametrize("count", [0, 1, 999, 1000, 1001, 5000])
def test_every_name_that_was_there_before_is_listed_once(places: Places, name: str, count: int) -> None:
    folder, names = made_below(places.take(name), count)
    with listing(folder) as one:
        assert sorted(one.rest()) == sorted([".", "..", *names])
    assert sorted(os.listdir(folder)) == names
    assert sum(one.is_file() for one in os.scandir(folder)) == count
    assert python("import os, sys; print(len(os.listdir(sys.argv[1])))", folder) == str(count)


def test_what_is_not_a_folder_is_not_listed(place: Place) -> None:
    (place.root / "file").touch()
    with failing(errno.ENOTDIR):
        os.listdir(place.root / "file")
    with failing(errno.ENOENT):
        os.listdir(place.root / "none")


def test_kinds_are_told(place: Place) -> None:
    (place.root / "file").write_bytes(b"content")
    (place.root / "empty").touch()
    (place.root / "folder").mkdir()
    (place.root / "link").symlink_to("folder")
    with file(place.root / "written", os.O_WRONLY | os.O_CREAT) as one:
        os.write(one, b"content")
        found = {
            entry.name: (entry.is_file(follow_symlinks=False), entry.is_dir(follow_symlinks=False), entry.is_symlink())
            for entry in os.scandir(place.root)
        }
        sizes = {entry.name: entry.stat().st_size for entry in os.scandir(place.root) if entry.is_file()}
    a_file, a_folder, a_link = (True, False, False), (False, True, False), (False, False, True)
    assert found == {"file": a_file, "empty": a_file, "written": a_file, "folder": a_folder, "link": a_link}
    assert sizes == {"file": 7, "empty": 0, "written": 7}


@pytest.mark.parametrize("count", [10, 600])
def test_a_place_in_a_listing_is_found_again(place: Place, count: int) -> None:
    fill(place.root, count)
    with listing(place.root) as one:
        whole = one.rest()
        one.rewind()
        places = []
        for name in whole:
            places.append(one.tell())
            assert one.next() == name
        for index in (0, 1, 2, count // 2, count, count + 1, 3):
            one.seek(places[index])
            assert one.rest() == whole[index:]


def test_what_stays_is_listed_once_whatever_comes_and_goes(place: Place) -> None:
    stays, goes = fill(place.root, 300, "stays"), fill(place.root, 300, "goes")
    with listing(place.root) as one:
        found = [one.next() for _index in range(100)]
        for index, name in enumerate(goes):
            os.unlink(place.root / name)
            os.mknod(place.root / f"new{index}")
        found += one.rest()
    assert sorted(name for name in found if name and name.startswith("stays")) == stays
    assert len(found) == len(set(found))
    assert sorted(os.listdir(place.root)) == sorted([*stays, *(f"new{index}" for index in range(300))])


def test_all_is_removed_while_it_is_listed(place: Place) -> None:
    """As ``rm -r`` and ``find -delete`` do."""
    fill(place.root, 600)
    with os.scandir(place.root) as entries:
        for entry in entries:
            os.unlink(entry)
    assert os.listdir(place.root) == []
    place.root.rmdir()


def test_names_that_others_make_meanwhile_do_not_hide_those_that_stay(place: Place) -> None:
    stays = fill(place.root, 300, "stays")
    stop = threading.Event()

    def churn() -> None:
        while not stop.is_set():
            for index in range(20):
                (place.root / f"other{index}").write_bytes(b"x")
            for index in range(20):
                (place.root / f"other{index}").unlink()

    thread = threading.Thread(target=churn)
    thread.start()
    try:
        for _turn in range(20):
            found = os.listdir(place.root)
            assert sorted(name for name in found if name.startswith("stays")) == stays
            assert len(found) == len(set(found))
    finally:
        stop.set()
        thread.join()
    assert sorted(os.listdir(place.root)) == stays


def test_a_rewound_listing_is_a_new_one(place: Place) -> None:
    fill(place.root, 5)
    with listing(place.root) as one:
        one.rest()
        os.mknod(place.root / "new")
        (place.root / "00000").unlink()
        one.rewind()
        assert sorted(one.rest()) == [".", "..", "00001", "00002", "00003", "00004", "new"]


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("plain", 2000),
        ("memory", 2000),
        ("local", 500),
        *((name, 300) for name in KINDS if "without" in name),
        ("persist", 300),
    ],
)
def test_thousands_of_small_files_are_made_listed_read_and_removed(places: Places, name: str, count: int) -> None:
    root = places.take(name).root
    names = [f"{index:05}" for index in range(count)]
    for one in names:
        (root / one).write_bytes(one.encode() * 50)
    assert sorted(os.listdir(root)) == names
    assert sum(entry.stat().st_size for entry in os.scandir(root)) == count * 250
    assert all((root / one).read_bytes() == one.encode() * 50 for one in names)
    for one in names:
        (root / one).unlink()
    assert os.listdir(root) == []
