# SPDX-License-Identifier: Apache-2.0
"""Owners, modes, times and what else is told of files."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.faulty_source import Faults
from tests.support.places import Place, Places, file, make, opened, python, python_as
from tests.support.source_suite import failing

SECOND = 10**9
THEN = 1_500_000_000 * SECOND + 123_456_789
USER, GROUP = 4711, 4712
LARGE = 300 << 10
ACCESS = "print([os.access(one, mode) for one in sys.argv[1:] for mode in (4, 2, 1)])"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


# --- modes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_mode_is_kept(keeper: Place, what: str) -> None:
    path = make(keeper.root, what)
    for wanted in (0o700, 0o000, 0o444, 0o1777, 0o2755, 0o755):
        path.chmod(wanted)
        assert mode(path) == wanted
    if what == "file":
        assert path.read_bytes() == b"content"


def test_a_mode_is_asked_for_at_the_beginning(keeper: Place) -> None:
    before = os.umask(0o027)
    try:
        with file(keeper.root / "file", os.O_WRONLY | os.O_CREAT, 0o777):
            assert mode(keeper.root / "file") == 0o750
        (keeper.root / "folder").mkdir(0o777)
        os.mknod(keeper.root / "node", 0o666)
        with file(keeper.root / "locked", os.O_RDWR | os.O_CREAT, 0o000) as one:
            os.write(one, b"content")
    finally:
        os.umask(before)
    assert [mode(keeper.root / name) for name in ("file", "folder", "node", "locked")] == [0o750, 0o750, 0o640, 0]


@pytest.mark.parametrize("stored", [True, False])
def test_a_mode_of_a_file_that_is_written_is_kept(keeper: Place, stored: bool) -> None:
    path = keeper.root / "file"
    if stored:
        path.write_bytes(b"before")
    with file(path, os.O_RDWR | os.O_CREAT) as one:
        os.write(one, b"content")
        os.fchmod(one, 0o640)
        assert mode(path) == 0o640
        os.fsync(one)
        assert mode(path) == 0o640
        os.fchmod(one, 0o604)
        os.fchown(one, USER, GROUP)
    status = path.stat()
    assert (stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid) == (0o604, USER, GROUP)
    assert path.read_bytes() == b"content"


def test_a_mode_stays_when_a_file_is_written_again(keeper: Place) -> None:
    path = keeper.root / "file"
    path.write_bytes(b"before")
    path.chmod(0o751)
    os.chown(path, USER, GROUP)
    for flags in (os.O_WRONLY, os.O_WRONLY | os.O_APPEND, os.O_WRONLY | os.O_TRUNC):
        with file(path, flags) as one:
            os.write(one, b"after")
        status = path.stat()
        assert (stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid) == (0o751, USER, GROUP), flags
    os.truncate(path, 3)
    assert (mode(path), path.stat().st_uid) == (0o751, USER)


def test_the_bits_that_lend_rights_go_when_another_writes(keeper: Place) -> None:
    """Section 13: setuid and setgid are cleared by a write."""
    keeper.root.chmod(0o777)
    for act in ("os.write(os.open(p, os.O_WRONLY), b'x')", "os.truncate(p, 2)", "os.open(p, os.O_WRONLY | os.O_TRUNC)",
                "os.posix_fallocate(os.open(p, os.O_WRONLY), 0, 100)"):  # fmt: skip
        path = keeper.root / "file"
        path.write_bytes(b"before")
        path.chmod(0o6777)
        os.chown(path, USER, USER)
        path.chmod(0o6777)
        python_as(USER, keeper.root, f"p = 'file'; {act}")
        assert mode(path) == 0o777, act
    path.chmod(0o6767)
    os.chown(path, USER, USER)
    path.chmod(0o6767)
    python_as(USER, keeper.root, "os.open('file', os.O_WRONLY | os.O_TRUNC)")
    assert mode(path) == 0o2767  # of a group that may not execute it says something else


def test_access_is_by_modes(keeper: Place) -> None:
    """The kernel says it by itself: it never asks us."""
    keeper.root.chmod(0o755)
    path = keeper.root / "file"
    path.touch()
    path.chmod(0o604)
    may = "print([os.access('file', way) for way in (os.F_OK, os.R_OK, os.W_OK, os.X_OK)], os.access('.', os.W_OK))"
    assert python_as(USER, keeper.root, may) == "[True, True, False, False] False"


# --- owners -------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["file", "folder"])
def test_an_owner_is_kept_and_each_half_alone(keeper: Place, what: str) -> None:
    path = make(keeper.root, what)
    os.chown(path, USER, -1)
    assert (path.stat().st_uid, path.stat().st_gid) == (USER, 0)
    os.chown(path, -1, GROUP)
    assert (path.stat().st_uid, path.stat().st_gid) == (USER, GROUP)
    os.chown(path, -1, -1)
    assert (path.stat().st_uid, path.stat().st_gid) == (USER, GROUP)


def test_who_makes_it_owns_it(keeper: Place) -> None:
    keeper.root.chmod(0o777)
    python_as(USER, keeper.root, "open('file', 'w').write('x'); os.mkdir('folder')")
    for name in ("file", "folder"):
        status = (keeper.root / name).lstat()
        assert (status.st_uid, status.st_gid) == (USER, USER), name


def test_what_is_made_in_a_folder_of_a_group_is_the_groups(keeper: Place) -> None:
    os.chown(keeper.root, 0, GROUP)
    keeper.root.chmod(0o2777)
    python_as(
        USER,
        keeper.root,
        "open('file', 'w').write('x'); os.mkdir('folder', 0o750); open('folder/file', 'w').write('x')",
    )
    for name in ("file", "folder", "folder/file"):
        status = (keeper.root / name).lstat()
        assert (status.st_uid, status.st_gid) == (USER, GROUP), name
    assert mode(keeper.root / "folder") == 0o2750


def test_only_who_may_reads_writes_and_removes(keeper: Place) -> None:
    keeper.root.chmod(0o755)
    secret, shared, private = (keeper.root / name for name in ("secret", "shared", "private"))
    secret.write_bytes(b"secret")
    secret.chmod(0o600)
    shared.write_bytes(b"shared")
    os.chown(shared, USER, GROUP)
    shared.chmod(0o640)
    private.mkdir(0o700)
    expected = [*[False] * 3, True, True, False, *[False] * 3]
    assert python_as(USER, keeper.root, ACCESS, "secret", "shared", "private") == str(expected)
    assert python_as(USER + 9, keeper.root, ACCESS, "shared", groups=(GROUP,)) == "[True, False, False]"
    tried = "try: {}\nexcept OSError as error: print(error.errno)"
    for act in (
        "open(sys.argv[1])", "open(sys.argv[1], 'a')", "os.unlink(sys.argv[1])", "os.chmod(sys.argv[1], 0o666)",
        "open(sys.argv[1] + '.new', 'w')", "os.rename(sys.argv[1], sys.argv[1] + '.new')",
    ):  # fmt: skip
        assert python_as(USER, keeper.root, tried.format(act), "secret") in (str(errno.EACCES), str(errno.EPERM)), act
    assert secret.read_bytes() == b"secret"


def test_in_a_sticky_folder_only_the_owner_removes(keeper: Place) -> None:
    keeper.root.chmod(0o1777)
    (keeper.root / "file").write_bytes(b"content")
    tried = "try: os.unlink('file')\nexcept OSError as error: print(error.errno)"
    assert python_as(USER, keeper.root, tried) == str(errno.EPERM)
    os.chown(keeper.root / "file", USER, USER)
    assert python_as(USER, keeper.root, tried) == ""


# --- times --------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["file", "folder"])
def test_times_are_set(keeper: Place, what: str) -> None:
    path = make(keeper.root, what)
    for moment in (THEN, 0, 1, 2**31 * SECOND, THEN + 1):
        os.utime(path, ns=(moment + SECOND, moment))
        assert path.stat().st_mtime_ns == moment


def test_a_time_before_the_epoch_is_set(keeper: Place) -> None:
    path = make(keeper.root, "file")
    os.utime(path, ns=(-5 * SECOND, -5 * SECOND))
    assert path.stat().st_mtime_ns == -5 * SECOND


def test_a_time_that_is_set_while_a_file_is_written_is_kept(keeper: Place) -> None:
    """As ``cp -p`` and ``tar`` do, before they close it."""
    path = keeper.root / "file"
    with file(path, os.O_RDWR | os.O_CREAT) as one:
        os.write(one, b"content")
        os.utime(one, ns=(THEN, THEN))
        assert os.fstat(one).st_mtime_ns == THEN
        assert path.stat().st_mtime_ns == THEN
    assert path.stat().st_mtime_ns == THEN


def test_a_write_after_a_time_was_set_makes_another(keeper: Place) -> None:
    path = keeper.root / "file"
    with file(path, os.O_RDWR | os.O_CREAT) as one:
        os.write(one, b"content")
        os.utime(one, ns=(THEN, THEN))
        os.write(one, b"more")
    assert path.stat().st_mtime_ns > THEN


def append(path: Path) -> None:
    with file(path, os.O_WRONLY | os.O_APPEND) as one:
        os.write(one, b"more")


def replace_part(path: Path) -> None:
    with file(path, os.O_RDWR) as one:
        os.pwrite(one, b"x", 2)


@pytest.mark.parametrize("act", [lambda path: path.write_bytes(b"more"), lambda path: os.truncate(path, 2), append, replace_part],
                         ids=["again", "truncate", "append", "part"])  # fmt: skip
def test_what_changes_a_file_changes_its_time(place: Place, act: Callable[[Path], None]) -> None:
    path = make(place.root, "file")
    if place.kind.keeps:
        os.utime(path, ns=(THEN, THEN))
    before = path.stat().st_mtime_ns
    act(path)
    assert path.stat().st_mtime_ns > before


def test_a_time_stays_when_a_file_is_opened_renamed_and_closed(keeper: Place) -> None:
    path = make(keeper.root, "file")
    os.utime(path, ns=(THEN, THEN))
    with file(path, os.O_RDWR) as one:
        assert os.fstat(one).st_mtime_ns == path.stat().st_mtime_ns == THEN
        assert os.read(one, 100) == b"content"
        assert os.fstat(one).st_mtime_ns == THEN
    path.rename(keeper.root / "new")
    assert (keeper.root / "new").read_bytes() == b"content"
    assert (keeper.root / "new").stat().st_mtime_ns == THEN


def test_now_is_now(place: Place) -> None:
    path = make(place.root, "file")
    if place.kind.keeps:
        os.utime(path, ns=(THEN, THEN))
    before = path.stat().st_mtime_ns
    os.utime(path)
    assert path.stat().st_mtime_ns >= before
    assert path.stat().st_mtime_ns != THEN


# --- where nothing is kept ----------------------------------------------------------------------


def test_what_cannot_be_kept_is_refused_and_what_is_so_already_is_not(forgetful: Place) -> None:
    """D-53: EPERM, unless it is said that owners are ignored."""
    for what in ("file", "folder"):
        path = make(forgetful.root, what)
        before = path.stat()
        path.chmod(stat.S_IMODE(before.st_mode))
        os.chown(path, before.st_uid, before.st_gid)
        os.chown(path, -1, -1)
        with failing(errno.EPERM):
            path.chmod(0o700)
        with failing(errno.EPERM):
            os.chown(path, USER, -1)
        with failing(errno.EPERM):
            os.chown(path, -1, GROUP)
        after = path.stat()
        assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)


def test_a_new_file_is_as_all_are(forgetful: Place) -> None:
    """From the beginning, not only when it is stored."""
    path = forgetful.root / "file"
    with file(path, os.O_RDWR | os.O_CREAT, 0o600) as one:
        os.write(one, b"content")
        before = os.fstat(one)
    after = path.stat()
    assert (stat.S_IMODE(before.st_mode), before.st_uid, before.st_gid) == (0o644, 0, 0)
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)


def test_owners_are_ignored_on_demand(tmp_path: Path) -> None:
    """D-53: a chmod or chown succeeds, and changes nothing."""
    with opened("memory", tmp_path, ignores_owners=True, file_mode=0o640, folder_mode=0o750, uid=7, gid=8) as (
        root,
        _mount,
    ):
        for what in ("file", "folder"):
            path = make(root, what)
            path.chmod(0o777)
            os.chown(path, USER, GROUP)
            status = path.stat()
            assert stat.S_IMODE(status.st_mode) == (0o640 if what == "file" else 0o750)
            assert (status.st_uid, status.st_gid) == (7, 8)
        os.truncate(root / "file", 3)
        assert (root / "file").read_bytes() == b"con"


def test_times_are_taken_for_as_long_as_they_are_known(forgetful: Place) -> None:
    """Who copies with times goes on, as with the mounts of most stores."""
    for what in ("file", "folder"):
        os.utime(make(forgetful.root, what), ns=(THEN, THEN))


# --- what stat tells ----------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1, 4096, LARGE])
def test_what_a_file_is_like(place: Place, size: int) -> None:
    path = place.root / "file"
    path.write_bytes(b"x" * size)
    status = path.stat()
    assert stat.S_ISREG(status.st_mode)
    assert (status.st_size, status.st_nlink) == (size, 1)
    if place.mount:
        assert status.st_blocks == -(-size // 512)
    with file(path, os.O_RDONLY) as one:
        assert os.fstat(one).st_ino == status.st_ino


def test_a_file_that_is_written_has_its_size_for_all(place: Place) -> None:
    path = place.root / "file"
    with file(path, os.O_WRONLY | os.O_CREAT) as one:
        for turn in range(1, 6):
            os.write(one, b"x" * 5000)
            assert path.stat().st_size == os.fstat(one).st_size == turn * 5000
            assert python("import os, sys; print(os.stat(sys.argv[1]).st_size)", path) == str(turn * 5000)


def test_files_have_numbers_of_their_own_which_stay(place: Place) -> None:
    paths = [place.root / str(index) for index in range(50)]
    for path in paths:
        path.write_bytes(b"first")
    numbers = [path.stat().st_ino for path in paths]
    assert len(set(numbers)) == 50
    assert {one.inode() for one in os.scandir(place.root)} == set(numbers)
    for path in paths:
        with file(path, os.O_WRONLY | os.O_APPEND) as one:
            os.write(one, b"second")
            assert os.fstat(one).st_ino == path.stat().st_ino
    assert [path.stat().st_ino for path in paths] == numbers


def test_a_file_keeps_its_number_when_it_is_renamed(place: Place) -> None:
    path, new = place.root / "old", place.root / "new"
    path.write_bytes(b"content")
    before = path.stat().st_ino
    path.rename(new)
    assert new.stat().st_ino == before
    with file(new, os.O_RDONLY) as one:
        new.rename(path)
        assert os.fstat(one).st_ino == path.stat().st_ino


def test_a_folder_and_what_is_above_it(place: Place) -> None:
    folder = place.root / "folder"
    folder.mkdir()
    status = folder.stat()
    assert stat.S_ISDIR(status.st_mode)
    assert (folder / "..").stat().st_ino == place.root.stat().st_ino
    assert (folder / ".").stat().st_ino == status.st_ino
    if place.mount:
        assert status.st_size == 4096
        assert status.st_nlink == 1  # nobody may count the folders in it by that


def test_space_is_told(ours: Place) -> None:
    """Section 7: names of 255 bytes, and a capacity that can be set."""
    found = os.statvfs(ours.root)
    assert found.f_namemax == 255
    if ours.kind.source == "local":  # as much as there is below
        below = os.statvfs(ours.mount.staging) if ours.mount else found
        assert found.f_blocks == below.f_blocks * below.f_frsize // found.f_frsize
        assert abs(found.f_bavail * found.f_frsize - below.f_bavail * below.f_frsize) < 4 << 30
    else:
        assert found.f_blocks * found.f_frsize == 1 << 50
    assert 0 < found.f_bavail <= found.f_bfree <= found.f_blocks
    assert 0 < found.f_ffree <= found.f_files


def test_what_is_known_to_be_there_takes_room(tmp_path: Path) -> None:
    with opened("memory", tmp_path, capacity=64 << 20) as (root, _mount):
        for name, size in (("a", 9 << 20), ("b", 4096)):
            (root / name).write_bytes(bytes(size))
        os.truncate(root / "a", 8 << 20)
        found = os.statvfs(root)
        assert found.f_blocks * found.f_frsize == 64 << 20
        assert found.f_bavail * found.f_frsize == (56 << 20) - 4096
        (root / "a").unlink()
        (root / "c").write_bytes(b"")
        assert os.statvfs(root).f_bavail * found.f_frsize == (64 << 20) - 4096


def test_room_is_told_while_the_source_is_away(tmp_path: Path) -> None:
    faults = Faults(tmp_path / "faults")
    (tmp_path / "mount").mkdir()
    with faults.said("space", "error EIO"), opened("local", tmp_path / "mount", faults=faults.folder) as (root, _mount):
        assert os.statvfs(root).f_blocks * os.statvfs(root).f_frsize == 1 << 50


@pytest.mark.parametrize("what", ["file", "folder"])
def test_there_are_no_more_attributes(ours: Place, what: str) -> None:
    """Section 7: ENOSYS, which the kernel makes ENOTSUP, as programs expect of a file system that has none."""
    path = make(ours.root, what)
    assert _listed(path) == []
    for act in (
        lambda: os.getxattr(path, "user.a"), lambda: os.setxattr(path, "user.a", b"value"),
        lambda: os.removexattr(path, "user.a"), lambda: os.getxattr(path, "security.capability"),
    ):  # fmt: skip
        with failing(errno.ENOTSUP):
            act()


def _listed(path: Path) -> list[str]:
    try:
        return os.listxattr(path)
    except OSError as error:
        if error.errno != errno.ENOTSUP:
            raise
        return []


def test_who_is_root_may_what_modes_allow(place: Place) -> None:
    path = make(place.root, "file")
    assert os.access(path, os.F_OK | os.R_OK | os.W_OK)
    assert not os.access(path, os.X_OK)
    assert not os.access(place.root / "none", os.F_OK)
    assert os.access(place.root, os.R_OK | os.W_OK | os.X_OK)


@pytest.mark.xfail(strict=True, reason="a source is not told who makes a link, so that it is root's")
@pytest.mark.parametrize("name", ["local", "local-without-passthrough", "persist"])
def test_who_makes_a_link_owns_it(places: Places, name: str) -> None:
    """In a sticky folder he could not remove it otherwise."""
    root = places.take(name).root
    root.chmod(0o777)
    python_as(USER, root, "os.symlink('file', 'link')")
    assert (root / "link").lstat().st_uid == USER


def test_a_link_has_a_time_and_an_owner_of_its_own(keeper: Place) -> None:
    """As tar sets them."""
    make(keeper.root, "file")
    link = keeper.root / "link"
    link.symlink_to("file")
    os.utime(link, ns=(3 * 10**9, 5 * 10**9), follow_symlinks=False)
    os.chown(link, USER, USER, follow_symlinks=False)
    assert (link.lstat().st_mtime_ns, link.lstat().st_uid, link.lstat().st_gid) == (5 * 10**9, USER, USER)
    assert (keeper.root / "file").stat().st_uid == 0
    assert (keeper.root / "file").stat().st_mtime_ns > 5 * 10**9
