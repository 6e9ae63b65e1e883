# SPDX-License-Identifier: Apache-2.0
"""A folder of this machine. No link in it is followed, whoever made it: whatever is reached lies below the folder."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from .base import NOTHING, Abilities, ChangedError, Found, Kept, Kind, Listed, Page, Room, Source, on_empty
from .rates import OPEN
from .unfinished import NOWHERE, UNFINISHED
from .xattrs import PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .rates import Gate, Gates
    from .unfinished import Unfinished
    from .xattrs import Xattrs

_PAGE: Final = 1000
_PIECE: Final = 8 << 20
# What the disk takes it says itself; this is what is noted of a file that it has not got yet.
_LONGEST_XATTRS: Final = 256 << 10
# What a disk says that makes no file without a name, or takes none by another name than its own; EISDIR is that of old kernels.
_NO_NAMELESS: Final = (errno.EOPNOTSUPP, errno.EISDIR, errno.EPERM, errno.EACCES, errno.EXDEV, errno.ENOENT)
_STEP = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class LocalSource(Source):
    abilities = Abilities(
        keeps=True, links=True, hard_links=True, renames_at_once=True, folders_change=True, writes_anywhere=True,
        syncs=True,
    )  # fmt: skip

    def __init__(self, root: str, gates: Gates = OPEN, noted: Unfinished = NOWHERE) -> None:
        """
        :param noted: what who died before left is removed
        """
        self._gates, self._noted = gates, noted
        self._root = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        if _has_xattrs(self._root):
            self.abilities = self.abilities._replace(xattrs=_LONGEST_XATTRS)
        for place in noted.left():
            noted.forget(place, self.remove)

    def close(self) -> None:
        os.close(self._root)
        self._gates.close()

    def find(self, path: bytes) -> Found:
        if not path:
            return _found(os.fstat(self._root))
        with self._above(path) as (folder, name):
            return _found(os.stat(name, dir_fd=folder, follow_symlinks=False))

    def list(self, path: bytes) -> Iterator[Page]:
        with self._folder(path) as folder, os.scandir(folder) as entries:
            page: list[Listed] = []
            hidden: list[bytes] = []
            for entry in entries:
                name = os.fsencode(entry.name)
                if name.startswith(UNFINISHED):
                    continue
                try:
                    page.append(Listed(name, _found(entry.stat(follow_symlinks=False))))
                except FileNotFoundError:  # it went while we listed, or is nothing that a mount can show
                    hidden.append(name)
                if len(page) == _PAGE:
                    yield Page(page, tuple(hidden))
                    page, hidden = [], []
            yield Page(page, tuple(hidden))

    def read(self, path: bytes, version: bytes, offset: int, size: int) -> bytes:
        descriptor = self._open(path)
        try:
            if version not in (b"", _version(os.fstat(descriptor))):
                raise ChangedError(path)
            self._gates.read.admit(size)
            return os.pread(descriptor, size, offset)
        finally:
            os.close(descriptor)

    def store(self, path: bytes, descriptor: int, size: int, kept: Kept = NOTHING, over: bytes | None = None) -> Found:
        with self._above(path) as (folder, name):
            there = _status(folder, name)
            if there and stat.S_ISREG(there.st_mode) and there.st_nlink > 1:
                return _overwrite(folder, name, path, descriptor, size, kept, over, self._gates.write)
            if not (there or over) and (found := self._store_new(folder, name, path, descriptor, size, kept, over)):
                return found
            return self._replace(folder, name, path, descriptor, size, kept, over)

    def _store_new(
        self, folder: int, name: bytes, path: bytes, descriptor: int, size: int, kept: Kept, over: bytes | None
    ) -> Found | None:
        """It has no name until it is whole, so who dies leaves nothing. It is not brought to the disk: nothing is lost that was there, and
        who wants to be sure asks.

        :return: None where its disk cannot do it, or another was faster that may be replaced
        """
        try:
            target = os.open(b".", os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, _mode(kept), dir_fd=folder)
        except OSError as error:
            if error.errno not in _NO_NAMELESS:
                raise
            return None
        try:
            _copy(descriptor, target, size, self._gates.write)
            _keep(target, kept)
            os.link(b"/proc/self/fd/%d" % target, name, dst_dir_fd=folder, follow_symlinks=True)
            return _found(os.fstat(target))
        except FileExistsError:
            if over is not None:
                raise ChangedError(path) from None
        except OSError as error:
            if error.errno not in _NO_NAMELESS:
                raise
        finally:
            os.close(target)
        return None

    def _replace(
        self, folder: int, name: bytes, path: bytes, descriptor: int, size: int, kept: Kept, over: bytes | None
    ) -> Found:
        with self._noted.making(path, lambda _place: os.unlink(unfinished, dir_fd=folder)) as tries:
            unfinished = tries.begin().rpartition(b"/")[2]
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            target = os.open(unfinished, flags, _mode(kept), dir_fd=folder)
            try:
                _copy(descriptor, target, size, self._gates.write)
                _keep(target, kept)
                if _status(folder, name):  # which is not to be lost with the machine for one that is not whole
                    os.fsync(target)
                there = _status(folder, name)
                if over is not None and over != (_version(there) if there else b""):
                    raise ChangedError(path)
                os.rename(unfinished, name, src_dir_fd=folder, dst_dir_fd=folder)
                return _found(os.fstat(target))
            finally:
                os.close(target)

    def sync(self, path: bytes) -> None:
        with self._above(path) as (folder, name):
            _sync(folder, name or b".")
            os.fsync(folder)

    def make_folder(self, path: bytes, kept: Kept = NOTHING) -> Found:
        with self._above(path) as (folder, name):
            os.mkdir(name, 0o755 if kept.mode is None else 0o700, dir_fd=folder)
        return self.keep(path, kept)

    def remove(self, path: bytes) -> None:
        with self._above(path) as (folder, name):
            os.unlink(name, dir_fd=folder)

    def remove_folder(self, path: bytes) -> None:
        with self._above(path) as (folder, name):
            on_empty(lambda: os.rmdir(name, dir_fd=folder), lambda: self._remove_unfinished(path))

    def rename(self, old: bytes, new: bytes) -> None:
        with self._above(old) as (source, before), self._above(new) as (target, after):
            if all(_is_file(_status(*one)) for one in ((source, before), (target, after))):
                _sync(source, before)  # as above: the other is not to be lost for one that is not whole
            on_empty(
                lambda: os.rename(before, after, src_dir_fd=source, dst_dir_fd=target),
                lambda: self._remove_unfinished(new),
            )

    def _remove_unfinished(self, path: bytes) -> bool:
        """Whether it had nothing else."""
        with self._folder(path) as folder, os.scandir(folder) as entries:
            places = [path + b"/" + os.fsencode(entry.name) for entry in entries]
        return self._noted.forget_all(places, self.remove)

    def link(self, path: bytes, target: bytes) -> Found:
        with self._above(path) as (folder, name):
            os.symlink(target, name, dir_fd=folder)
        return self.find(path)

    def add_name(self, path: bytes, new: bytes) -> Found:
        with self._above(path) as (source, before), self._above(new) as (target, after):
            os.link(before, after, src_dir_fd=source, dst_dir_fd=target, follow_symlinks=False)
            return _found(os.stat(after, dir_fd=target, follow_symlinks=False))

    def target(self, path: bytes) -> bytes:
        with self._above(path) as (folder, name):
            return os.readlink(name, dir_fd=folder)

    def keep(self, path: bytes, kept: Kept) -> Found:
        if kept.mode is None and self.find(path).kind is Kind.LINK:
            return self._keep_of_link(path, kept)
        descriptor = self._open(path)
        try:
            _keep(descriptor, kept)
            return _found(os.fstat(descriptor))
        finally:
            os.close(descriptor)

    def xattrs(self, path: bytes) -> Xattrs:
        descriptor = self._open(path)
        try:
            return _xattrs(descriptor)
        finally:
            os.close(descriptor)

    def _keep_of_link(self, path: bytes, kept: Kept) -> Found:
        """Whatever has the name by now, none is followed."""
        with self._above(path) as (folder, name):
            if kept.uid is not None or kept.gid is not None:
                uid, gid = (-1 if one is None else one for one in (kept.uid, kept.gid))
                os.chown(name, uid, gid, dir_fd=folder, follow_symlinks=False)
            if kept.mtime_ns is not None:
                os.utime(name, ns=(kept.mtime_ns, kept.mtime_ns), dir_fd=folder, follow_symlinks=False)
        return self.find(path)

    def space(self) -> Room:
        told = os.fstatvfs(self._root)
        block = told.f_frsize
        return Room(told.f_blocks * block, told.f_bavail * block, told.f_files, told.f_favail)

    def _open(self, path: bytes) -> int:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a pipe would wait for who writes
        with self._above(path) as (folder, name):
            return os.open(name or b".", flags, dir_fd=folder)

    @contextmanager
    def _above(self, path: bytes) -> Iterator[tuple[int, bytes]]:
        """The folder that holds it, and its name there."""
        above, _slash, name = path.rpartition(b"/")
        with self._folder(above) as folder:
            yield folder, name

    @contextmanager
    def _folder(self, path: bytes) -> Iterator[int]:
        folder = os.open(b".", _STEP, dir_fd=self._root)  # a copy would share how far it was listed
        try:
            for name in path.split(b"/") if path else ():
                below = os.open(name, _STEP, dir_fd=folder)
                os.close(folder)
                folder = below
            yield folder
        finally:
            os.close(folder)


def _status(folder: int, name: bytes) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _is_file(status: os.stat_result | None) -> bool:
    return status is not None and stat.S_ISREG(status.st_mode)


def _mode(kept: Kept) -> int:
    """Nobody else's to read before it has the mode that it is to have."""
    return 0o644 if kept.mode is None else 0o600


def _sync(folder: int, name: bytes) -> None:
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except PermissionError:  # of what its own mode keeps from us
        os.sync()
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _found(status: os.stat_result) -> Found:
    mode = status.st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode)):
        raise FileNotFoundError(errno.ENOENT, "neither a file nor a folder nor a link")
    kind = Kind.FOLDER if stat.S_ISDIR(mode) else Kind.LINK if stat.S_ISLNK(mode) else Kind.FILE
    version = _version(status) if kind is Kind.FILE else b""
    owner = (stat.S_IMODE(mode), status.st_uid, status.st_gid)
    if kind is Kind.FOLDER:
        return Found(kind, 0, status.st_mtime_ns, version, *owner)
    file = b"%x-%x" % (status.st_dev, status.st_ino)
    return Found(kind, status.st_size, status.st_mtime_ns, version, *owner, links=max(status.st_nlink, 1), file=file)


def _version(status: os.stat_result) -> bytes:
    """What is written in place has another time, and what is put in its place another inode."""
    return b"%x-%x-%x" % (status.st_ino, status.st_mtime_ns, status.st_size)


def _overwrite(
    folder: int, name: bytes, path: bytes, descriptor: int, size: int, kept: Kept, over: bytes | None, gate: Gate
) -> Found:
    """A file of several names is written where it lies, since another one would have this name alone. The price: who reads the folder
    itself meanwhile may see a half of each, and so may who looks after the machine died in the middle of it."""
    target = os.open(name, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    try:
        before = os.fstat(target)
        if over is not None and over != _version(before):
            raise ChangedError(path)
        if size > before.st_size:  # what has no room is refused before anything is lost
            os.posix_fallocate(target, before.st_size, size - before.st_size)
        _copy(descriptor, target, size, gate)
        os.ftruncate(target, size)
        _keep(target, kept)
        after = os.fstat(target)
        if _version(after) == _version(before):  # it was to have the time of before
            os.utime(target, ns=(after.st_atime_ns, after.st_mtime_ns + 1))
        os.fsync(target)
        return _found(os.fstat(target))
    finally:
        os.close(target)


def _copy(source: int, target: int, size: int, gate: Gate) -> None:
    done = 0
    while done < size:
        once = min(_PIECE, size - done)
        gate.admit(once)
        moved = os.sendfile(target, source, done, once)
        if not moved:
            raise OSError(errno.EIO, f"the staged file has {done} bytes, but should have {size}")
        done += moved


def _has_xattrs(folder: int) -> bool:
    """Whether its disk does."""
    try:
        os.getxattr(folder, PREFIX + b"paddleflow")
    except OSError as error:
        return error.errno == errno.ENODATA
    return True


def _xattrs(descriptor: int) -> dict[bytes, bytes]:
    found = {}
    for name in map(os.fsencode, os.listxattr(descriptor)):
        if name.startswith(PREFIX):
            with _unless_gone():
                found[name] = os.getxattr(descriptor, name)
    return found


@contextmanager
def _unless_gone() -> Iterator[None]:
    """Others may remove an attribute at any time."""
    try:
        yield
    except OSError as error:
        if error.errno != errno.ENODATA:
            raise


def _keep(descriptor: int, kept: Kept) -> None:
    for name, value in (kept.xattrs or {}).items():  # as long as its owner and mode let us
        if value is None:
            with _unless_gone():
                os.removexattr(descriptor, name)
        else:
            os.setxattr(descriptor, name, value)
    if kept.uid is not None or kept.gid is not None:
        os.fchown(descriptor, -1 if kept.uid is None else kept.uid, -1 if kept.gid is None else kept.gid)
    if kept.mode is not None:  # after the owner, whose change takes bits away
        os.fchmod(descriptor, kept.mode)
    if kept.mtime_ns is not None:
        os.utime(descriptor, ns=(kept.mtime_ns, kept.mtime_ns))
