# SPDX-License-Identifier: Apache-2.0
"""The disk tier: files that were read before, whole or in part, as long as there is room for them.

Whoever serves a mount asks from its loop and fills from many threads. Nothing here ever fails a user: what cannot be kept is
refused, and what is damaged is not there.
"""

from __future__ import annotations

import errno
import os
import time
from array import array
from contextlib import suppress
from dataclasses import asdict
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

from ..boot import boot_id
from .entries import KEY, WHOLE
from .errors import FullError, UsedError
from .file import File
from .keeper import Keeper
from .pieces import PIECE, MapError, Pieces, checksums
from .room import Limits, Room, Used, beginning
from .store import cost, read_map

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .claim import Claim
    from .room import Coming

# Seconds within which a second use is still the first.
_SAME_USE: Final = 5
# Seconds after which it is kept that something was used again.
_ROUGHLY: Final = 600
_STEP: Final = 8 * PIECE
# Of what may be there, that may be open although nobody reads it. What is open does not make room for others, and does not grow old.
_OPEN: Final = 8


def key(fs_id: str, object_key: bytes, version: bytes, size: int) -> bytes:
    """Of one version of one object."""
    parts = (os.fsencode(fs_id), object_key, version, b"%d" % size)
    return blake2b(b"".join([b"%d:%s" % (len(part), part) for part in parts]), digest_size=KEY).digest()


class Disk:
    """
    :ivar settled: set when what lies there was counted, and more is taken in
    """

    def __init__(
        self,
        claim: Claim,
        limits: Limits,
        max_age: int = 0,
        boot: str = "",
        interval: float = 2.0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """
        :param max_age: seconds after which what was read is read again, 0 for never
        :param boot: another text after the machine has started anew; the kernel's own by default
        :param interval: seconds after which it is looked whether all is well
        """
        self._max_age, self._clock = max_age, clock
        self._room = Room(claim.folder, limits)
        self._keeper = Keeper(self._room, claim, boot or boot_id(), interval, clock)
        self.settled = self._keeper.settled
        self._keeper.begin()

    @property
    def used(self) -> Used:
        return self._room.used

    @property
    def off(self) -> str:
        """Why nothing is taken in, "" when it is."""
        return self._room.off

    def get(self, key: bytes, size: int) -> File | None:
        """What is there of it; close it."""
        room = self._room
        with room.lock:
            entry = room.entries.find(key) or self._keeper.find(key)
            if not entry:
                return None
            now = int(self._clock())
            if self._max_age and now - room.entries.saved[entry] > self._max_age:
                room.counters.expired += 1
                gone = room.take_out(entry)
            else:
                try:
                    file = self._open(entry, key, size)
                except (FileNotFoundError, MapError):
                    room.counters.corrupt += 1
                    gone = room.take_out(entry)
                except OSError as error:
                    room.trouble(error)
                    return None
                else:
                    self._use(entry, now)
                    return file
        room.sweep(gone)
        return None

    def begin(self, key: bytes, size: int) -> File:
        """What is there of it, or the begin of it; close it.

        :raises FullError:
        """
        file = self.get(key, size) or self._begin(key, size) or self.get(key, size)
        if file is None:
            raise self._refusal("The file is being removed.")
        return file

    def put(self, key: bytes, data: bytes | memoryview) -> File:
        """A whole file at once; close it.

        :raises FullError:
        """
        view = memoryview(data).cast("B")
        file = self.get(key, len(view)) or self._put(key, view) or self.get(key, len(view))
        if file is None:
            raise self._refusal("The file is being removed.")
        try:
            file.fill(0, view)  # in case that it was there in part
        except FullError:
            file.close()
            raise
        return file

    def adopt(self, key: bytes, path: Path, descriptor: int, goes_on: Callable[[], object] = lambda: None) -> None:
        """A whole file that lies there, and that nobody writes to any more, is the cache's from now on. For a thread: it reads all of it.

        :param goes_on: asked again and again; what it raises ends this, and nothing has happened
        :raises FullError:
        """
        room, size = self._room, os.fstat(descriptor).st_size
        wanted = self._whole(size)
        with room.taking(wanted) as coming:
            sums = array("I")
            for offset in range(0, size, _STEP):
                goes_on()
                sums.extend(checksums(memoryview(os.pread(descriptor, _STEP, offset))))
            os.fchmod(descriptor, 0o444)
            with room.lock, suppress(FileNotFoundError):  # somebody removed it
                if coming.may_be(key):
                    coming.store.adopt(path, key)
                    coming.keep()
                    room.add(key, size, int(self._clock()), sums)

    def give(self, key: bytes, file: File, path: Path) -> None:
        """A whole file, which only who asks uses, lies there from now on: it is none of the cache any more, and may be written to.

        :raises UsedError:
        """
        room = self._room
        with room.lock:
            if room.store is None or room.opened.get(file.entry) is not file or file.users != 1 or not file.whole:
                raise UsedError
            # First: where the index knew of it still after a crash, it would be given out changed.
            room.store.give(key, path)
            room.take_out(file.entry)
        room.sweep(key)

    def drop(self, key: bytes) -> None:
        """It is not there any more; who has it open reads on."""
        room = self._room
        with room.lock:
            entry = room.entries.find(key)
            if not entry:
                return
            room.counters.drops += 1
            room.take_out(entry)
        room.sweep(key)

    def clear(self) -> None:
        """Nothing is there any more."""
        with self._room.lock:
            keys = [self._room.entries.key(entry) for entry in self._room.entries.live()]
        for one in keys:
            self.drop(one)

    def give_way(self, size: int) -> bool:
        """What is written takes so much of the same room, and goes before what is cached. For a thread.

        :return: whether more of that would have to go, but is open
        """
        self._room.beside = size
        return self._room.ease()

    def status(self) -> dict[str, Any]:
        room = self._room
        with room.lock:
            return {
                "folder": str(room.folder),
                "off": room.off,
                "short": room.short,
                "settled": self.settled.is_set(),
                "bytes": room.used.bytes,
                "files": room.used.files,
                **{f"most_{name}": value for name, value in room.limits._asdict().items()},
                "open": len(room.opened),
                **asdict(room.counters),
            }

    def may_stay_open(self, files: int, size: int) -> bool:
        """So much, of which nobody may need anything."""
        room = self._room
        if self._max_age or files * _OPEN > room.limits.files or size * _OPEN > room.limits.bytes:
            return False
        with room.lock:
            return not room.is_tight()

    def close(self, lasts: bool = True) -> None:
        """After the last has filled. What is open stays so until it is closed.

        :param lasts: all is on the disk then, unless others have much to write; else it is believed by who begins before the machine dies
        """
        self._keeper.end(lasts)

    def _begin(self, key: bytes, size: int) -> File | None:
        """None when it is there by now, or being removed."""
        room, wanted, pieces = self._room, beginning(size), Pieces(size)
        if size > room.largest and not room.punches:
            raise self._refusal(f"{size} bytes are more than a quarter of what the cache in {room.folder} may have.")
        with room.taking(wanted) as coming:
            return self._fill_new(coming, key, size, pieces)

    def _fill_new(self, coming: Coming, key: bytes, size: int, pieces: Pieces) -> File | None:
        room = self._room
        with room.lock:
            if not coming.may_be(key):
                return None
            descriptor, notes = coming.store.create_filling(key, pieces, room.boot)
            coming.keep()
            entry = room.entries.add(key, beginning(size).bytes, 0, int(self._clock()))
            return self._opened(File(room, entry, size, descriptor, notes, pieces))

    def _put(self, key: bytes, view: memoryview) -> File | None:
        """None when it is there by now, or being removed."""
        room, wanted = self._room, self._whole(len(view))
        with room.taking(wanted) as coming:
            name, descriptor = coming.store.write_new(key, view)
            try:
                sums = array("I", checksums(view))
                with room.lock:
                    if not coming.may_be(key):
                        return None
                    coming.store.publish(name, key)
                    coming.keep()
                    entry = room.add(key, len(view), int(self._clock()), sums)
                    return self._opened(File(room, entry, len(view), descriptor, -1, None))
            finally:
                if not coming.kept:
                    os.close(descriptor)
                    coming.store.unlink(name)

    def _whole(self, size: int) -> Used:
        """What a file takes that comes at once.

        :raises FullError:
        """
        wanted = Used(cost(size), 1)
        if wanted.bytes > self._room.largest:
            raise self._refusal(
                f"{size} bytes are more than a quarter of what the cache in {self._room.folder} may have."
            )
        return wanted

    def _refusal(self, reason: str) -> FullError:
        with self._room.lock:
            return self._room.refusal(reason)

    def _open(self, entry: int, key: bytes, size: int) -> File:
        """The lock is held.

        :param size: as its key says
        :raises FileNotFoundError: it went, or has another size
        :raises MapError:
        """
        room = self._room
        store, file = room.store, room.opened.get(entry)
        if file is not None:
            file.users += 1
            return file
        if store is None:
            raise FileNotFoundError
        whole = room.entries.flags[entry] & WHOLE
        descriptor, notes = (store.open_object(key), -1) if whole else store.open_filling(key)
        try:
            found = os.fstat(descriptor).st_size
            pieces = None if whole else read_map(notes, (room.boot,))
            if found != size or (pieces and found != pieces.size):
                raise FileNotFoundError(errno.ENOENT, f"it has {found} bytes only")
        except BaseException:
            os.close(descriptor)
            if notes >= 0:
                os.close(notes)
            raise
        return self._opened(File(room, entry, size, descriptor, notes, pieces))

    def _opened(self, file: File) -> File:
        self._room.opened[file.entry] = file
        file.settle()
        return file

    def _use(self, entry: int, now: int) -> None:
        entries = self._room.entries
        promoted = entries.order.use(entry, now - entries.saved[entry] >= _SAME_USE)
        if promoted or now - entries.used[entry] > _ROUGHLY:
            entries.used[entry] = max(now, 0)
            self._room.note(entry)
