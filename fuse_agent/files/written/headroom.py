# SPDX-License-Identifier: Apache-2.0
"""Room for what is written. It is counted with what is cached, which goes first; then nobody begins to write anew, and who writes
already goes on until the disk itself says no.

The kernel writes by itself and tells nobody of a write that failed. But its time is set before it fails: what changed since the disk
was last seen to have room may lack a part.
"""

from __future__ import annotations

import ctypes
import errno
import logging
import os
import tempfile
import threading
import time
from typing import TYPE_CHECKING, Final

from .stage import NO_ROOM, SETTLED

if TYPE_CHECKING:
    from pathlib import Path

    from ...cache.disk import Disk

_LOG = logging.getLogger(__name__)
# Seconds for which what was seen is believed.
PERIOD: Final = 0.25
# Looking never takes more than so small a part of the time, however much lies there.
_SHARE: Final = 20
# Of the disk, and at most: below it nobody begins to write.
_FLOOR_SHARE, _FLOOR = 20, 1 << 30
# A write that fails may have been of as much, which a file system takes as one or not at all.
_ONE_WRITE: Final = 8 << 20
_TIGHT: Final = 8 * _ONE_WRITE
# File systems that show the quotas of root in what they say is free: ext4, XFS and tmpfs. Of others it is tried.
_TELLING: Final = (0xEF53, 0x58465342, 0x01021994)
_LIBC: Final = ctypes.CDLL(None, use_errno=True)
_STATFS: Final = 512  # more than any kernel says; the first number is the type


class Headroom:
    """
    :ivar refusal: why nobody begins to write, "" when all may
    :ivar presses: more of what is cached would go if it were not open
    """

    def __init__(self, folder: Path, most: int = 0, disk: Disk | None = None) -> None:
        """
        :param most: bytes that may lie there, with what is cached; 0 for as many as the disk has
        """
        self._folder, self._most, self._disk = folder, most, disk
        self._lock = threading.Lock()
        self._looked = -PERIOD
        self._cost = 0.0
        self._roomy_ns = time.time_ns()
        self._is_told = _type(folder) in _TELLING
        self.refusal, self.presses = "", False

    @property
    def is_fresh(self) -> bool:
        """Whether what was seen is believed still."""
        return time.monotonic() - self._looked < self.pause

    @property
    def pause(self) -> float:
        return max(PERIOD, self._cost * _SHARE)

    def look(self) -> str:
        """What is cached goes first. For a thread.

        :return: why nobody begins to write, "" when all may
        :raises OSError: of the disk, which is why then
        """
        with self._lock:
            began = time.monotonic()
            try:
                staged = self._staged()
                self.presses = self._disk is not None and self._disk.give_way(staged)
                reason = self._reason(staged)
            except OSError as error:
                self._say(f"how much room there is cannot be seen ({error.strerror})")
                raise
            self._say(reason)
            self._looked = time.monotonic()
            self._cost = self._looked - began
            return self.refusal

    @property
    def is_roomy(self) -> bool:
        """Whether no write fails now, as far as that is known without trying."""
        moment = time.time_ns()
        roomy = self._is_told and self._free()[0] >= _TIGHT
        if roomy:
            self._roomy_ns = moment
        return roomy

    def missed_since(self) -> int:
        """After which time, in nanoseconds, writes may have failed since the disk is full now; 0 when it is not. For a thread."""
        moment = time.time_ns()
        if self._is_full():
            return self._roomy_ns - SETTLED
        self._roomy_ns = moment
        return 0

    def _is_full(self) -> bool:
        """Who has rights may be given what nobody else is, and there may be quotas: so it is tried."""
        try:
            with tempfile.TemporaryFile(dir=self._folder) as probe:
                os.posix_fallocate(probe.fileno(), 0, _ONE_WRITE)
        except OSError as error:
            return error.errno in NO_ROOM
        return False

    def _reason(self, staged: int) -> str:
        free, all_ = self._free()
        floor = min(all_ // _FLOOR_SHARE, _FLOOR)
        if free < floor:
            return f"its disk has {free >> 20} MiB free, and {floor >> 20} MiB have to stay so"
        if self._most and staged >= self._most:
            return f"{staged >> 20} MiB wait there to be stored, and data-cache-quota allows {self._most >> 20} MiB"
        return ""

    def _say(self, reason: str) -> None:
        if reason and not self.refusal:
            _LOG.error(
                "nobody begins to write in %s: %s. Who writes already goes on. Free space on that disk or raise data-cache-quota; when files "
                "wait to be stored, see why in the lines before. It goes on by itself when there is room.",
                self._folder, reason,
            )  # fmt: skip
        elif self.refusal and not reason:
            _LOG.warning("there is room again for what is written in %s", self._folder)
        self.refusal = reason

    def _free(self) -> tuple[int, int]:
        """Bytes, and all; a quota of that folder's project shows here too."""
        try:
            status = os.statvfs(self._folder)
        except FileNotFoundError:  # made anew by who writes next
            status = os.statvfs(next(one for one in self._folder.parents if one.exists()))
        return status.f_bavail * status.f_frsize, status.f_blocks * status.f_frsize

    def _staged(self) -> int:
        try:
            with os.scandir(self._folder) as files:
                return sum(_blocks(one) for one in files)
        except FileNotFoundError:
            return 0


def _type(folder: Path) -> int:
    """Of its file system; 0 of one that is not told."""
    told = ctypes.create_string_buffer(_STATFS)
    if _LIBC.statfs(os.fsencode(folder), told):
        return 0
    return ctypes.c_long.from_buffer(told).value


def no_room(reason: str) -> OSError:
    return OSError(errno.ENOSPC, f"there is no room for what is written: {reason}")


def _blocks(file: os.DirEntry[str]) -> int:
    try:
        return file.stat(follow_symlinks=False).st_blocks * 512
    except FileNotFoundError:
        return 0
