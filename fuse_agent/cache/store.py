# SPDX-License-Identifier: Apache-2.0
"""Files of the cache on their file system: whole ones, and those that fill, each with a map of what is there beside it.

A file gets the name of a whole one when it is whole, and is never written again. Nothing is brought to the disk for that: who is
killed loses nothing, and after the machine died the checksums tell.
"""

from __future__ import annotations

import ctypes
import errno
import itertools
import json
import os
import stat
import weakref
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from .entries import KEY
from .pieces import HEAD, Pieces, map_size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .pieces import Note

OBJECTS, FILLING = "objects", "filling"
_MAP, _NEW = ".map", ".new"
BLOCK: Final = 4096
_STATE: Final = "state"
_KEEP_SIZE, _PUNCH_HOLE = 1, 2
_LIBC = ctypes.CDLL(None, use_errno=True)
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
_WRITE = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
_PROBE: Final = 1 << 17
_PROBE_NAME: Final = f"probe{_NEW}"
_MEMORY: Final = Path("/proc/meminfo")
# What any disk takes within a moment.
_LITTLE: Final = 256 << 20


def cost(size: int) -> int:
    """Bytes of the disk that a file takes."""
    return -(-size // BLOCK) * BLOCK


def object_name(key: bytes) -> str:
    name = key.hex()
    return f"{OBJECTS}/{name[:2]}/{name}"


def filling_name(key: bytes) -> str:
    return f"{FILLING}/{key.hex()}"


def key_of(name: str) -> bytes | None:
    """None of a name that we do not give."""
    try:
        key = bytes.fromhex(name)
    except ValueError:
        return None
    return key if len(key) == KEY and key.hex() == name else None


class Store:
    def __init__(self, root: int) -> None:
        """
        :param root: a descriptor of the folder
        """
        self._root = os.dup(root)  # it may be claimed anew while somebody still writes where it was
        weakref.finalize(self, os.close, self._root)
        self._numbers = itertools.count()  # two threads never take the same

    def make(self) -> None:
        """The folders, with whatever of them is missing."""
        for name in (OBJECTS, FILLING, *(f"{OBJECTS}/{index:02x}" for index in range(256))):
            with suppress(FileExistsError):
                os.mkdir(name, 0o700, dir_fd=self._root)

    # --- whole files --------------------------------------------------------------------------

    def open_object(self, key: bytes) -> int:
        return os.open(object_name(key), _READ, dir_fd=self._root)

    def write_new(self, key: bytes, data: memoryview) -> tuple[str, int]:
        """The name of a file that nobody knows yet, and a descriptor that reads it."""
        name = f"{filling_name(key)}.{next(self._numbers)}{_NEW}"
        descriptor = os.open(name, _WRITE | os.O_CREAT | os.O_EXCL, 0o444, dir_fd=self._root)
        try:
            write(descriptor, data, 0)
            return name, os.open(name, _READ, dir_fd=self._root)
        except BaseException:
            self.unlink(name)
            raise
        finally:
            os.close(descriptor)

    def publish(self, name: str, key: bytes) -> None:
        os.rename(name, object_name(key), src_dir_fd=self._root, dst_dir_fd=self._root)

    def give(self, key: bytes, path: Path) -> None:
        os.rename(object_name(key), path, src_dir_fd=self._root)

    def adopt(self, path: Path, key: bytes) -> None:
        os.rename(path, object_name(key), dst_dir_fd=self._root)

    # --- files that fill ----------------------------------------------------------------------

    def open_filling(self, key: bytes) -> tuple[int, int]:
        """Descriptors of the file and of its map."""
        name = filling_name(key)
        file = os.open(name, _WRITE, dir_fd=self._root)
        try:
            return file, os.open(name + _MAP, _WRITE, dir_fd=self._root)
        except BaseException:
            os.close(file)
            raise

    def create_filling(self, key: bytes, pieces: Pieces, boot: bytes) -> tuple[int, int]:
        name, flags = filling_name(key), _WRITE | os.O_CREAT | os.O_TRUNC
        file = os.open(name, flags, 0o600, dir_fd=self._root)
        notes = -1
        try:
            os.truncate(file, pieces.size)
            notes = os.open(name + _MAP, flags, 0o600, dir_fd=self._root)
            write(notes, memoryview(pieces.head(boot)), 0)
        except BaseException:
            for descriptor in (file, notes):
                if descriptor >= 0:
                    os.close(descriptor)
            self.unlink(name, name + _MAP)
            raise
        return file, notes

    def finish(self, key: bytes, file: int) -> int:
        """The file is whole.

        :return: another descriptor of it, which cannot write
        """
        os.fchmod(file, 0o444)
        reading = os.open(filling_name(key), _READ, dir_fd=self._root)
        try:
            self.publish(filling_name(key), key)
        except BaseException:
            os.close(reading)
            raise
        return reading

    def drop_map(self, key: bytes) -> None:
        self.unlink(filling_name(key) + _MAP)

    def filling(self) -> list[tuple[float, bytes]]:
        """Keys of what fills, by when it was filled last; what cannot be gone on with is removed."""
        found: list[tuple[float, bytes]] = []
        names = set(self._names(FILLING))
        for name in names:
            stem, dot, rest = name.partition(".")
            key = key_of(stem)
            if key is None and name != _PROBE_NAME:
                continue
            if dot and (name.endswith(_NEW) or (dot + rest == _MAP and stem not in names)):
                self.unlink(f"{FILLING}/{name}")
            elif key is not None and not dot:
                if name + _MAP in names:
                    found.append((os.stat(filling_name(key) + _MAP, dir_fd=self._root).st_mtime, key))
                else:
                    self.unlink(f"{FILLING}/{name}")
        return sorted(found)

    # --- both ---------------------------------------------------------------------------------

    def remove(self, key: bytes, whole: bool) -> None:
        name = filling_name(key)
        self.unlink(*([object_name(key)] if whole else [name + _MAP, name]))

    def unlink(self, *names: str) -> None:
        for name in names:
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=self._root)

    def size(self, name: str) -> int | None:
        """None of what is no file of ours."""
        status = os.stat(name, dir_fd=self._root, follow_symlinks=False)
        return status.st_size if stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid() else None

    def objects(self, first: int) -> list[str]:
        """Names in the folder of keys with that first byte."""
        return self._names(f"{OBJECTS}/{first:02x}")

    def free(self) -> tuple[int, int]:
        """Bytes of the disk that are free, and all."""
        status = os.fstatvfs(self._root)
        return status.f_bavail * status.f_frsize, status.f_blocks * status.f_frsize

    def probe(self) -> bool:
        """Whether room can be given back of a part of a file.

        :raises OSError: when nothing can be written
        """
        name = f"{FILLING}/{_PROBE_NAME}"
        try:
            descriptor = os.open(name, _WRITE | os.O_CREAT, 0o600, dir_fd=self._root)
            try:
                write(descriptor, memoryview(bytes(_PROBE)), 0)
                return punch(descriptor, 0, _PROBE)
            finally:
                os.close(descriptor)
        finally:
            self.unlink(name)

    def sync(self) -> bool:
        """All that was written, by whomever on that file system, is on the disk; or is not, where so much waits that this would take long."""
        if not little_waits():
            return False
        if _LIBC.syncfs(self._root):
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))
        return True

    def read_state(self) -> dict[str, Any]:
        try:
            descriptor = os.open(_STATE, _READ, dir_fd=self._root)
        except FileNotFoundError:
            return {}
        with os.fdopen(descriptor, "rb") as file:
            try:
                found = json.load(file)
            except ValueError:
                return {}
        return found if isinstance(found, dict) else {}

    def write_state(self, state: dict[str, Any], lasts: bool) -> None:
        """
        :param lasts: it is on the disk then, since what follows is only to be believed with it
        """
        descriptor = os.open(_STATE + _NEW, _WRITE | os.O_CREAT | os.O_TRUNC, 0o600, dir_fd=self._root)
        with os.fdopen(descriptor, "wb") as file:
            file.write(json.dumps(state).encode())
            file.flush()
            if lasts:
                os.fsync(descriptor)
        os.rename(_STATE + _NEW, _STATE, src_dir_fd=self._root, dst_dir_fd=self._root)
        if lasts:
            os.fsync(self._root)

    def _names(self, folder: str) -> list[str]:
        descriptor = os.open(folder, _READ | os.O_DIRECTORY, dir_fd=self._root)
        try:
            return names_in(descriptor)
        finally:
            os.close(descriptor)


def little_waits() -> bool:
    """To be written to the disks of this machine, since no disk tells of its own: so that nobody waits long for what he brings there."""
    told = dict(line.split(":", 1) for line in _MEMORY.read_text(encoding="ascii").splitlines())
    return sum(int(told[name].split()[0]) << 10 for name in ("Dirty", "Writeback")) <= _LITTLE


def names_in(folder: int) -> list[str]:
    with os.scandir(folder) as entries:
        return [entry.name for entry in entries]


def write(descriptor: int, data: memoryview, offset: int) -> None:
    done = 0
    while done < len(data):
        done += os.pwrite(descriptor, data[done:], offset + done)


def note(descriptor: int, notes: list[Note]) -> None:
    for one in notes:
        write(descriptor, memoryview(one.data), one.offset)


def read_map(descriptor: int, boots: Sequence[bytes]) -> Pieces:
    """
    :raises MapError:
    """
    head = os.pread(descriptor, HEAD.size, 0)
    most = map_size(HEAD.unpack(head)[3]) if len(head) == HEAD.size else 0
    return Pieces.read(os.pread(descriptor, min(most, os.fstat(descriptor).st_size) + 1, 0) if most else b"", boots)


def punch(descriptor: int, offset: int, size: int) -> bool:
    """Gives the room of a part back, which reads as zeros then; whether the file system can."""
    mode, place, length = _KEEP_SIZE | _PUNCH_HOLE, ctypes.c_longlong(offset), ctypes.c_longlong(size)
    if not _LIBC.fallocate(descriptor, mode, place, length):
        return True
    code = ctypes.get_errno()
    if code == errno.EOPNOTSUPP:
        return False
    raise OSError(code, os.strerror(code))


def can_wait(error: OSError) -> bool:
    """Whether it is no trouble of the disk, but of this process or this file."""
    return error.errno in (errno.EMFILE, errno.ENFILE, errno.EFBIG, errno.EINTR)
