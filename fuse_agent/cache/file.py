# SPDX-License-Identifier: Apache-2.0
"""A file of the disk tier, whole or filling. All who have it open share one of these."""

from __future__ import annotations

import os
from collections import deque
from typing import TYPE_CHECKING, Final

from .entries import TRUSTED, WHOLE
from .pieces import Pieces, bounds, checksums, runs
from .room import Used
from .store import cost, note, punch, write

if TYPE_CHECKING:
    from .room import Room

_NOTHING: Final = Used(0, 0)


class File:
    """
    :ivar size: of the object
    :ivar descriptor: for reading, or while it fills for both
    :ivar entry: its number, 0 after it was removed; who has it open reads on
    :ivar users: who have it open
    :ivar held: what it takes of the disk although it was removed
    :ivar big: it never becomes whole; its oldest pieces make room for others
    """

    __slots__ = (
        "_closing", "_filled", "_lost", "_notes", "_pieces", "_room", "big", "descriptor", "entry", "held", "size", "users",
    )  # fmt: skip

    def __init__(self, room: Room, entry: int, size: int, descriptor: int, notes: int, pieces: Pieces | None) -> None:
        """
        :param notes: the descriptor of its map, -1 of a whole one
        :param pieces: those that are there, None of a whole one
        """
        self.entry, self.size, self.descriptor = entry, size, descriptor
        self.big = size > room.largest
        self.users = 1
        self.held = _NOTHING
        if pieces is None and not room.entries.flags[entry] & TRUSTED:
            pieces = Pieces.doubted(size)
        self._room, self._notes, self._pieces = room, notes, pieces
        self._filled = deque(pieces.present) if pieces and self.big else deque()
        self._lost = 0  # pieces that are damaged, and are noted still
        self._closing = [descriptor] if notes < 0 else [descriptor, notes]

    @property
    def whole(self) -> bool:
        """Whether the descriptor reads all of the object, now and as long as it is open."""
        return self._pieces is None

    @property
    def verified(self) -> bool:
        """False after the machine died: what is there has to be compared with its checksums before it is there."""
        return not self.doubts(0, self.size)

    def doubts(self, offset: int, size: int) -> bool:
        """The same of a part."""
        pieces = self._pieces
        return pieces is not None and pieces.doubts(offset, size)

    def has(self, offset: int, size: int) -> bool:
        pieces = self._pieces
        return pieces is None or pieces.has(offset, size)

    def missing(self, offset: int, size: int) -> list[tuple[int, int]]:
        """What has to be filled so that a part is there: offsets and sizes, in whole pieces."""
        pieces = self._pieces
        return [] if pieces is None else pieces.missing(offset, size)

    def fill(self, offset: int, data: bytes | memoryview) -> None:
        """Whole pieces, or up to the end of the file. What is there already, or is being filled, is left alone.

        :raises FullError: it is not taken, now or for as long as this file is open
        """
        room, view = self._room, memoryview(data).cast("B")
        with room.lock:
            pieces = self._pieces
            if pieces is None:
                return
            if self._is_object:
                raise room.refusal("The file has to be compared with its checksums first.")
            taken = pieces.take(offset, len(view))
        if not taken:
            return
        wanted = Used(sum(cost(bounds(piece, self.size)[1]) for piece in taken), 0)
        try:
            room.take(wanted, self)
        except BaseException:
            with room.lock:
                pieces.give_up(taken)
            raise
        try:
            sums = self._write(taken, offset, view)
        except OSError as error:
            self._undo(pieces, taken, wanted)
            room.trouble(error)
            with room.lock:
                raise room.refusal(f"The file was not written: {error}.") from None
        with room.lock:
            pieces.keep(taken, sums)
            if self.big:
                self._filled.extend(taken)
            self.settle()

    def read(self, offset: int, size: int, buffer: memoryview | None = None) -> memoryview | None:
        """None when it is not there, or no more.

        :param buffer: into which it is read, of that size at least
        """
        size = max(min(size, self.size - offset), 0)
        pieces = self._pieces
        turns = pieces.turns if pieces else 0
        if not self.has(offset, size):
            return None
        into = memoryview(bytearray(size)) if buffer is None else buffer[:size]
        done = 0
        try:
            while done < size:
                some = os.preadv(self.descriptor, [into[done:]], offset + done)
                if not some:
                    break
                done += some
        except OSError:
            done = -1
        if done < size:
            self.damaged()
            return None
        if pieces is not None and pieces.turns != turns:
            return None
        return into

    def damaged(self) -> None:
        """It is not there any more."""
        room = self._room
        with room.lock:
            if not self.entry:
                return
            room.counters.corrupt += 1
            key = room.take_out(self.entry)
        room.sweep(key)

    def use(self) -> bool:
        """For a thread, while somebody else may close it: False when that was done. Close it after use."""
        with self._room.lock:
            self.users += bool(self.users)
            return bool(self.users)

    def close(self) -> None:
        room = self._room
        with room.lock:
            self.users -= 1
            if self.users:
                return
            room.closed(self)
        for descriptor in self._closing:
            os.close(descriptor)

    # --- for the cache itself -----------------------------------------------------------------

    def settle(self) -> None:
        """When all is there, it is a whole file from now on. The lock is held."""
        room, pieces = self._room, self._pieces
        if pieces is None or not pieces.complete:
            return
        if self._is_object:
            if self.entry:
                room.entries.flags[self.entry] |= TRUSTED
                room.note(self.entry)
            self._pieces = None
            return
        if self.big:
            return
        if not self.entry or room.store is None or room.off:  # who opens it next does it
            return
        key = room.entries.key(self.entry)
        try:
            descriptor = room.store.finish(key, self.descriptor)
        except OSError as error:
            room.trouble(error)
            return
        self._closing.append(descriptor)
        before, after = room.entries.order.cost[self.entry], cost(self.size)
        room.give(Used(before - after, 1))
        room.entries.order.resize(self.entry, after)
        room.entries.flags[self.entry] |= WHOLE | TRUSTED
        room.note(self.entry, pieces.sums)
        self.descriptor, self._pieces = descriptor, None
        room.store.drop_map(key)

    def compare(self, offset: int, size: int) -> None:
        """What of a part is doubtful is read and compared with its checksums, and is there from now on where it is right. A piece that is
        not is lost, and with it all of a file that was whole."""
        pieces = self._pieces
        if pieces is None or not pieces.doubts(offset, size):
            return
        if self._is_object:
            self._compare_object(pieces, offset, size)
        else:
            self._compare_pieces(pieces, offset, size)
        with self._room.lock:
            self.settle()

    def oldest(self, most: int) -> list[int]:
        """Pieces that go, and are nobody's until they were punched. The lock is held."""
        if self._pieces is None:
            return []
        lost = [self._filled.popleft() for _piece in range(min(most, len(self._filled)))]
        self._pieces.lose(lost)
        return lost

    def punch(self, lost: list[int]) -> bool:
        """Gives the room of pieces back; whether the file system can."""
        pieces = self._pieces
        if pieces is None:
            return False
        given = sum(cost(bounds(piece, self.size)[1]) for piece in lost)
        try:
            note(self._notes, Pieces.erasures(lost))  # first, as above
            for first, last in runs(sorted(lost)):
                start = bounds(first, self.size)[0]
                if not punch(self.descriptor, start, cost(sum(bounds(last, self.size)) - start)):
                    return False
        except OSError as error:
            self._room.trouble(error)
            return False
        finally:
            with self._room.lock:
                pieces.give_up(lost)
        with self._room.lock:
            self._room.counters.punched_bytes += given
            self._room.give(Used(given, 0), self)
        return True

    def _write(self, taken: list[int], offset: int, view: memoryview) -> list[int]:
        sums: list[int] = []
        for first, last in runs(taken):
            start = bounds(first, self.size)[0]
            part = view[start - offset : sum(bounds(last, self.size)) - offset]
            write(self.descriptor, part, start)
            sums += checksums(part)
        note(self._notes, Pieces.notes(taken, sums))
        return sums

    def _undo(self, pieces: Pieces, taken: list[int], wanted: Used) -> None:
        try:
            note(self._notes, Pieces.erasures(taken))  # first, and not without: a hole reads as zeros
            for piece in taken:
                start, size = bounds(piece, self.size)
                punch(self.descriptor, start, cost(size))
        except OSError as error:
            self._room.trouble(error)
        with self._room.lock:
            pieces.give_up(taken)
            self._room.give(wanted, self)

    @property
    def _is_object(self) -> bool:
        """Whether it was whole when it was opened."""
        return self._notes < 0

    def _compare_object(self, pieces: Pieces, offset: int, size: int) -> None:
        room, entry = self._room, self.entry
        if len(pieces.sums) != pieces.count:
            if not entry:
                return  # who wants it opens it anew
            sums = room.sums(entry, pieces.count)
            if len(sums) != pieces.count:
                self.damaged()
                return
            pieces.know(sums)
        for piece in pieces.doubtful_in(offset, size):
            if self._sum(piece) != pieces.sums[piece]:
                self.damaged()
                return
            with room.lock:
                pieces.trust(piece)

    def _compare_pieces(self, pieces: Pieces, offset: int, size: int) -> None:
        room, lost = self._room, []
        for piece in pieces.doubtful_in(offset, size):
            is_right = self._sum(piece) == pieces.sums[piece]
            with room.lock:
                if not is_right:
                    gone = pieces.reject(piece)
                    room.counters.corrupt += len(gone)
                    self._lost += len(gone)
                    lost += gone
                elif pieces.trust(piece) and self.big:
                    self._filled.append(piece)
        if lost and not self.punch(lost):
            return
        with room.lock:
            self._lost -= len(lost)
            boot, is_right = room.boot, bool(self.entry and pieces.there and not pieces.doubtful and not self._lost)
        if is_right:  # all of what is noted
            try:
                write(self._notes, memoryview(pieces.head(boot)), 0)
            except OSError as error:
                room.trouble(error)

    def _sum(self, piece: int) -> int | None:
        """None of what cannot be read."""
        offset, size = bounds(piece, self.size)
        try:
            data = os.pread(self.descriptor, size, offset)
        except OSError:
            return None
        return checksums(memoryview(data))[0] if len(data) == size else None
