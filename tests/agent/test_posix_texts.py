# SPDX-License-Identifier: Apache-2.0
"""What names may be."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from tests.support.places import Place, Places, python
from tests.support.source_suite import failing


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


@pytest.mark.parametrize(
    "name",
    [b"n" * 255, b" ", b" two  spaces ", b"new\nline", b"tab\t", b"\\", b"%2F", b"*", "\u00e9".encode(), "e\u0301".encode(),
     "名前".encode(), "😀".encode() * 63, b"-rf", b"...", b".hidden", b"\x01\x7f", b"a:b", b"?x=1&y", b"'\"", b"#", b"A", b"a+b"],
)  # fmt: skip
def test_a_name_is_any_text(place: Place, name: bytes) -> None:
    path = os.path.join(os.fsencode(place.root), name)
    with open(path, "wb") as one:
        one.write(name)
    assert os.listdir(os.fsencode(place.root)) == [name]
    with open(path, "rb") as one:
        assert one.read() == name
    other = os.path.join(os.fsencode(place.root), b"other")
    os.rename(path, other)
    os.rename(other, path)
    os.unlink(path)
    os.mkdir(path)
    with open(path + b"/file", "wb") as one:
        one.write(b"below")
    assert os.listdir(path) == [b"file"]
    os.symlink(name, path + b"/link")
    assert os.readlink(path + b"/link") == name


def test_a_name_of_256_bytes_is_too_long_for_everything(place: Place) -> None:
    long = place.root / ("n" * 256)
    (place.root / "file").touch()
    for act in (long.stat, long.touch, long.mkdir, long.unlink, long.rmdir, lambda: long.symlink_to("a"),
                lambda: (place.root / "file").rename(long), lambda: long.rename(place.root / "a")):  # fmt: skip
        with failing(errno.ENAMETOOLONG):
            act()
    assert names(place.root) == ["file"]


def test_names_differ_by_case_and_form(place: Place) -> None:
    several = ["a", "A", "\u00e9", "e\u0301"]
    for name in several:
        (place.root / name).write_text(name, encoding="utf-8")
    assert names(place.root) == sorted(several)
    assert [(place.root / name).read_text(encoding="utf-8") for name in several] == several


@pytest.mark.parametrize("name", ["plain", "local", "local-without-passthrough"])
def test_a_name_of_a_folder_is_any_bytes(places: Places, name: str) -> None:
    place = places.take(name)
    path = os.path.join(os.fsencode(place.root), b"\xff\xfe")
    with open(path, "wb") as one:
        one.write(b"content")
    assert os.listdir(os.fsencode(place.root)) == [b"\xff\xfe"]


def test_who_removes_all_that_is_made_by_another(place: Place) -> None:
    """Names that one process made are another's at once."""
    code = "import sys, os; [open(f'{sys.argv[1]}/{i}', 'w').close() for i in range(20)]; os.mkdir(sys.argv[1] + '/x')"
    assert names(place.root) == []
    python(code, place.root)
    assert len(names(place.root)) == 21
    python("import sys, os, shutil; shutil.rmtree(sys.argv[1])", place.root)
    with failing(errno.ENOENT):
        place.root.stat()
