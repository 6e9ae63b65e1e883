# SPDX-License-Identifier: Apache-2.0
"""Attributes beside those of POSIX, where they are switched on: user.* of files and folders, as on a disk."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from paddleflow_fuse.sources.s3.options import Options

from tests.support.agent_command import Command
from tests.support.faulty_source import Faults
from tests.support.granted import until
from tests.support.minio import Minio
from tests.support.mounted import Mounted, mounted
from tests.support.places import KINDS, Place, Places, file, make, opened, python_as
from tests.support.source_suite import failing

QUICK: dict[str, Any] = {
    "attributes_hold": 0, "names_hold": 0, "kernel_attributes_hold": 0, "kernel_names_hold": 0,
}  # fmt: skip
LARGE = 300 << 10


@pytest.fixture(scope="module")
def with_xattrs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Places]:
    with ExitStack() as stack:
        yield Places(tmp_path_factory.mktemp("places"), stack, xattrs=True)


@pytest.fixture(params=[name for name, kind in KINDS.items() if kind.keeps])
def place(request: pytest.FixtureRequest, with_xattrs: Places) -> Place:
    """The first is a plain folder, whose disk says whether what we expect is right."""
    return with_xattrs.take(request.param)


def said(path: Path) -> dict[str, bytes]:
    return {name: os.getxattr(path, name) for name in os.listxattr(path) if name.startswith("user.")}


# --- as on a disk -------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["file", "folder"])
def test_an_attribute_is_kept_until_it_is_removed(place: Place, what: str) -> None:
    path = make(place.root, what)
    assert said(path) == {}
    wanted = {"user.a": b"text", "user.b c&=%": bytes(range(256)), "user.\u00e4": b"", "user.a.b": b"\xff\n "}
    for name, value in wanted.items():
        os.setxattr(path, name, value)
    assert said(path) == wanted
    os.setxattr(path, "user.a", b"more than before")
    os.removexattr(path, "user.a.b")
    del wanted["user.a.b"]
    assert said(path) == {**wanted, "user.a": b"more than before"}
    with failing(errno.ENODATA):
        os.removexattr(path, "user.a.b")
    with failing(errno.ENODATA):
        os.getxattr(path, "user.a.b")
    if what == "file":
        assert path.read_bytes() == b"content"


def test_who_wants_a_new_one_or_an_old_one_gets_no_other(place: Place) -> None:
    path = make(place.root, "file")
    for is_open in (False, True):
        with ExitStack() as stack:
            if is_open:  # to be written
                one = stack.enter_context(file(path, os.O_RDWR))
                os.write(one, b"c")
            name = f"user.{is_open}"
            with failing(errno.ENODATA):
                os.setxattr(path, name, b"1", os.XATTR_REPLACE)
            os.setxattr(path, name, b"1", os.XATTR_CREATE)
            with failing(errno.EEXIST):
                os.setxattr(path, name, b"2", os.XATTR_CREATE)
            os.setxattr(path, name, b"3", os.XATTR_REPLACE)
            assert os.getxattr(path, name) == b"3"
    assert said(path) == {"user.False": b"3", "user.True": b"3"}


@pytest.mark.parametrize("name", ["user.", "trusted.", "user", "made.up"])
def test_names_that_are_none_are_refused(place: Place, name: str) -> None:
    path = make(place.root, "file")
    with failing(errno.EINVAL if name == "user." or (place.mount is None and name == "trusted.") else errno.ENOTSUP):
        os.setxattr(path, name, b"value")


def test_room_for_a_value_is_asked_for_and_has_to_do(place: Place) -> None:
    """Python asks with what mostly does, and then for the size; so its own calls are looked at beside it."""
    path = make(place.root, "file")
    os.setxattr(path, "user.long", b"x" * 1000)
    assert os.getxattr(path, "user.long") == b"x" * 1000
    code = (
        "import ctypes, os, sys\nlibc = ctypes.CDLL(None, use_errno=True)\n"
        "for size in (0, 999, 1000, 1001):\n"
        "    got = libc.getxattr(sys.argv[1].encode(), b'user.long', ctypes.create_string_buffer(2000) if size else None, size)\n"
        "    print(got, ctypes.get_errno() if got < 0 else 0)\n"
        "for size in (0, 5, 10):\n"
        "    got = libc.listxattr(sys.argv[1].encode(), ctypes.create_string_buffer(20) if size else None, size)\n"
        "    print(got, ctypes.get_errno() if got < 0 else 0)\n"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code, path], capture_output=True, text=True, check=True)
    small = f"-1 {errno.ERANGE}"
    assert done.stdout.split("\n")[:-1] == ["1000 0", small, "1000 0", "1000 0", "10 0", small, "10 0"]


def test_a_link_has_none(place: Place) -> None:
    link = place.root / "link"
    link.symlink_to("nothing")
    assert os.listxattr(link, follow_symlinks=False) == []
    with failing(errno.EPERM):
        os.setxattr(link, "user.a", b"value", follow_symlinks=False)


@pytest.mark.parametrize("way", ["rewritten", "emptied", "changed", "truncated", "replaced by a name"])
def test_what_becomes_of_them_when_a_file_is_written(place: Place, way: str) -> None:
    path = place.root / "file"
    path.write_bytes(bytes(LARGE))
    os.setxattr(path, "user.a", b"value")
    os.setxattr(path, "user.b", b"value")
    if way == "rewritten":
        path.write_bytes(b"other")
    elif way == "emptied":
        with file(path, os.O_RDWR | os.O_TRUNC):
            assert said(path) == {"user.a": b"value", "user.b": b"value"}
    elif way == "changed":
        with file(path, os.O_RDWR) as one:
            os.pwrite(one, b"x", 100)
            os.removexattr(one, "user.b")
            os.setxattr(one, "user.b", b"value")
    elif way == "truncated":
        os.truncate(path, 10)
    else:
        (place.root / "other").write_bytes(b"other")
        os.setxattr(place.root / "other", "user.c", b"other's")
        (place.root / "other").rename(path)
    assert said(path) == (
        {"user.c": b"other's"} if way == "replaced by a name" else {"user.a": b"value", "user.b": b"value"}
    )


def test_a_file_that_is_written_over_another_takes_nothing_from_it(place: Place) -> None:
    path, unfinished = place.root / "file", place.root / "unfinished"
    make(place.root, "file")
    os.setxattr(path, "user.old", b"value")
    with file(unfinished, os.O_WRONLY | os.O_CREAT) as one:
        os.write(one, b"new")
        os.setxattr(one, "user.new", b"value")
        unfinished.rename(path)
        os.write(one, b"er")
    assert (said(path), path.read_bytes()) == ({"user.new": b"value"}, b"newer")


def test_they_go_where_a_name_goes_and_with_it(place: Place) -> None:
    folder = place.root / "folder"
    folder.mkdir()
    os.setxattr(make(folder, "file"), "user.a", b"file's")
    os.setxattr(folder, "user.a", b"folder's")
    (folder / "file").rename(folder / "moved")
    folder.rename(place.root / "new")
    assert (said(place.root / "new"), said(place.root / "new/moved")) == (
        {"user.a": b"folder's"},
        {"user.a": b"file's"},
    )
    (place.root / "new/moved").unlink()
    assert said(make(place.root / "new", "moved")) == {}


def test_they_are_kept_with_a_mode_and_an_owner(place: Place) -> None:
    path = make(place.root, "file")
    os.setxattr(path, "user.a", b"value")
    path.chmod(0o640)
    os.chown(path, 7, 8)
    os.utime(path, (5, 5))
    os.setxattr(path, "user.b", b"value")
    status = path.stat()
    assert (status.st_mode & 0o777, status.st_uid, status.st_gid, status.st_mtime) == (0o640, 7, 8, 5.0)
    assert said(path) == {"user.a": b"value", "user.b": b"value"}


def test_what_is_too_much_is_refused_and_what_was_there_stays(place: Place) -> None:
    """ext4 has a block for them, a store of objects less."""
    path = make(place.root, "file")
    os.setxattr(path, "user.a", b"value")
    if not place.name.startswith("persist"):
        with failing(errno.E2BIG):
            os.setxattr(path, "user.b", bytes(70_000))
    else:
        with failing(errno.ENOSPC):
            os.setxattr(path, "user.b", b"x" * 1800)
        with file(path, os.O_RDWR) as one, failing(errno.ENOSPC):
            os.setxattr(one, "user.b", b"x" * 1800)
    assert said(path) == {"user.a": b"value"}


@pytest.mark.parametrize("name", ["plain", "local", "local-without-passthrough"])
def test_all_names_of_a_file_have_the_same(with_xattrs: Places, name: str) -> None:
    root = with_xattrs.take(name).root
    path, other = make(root, "file"), root / "other"
    os.setxattr(path, "user.a", b"value")
    os.setxattr(path, "user.b", b"value")
    os.link(path, other)
    os.setxattr(other, "user.c", b"value")
    assert said(path) == said(other) == dict.fromkeys(("user.a", "user.b", "user.c"), b"value")
    with file(path, os.O_RDWR) as one:
        os.write(one, b"C")
        os.removexattr(one, "user.a")
        os.setxattr(one, "user.d", b"value")
        os.fsync(one)
        assert said(path) == said(other) == dict.fromkeys(("user.b", "user.c", "user.d"), b"value")
    assert other.read_bytes() == b"Content"


def test_who_may_not_write_a_file_says_nothing_of_it(place: Place) -> None:
    path = make(place.root, "file")
    os.setxattr(path, "user.a", b"value")
    place.root.chmod(0o755)
    path.chmod(0o644)
    code = (
        "print(os.getxattr('file', 'user.a'))\n"
        "for act in (lambda: os.setxattr('file', 'user.a', b''), lambda: os.removexattr('file', 'user.a')):\n"
        "    try: act()\n"
        "    except OSError as error: print(error.errno)"
    )
    assert python_as(4711, place.root, code).split() == ["b'value'", str(errno.EACCES), str(errno.EACCES)]


# --- as ours ------------------------------------------------------------------------------------


@pytest.fixture(params=["persist", "local", "persist-by-pyfuse3"])
def ours(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def test_what_the_kernel_asks_for_with_each_write_is_asked_of_no_source(ours: str, tmp_path: Path) -> None:
    faults = Faults(tmp_path / "faults")
    (tmp_path / "mount").mkdir()
    with opened(ours, tmp_path / "mount", faults=faults.folder, xattrs=True, **QUICK) as (root, _mount):
        path = make(root, "file")
        with file(path, os.O_RDWR) as one, ExitStack() as stack:
            for call in ("find", "xattrs"):
                stack.enter_context(faults.said(call, "error EIO"))
            for turn in range(3):
                os.write(one, b"%d" % turn)
                for name in ("security.capability", "security.selinux", "system.posix_acl_access", "trusted.a"):
                    with failing(errno.ENOTSUP):
                        os.getxattr(one, name)


def test_what_is_known_is_not_asked_for_again(ours: str, tmp_path: Path) -> None:
    faults = Faults(tmp_path / "faults")
    (tmp_path / "mount").mkdir()
    with opened(ours, tmp_path / "mount", faults=faults.folder, xattrs=True, attributes_hold=3600.0) as (root, _mount):
        path = make(root, "file")
        os.setxattr(path, "user.a", b"value")
        assert said(path) == {"user.a": b"value"}
        with faults.said("find", "error EIO"), faults.said("xattrs", "error EIO"):
            assert said(path) == {"user.a": b"value"}
            with failing(errno.ENODATA):
                os.getxattr(path, "user.b")


def test_what_another_mount_sets_is_seen(tmp_path: Path) -> None:
    with ExitStack() as stack:
        root = tmp_path / "root"
        root.mkdir()
        one, other = (
            _mounted(tmp_path / name, {"kind": "local", "root": str(root)}, stack) for name in ("one", "other")
        )
        path = make(one.point, "file")
        os.setxattr(path, "user.a", b"value")
        until("what was closed just before is let go", lambda: said(root / "file") == {"user.a": b"value"})
        assert said(other.point / "file") == {"user.a": b"value"}
        os.removexattr(other.point / "file", "user.a")
        os.setxattr(root / "file", "user.b", b"value")
        assert said(path) == {"user.b": b"value"}
        os.setxattr(path, "user.c", b"value")
        assert said(root / "file") == {"user.b": b"value", "user.c": b"value"}


def _mounted(folder: Path, source: dict[str, Any], stack: ExitStack, **how: Any) -> Mounted:
    folder.mkdir()
    return stack.enter_context(mounted(folder, source, xattrs=True, **{**QUICK, **how}))


def test_what_was_set_while_it_was_written_is_stored_by_who_comes_after_a_crash(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    source = {"kind": "local", "root": str(root)}
    make(root, "old")
    opened_ = []
    os.setxattr(root / "old", "user.kept", b"value")
    os.setxattr(root / "old", "user.removed", b"value")
    with ExitStack() as stack:
        first = _mounted(tmp_path / "first", source, stack)
        for name in ("new", "old"):
            one = os.open(first.point / name, os.O_RDWR | os.O_CREAT)
            opened_.append(one)
            os.write(one, b"written")
            os.setxattr(one, "user.set", b"value")
        os.removexattr(one, "user.removed")
        first.kill()
        for one in opened_:
            with failing(errno.ENOTCONN):
                os.close(one)
        first.end()
        second = _mounted(tmp_path / "second", source, stack, staging=first.staging)
        until("all is stored", lambda: not any(second.staging.iterdir()))
    assert (root / "new").read_bytes() == b"written"
    assert said(root / "new") == {"user.set": b"value"}
    assert said(root / "old") == {"user.set": b"value", "user.kept": b"value"}


def test_a_file_that_another_removed_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / "mount").mkdir()
    with opened("local", tmp_path / "mount", xattrs=True, attributes_hold=3600.0, names_hold=3600.0) as (root, _mount):
        behind = make(tmp_path / "mount/root", "file")
        os.setxattr(behind, "user.a", b"value")
        assert (root / "file").stat().st_size == 7
        behind.unlink()
        (root / "file").write_bytes(b"new")
        assert (behind.read_bytes(), said(behind)) == (b"new", {})


@pytest.mark.parametrize("session", ["direct", "pyfuse3"])
def test_the_command_has_them_when_they_are_asked_for(agent: Command, source: Path, session: str) -> None:
    options = {
        "disable-xattrs": "false",
        "session": session,
        **({"passthrough": "false"} if session == "pyfuse3" else {}),
    }
    agent.mount(f"local:/{source}", options=options)
    os.setxattr(make(agent.point, "folder"), "user.a", b"value")
    assert said(source / "folder") == {"user.a": b"value"}
    stats = agent.point / ".stats"
    assert os.listxattr(stats) == []
    with failing(errno.ENODATA):
        os.getxattr(stats, "user.a")
    with failing(errno.ENODATA):
        os.removexattr(stats, "user.a")
    with failing(errno.EPERM):
        os.setxattr(stats, "user.a", b"value")
    assert 'op="SETXATTR"' in stats.read_text()


@pytest.mark.parametrize("kind", ["memory", "memory-without-passthrough"])
def test_where_they_cannot_be_kept_one_line_says_what_would(tmp_path: Path, kind: str) -> None:
    with opened(kind, tmp_path, xattrs=True) as (root, mount):
        path = make(root, "file")
        for _turn in range(2):
            with failing(errno.ENOTSUP):
                os.setxattr(path, "user.a", b"value")
            with failing(errno.ENOTSUP):
                os.getxattr(path, "user.a")
        assert mount is not None
        assert mount.said().count("persistAttributes=true") == 1


# --- in a bucket --------------------------------------------------------------------------------


@pytest.fixture
def begin(server: Minio, bucket: Options, tmp_path: Path) -> Iterator[Callable[..., Mounted]]:
    assert bucket.credentials is not None
    keys = {"accessKey": bucket.credentials.key, "secretKey": bucket.credentials.secret}
    given = {"endpoint": server.url, "s3ForcePathStyle": True, "persistAttributes": True, **keys}
    source = {"kind": "s3", "url": f"s3://{bucket.bucket}", "properties": given}
    with ExitStack() as stack:
        yield lambda name, **how: _mounted(tmp_path / name, source, stack, **how)


@pytest.mark.parametrize("session", ["direct", "pyfuse3"])
def test_a_bucket_keeps_them_as_metadata(
    server: Minio, bucket: Options, begin: Callable[..., Mounted], session: str
) -> None:
    passthrough = int(session == "direct")
    one, other = begin("one", session=session, passthrough=passthrough, disk=bool(passthrough)), begin("other")
    path = one.point / "file"
    with file(path, os.O_WRONLY | os.O_CREAT) as writer:
        os.write(writer, b"content")
        os.setxattr(writer, "user.a", b"set while it was written")
    head = server.client.head_object(Bucket=bucket.bucket, Key="file")
    assert head["Metadata"]["pfs-xattrs"] == "a=set+while+it+was+written"
    (one.point / "folder").mkdir()
    os.setxattr(one.point / "folder", "user.f", b"\x00\xff")
    os.setxattr(path, "user.b", b"%" * 560)  # as much as there is room for, nearly
    assert said(other.point / "file") == {"user.a": b"set while it was written", "user.b": b"%" * 560}
    assert said(other.point / "folder") == {"user.f": b"\x00\xff"}
    with file(other.point / "file", os.O_WRONLY) as writer:
        os.write(writer, b"CON")
        os.fsync(writer)
        os.removexattr(writer, "user.a")
    path.chmod(0o600)
    path.rename(one.point / "folder/moved")
    (one.point / "folder").rename(one.point / "new")
    moved = other.point / "new/moved"
    assert (said(moved), moved.read_bytes()) == ({"user.b": b"%" * 560}, b"CONtent")
    assert said(other.point / "new") == {"user.f": b"\x00\xff"}
    os.removexattr(moved, "user.b")
    assert "pfs-xattrs" not in server.client.head_object(Bucket=bucket.bucket, Key="new/moved")["Metadata"]


def test_the_root_of_a_bucket_keeps_none(begin: Callable[..., Mounted]) -> None:
    one = begin("one")
    assert said(one.point) == {}
    with failing(errno.ENOTSUP):
        os.setxattr(one.point, "user.a", b"value")
