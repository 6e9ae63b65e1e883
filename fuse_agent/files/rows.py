# SPDX-License-Identifier: Apache-2.0
"""Many small pieces of data that nobody waits for yet. To begin a task and a thread for each takes longer than to fetch it, and so does
to wake the loop for each."""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Final, TypeVar

import trio

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    Answer = TypeVar("Answer")
    Item = TypeVar("Item")

# Seconds for which a thread waits for the next: the next row comes when some of this was read.
_LINGER: Final = 0.05


class Rows:
    def __init__(self, begin: Callable[[Callable[[], Awaitable[None]]], object], threads: int) -> None:
        """
        :param begin: what goes on also when nobody waits for it
        """
        self._begin = begin
        self._threads = trio.CapacityLimiter(threads)
        self._going = 0
        self._wanted: SimpleQueue[tuple[Any, Callable[[Any], Any], Callable[[Any, Any], object]]] = SimpleQueue()
        self._brought: deque[tuple[Callable[[Any, Any], object], Any, Any]] = deque()
        self._told = False

    @property
    def waiting(self) -> int:
        return self._wanted.qsize()

    def add(
        self, items: Iterable[Item], call: Callable[[Item], Answer | None], landed: Callable[[Item, Answer | None], object]
    ) -> None:  # fmt: skip
        """
        :param call: in a thread, of each; None when it failed
        :param landed: is told what came of each, as soon as it is there
        """
        for item in items:
            self._wanted.put((item, call, landed))
        self._go_on()

    def _go_on(self) -> None:
        for _thread in range(min(self.waiting, int(self._threads.total_tokens)) - self._going):
            self._going += 1
            self._begin(self._go_along)

    async def _go_along(self) -> None:
        go = partial(self._go, trio.lowlevel.current_trio_token().run_sync_soon)
        try:
            await trio.to_thread.run_sync(go, limiter=self._threads, abandon_on_cancel=True, thread_name="ahead")
        except trio.Cancelled:
            with suppress(Empty):
                while True:
                    item, _call, landed = self._wanted.get_nowait()
                    landed(item, None)
            raise
        finally:
            self._going -= 1
            self._go_on()  # with what came as it ended, or in place of one with a defect

    def _go(self, tell: Callable[[Callable[[], object]], object]) -> None:
        with suppress(Empty, trio.RunFinishedError):  # the latter when nobody is there to be told
            while True:
                item, call, landed = self._wanted.get(timeout=_LINGER)
                answer = None
                try:
                    answer = call(item)
                finally:
                    self._brought.append((landed, item, answer))
                    if not self._told:
                        self._told = True
                        tell(self._land)

    def _land(self) -> None:
        self._told = False  # first: what is brought from now on is told anew
        while self._brought:
            landed, item, answer = self._brought.popleft()
            landed(item, answer)
