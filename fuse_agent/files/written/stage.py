# SPDX-License-Identifier: Apache-2.0
"""Files that are written: each lies in a folder of ours until the source has it, and longer where the source would not take it.

Beside each lies a note of what it shall become, so that whoever starts after a crash can bring it where it belongs.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import logging
import os
import re
import signal
import threading
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import trio

from ..read.ahead import Range
from .notes import Note, Stored, note_path, write_note
from .present import Present

if TYPE_CHECKING:
    from pathlib import Path

    from ...cache.file import File
    from .marks import Marks

_LOG = logging.getLogger(__name__)
# Of a file that was there before: what is fetched, and known to be here, as one.
PIECE: Final = 128 << 10
_FILLED, _WRITTEN = 1, 2  # of a piece; 0 is not here
# Up to that size what was stored is told from what is here by its content; above, by its times, which have to be settled.
COMPARED: Final = 8 << 20
SETTLED: Final = 20_000_000  # nanoseconds: two writes within less may show the same time
_STEP: Final = 1 << 20
_SHORT: Final = 64 << 10
MAP, _NEW = ".map", ".new"  # of names: of what is here, and of what is not whole yet
_SAME: Final = re.compile(rb"[\x00\x01]+")
# What a disk says that takes no more.
NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT)
_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.sync_file_range.argtypes = (ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint)
_BEGIN_WRITEBACK: Final = 1 | 2  # what is being written waits, then all that is dirty is begun
_LIBC.fallocate.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)
_KEEP_SIZE, _PUNCH_HOLE, _ZERO_RANGE = 0x01, 0x02, 0x10  # of fallocate
ALLOCATED, ZEROED = _KEEP_SIZE, _PUNCH_HOLE | _ZERO_RANGE
# The disk did not take it: what is here is not what was to be written.
_HARMFUL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EIO)


class Stage:
    """
    :ivar found: whether a process before this one began it
    :ivar sent: what it was like each time that it was sent and nobody knows whether the source took that
    :ivar retried: closed by all, and somebody tries to store it again and again
    :ivar torn: the machine died since, and its disk need not have all that was written
    :ivar watched: closed by all, and somebody looks whether it is mapped still
    """

    def __init__(
        self, folder: Path, number: int, descriptor: int, note: Note, present: Present | None, marks: Marks
    ) -> None:
        self._folder, self.number, self.descriptor, self.note = folder, number, descriptor, note
        self._present, self._marks = present, marks
        self.retried = self.watched = self.found = self.torn = self._complained = False
        self.sent: list[Stored] = []
        self.lock = trio.Lock()  # of what is written, filled or stored
        self._noting = threading.Lock()

    @property
    def stored(self) -> Stored | None:
        return self.note.stored

    @property
    def poisoned(self) -> int:
        return self.note.poisoned

    def poison(self, error: OSError) -> None:
        """It lacks a part from now on, whatever its disk takes still: nobody stores it."""
        code = error.errno or errno.EIO
        try:
            self._say(poisoned=code)
        except OSError as failed:
            if failed.errno != errno.ENOENT:  # else what it would be of is gone
                self._mark(code, failed)

    def _mark(self, code: int, failed: OSError) -> None:
        try:
            self._marks.put(self.number, code)
            until = "it is not stored as long as this machine runs"
        except OSError as error:
            until = f"it is not stored by this process, but would be by the next one, as this is kept nowhere else either ({error})"
        _LOG.error(
            "a write to a file failed, and its disk takes no note of that: %s. Free space there or mount it writable, and write the file"
            " again; where the agent is to begin anew before, remove what is staged path=%r file=%s reason=%r",
            until, self.note.path, self.path, str(failed),
        )  # fmt: skip

    @property
    def path(self) -> Path:
        return self._folder / str(self.number)

    @property
    def whole(self) -> bool:
        return self._present is None

    def status(self) -> os.stat_result:
        return os.fstat(self.descriptor)

    def missing(self, asked: Range, edges_only: bool = False) -> list[Range]:
        """Of what was there before, what is not here, in pieces.

        :param edges_only: what is covered as a whole is about to be written, and is not missed
        """
        if self._present is None:
            return []
        found = []
        for piece in range(asked.offset // PIECE, -(-asked.end // PIECE)):
            start, end = piece * PIECE, min((piece + 1) * PIECE, self.note.base)
            covered = edges_only and asked.offset <= start and asked.end >= end
            if start < end and not self._present.pieces[piece] and not covered:
                found.append(Range(start, end - start))
        return found

    def fill(self, offset: int, data: bytes | memoryview) -> None:
        """A piece of what was there before."""
        if self._present is None or self._present.pieces[offset // PIECE]:
            return  # somebody was faster, and may have written to it since
        room = max(self.note.base - offset, 0)
        before = self.status()
        os.pwrite(self.descriptor, data[:room], offset)
        os.utime(self.descriptor, ns=(before.st_atime_ns, before.st_mtime_ns))
        with suppress(OSError):  # who comes after this process asks for it again
            self._present.note(offset // PIECE, bytes([_FILLED]))

    def write(self, offset: int, data: bytes | memoryview) -> int:
        done = 0
        try:
            while done < len(data):
                done += os.pwrite(self.descriptor, data[done:], offset + done)
        except OSError as error:
            self.poison(error)
            raise
        self._written(offset, done)
        return done

    def _written(self, offset: int, size: int) -> None:
        if self._present is not None:
            first, end = offset // PIECE, min(-(-(offset + size) // PIECE), len(self._present.pieces))
            self._note_written(self._present, first, max(end - first, 0))

    def _note_written(self, present: Present, first: int, count: int) -> None:
        """Else who comes after this process would put there what was there before."""
        try:
            present.note(first, bytes([_WRITTEN]) * count)
        except OSError as error:
            self.poison(error)
            raise

    def based(self, offset: int, size: int) -> Range:
        """As much of the range as was there before."""
        return Range(offset, max(min(offset + size, self.note.base) - offset, 0))

    def allocate(self, mode: int, offset: int, size: int) -> None:
        """Zeros are a hole and, where one was not asked for, room: not every disk can zero what has room."""
        try:
            if mode & ZEROED:
                self._fallocate(_PUNCH_HOLE | _KEEP_SIZE, offset, size)
                self._written(offset, size)
            if not mode & _PUNCH_HOLE:
                self._fallocate(mode & _KEEP_SIZE, offset, size)
        except OSError as error:
            if error.errno in _HARMFUL:
                self.poison(error)
            raise

    def _fallocate(self, mode: int, offset: int, size: int) -> None:
        while _LIBC.fallocate(self.descriptor, mode, offset, size):
            code = ctypes.get_errno()
            if code != errno.EINTR:
                raise OSError(code, f"fallocate with mode {mode:#x}: {os.strerror(code)}")

    def copy(self, descriptor: int, at: int, offset: int, size: int) -> int:
        """From another file, or from another place of this one, within the kernel."""
        done = 0
        try:
            while done < size:
                moved = os.copy_file_range(descriptor, self.descriptor, size - done, at + done, offset + done)
                if not moved:
                    break
                done += moved
        except OSError as error:
            if error.errno in _HARMFUL:
                self.poison(error)
            raise
        finally:
            self._written(offset, done)
        return done

    def truncate(self, size: int) -> None:
        if self._present is not None and size < self.note.base:
            self._note_written(self._present, len(self._present.pieces) - 1, 1)  # if any of it stays, that is here
        self.say(base=min(self.note.base, size))
        try:
            os.ftruncate(self.descriptor, size)
        except OSError as error:
            self.poison(error)
            raise

    def say(self, **changes: Any) -> None:
        """What is another from now on, complete or not at all. From any thread: nobody's words are lost by another's."""
        try:
            self._say(**changes)
        except OSError as error:
            # Somebody removed the folder, and with it what a note would be of; or nothing can be written there any more.
            if error.errno not in (errno.ENOENT, errno.EROFS):
                raise

    def say_if_it_can(self, **changes: Any) -> None:
        """Of what has happened already. It holds for this process also where the disk takes no note of it, as a full one that copies what is
        written over."""
        try:
            self.say(**changes)
        except OSError as error:
            if not self._complained:
                self._complained = True
                _LOG.error(
                    "what becomes of a staged file cannot be noted, so a worker after this one may not know it: free space on its disk"
                    " path=%r file=%s reason=%r", self.note.path, self.path, str(error),
                )  # fmt: skip

    def _say(self, **changes: Any) -> None:
        with self._noting:
            note = self.note._replace(**changes)
            if note != self.note:
                self.note = note
                write_note(self._folder, self.number, note)

    def begin_as(self, source: File, size: int, times: tuple[int, int]) -> bool:
        """All of a cached file, which the source has. In a thread. It removes itself when that fails.

        :return: False when the file was given up meanwhile
        """
        if not source.use():
            self.remove()
            return False
        try:
            _copy(source.descriptor, self.descriptor, size)
            os.utime(self.descriptor, ns=times)
            self.say(stored=self.settle(), unfinished=False)
        except BaseException:
            self.remove()
            raise
        finally:
            source.close()
        return True

    def is_as_stored(self, sum_: int, times: tuple[int, int]) -> None:
        """It is a cached file that nobody has written to yet."""
        os.fchmod(self.descriptor, 0o600)
        os.utime(self.descriptor, ns=times)
        status = self.status()
        stored = Stored(status.st_size, status.st_mtime_ns, status.st_ctime_ns, sum_)
        self.say(stored=stored, unfinished=False)

    def same(self) -> list[Range]:
        """What is as it was before, in order."""
        if self._present is None:
            return []
        pieces = re.finditer(_SAME, self._present.pieces)
        runs = [
            Range(run.start() * PIECE, min(run.end() * PIECE, self.note.base) - run.start() * PIECE) for run in pieces
        ]
        return [run for run in runs if run.size > 0]

    def rebase(self, **changes: Any) -> None:
        """What is here is what the source has, of which this says the version: what is written from now on is new."""
        if self._present is None or not self._folder.exists():  # it was removed, and more is sent than has to be
            self.say_if_it_can(**changes)
            return
        size = self.status().st_size
        more = -(-size // PIECE) - len(self._present.pieces)
        if more > 0:
            map_ = self._folder / f"{self.number}{MAP}"
            unfinished = map_.with_suffix(f"{MAP}{_NEW}")
            try:
                unfinished.write_bytes(self._present.pieces + bytes([_FILLED]) * more)
                longer = Present(unfinished)
                unfinished.rename(map_)
            except OSError:  # as on a full disk: more is sent than has to be
                self.say_if_it_can(**changes)
                return
            self._present.close()
            self._present = longer
        self.say_if_it_can(**changes, base=size)
        # Last: until then who finds it sends more than has to be sent.
        with suppress(OSError):
            self._present.note(0, bytes(self._present.pieces.replace(bytes([_WRITTEN]), bytes([_FILLED]))))

    def is_untouched(self) -> bool:
        """Whether all of it is what was there before."""
        if self._present is None or _WRITTEN in self._present.pieces:
            return False
        return self.status().st_size == self.note.base

    def seems_stored(self) -> bool:
        """By its times, which need not show what was written last."""
        if self.stored is None:
            return False
        status = self.status()
        return self.stored[:3] == (status.st_size, status.st_mtime_ns, status.st_ctime_ns)

    @property
    def is_short(self) -> bool:
        """To read all of what was stored takes less than to begin a thread for it."""
        return self.stored is not None and self.stored.size <= _SHORT

    def is_stored(self) -> bool:
        """May read all of it."""
        if self.stored is None or not self.seems_stored():
            return False
        return sum_if_compared(self.descriptor, self.stored.size) == self.stored.sum

    def is_needless(self, asked_again: bool) -> bool:
        """Whether one that nobody has open holds nothing that the source lacks, and never will.

        :param asked_again: by the kernel, what the process before this one did not answer
        """
        note = self.note
        if note.unfinished or not note.path or self.is_untouched():
            return True
        if note.stored is None:  # of an open that never was
            return asked_again and not note.waits and not self.status().st_size
        return not (note.kept or note.poisoned) and self.is_stored() and not self.is_mapped()

    def settle(self) -> Stored:
        """What it is like now. A page that somebody has mapped and writes to again shows in its times only if it was clean, so
        a large one is begun to be written to its disk first."""
        status = self.status()
        if status.st_size > COMPARED:
            _LIBC.sync_file_range(self.descriptor, 0, 0, _BEGIN_WRITEBACK)
        # Times of before: what is written meanwhile has a later one, and is stored once more.
        sum_ = sum_if_compared(self.descriptor, status.st_size)
        return Stored(status.st_size, status.st_mtime_ns, status.st_ctime_ns, sum_)

    def is_mapped(self) -> bool:
        """Whether somebody may write to it without having it open. A mapping of a file that the kernel writes by itself does not
        keep the handle that it was made by, so nobody tells when it goes; but a lease is only for who is alone."""
        fcntl.fcntl(self.descriptor, fcntl.F_SETSIG, signal.SIGURG)  # of a lease that is broken: one that nobody hears
        try:
            fcntl.fcntl(self.descriptor, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        except OSError as error:
            if error.errno in (errno.EINVAL, errno.EOPNOTSUPP):  # this disk has no leases
                return False
            if error.errno != errno.EAGAIN:
                raise
            return True
        fcntl.fcntl(self.descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
        return False

    def remove(self) -> None:
        """With all that tells of it. In a thread: to give the room of a large one back takes its time."""
        self.unname()
        self.close()

    def unname(self) -> None:
        """Nobody finds it any more; its room is given back when it is closed."""
        if remove(self._folder, self.number):
            self._marks.drop(self.number)

    def close(self) -> None:
        if self._present is not None:
            self._present.close()
        os.close(self.descriptor)


def sum_if_compared(descriptor: int, size: int) -> int:
    """Of a whole file; 0 of one that is known by its times alone."""
    found = 0
    for start in range(0, size if size <= COMPARED else 0, _STEP):
        found = zlib.crc32(os.pread(descriptor, _STEP, start), found)
    return found


def remove(folder: Path, number: int) -> bool:
    """Whether it is gone."""
    try:
        for path in (folder / str(number), folder / f"{number}{MAP}", note_path(folder, number)):
            path.unlink(missing_ok=True)
    except OSError as error:
        if error.errno != errno.EROFS:
            raise
        _LOG.error(
            "%s is read-only, so what was staged there stays: mount its disk writable, and then anew staged=%d",
            folder,
            number,
        )
        return False
    return True


def _copy(source: int, target: int, size: int) -> None:
    done = 0
    while done < size:
        moved = os.copy_file_range(source, target, size - done, done, done)
        if not moved:
            raise OSError(errno.EIO, f"the cached file has {done} bytes, but should have {size}")
        done += moved
