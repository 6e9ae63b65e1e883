# SPDX-License-Identifier: Apache-2.0
"""Files of several names, where the source has them [D-28]."""

from __future__ import annotations

import errno
import os
import subprocess
from pathlib import Path

import pytest

from tests.support.mounted import mounted
from tests.support.places import KINDS, Place, Places, file, opened
from tests.support.source_suite import failing

LARGE = 300 << 10


@pytest.fixture(params=[name for name, kind in KINDS.items() if kind.source in (None, "local")])
def linking(request: pytest.FixtureRequest, places: Places) -> Place:
    return places.take(request.param)


def is_one(*paths: Path) -> bool:
    return len({os.stat(path).st_ino for path in paths}) == 1 and {path.stat().st_nlink for path in paths} == {
        len(paths)
    }


@pytest.mark.parametrize("size", [0, 7, LARGE])
def test_a_file_has_several_names(linking: Place, size: int) -> None:
    one, two, three = (linking.root / name for name in ("one", "two", "three"))
    data = os.urandom(size)
    one.write_bytes(data)
    assert one.stat().st_nlink == 1
    os.link(one, two)
    assert is_one(one, two)
    os.link(two, three)
    assert is_one(one, two, three)
    assert two.read_bytes() == three.read_bytes() == data
    assert {entry.name: entry.inode() for entry in os.scandir(linking.root)}.keys() == {"one", "two", "three"}
    with file(one, os.O_RDONLY) as opened_by_it:
        one.unlink()
        assert is_one(two, three)
        assert os.fstat(opened_by_it).st_nlink == 2
    two.unlink()
    assert three.stat().st_nlink == 1
    assert three.read_bytes() == data
    assert os.listdir(linking.root) == ["three"]


def test_what_is_written_by_one_name_is_read_by_the_other(linking: Place) -> None:
    one, two = linking.root / "one", linking.root / "two"
    one.write_bytes(b"before")
    os.link(one, two)
    for turn in range(5):
        for path, other in ((one, two), (two, one)):
            data = os.urandom(turn * LARGE + 9)
            path.write_bytes(data)
            assert other.stat().st_size == len(data)
            assert other.read_bytes() == path.read_bytes() == data
            assert is_one(one, two)
    with file(two, os.O_WRONLY | os.O_APPEND) as handle:
        os.write(handle, b"more")
    assert one.read_bytes() == data + b"more"
    os.truncate(one, 5)
    assert two.read_bytes() == data[:5]
    one.chmod(0o640)
    os.utime(one, ns=(10**18, 10**18))
    assert two.stat().st_mode & 0o777 == 0o640
    assert two.stat().st_mtime_ns == 10**18


def test_what_has_the_time_and_size_of_before_is_another_all_the_same(linking: Place) -> None:
    one, two = linking.root / "one", linking.root / "two"
    one.write_bytes(b"before")
    os.link(one, two)
    os.utime(one, ns=(10**18, 10**18))
    assert two.read_bytes() == b"before"
    with file(one, os.O_WRONLY) as handle:
        os.write(handle, b"after!")
        os.utime(handle, ns=(10**18, 10**18))
    assert two.read_bytes() == b"after!"


def test_a_file_that_is_written_is_given_a_name(linking: Place) -> None:
    one, two = linking.root / "one", linking.root / "two"
    with file(one, os.O_RDWR | os.O_CREAT) as handle:
        os.write(handle, b"first")
        os.link(one, two)
        assert two.read_bytes() == b"first"
        os.write(handle, b" second")
    assert two.read_bytes() == one.read_bytes() == b"first second"
    assert is_one(one, two)


def test_what_was_written_by_a_name_that_goes_is_there_by_the_other(linking: Place) -> None:
    one, two, three = (linking.root / name for name in ("one", "two", "three"))
    one.write_bytes(b"before")
    os.link(one, two)
    with file(two, os.O_RDWR) as handle:
        os.write(handle, b"after!")
        two.unlink()
        assert os.pread(handle, 100, 0) == b"after!"
    assert one.read_bytes() == b"after!"
    assert one.stat().st_nlink == 1
    os.link(one, two)
    three.write_bytes(b"third")
    with file(two, os.O_RDWR) as handle:
        os.write(handle, b"AFTER!")
        three.rename(two)
    assert (one.read_bytes(), two.read_bytes()) == (b"AFTER!", b"third")


def test_a_name_replaces_no_other_of_the_same_file(linking: Place) -> None:
    """As POSIX has it: nothing happens."""
    one, two = linking.root / "one", linking.root / "two"
    one.write_bytes(b"content")
    os.link(one, two)
    one.rename(two)
    assert sorted(os.listdir(linking.root)) == ["one", "two"]
    assert one.read_bytes() == two.read_bytes() == b"content"
    assert is_one(one, two)
    two.rename(linking.root / "three")
    assert is_one(one, linking.root / "three")


def test_what_cannot_be_given_another_name(linking: Place) -> None:
    one, folder = linking.root / "one", linking.root / "folder"
    one.write_bytes(b"content")
    folder.mkdir()
    (linking.root / "link").symlink_to("one")
    with failing(errno.EEXIST):
        os.link(one, folder)
    with failing(errno.EEXIST):
        os.link(one, linking.root / "link")
    with failing(errno.EPERM):
        os.link(folder, linking.root / "other")
    with failing(errno.ENOENT):
        os.link(linking.root / "none", linking.root / "other")
    with failing(errno.ENOENT):
        os.link(one, linking.root / "none" / "other")
    with failing(errno.ENOTDIR):
        os.link(one, one / "other")
    with failing(errno.ENAMETOOLONG):
        os.link(one, linking.root / ("x" * 256))
    os.link(linking.root / "link", linking.root / "same", follow_symlinks=False)
    assert os.readlink(linking.root / "same") == "one"
    assert one.stat().st_nlink == 1


def test_tools_copy_and_count_it_once(linking: Place) -> None:
    (linking.root / "from").mkdir()
    one, two = linking.root / "from" / "one", linking.root / "from" / "two"
    one.write_bytes(os.urandom(LARGE))
    os.link(one, two)
    subprocess.run(["cp", "-a", linking.root / "from", linking.root / "to"], check=True)
    assert is_one(linking.root / "to" / "one", linking.root / "to" / "two")


def test_names_of_one_file_are_still_that_for_the_next_mount(tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
    with opened("local", tmp_path / "first") as (root, _mount):
        (root / "one").write_bytes(b"content")
        os.link(root / "one", root / "two")
        number = (root / "one").stat().st_ino
        source = tmp_path / "first" / "root"
        assert (source / "one").stat().st_nlink == 2
        (root / "two").write_bytes(b"other")
        assert (source / "one").read_bytes() == b"other"
    (source / "three").hardlink_to(source / "one")
    with mounted(tmp_path / "second", {"kind": "local", "root": str(source)}) as mount:
        assert is_one(*(mount.point / name for name in ("one", "two", "three")))
        assert (mount.point / "one").stat().st_ino == number
