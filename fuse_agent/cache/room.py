# SPDX-License-Identifier: Apache-2.0
"""What the cache takes of a disk and what has to go for it: accounts, eviction, and what is done when the disk is in trouble.

All bytes and files are counted here before they are written, and given back after they were removed: so limits hold at any moment,
whoever writes. What was removed while it is open takes its room until it is closed.
"""

from __future__ import annotations

import errno
import logging
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from .entries import SUMMED, TRUSTED, WHOLE, Entries
from .errors import FullError
from .pieces import map_size
from .store import BLOCK, can_wait, cost

if TYPE_CHECKING:
    from array import array
    from collections.abc import Iterator
    from pathlib import Path

    from .file import File
    from .index import Index
    from .store import Store

_LOG = logging.getLogger(__name__)
# Who gives room back goes on from the one share of a limit to the other.
_HIGH, _LOW = 0.95, 0.90
# Of the disk, beside what has to stay free.
_SPARE: Final = 0.01
# How much is free of the disk is asked for once in so many seconds, as long as there is so much more than has to be.
_LOOKED: Final = 0.05
_PLENTY: Final = 1 << 30
# What a request may push out, beside as many of the smallest files as it has bytes.
_MOST: Final = 64
# An object above this share of the limit is never whole.
_BIG_SHARE: Final = 4
# Pieces of a big file that go at a time.
_BUNCH: Final = 8
_REMEDIES: Final = {
    errno.ENOSPC: "Free space on its disk, or give it a smaller quota",
    errno.EDQUOT: "Raise the disk quota of its user, or give it a smaller quota",
    errno.EROFS: "Mount its disk writable",
    errno.EACCES: "Let the user who runs this write there",
    errno.EPERM: "Let the user who runs this write there",
    errno.ENOENT: "Nobody but the agent should remove anything there",
    errno.EIO: "Look for that disk in the kernel's log, and give another data-cache-path when it is failing",
}


class Limits(NamedTuple):
    bytes: int
    files: int
    free_share: float = 0.1  # of the disk, that stays free whoever uses it


class Used(NamedTuple):
    bytes: int
    files: int

    def plus(self, other: Used) -> Used:
        return Used(self.bytes + other.bytes, self.files + other.files)

    def minus(self, other: Used) -> Used:
        return Used(self.bytes - other.bytes, self.files - other.files)


@dataclass
class Counters:
    evictions: int = 0
    evicted_bytes: int = 0
    punched_bytes: int = 0
    corrupt: int = 0  # what was damaged or had gone
    drops: int = 0
    expired: int = 0
    refused: int = 0
    troubles: int = 0


class _Leaving(NamedTuple):
    """What is not there any more, and not removed yet."""

    whole: bool
    used: Used
    file: File | None


class Coming:
    """
    :ivar kept: whether it is an entry's now, whose files are made
    """

    def __init__(self, room: Room, used: Used, store: Store) -> None:
        self._room, self._used, self.store = room, used, store
        self.kept = False

    def may_be(self, key: bytes) -> bool:
        """Whether a file of that key may be made now. The lock is held."""
        room = self._room
        return not room.off and self.store is room.store and not room.entries.find(key) and key not in room.leaving

    def keep(self) -> None:
        """The lock is held, and an entry is made of it before anybody else has that."""
        self.kept = True
        self._room.came(self._used)


class Room:
    """
    :ivar lock: guards all of it; never held while data are read or written
    :ivar opened: files that somebody has open, by their entries
    :ivar leaving: keys of what is being removed; nobody makes such a file meanwhile
    :ivar off: why nothing is taken in, "" when it is
    :ivar troubled: whether that is since the disk failed
    :ivar short: why nothing is kept though it is on, "" when the disk has as much free as has to stay so
    :ivar punches: whether the file system gives back the room of a part of a file
    :ivar pressed: set when it is time to give room back
    :ivar beside: bytes that are no cache's and of the same limit
    """

    def __init__(self, folder: Path, limits: Limits) -> None:
        self.folder, self.limits = folder, limits
        self.lock = threading.Lock()
        self.pressed = threading.Event()
        self.counters = Counters()
        self.off, self.troubled = "The cache has not begun.", False
        self.short = ""
        self.boot = b""
        self.punches = True
        self.beside = 0
        self.entries = Entries(0)
        self.opened: dict[int, File] = {}
        self.leaving: dict[bytes, _Leaving] = {}
        self._sweeping: set[bytes] = set()
        self.used = self._coming = self._held = Used(0, 0)
        self.index: Index | None = None
        self.store: Store | None = None
        self._seen: tuple[Store | None, float, int, int] = (None, 0.0, 0, 0)  # until when, and bytes: free, and all

    def settle(self, store: Store, index: Index, boot: bytes, filling: int) -> None:
        """Goes on with what lies there; whoever had something open from before keeps it to himself.

        :param filling: how many of the entries are not whole, and have a map
        """
        with self.lock:
            for entry, file in self.opened.items():
                file.entry = 0
                self._hold(file, self._taken(entry))
            self.opened.clear()
            self.leaving.clear()
            self.store, self.index, self.boot, self.entries = store, index, boot, index.entries
            known = Used(sum(self.entries.order.bytes), len(self.entries) + filling)
            self.used = known.plus(self._coming).plus(self._held)

    @property
    def largest(self) -> int:
        """Bytes that a whole file may have."""
        return self.limits.bytes // _BIG_SHARE

    # --- what is taken and given --------------------------------------------------------------

    def take(self, used: Used, file: File | None = None) -> None:
        """Room for what is about to be written; what has to go for it goes.

        :param file: whose it will be; without one, take it by `taking`
        :raises FullError:
        """
        for _turn in range(_MOST + used.bytes // BLOCK):
            key, lost = b"", []
            with self.lock:
                if self.off:
                    raise self.refusal(self.off)
                if file is not None and not file.entry:
                    raise self.refusal("The file was removed meanwhile.")
                own = file is not None and file.big and self._taken(file.entry).bytes + used.bytes > self.largest
                if not own and self._fits(used):
                    self._add(used, file)
                    return
                entry = 0 if own else self.entries.order.first(self.opened)
                if entry:
                    key = self._evict(entry)
                elif file is not None and file.big:
                    lost = file.oldest(_BUNCH)
            if key and self.sweep(key):
                continue
            if not lost or file is None or not file.punch(lost):
                break
        with self.lock:
            raise self.refusal(f"The cache in {self.folder} is full, and nothing more of it can go now.")

    @contextmanager
    def taking(self, used: Used) -> Iterator[Coming]:
        """Room for a file that is nobody's yet; it is given back unless the file is kept.

        :raises FullError: there is none, or the disk fails
        """
        self.take(used)
        coming: Coming | None = None
        try:
            if self.store is None:
                raise FileNotFoundError(errno.ENOENT, "it has no folder")
            coming = Coming(self, used, self.store)
            yield coming
        except OSError as error:
            self.trouble(error)
            with self.lock:
                raise self.refusal(f"The file was not written: {error}.") from None
        finally:
            if coming is None or not coming.kept:
                with self.lock:
                    self.came(used)
                    self.give(used)

    def came(self, used: Used) -> None:
        """What was taken for nobody yet is an entry's now, or is given back. The lock is held."""
        self._coming = self._coming.minus(used)

    def give(self, used: Used, file: File | None = None) -> None:
        """Back, what was taken; the lock is held. What was a file's that went meanwhile is given back when that is closed."""
        if file is None:
            self.used = self.used.minus(used)
        elif file.entry:
            self._add(Used(0, 0).minus(used), file)

    def closed(self, file: File) -> None:
        """Nobody has it open any more; the lock is held."""
        if file.entry:
            del self.opened[file.entry]
        if any(file.held):
            self._held = self._held.minus(file.held)
            self.give(file.held)

    def refusal(self, reason: str) -> FullError:
        self.counters.refused += 1
        return FullError(reason)

    def ease(self) -> bool:
        """Gives room back when there is little left, until there is some again; whether what is open would have to go for that."""
        presses = self._ease()
        with self.lock:
            self._tell_short()
        return presses

    def _ease(self) -> bool:
        with self.lock:
            if not self.is_tight():
                return False
        while True:
            with self.lock:
                if self.off or not self.is_tight(_LOW, _SPARE):
                    return False
                entry = self.entries.order.first(self.opened)
                if not entry:
                    return bool(self.opened)
                key = self._evict(entry)
            if not self.sweep(key):
                return False

    def _tell_short(self) -> None:
        """Once, that others use the disk so much that nothing can be kept, and once that it can be again. The lock is held."""
        before, enough = self.short, self._free_enough(0, _SPARE if self.short else 0.0)
        if self.off:
            return
        _store, _until, free, all_ = self._seen
        self.short = "" if enough else (
            f"its disk has {free / (all_ or 1):.1%} free, and free-space-ratio has {self.limits.free_share:.1%} of it stay so"
        )  # fmt: skip
        if self.short and not before:
            _LOG.warning(
                "The cache in %s keeps nothing more: %s. Files are read without it. Free space on that disk, name another data-cache-path, or "
                "lower free-space-ratio (0.1 at least); it goes on by itself.", self.folder, self.short,
            )  # fmt: skip
        elif before and not self.short:
            _LOG.warning("The disk of the cache in %s has enough free again: files are kept.", self.folder)

    # --- entries ------------------------------------------------------------------------------

    def add(self, key: bytes, size: int, now: int, sums: array[int] | None) -> int:
        """A whole file that was counted already; the lock is held."""
        entry = self.entries.add(key, cost(size), WHOLE | TRUSTED, now)
        self.note(entry, sums)
        return entry

    def note(self, entry: int, sums: array[int] | None = None) -> None:
        """It is kept for the next start; the lock is held.

        :param sums: its checksums, when they are new
        """
        if sums is not None:
            self.entries.flags[entry] |= SUMMED
            if len(sums) <= 1:
                self.entries.sums[entry] = sums[0] if sums else 0
                sums = None
        if self.index:
            self.index.mark(entry, sums)

    def sums(self, entry: int, pieces: int) -> list[int]:
        """Its checksums; none when they are not known. The lock is not held."""
        with self.lock:
            index = self.index if self.entries.flags[entry] & SUMMED else None
            one = self.entries.sums[entry]
        if index is None or not pieces:
            return []
        return [one] if pieces == 1 else index.sums(entry)

    def take_out(self, entry: int, remember: bool = False) -> bytes:
        """From now on it is not there; `sweep` removes it. The lock is held."""
        key, whole = self.entries.key(entry), bool(self.entries.flags[entry] & WHOLE)
        file = self.opened.pop(entry, None)
        if file:
            file.entry = 0
        self.leaving[key] = _Leaving(whole, self._taken(entry), file)
        self.entries.remove(entry, remember)
        if whole:
            self.note(entry)
        return key

    def sweep(self, key: bytes) -> bool:
        """Removes what was taken out; whether that was possible."""
        with self.lock:
            left, store = self.leaving.get(key), self.store
            if left is None or store is None or key in self._sweeping:
                return True
            self._sweeping.add(key)  # or a second one would remove what is made after the first was done
        try:
            store.remove(key, left.whole)
        except OSError as error:
            self.trouble(error)
            return False
        else:
            with self.lock:
                if self.leaving.get(key) is left:
                    del self.leaving[key]
                    if left.file is not None and left.file.users:
                        self._hold(left.file, left.used)
                    else:
                        self.give(left.used)
            return True
        finally:
            with self.lock:
                self._sweeping.discard(key)

    # --- trouble ------------------------------------------------------------------------------

    def trouble(self, error: OSError) -> None:
        """Nothing more is taken in until it works again. It is said once."""
        if self.troubled or can_wait(error):
            return
        self.troubled = True
        self.off = f"The cache in {self.folder} is off: {error}."
        self.counters.troubles += 1
        remedy = _REMEDIES.get(error.errno or 0, "Look at that folder and its disk")
        _LOG.error("%s Files are read without it. %s; it comes back by itself when it can be used.", self.off, remedy)

    # --- below --------------------------------------------------------------------------------

    def _hold(self, file: File, used: Used) -> None:
        """What was removed takes its room as long as it is open."""
        file.held = used
        self._held = self._held.plus(used)

    def _taken(self, entry: int) -> Used:
        return Used(self.entries.order.cost[entry], 1 if self.entries.flags[entry] & WHOLE else 2)

    def _add(self, used: Used, file: File | None) -> None:
        self.used = self.used.plus(used)
        if file is not None:
            self.entries.order.resize(file.entry, self.entries.order.cost[file.entry] + used.bytes)
        elif used.bytes > 0:
            self._coming = self._coming.plus(used)
        if used.bytes > 0 and self._over(_HIGH):
            self.pressed.set()

    def _fits(self, used: Used) -> bool:
        taken = self.used.plus(used)
        within = taken.bytes + self.beside <= self.limits.bytes and taken.files <= self.limits.files
        return within and self._free_enough(used.bytes, 0.0)

    def is_tight(self, share: float = _HIGH, spare: float = 0.0) -> bool:
        """Whether it is time to give room back; the lock is held."""
        return self._over(share) or not self._free_enough(0, spare)

    def _over(self, share: float) -> bool:
        return self.used.bytes + self.beside > self.limits.bytes * share or self.used.files > self.limits.files * share

    def _free_enough(self, size: int, spare: float) -> bool:
        if self.store is None or not self.limits.free_share:
            return True
        store, until, free, all_ = self._seen
        least = all_ * (self.limits.free_share + spare)
        if store is not self.store or time.monotonic() > until or free - size < least + _PLENTY:
            try:
                free, all_ = self.store.free()
            except OSError as error:
                self.trouble(error)
                return False
            least, until = all_ * (self.limits.free_share + spare), time.monotonic() + _LOOKED
        self._seen = self.store, until, free - size, all_
        return free - size >= least

    def _evict(self, entry: int) -> bytes:
        self.counters.evictions += 1
        self.counters.evicted_bytes += self.entries.order.cost[entry]
        return self.take_out(entry, remember=True)


def beginning(size: int) -> Used:
    """Of a file that fills, before there is anything in it."""
    return Used(cost(map_size(size)), 2)
