# SPDX-License-Identifier: Apache-2.0
"""Work that waits: done in threads, and once for all who want the same."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import trio

from .rows import Rows

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable

    Answer = TypeVar("Answer")

_LOG = logging.getLogger(__name__)


class Removable(Protocol):
    """What is found by its name until that goes, and gives its room back when it is closed."""

    def unname(self) -> None: ...

    def close(self) -> None: ...


class Flight:
    """Work that is on its way for all who wait for it."""

    __slots__ = ("_answer", "_error", "_landed")

    def __init__(self) -> None:
        self._landed = trio.Event()
        self._answer: Any = None
        self._error: Exception | None = None

    @property
    def has_landed(self) -> bool:
        return self._landed.is_set()

    def land(self) -> None:
        """Of what is done elsewhere, and has no answer."""
        self._landed.set()

    async def landed(self) -> None:
        """Whatever came of it."""
        await self._landed.wait()

    async def result(self) -> Any:
        await self._landed.wait()
        if self._error:
            raise self._error
        return self._answer

    async def fly(self, work: Callable[[], Awaitable[Any]]) -> None:
        try:
            self._answer = await work()
        except Exception as error:  # noqa: BLE001 (it is raised again where somebody waits for it)
            self._error = error
        finally:
            self._landed.set()


class Work:
    """
    :ivar rows: of data that nobody waits for yet
    """

    def __init__(
        self, nursery: trio.Nursery, at_once: int = 16, fetches: int = 8, rows: int = 8, behind: int = 4
    ) -> None:
        """
        :param nursery: of the file system: what is done for many does not end when one of them is interrupted
        :param at_once: questions and changes, each a thread
        :param fetches: of data
        :param rows: of data that nobody waits for yet
        :param behind: parts of what is still written
        """
        self._nursery = nursery
        self._threads = trio.CapacityLimiter(at_once)
        self._storers = trio.CapacityLimiter(at_once)
        self._behind = trio.CapacityLimiter(behind)
        self._looks = trio.CapacityLimiter(1)
        self._fetchers = trio.CapacityLimiter(fetches)
        self.rows = Rows(self.begin, rows)
        self._flights: dict[Hashable, Flight] = {}

    @property
    def waiting(self) -> dict[str, int]:
        """How much of it waits for a thread."""
        limits = {"source": self._threads, "store": self._storers, "fetch": self._fetchers}
        return {name: limit.statistics().tasks_waiting for name, limit in limits.items()} | {"ahead": self.rows.waiting}

    async def ask(self, call: Callable[..., Answer], *args: Any, **kwargs: Any) -> Answer:
        """Of a question: whoever does not want to wait any more need not."""
        work = partial(call, *args, **kwargs)
        return await trio.to_thread.run_sync(work, limiter=self._threads, abandon_on_cancel=True)

    async def fetch(self, call: Callable[..., Answer], *args: Any) -> Answer:
        """Of data. It goes on in its thread also when nobody waits any more, and what it brings is kept."""
        return await trio.to_thread.run_sync(partial(call, *args), limiter=self._fetchers, abandon_on_cancel=True)

    async def change(self, call: Callable[..., Answer], *args: Any, **kwargs: Any) -> Answer:
        """What must not be left half-way: it ends before an interrupt is heard."""
        return await trio.to_thread.run_sync(partial(call, *args, **kwargs), limiter=self._threads)

    async def store(self, call: Callable[..., Answer], *args: Any) -> Answer:
        """The same of what may take long: other questions do not wait for it."""
        return await trio.to_thread.run_sync(partial(call, *args), limiter=self._storers)

    async def send_behind(self, call: Callable[..., Answer], *args: Any) -> Answer:
        """Of what nobody waits for, and so is not to be in the way of what is stored. At the end it is left alone."""
        return await trio.to_thread.run_sync(partial(call, *args), limiter=self._behind, abandon_on_cancel=True)

    async def look_behind(self, call: Callable[..., Answer], *args: Any) -> Answer:
        """Of what takes long and nobody waits for: one at a time, so that the disk and the threads are for those who do."""
        return await trio.to_thread.run_sync(partial(call, *args), limiter=self._looks, abandon_on_cancel=True)

    @property
    def is_storing(self) -> bool:
        """Whether somebody waits for what is being stored."""
        return self._storers.borrowed_tokens > 0

    async def once(self, key: Hashable, work: Callable[[], Awaitable[Answer]]) -> Answer:
        """What comes of the work, which is begun unless somebody waits for it already."""
        answer: Answer = await (self._flights.get(key) or self._begin(key, work)).result()
        return answer

    async def anew(self, key: Hashable, work: Callable[[], Awaitable[Answer]]) -> Answer:
        """The same of work that is begun after this was asked: what is under way may be of before."""
        if before := self._flights.get(key):
            await before.landed()
        return await self.once(key, work)

    def begin(self, work: Callable[[], Awaitable[Any]]) -> Flight:
        """What goes on also when nobody waits for it."""
        flight = Flight()
        self._nursery.start_soon(flight.fly, work)
        return flight

    def soon(self, work: Callable[[], Awaitable[None]]) -> None:
        """What nobody waits for."""

        async def done() -> None:
            try:
                await work()
            except OSError as error:  # of the cache's disk: of a source it is expected where it is asked
                _LOG.error("what is done in the background failed reason=%r", str(error))

        self._nursery.start_soon(done)

    def remove(self, one: Removable) -> None:
        """Nobody finds it from now on. To give the room of a large one back takes a thread its time."""
        one.unname()
        self.soon(partial(self.change, one.close))

    def _begin(self, key: Hashable, work: Callable[[], Awaitable[Any]]) -> Flight:
        async def fly() -> Any:
            try:
                return await work()
            finally:
                del self._flights[key]

        flight = self._flights[key] = self.begin(fly)
        return flight
