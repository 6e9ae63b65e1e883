# SPDX-License-Identifier: Apache-2.0
"""What clients wait for that only the worker knows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from .process import Worker
    from .status import Client


class _Ask(NamedTuple):
    client: Client
    until: float
    last: Callable[[object], dict[str, Any]]  # the last line, of what the worker said or why it said nothing


class Asks:
    def __init__(self) -> None:
        self._number = 0
        self._asks: dict[int, _Ask] = {}

    def ask(
        self,
        worker: Worker | None,
        client: Client,
        do: str,
        given: dict[str, Any],
        last: Callable[[object], dict[str, Any]],
        until: float = math.inf,
    ) -> None:
        self._number += 1
        try:
            told = worker is not None and worker.ready and worker.tell("ask", id=self._number, do=do, **{"with": given})
        except ValueError as error:
            client.answer(error=str(error))
            return
        if told:
            self._asks[self._number] = _Ask(client, until, last)
        else:
            client.answer(**last("does not answer"))

    def left(self, worker: Worker | None, client: Client) -> None:
        for number in [number for number, ask in self._asks.items() if ask.client is client]:
            del self._asks[number]
            if worker:
                worker.tell("drop", id=number)

    def answered(self, number: int, line: dict[str, Any], done: bool) -> None:
        ask = self._asks.get(number)
        if ask is None:
            return
        if done:
            del self._asks[number]
            ask.client.answer(**ask.last(line))
        else:
            ask.client.answer(done=False, **line)

    def expire(self, now: float) -> None:
        self._end([number for number, ask in self._asks.items() if ask.until <= now], "does not answer")

    def fail(self) -> None:
        """Whoever was asked has ended."""
        self._end(list(self._asks), "ended before it answered")

    def due(self) -> float:
        return min((ask.until for ask in self._asks.values()), default=math.inf)

    def _end(self, numbers: list[int], why: str) -> None:
        for number in numbers:
            ask = self._asks.pop(number)
            ask.client.answer(**ask.last(why))
