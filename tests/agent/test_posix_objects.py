# SPDX-License-Identifier: Apache-2.0
"""Where a store of objects is no file system: what differs, and why that is right."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from tests.support.places import Place, file
from tests.support.source_suite import failing


def test_names_are_text(objects: Place) -> None:
    """Keys are UTF-8, so that a name that is none is refused, and not bent into another (section 7: names pass as bytes)."""
    bad = os.path.join(os.fsencode(objects.root), b"\xff\xfe")
    (objects.root / "file").write_bytes(b"content")
    for act in (
        lambda: os.open(bad, os.O_WRONLY | os.O_CREAT), lambda: os.open(bad, os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
        lambda: os.open(bad, os.O_WRONLY | os.O_CREAT | os.O_EXCL), lambda: os.mknod(bad), lambda: os.mkdir(bad),
        lambda: os.symlink("a", bad), lambda: os.rename(objects.root / "file", bad),
    ):  # fmt: skip
        with failing(errno.EILSEQ):
            act()
    new = objects.root / "open"  # the store does not know it yet
    with file(new, os.O_WRONLY | os.O_CREAT), failing(errno.EILSEQ):
        os.rename(new, bad)
    new.unlink()
    assert os.listdir(objects.root) == ["file"]
    assert (objects.root / "file").read_bytes() == b"content"


def test_a_folder_stays_when_its_last_file_goes(objects: Place) -> None:
    """D-50: the store knows no empty folder, so its last file leaves a marker."""
    folder = objects.root / "a" / "b"
    folder.mkdir(parents=True)
    (folder / "file").write_bytes(b"content")
    (folder / "file").unlink()
    assert os.listdir(folder) == []
    (folder / "moves").write_bytes(b"content")
    (folder / "moves").rename(objects.root / "moved")
    assert os.listdir(folder) == []
    folder.rmdir()
    assert os.listdir(objects.root / "a") == []


def test_a_folder_does_not_change_with_what_is_made_in_it(forgetful: Place) -> None:
    """Section 11.1: a store keeps no times of folders; constant ones are what tar can live with."""
    folder = forgetful.root / "folder"
    folder.mkdir()
    before = folder.stat()
    (folder / "file").write_bytes(b"content")
    (folder / "file").rename(folder / "other")
    (folder / "other").unlink()
    after = folder.stat()
    assert (after.st_mtime_ns, after.st_ctime_ns, after.st_size) == (before.st_mtime_ns, before.st_ctime_ns, 4096)


def test_a_link_is_kept_as_an_empty_object(objects: Place) -> None:
    """D-29: and is one for who lists, though an empty file looks the same there."""
    for index in range(20):
        (objects.root / f"link{index}").symlink_to(f"nothing{index}")
        (objects.root / f"file{index}").touch()
    kinds = {entry.name: entry.is_symlink() for entry in os.scandir(objects.root)}
    assert kinds == {f"{what}{index}": what == "link" for index in range(20) for what in ("link", "file")}
    assert os.readlink(objects.root / "link7") == "nothing7"


def test_one_who_has_a_file_open_goes_on_when_it_is_copied_to_its_new_name(objects: Place) -> None:
    """D-51: open handles follow the new name, though a rename is a copy, of another version."""
    paths: list[Path] = [objects.root / name for name in ("old", "new", "newer")]
    data = os.urandom(3 << 20)
    paths[0].write_bytes(data)
    with file(paths[0], os.O_RDONLY) as one, file(paths[0], os.O_RDWR) as other:
        assert os.pread(one, 10, 0) == data[:10]
        paths[0].rename(paths[1])
        assert os.pread(one, 10, 1 << 20) == data[1 << 20 :][:10]
        paths[1].rename(paths[2])
        os.pwrite(other, b"changed", 2 << 20)
        assert os.pread(one, 7, 2 << 20) == b"changed"
    assert paths[2].read_bytes() == data[: 2 << 20] + b"changed" + data[(2 << 20) + 7 :]
    assert os.listdir(objects.root) == ["newer"]
