# SPDX-License-Identifier: Apache-2.0
"""What one version of a file holds: from the caches where they have it, else from the source by way of them."""

from __future__ import annotations

import inspect
import os
import time
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from ...cache.memory import BLOCK
from ..work import Flight
from .ahead import Range, Reader, joined, overlap, request_size, requests, without

if TYPE_CHECKING:
    from ...cache.file import File
    from ...operations import Soon
    from .contents import Contents

# Fetched whole by one request, as soon as anything of it is wanted.
SMALL: Final = 1 << 20
# Requests that one file has on their way.
_AT_ONCE: Final = 8
_SECONDS: Final = "blockcache_read_hist_seconds"
# After the machine died, so much is compared with its checksums before it is opened, and so much at a time where nobody waits for it.
_AT_FIRST, _STEP = 64 << 20, 8 << 20


class _OnTheWay(NamedTuple):
    """
    :ivar asked: what somebody wanted when it was begun; all else is ahead of that
    """

    range: Range
    asked: Range
    flight: Flight


class Content:
    """
    :ivar file: what the disk has of it; None where there is no disk, or it has no room
    :ivar late: it was fetched for who opened it, and nobody has read it since
    """

    __slots__ = (
        "_ahead", "_flights", "_keeper", "_readers", "digest", "file", "late", "node", "path", "size", "version",
    )  # fmt: skip

    def __init__(self, keeper: Contents, node: int, version: bytes, size: int, digest: bytes) -> None:
        self.node, self.version, self.size, self.digest = node, version, size, digest
        self.path = b""  # by which it was last known
        self._keeper = keeper
        self._flights: list[_OnTheWay] = []
        self._ahead: Flight | None = None  # of all of it, in a row with others
        self._readers: dict[int, Reader] = {}
        self.file: File | None = None
        self.late = False

    @property
    def tier(self) -> str:
        return "memory" if self.file is None else "disk"

    @property
    def whole(self) -> bool:
        return self.file is not None and self.file.whole

    def read(self, handle: int, offset: int, size: int) -> Soon[bytes | memoryview]:
        asked = Range(offset, max(min(size, self.size - offset), 0))
        if not asked.size:
            return b""
        reader = self._readers.get(handle)
        if reader is None:
            reader = self._readers[handle] = Reader()
        window = 0 if self.whole else reader.window(asked, self._keeper.ahead)
        began = time.perf_counter()
        found = self._at_hand(asked)
        missing = [] if found is not None or self._doubts(asked) else self._missing(asked)
        self._keeper.read(self, asked, not missing)
        if found is not None:
            self._keeper.metrics.see(_SECONDS, time.perf_counter() - began, tier=self.tier)
            self._pass(asked, window)
        elif self.is_doubtful or self._ahead:
            return self._read_later(asked, window)
        # Now, so that who asks next finds it on its way, and it counts as fetched ahead of him.
        if without(missing, self._on_the_way):
            reader.begun = self._fetch(asked, window)
        elif window:
            self._fetch_ahead(reader, asked, window)
        return self._arrived(asked, window) if found is None else found

    async def whole_range(self, one: Range, ahead: bool) -> bytes:
        """All of it, from wherever it is.

        :param ahead: what follows will be wanted, too
        """
        if not ahead:
            found = self._at_hand(one)
            return bytes(await self._read_later(one, 0) if found is None else found)
        soon = self.read(-1, *one)
        return bytes(await soon if inspect.isawaitable(soon) else soon)

    def leave(self, handle: int) -> None:
        self._readers.pop(handle, None)

    @property
    def is_here(self) -> bool:
        return self.whole or not self._missing(Range(0, self.size))

    @property
    def is_doubtful(self) -> bool:
        """The machine died since it was kept: what the disk has is to be compared with its checksums first."""
        return self.file is not None and not self.file.verified

    async def fetch_all(self) -> None:
        """All of it, as far as there is room to keep it."""
        await self.verify()
        if self._ahead:
            await self._ahead.result()
        largest = self._keeper.largest
        missing = without(self._missing(Range(0, self.size)), self._on_the_way)
        for one in requests(missing, 4 * largest, largest):
            while len(self._flights) >= _AT_ONCE:
                await self._flights[0].flight.result()
            self._begin(one, one, of_now=True)
        while self._flights:
            await self._flights[0].flight.result()

    def begin_ahead(self) -> bool:
        """Whether all of it is fetched, before anybody wants it, by who asks that; unless it is here, or somebody fetches it already."""
        if self._ahead or self._flights or self.is_doubtful or self.whole:
            return False
        missing = self._missing(Range(0, self.size))
        if missing:
            self._ahead = Flight()
        for one in missing:
            self._keeper.prefetched.fetched(self.digest, one)
        return bool(missing)

    def end_ahead(self) -> None:
        """However that went. Who waits for it fetches what is missing then."""
        if self._ahead:
            self._ahead.land()
            self._ahead = None

    async def verify(self) -> None:
        """What is doubtful is compared."""
        if self.is_doubtful:
            await self._keeper.work.once((self, "verify"), partial(self._verify, waits=True))

    async def _verify_behind(self) -> None:
        await self._keeper.work.once((self, "verify behind"), partial(self._verify, waits=False))

    async def _verify(self, waits: bool) -> None:
        for offset in range(0, self.size, _STEP):
            part = Range(offset, min(_STEP, self.size - offset))
            if not await self._keeper.compare(self, part, waits) or not self.is_doubtful:
                return

    async def verify_to_open(self) -> None:
        """What takes no time. Of a larger file the rest is compared while it is read, what is read first; so the kernel does not read it by
        itself until it is opened anew."""
        if self.is_doubtful:
            if self.size <= _AT_FIRST:
                await self.verify()
            else:
                self._keeper.work.soon(self._verify_behind)

    def _doubts(self, asked: Range) -> bool:
        return self.file is not None and self.file.doubts(*asked)

    async def _read_later(self, asked: Range, window: int) -> bytes | memoryview:
        """Once what is there already is known, or has come."""
        await self._keeper.compare(self, Range(0, self.size) if self.size <= SMALL else asked)
        if self._ahead:
            await self._ahead.result()
        self._fetch(asked, 0 if self.is_doubtful else window)  # what follows is there, or is not: nobody knows yet
        return await self._arrived(asked, window)

    async def _arrived(self, asked: Range, window: int) -> bytes | memoryview:
        await self._landed(asked)
        began = time.perf_counter()
        found = self._at_hand(asked)
        if found is None and self.file is not None:
            found = await self._keeper.work.ask(self._wait_at_hand, self.file, asked)
        if found is not None:
            self._keeper.metrics.see(_SECONDS, time.perf_counter() - began, tier=self.tier)
            self._pass(asked, window)
        else:
            # What came was pushed out at once, or never kept.
            found = await self._keeper.direct(self, asked)
        return found

    async def _landed(self, asked: Range) -> None:
        """All of it, also when some of it fails: who asks again joins nothing that is about to fail.

        :raises OSError: of what was asked for; what failed before anybody did is asked for now
        """
        failed: OSError | None = None
        for one in list(self._flights):
            if overlap(one.range, asked):
                try:
                    await one.flight.result()
                except OSError as error:
                    if overlap(one.asked, asked):
                        failed = failed or error
        if failed:
            raise failed

    def _pass(self, asked: Range, window: int) -> None:
        """Of a large file, in order: the kernel has it now."""
        if window and self.file is None and self.size > SMALL and (asked.end % BLOCK == 0 or asked.end == self.size):
            self._keeper.memory.passed(self.digest, (asked.end - 1) // BLOCK)

    def _fetch_ahead(self, reader: Reader, asked: Range, window: int) -> None:
        """What follows what is there or on its way, by large requests; where all was begun nobody looks again."""
        begun = max(reader.begun, asked.end)
        room = min(asked.end + window, self.size) - begun
        if begun + room < self.size:
            room -= room % request_size(window, self._keeper.largest)
        if room > 0 and len(self._flights) < _AT_ONCE and not self._ahead and not self.is_doubtful:
            reader.begun = self._fetch_range(Range(begun, room), asked, window)

    def _fetch(self, asked: Range, window: int) -> int:
        """What is asked for and what follows, as far as it has not begun; up to where it has then."""
        if self.size <= SMALL:
            return self._fetch_range(Range(0, self.size), asked, window)
        if len(self._flights) >= _AT_ONCE:
            window = 0  # no more would be begun, and to look through all of it takes longer than the read
        return self._fetch_range(Range(asked.offset, min(asked.size + window, self.size - asked.offset)), asked, window)

    def _fetch_range(self, wanted: Range, asked: Range, window: int) -> int:
        missing = without(self._missing(wanted), self._on_the_way)
        for one in requests(missing, window, self._keeper.largest):
            if len(self._flights) >= _AT_ONCE and not overlap(one, asked):
                return one.offset
            self._begin(one, asked)
            if self.size > SMALL:
                begin = max(one.offset, asked.end)
                self._keeper.prefetched.fetched(self.digest, Range(begin, one.end - begin))
        return wanted.end

    @property
    def _on_the_way(self) -> list[Range]:
        return [one.range for one in self._flights]

    def _begin(self, one: Range, asked: Range, of_now: bool = False) -> None:
        async def fly() -> None:
            try:
                await self._keeper.fetch(self, one, of_now)
            finally:
                self._flights.remove(item)

        item = _OnTheWay(one, asked, self._keeper.work.begin(fly))
        self._flights.append(item)

    def _missing(self, wanted: Range) -> list[Range]:
        if self.file is not None:
            return [Range(*one) for one in self.file.missing(*wanted)]
        memory = self._keeper.memory
        blocks = range(wanted.offset // BLOCK, -(-wanted.end // BLOCK))
        lacking = [number for number in blocks if not memory.has(self.digest, number)]
        return joined([Range(number * BLOCK, min(BLOCK, self.size - number * BLOCK)) for number in lacking])

    def _at_hand(self, asked: Range) -> bytes | memoryview | None:
        """Without waiting for a disk."""
        if self.file is None:
            return self._in_memory(asked)
        if not self.file.has(*asked) or asked.size > len(self._keeper.buffer):
            return None
        buffer = self._keeper.buffer[: asked.size]
        try:
            count = os.preadv(self.file.descriptor, [buffer], asked.offset, os.RWF_NOWAIT)
        except OSError:  # it would wait, or cannot tell, as in memory; who waits finds whether it is worse
            return None
        return buffer if count == asked.size and self.file.has(*asked) else None

    @staticmethod
    def _wait_at_hand(file: File, asked: Range) -> memoryview | None:
        """In a thread."""
        if not file.use():
            return None
        try:
            return file.read(*asked)
        finally:
            file.close()

    def _in_memory(self, asked: Range) -> bytes | memoryview | None:
        parts: list[memoryview] = []
        for number in range(asked.offset // BLOCK, -(-asked.end // BLOCK)):
            block = self._keeper.memory.get(self.digest, number)
            if block is None:
                return None
            start = number * BLOCK
            parts.append(block[max(asked.offset - start, 0) : asked.end - start])
        return parts[0] if len(parts) == 1 else b"".join(parts)
