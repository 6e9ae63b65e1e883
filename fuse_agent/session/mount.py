# SPDX-License-Identifier: Apache-2.0
"""Mounts and unmounts, as root or by the distribution's fusermount3. What is done here may wait for the mount's own server, so
never within that: nor does anything here open a path below a mount point."""

from __future__ import annotations

import ctypes
import errno
import os
import re
import socket
import stat
import subprocess
import threading
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

TYPE: Final = "fuse.paddleflow"
_RDONLY, _NOSUID, _NODEV, _NOATIME = 1, 2, 4, 1024
_DETACH: Final = 2
# What is said of a mount that nobody serves, and to who waited for it when it ended.
_DEAD: Final = (errno.ENOTCONN, errno.ECONNABORTED)
# Their numbers are the same on every processor.
_FSOPEN, _FSCONFIG, _FSMOUNT = 430, 431, 432
_CLOSE_ON_EXEC, _CREATE = 1, 6
_LIBC = ctypes.CDLL(None, use_errno=True)


class MountError(OSError):
    """Says where, why and what to do."""


class Options(NamedTuple):
    read_only: bool = False
    allow_other: bool = True
    largest_read: int = 1 << 20


class Mounted(NamedTuple):
    """An entry of a mount table."""

    device: str  # major:minor
    point: str
    type: str
    source: str
    read_only: bool


def mount(point: Path, source: str, options: Options) -> int:
    """The descriptor to serve. A mount whose server is gone is taken away first.

    :param source: what a table of mounts shows; never with a secret
    :raises MountError:
    """
    _fit(point)
    if os.geteuid() == 0:
        return _by_root(point, source, options)
    return _by_fusermount(point, source, options)


def unmount(point: Path, lazily: bool = False) -> None:
    """
    :param lazily: also while it is used: it vanishes at once, and ends when nobody uses it any more
    :raises MountError:
    """
    if os.geteuid() == 0:
        if _LIBC.umount2(os.fsencode(point), _DETACH if lazily else 0):
            code = ctypes.get_errno()
            raise MountError(code, f"Cannot unmount {point}: {os.strerror(code)}", str(point))
        return
    command = ["fusermount3", "-u", *(["-z"] if lazily else []), "--", str(point)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        code = errno.EBUSY if os.strerror(errno.EBUSY) in done.stderr else 0  # it tells nothing but a text
        raise MountError(code, f"Cannot unmount {point}: {done.stderr.strip()}", str(point))


def mounts(table: Path = Path("/proc/self/mountinfo")) -> list[Mounted]:
    """Of this process's view, the uppermost last."""
    found = []
    for line in lines(table):
        before, _dash, after = line.partition(" - ")
        _id, _parent, device, _root, point, flags, *_optional = before.split(" ")
        type_, source, _options = after.split(" ", 2)
        found.append(Mounted(device, _plain(point), type_, _plain(source), "ro" in flags.split(",")))
    return found


def real(point: Path) -> Path:
    """A mount point as the kernel names it; without a look at the mount itself, which may hang."""
    return Path(os.path.realpath(point.parent), point.name)


def elsewhere(device: str, source: str, processes: Path = Path("/proc")) -> int:
    """A process of another mount namespace that sees it mounted, of those that this one may look at; 0 when there is none.

    :param source: the number of its device is soon another's
    """
    ours = (processes / "self/ns/mnt").readlink()
    names = {source, source.replace(",", "_")}  # as root and fusermount show it
    for folder in processes.glob("[0-9]*"):
        with suppress(OSError):  # it has ended
            if (folder / "ns/mnt").readlink() == ours:
                continue
            table = mounts(folder / "mountinfo")
            if any(one.device == device and one.type == TYPE and one.source in names for one in table):
                return int(folder.name)
    return 0


def is_dead(point: Path, seconds: float) -> bool:
    """Whether a mount of ours is there that nobody serves any more. Who ends stores what it can before, so long is waited, by a thread
    that may be left alone."""
    place = str(real(point))
    there = [one for one in mounts() if one.point == place]
    if not there or there[-1].type != TYPE:
        return False
    found: list[int | None] = []

    def look() -> None:
        try:
            os.statvfs(place)
        except OSError as error:
            found.append(error.errno)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    thread.join(seconds)
    return bool(found) and found[0] in _DEAD


def lines(table: Path) -> list[str]:
    """Of a file of the kernel's. Any user may mount and map what has other ends of lines in its name: the kernel escapes one of them alone."""
    return os.fsdecode(table.read_bytes()).removesuffix("\n").split("\n")


def read_ahead(device: str, kib: int) -> None:
    """How much the kernel reads beyond what it is asked for; it offers us 128 KiB, of which a reader waits for each.

    :raises OSError: where /sys is read-only
    """
    Path(f"/sys/class/bdi/{device}/read_ahead_kb").write_text(str(kib), encoding="ascii")


def abort(device: str) -> None:
    """Whoever waits for the mount gets an error now, and so does whoever comes.

    :raises OSError: when it is gone, or belongs to somebody else
    """
    minor = device.partition(":")[2]
    try:
        Path(f"/sys/fs/fuse/connections/{minor}/abort").write_text("1", encoding="ascii")
    except FileNotFoundError:
        # Containers seldom have this folder's content.
        folder = _connections()
        try:
            file = os.open(f"{minor}/abort", os.O_WRONLY | os.O_CLOEXEC, dir_fd=folder)
        finally:
            os.close(folder)
        try:
            os.write(file, b"1")
        finally:
            os.close(file)


def _connections() -> int:
    """The folder in which the kernel shows all mounts of FUSE, mounted nowhere."""
    context = _call(_FSOPEN, b"fusectl", _CLOSE_ON_EXEC)
    try:
        _call(_FSCONFIG, context, _CREATE, None, None, 0)
        return _call(_FSMOUNT, context, _CLOSE_ON_EXEC, 0)
    finally:
        os.close(context)


def _call(number: int, *given: object) -> int:
    found: int = _LIBC.syscall(number, *given)
    if found < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return found


def _fit(point: Path) -> None:
    try:
        os.statvfs(point)  # what its root is like the kernel may know even of a mount whose server is gone
    except FileNotFoundError:
        raise MountError(
            errno.ENOENT, f"The folder {point} is not there. Make it first: mkdir -p {point}", str(point)
        ) from None
    except OSError as error:
        if error.errno == errno.ENOTCONN:
            unmount(point, lazily=True)
    found = point.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise MountError(errno.ENOTDIR, f"{point} is no folder; only on folders can be mounted.", str(point))
    there = [one for one in mounts() if one.point == os.path.realpath(point)]
    if there:
        raise MountError(
            errno.EBUSY,
            f"{there[-1].source} is mounted on {point} already. Unmount it first: umount {point}",
            str(point),
        )
    with suppress(StopIteration), os.scandir(point) as entries:
        first = next(entries).name
        raise MountError(
            errno.ENOTEMPTY,
            f"The folder {point} is not empty (it holds {first}), and a mount would hide that. Give an empty one.",
            str(point),
        )


def _by_root(point: Path, source: str, options: Options) -> int:
    descriptor = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    given = f"fd={descriptor},rootmode=40000,user_id=0,group_id=0,default_permissions,max_read={options.largest_read}"
    given += ",allow_other" if options.allow_other else ""
    flags = _NOSUID | _NODEV | _NOATIME | (_RDONLY if options.read_only else 0)
    if _LIBC.mount(os.fsencode(source), os.fsencode(point), TYPE.encode(), flags, given.encode()):
        code = ctypes.get_errno()
        os.close(descriptor)
        raise MountError(code, f"Cannot mount {source} on {point}: {os.strerror(code)}", str(point))
    return descriptor


def _by_fusermount(point: Path, source: str, options: Options) -> int:
    words = ["default_permissions", "nosuid", "nodev", f"fsname={source.replace(',', '_')}", "subtype=paddleflow"]
    words += ["ro"] if options.read_only else []
    words += ["allow_other"] if options.allow_other else []
    ours, theirs = socket.socketpair()
    with ours, theirs:
        command = ["fusermount3", "-o", ",".join(words), "--", str(point)]
        environment = {**os.environ, "_FUSE_COMMFD": str(theirs.fileno())}
        try:
            done = subprocess.run(
                command, env=environment, pass_fds=(theirs.fileno(),), capture_output=True, text=True, check=False
            )
        except FileNotFoundError:
            raise MountError(
                errno.ENOENT, f"Cannot mount {source} on {point}: there is no fusermount3, by which who is not root mounts. Install the package fuse3.",
                str(point),
            ) from None  # fmt: skip
        if done.returncode:
            raise MountError(0, f"Cannot mount {source} on {point}: {done.stderr.strip()}", str(point))
        _data, (descriptor,), _flags, _address = socket.recv_fds(ours, 1, 1)
    os.set_inheritable(descriptor, False)
    return descriptor


def _plain(text: str) -> str:
    """Without the escapes of a mount table."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), text)
