# SPDX-License-Identifier: Apache-2.0
"""Begins the cache from what lies in its folder, and keeps it well: counts, gives room back, and comes back after trouble."""

from __future__ import annotations

import errno
import logging
import os
import threading
from contextlib import ExitStack, suppress
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from .entries import WHOLE
from .errors import ForeignError, HeldError
from .index import Index
from .pieces import MapError, Pieces, bounds, map_size, runs
from .policy import FIRST
from .room import Used
from .store import OBJECTS, Store, cost, key_of, object_name, punch, read_map

if TYPE_CHECKING:
    from collections.abc import Callable

    from .claim import Claim
    from .room import Room

_LOG = logging.getLogger(__name__)
_NO_BOOT: Final = bytes(16)
_COUNTING: Final = "The files of the cache are being counted."
# Names of a folder after which others have their turn.
_MANY, _TURN = 200, 0.002


class Keeper:
    """
    :ivar settled: set as long as more is taken in
    """

    def __init__(self, room: Room, claim: Claim, boot: str, interval: float, clock: Callable[[], float]) -> None:
        self._room, self._claim, self._boot, self._interval, self._clock = room, claim, boot, interval, clock
        self.settled = threading.Event()
        self._ended = threading.Event()
        self._store = Store(claim.root)
        self._doubts = False  # whether files that the index does not know may be of before the machine died
        self._thread = threading.Thread(target=self._run, name="cache keeper", daemon=True)

    def begin(self) -> None:
        """What is there can be had then; more is taken in when it was counted."""
        try:
            counted = self._begin()
        except OSError as error:
            self._room.trouble(error)
        else:
            if counted:
                self._settle()
        self._thread.start()

    def end(self, lasts: bool) -> None:
        self._ended.set()
        self._room.pressed.set()
        self._thread.join()
        room = self._room
        with room.lock:
            well = not room.off and not room.leaving
            room.off = "The cache was closed."
        self.settled.clear()
        written = room.index.close() if room.index else False
        if not well or not written:
            return  # the next one counts
        try:
            lasts = lasts and self._store.sync()
            self._write_state(lasts, clean=lasts, ended=True)
        except OSError as error:
            _LOG.warning("The cache in %s is compared with its checksums next time: %s", room.folder, error)

    def find(self, key: bytes) -> int:
        """The entry of what lies there and was not counted yet, 0 for nothing. The lock is held."""
        room = self._room
        if self.settled.is_set() or self._doubts or room.troubled or room.store is not self._store:
            return 0
        try:
            self._count_one(key, object_name(key), bytearray())
        except OSError:  # who counts all finds it, too
            return 0
        return room.entries.find(key)

    def _write_state(self, lasts: bool, clean: bool = False, ended: bool = False) -> None:
        """
        :param ended: all that the index knows is right as long as the machine lives; ``clean`` when it died, too
        """
        state = {"boot": self._boot, "clean": clean, "ended": ended, "doubt": self._doubts}
        self._store.write_state(state, lasts)

    def _begin(self, again: bool = False) -> bool:
        """
        :param again: after trouble
        :return: whether all is counted already
        """
        room, store = self._room, Store(self._claim.root)
        self._store = store
        store.make()
        room.punches = store.probe()
        state = store.read_state()
        before, clean = str(state.get("boot", "")), state.get("clean") is True
        ended = clean or (before == self._boot and state.get("ended") is True)
        distrusts = before != self._boot and not clean
        self._doubts = distrusts or state.get("doubt") is True
        if room.index:
            room.index.close()
        index = Index(room.folder, room.limits.files, distrusts, room.lock, room.trouble, check=again)
        # Before anything is written, and not sooner: who finds it believes what stands in the index.
        self._write_state(lasts=clean or before != self._boot)
        boot = _digest(self._boot)
        believed = [boot, _digest(before)] if clean else [boot]
        whole = len(index.entries)
        for used, key in store.filling():
            self._add_filling(index, key, int(used), [] if again else believed)
        room.settle(store, index, boot, len(index.entries) - whole)
        return ended and not index.anew and not again

    def _add_filling(self, index: Index, key: bytes, used: int, believed: list[bytes]) -> None:
        """What fills is gone on with, unless nothing is there of it."""
        store = self._store
        pieces, taken = None, 0
        with suppress(FileNotFoundError, MapError), ExitStack() as closing:
            file, notes = store.open_filling(key)
            closing.callback(os.close, file)
            closing.callback(os.close, notes)
            found, status = read_map(notes, believed), os.fstat(file)
            noted = found.noted
            taken = sum(cost(bounds(piece, found.size)[1]) for piece in noted)
            if status.st_size == found.size and noted:
                pieces = found
                os.pwrite(notes, found.head(_digest(self._boot) if found.there else _NO_BOOT), 0)
                if status.st_blocks * 512 > taken:
                    self._clear(file, found)
        if pieces is None or index.entries.find(key):
            store.remove(key, whole=False)
        else:
            index.entries.add(key, cost(map_size(pieces.size)) + taken, 0, used)

    def _clear(self, file: int, pieces: Pieces) -> None:
        """Of what was written and not noted."""
        for first, last in runs(sorted(set(range(pieces.count)) - set(pieces.noted))):
            start, end = bounds(first, pieces.size)[0], sum(bounds(last, pieces.size))
            punch(file, start, cost(end - start))

    # --- from then on -------------------------------------------------------------------------

    def _run(self) -> None:
        while not self._ended.is_set():
            try:
                self._tend()
            except (OSError, HeldError, ForeignError) as error:
                _LOG.debug("The cache in %s stays off: %s", self._room.folder, error)
            self._room.pressed.wait(self._interval)
            self._room.pressed.clear()

    def _tend(self) -> None:
        room = self._room
        if not self._claim.stands():
            room.trouble(FileNotFoundError(errno.ENOENT, "the folder was removed", str(room.folder)))
        elif room.index and not room.index.stands():
            room.trouble(FileNotFoundError(errno.ENOENT, "the index was removed", str(room.folder)))
        if room.troubled:
            self.settled.clear()
            if not self._claim.stands():
                self._claim.renew()
            store = Store(self._claim.root)
            store.make()
            store.probe()  # before what is there is given up
            room.off, room.troubled = _COUNTING, False
            try:
                self._begin(again=True)
            except OSError as error:
                room.off, room.troubled = f"The cache in {room.folder} is off: {error}.", True
                raise
        if not self.settled.is_set() and not room.troubled:
            room.off = _COUNTING
            try:
                counted = self._count()
            except OSError as error:
                room.trouble(error)
                raise
            if not counted:
                return
            self._settle()
        for key in list(room.leaving):
            room.sweep(key)
        room.ease()

    def _settle(self) -> None:
        room = self._room
        with room.lock:
            if room.troubled:
                return
            if room.counters.troubles:
                _LOG.warning("The cache in %s is used again.", room.folder)
            room.off = ""
        self.settled.set()

    def _count(self) -> bool:
        """Compares the entries with the files: a worker that was killed had not written down the last of them."""
        room = self._room
        seen = bytearray(len(room.entries.flags))
        for first in range(256):
            for number, name in enumerate(self._store.objects(first)):
                if number % _MANY == _MANY - 1 and self._ended.wait(_TURN):
                    return False
                key = key_of(name)
                if key is not None and key[0] == first:
                    with room.lock:
                        self._count_one(key, f"{OBJECTS}/{first:02x}/{name}", seen)
        for entry in range(FIRST, len(seen)):
            if not seen[entry] and not self._count_lost(entry):
                return False
        if self._doubts:
            self._doubts = False
            self._write_state(lasts=True)
        return not self._ended.is_set()

    def _count_lost(self, entry: int) -> bool:
        """Of an entry without a file; whether to go on."""
        room = self._room
        with room.lock:
            lost = room.entries.flags[entry] & WHOLE
            key = room.take_out(entry) if lost else b""
            room.counters.corrupt += bool(lost)
        return not key or (room.sweep(key) and not (entry % _MANY == 0 and self._ended.wait(_TURN)))

    def _count_one(self, key: bytes, path: str, seen: bytearray) -> None:
        """The lock is held."""
        room = self._room
        entry = room.entries.find(key)
        if entry and room.entries.flags[entry] & WHOLE:
            if entry < len(seen):
                seen[entry] = 1
            return
        if key in room.leaving:
            return
        try:
            size = self._store.size(path)
        except FileNotFoundError:
            return
        if size is None:
            return
        if self._doubts or entry:  # nothing tells whether it is right
            self._store.unlink(path)
            return
        entry = room.add(key, size, int(self._clock()), None)
        if entry < len(seen):  # what came later is not looked for
            seen[entry] = 1
        room.used = room.used.plus(Used(cost(size), 1))


def _digest(boot: str) -> bytes:
    return blake2b(boot.encode(), digest_size=16).digest()
