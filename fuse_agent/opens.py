# SPDX-License-Identifier: Apache-2.0
"""Who has which node open, and in which of the two ways the kernel lets an inode be open at a time.

Cached: reads and writes come to us, and its pages are the kernel's. Passthrough: the kernel reads and writes a file below by
itself, and all who open the node have to be given the same one. What mixes the two ends in EIO for the user; so whoever cannot be
served in the way that a node is open already is sent to look its name up again, which finds another node.

What is open outlives the process that opened it: every handle lies in the region, complete before the kernel hears of it.
"""

from __future__ import annotations

import errno
from enum import IntEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from .nodes.region import BOUND, HANDLE, HANDLES_TOP, MOST_HANDLES, UNBINDING, Region

if TYPE_CHECKING:
    from collections.abc import Callable

# Of each handle: what it is and how often its place was used before, whose, by which request, and what stage it writes to.
_STATE, _NODE, _REQUEST, _STAGE = range(HANDLE)
_LIVE, _WRITES, _PASSTHROUGH = 1, 2, 4
# The state's upper half: the backing file's number. Between: how often the place was used.
_USE_BITS, _BACKING_BIT = 24, 32
_USES: Final = (1 << _USE_BITS) - 1


class Mode(IntEnum):
    CLOSED = 0
    CACHED = 1
    PASSTHROUGH = 2


class OtherwiseOpenError(Exception):
    """The node is open in a way that does not serve who wants it; another node of the same name would."""


class ClosedError(OSError):
    """No such handle is open. No kernel asks for one, but for a release that a worker before this one did not live to answer."""

    def __init__(self, number: int) -> None:
        super().__init__(errno.EBADF, f"no handle {number} is open")


class Handle(NamedTuple):
    number: int
    node: int
    mode: Mode
    writes: bool
    backing: int  # the kernel's number for the file below, 0 without
    stage: int  # of what is written and not stored yet, 0 without


class Below(NamedTuple):
    """A cached file that the kernel was given.

    :ivar digest: of what it holds, by which another node may have been given it, too
    """

    digest: bytes
    file: object


class _Opened:
    """What those who have a node open share.

    :ivar places: of their handles
    :ivar below: None where it is not known, as of those that a worker before this one opened
    """

    __slots__ = ("backing", "below", "mode", "places", "stage", "writers")

    def __init__(self, mode: Mode, backing: int, stage: int, below: Below | None = None) -> None:
        self.mode, self.backing, self.stage, self.below = mode, backing, stage, below
        self.places: set[int] = set()
        self.writers = 0


def decide(now: Mode, staged: bool, writes: bool, whole: bool) -> Mode:
    """
    :param now: how the node is open
    :param staged: whether those who have it open share a file that may be written
    :param writes: whether who wants it writes, or reads what is written
    :param whole: whether a file below has all of it, and may be written if that is wanted
    :raises OtherwiseOpenError:
    """
    if now is Mode.CLOSED:
        return Mode.PASSTHROUGH if whole else Mode.CACHED
    if now is Mode.PASSTHROUGH and writes and not staged:
        raise OtherwiseOpenError  # what is kept of a version is never written to
    return now


class Opens:
    def __init__(self, region: Region, unbind: Callable[[int], bool]) -> None:
        """
        :param unbind: takes a number for a file below back from the kernel, and says whether there was one
        """
        self._cells, self._counters, self._unbind = region.handles, region.counters, unbind
        self._opened: dict[int, _Opened] = {}
        self._requests: dict[int, int] = {}
        self._free: list[int] = []
        self._half_shared: set[int] = set()
        for place in range(self._counters[HANDLES_TOP]):
            self._adopt(place)
        for node in self._half_shared:
            self.share(node, self.stage(node))

    def __len__(self) -> int:
        return sum(len(opened.places) for opened in self._opened.values())

    def mode(self, node: int) -> Mode:
        opened = self._opened.get(node)
        return opened.mode if opened else Mode.CLOSED

    def is_open(self, node: int) -> bool:
        return node in self._opened

    def stage(self, node: int) -> int:
        opened = self._opened.get(node)
        return opened.stage if opened else 0

    def writers(self, node: int) -> int:
        opened = self._opened.get(node)
        return opened.writers if opened else 0

    def nodes(self) -> list[int]:
        return list(self._opened)

    def is_alone_on(self, node: int, below: Below) -> bool:
        """Whether what is known to lie below this node is known to lie below no other."""
        own = self._opened.get(node)
        if own is None or own.below != below:
            return False
        kept = [one for one in self._opened.values() if one is not own and one.backing and not one.stage]
        return all(one.below is not None and one.below.digest != below.digest for one in kept)

    def share(self, node: int, stage: int) -> None:
        """What lies below is written from now on: who has the node open has that stage open."""
        opened = self._opened[node]
        for place in opened.places:
            self._cells[place * HANDLE + _STAGE] = stage
        opened.stage, opened.below = stage, None

    def open(
        self, node: int, request: int, *, writes: bool = False, stage: int = 0, bind: Callable[[], int] | None = None,
        below: Below | None = None,
    ) -> Handle:  # fmt: skip
        """
        :param request: the number of what asks; asked again with it, the same handle is the answer
        :param stage: of what is written, when this is the first who writes
        :param bind: gives the kernel the file below that has all of the node, and returns its number; None without one
        :param below: that file, if it is a cached one
        :raises OtherwiseOpenError:
        """
        if before := self.asked(request):
            return before
        opened = self._opened.get(node)
        now, staged = (opened.mode, bool(opened.stage)) if opened else (Mode.CLOSED, False)
        mode = decide(now, staged, writes or bool(stage), bind is not None)
        if opened is None:
            backing = bind() if bind and mode is Mode.PASSTHROUGH else 0
            if backing:
                self._counters[BOUND] = backing
            opened = self._opened[node] = _Opened(mode, backing, stage, below if backing else None)
        opened.stage = opened.stage or stage
        return self._record(node, request, writes, opened)

    def asked(self, request: int) -> Handle | None:
        """What that request opened."""
        number = self._requests.get(request)
        return None if number is None else self.get(number)

    def get(self, number: int) -> Handle:
        """
        :raises ClosedError:
        """
        place, uses = number & 0xFFFFFFFF, number >> 32
        state = self._cells[place * HANDLE + _STATE] if place < self._counters[HANDLES_TOP] else 0
        if not state & _LIVE or state >> 8 & _USES != uses:
            raise ClosedError(number)
        node, stage = self._cells[place * HANDLE + _NODE], self._cells[place * HANDLE + _STAGE]
        mode = Mode.PASSTHROUGH if state & _PASSTHROUGH else Mode.CACHED
        return Handle(number, node, mode, bool(state & _WRITES), state >> _BACKING_BIT, stage)

    def close(self, number: int) -> Handle | None:
        """What was closed; None when it was before, as when a worker died before it could say so."""
        try:
            handle = self.get(number)
        except ClosedError:
            return None
        place = number & 0xFFFFFFFF
        self._requests.pop(self._cells[place * HANDLE + _REQUEST], None)
        opened = self._opened[handle.node]
        opened.places.discard(place)
        opened.writers -= handle.writes
        last = not opened.places
        self._counters[UNBINDING] = opened.backing if last else 0
        self._cells[place * HANDLE + _STATE] = ((number >> 32) + 1 & _USES) << 8
        self._free.append(place)
        if last:
            del self._opened[handle.node]
            if opened.backing:
                self._unbind(opened.backing)
        return handle

    def reclaim(self) -> None:
        """Gives back the file below that a worker before this one was about to give back, and the one that it was given and
        nobody had open yet: each would keep the space of a removed file for as long as the mount lives."""
        used = {opened.backing for opened in self._opened.values()}
        for number in {self._counters[UNBINDING], self._counters[BOUND]} - used - {0}:
            self._unbind(number)
        self._counters[UNBINDING] = 0
        # The kernel counts up.
        while self._counters[BOUND] + 1 not in used and self._unbind(self._counters[BOUND] + 1):
            self._counters[BOUND] += 1

    def _record(self, node: int, request: int, writes: bool, opened: _Opened) -> Handle:
        place = self._free.pop() if self._free else self._counters[HANDLES_TOP]
        if place == MOST_HANDLES:
            raise MemoryError(f"{MOST_HANDLES} files of one mount are open, and there is no room for more.")
        cell = place * HANDLE
        uses = self._cells[cell + _STATE] >> 8 & _USES
        self._cells[cell + _NODE], self._cells[cell + _REQUEST] = node, request
        self._cells[cell + _STAGE] = opened.stage
        flags = _LIVE | (_WRITES if writes else 0) | (_PASSTHROUGH if opened.mode is Mode.PASSTHROUGH else 0)
        # Last, since a worker that is killed before has opened nothing.
        self._cells[cell + _STATE] = opened.backing << _BACKING_BIT | uses << 8 | flags
        self._counters[HANDLES_TOP] = max(self._counters[HANDLES_TOP], place + 1)
        number = uses << 32 | place
        self._requests[request] = number
        opened.places.add(place)
        opened.writers += writes
        return Handle(number, node, opened.mode, writes, opened.backing, opened.stage)

    def _adopt(self, place: int) -> None:
        state = self._cells[place * HANDLE + _STATE]
        if not state & _LIVE:
            self._free.append(place)
            return
        number = (state >> 8 & _USES) << 32 | place
        handle = self.get(number)
        opened = self._opened.setdefault(handle.node, _Opened(handle.mode, handle.backing, handle.stage))
        if handle.mode is Mode.PASSTHROUGH and opened.stage != handle.stage:
            self._half_shared.add(handle.node)
        opened.stage = opened.stage or handle.stage
        opened.places.add(place)
        opened.writers += handle.writes
        self._requests[self._cells[place * HANDLE + _REQUEST]] = number
