# SPDX-License-Identifier: Apache-2.0
"""Asks a store again, and not for ever: a bound on tries and on time, with pauses that grow."""

from __future__ import annotations

import errno
import random
import threading
import time
from typing import TYPE_CHECKING, Final, TypeVar

from ...metrics import Request
from . import failures

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..base import Tell
    from .credentials import Keeper
    from .options import Patience

T = TypeVar("T")
_FIRST, _LONGEST = 0.1, 5.0
# A store that says 429 wants to be left alone for a while; how long, obstore does not tell.
_LEFT_ALONE: Final = 1.0


def pause(tries: int, failure: failures.Failure, luck: float) -> float:
    """Seconds until the next try.

    :param tries: so far
    :param luck: from 0 to 1, so that not all come back at once
    """
    grown: float = min(_LONGEST, _FIRST * 2 ** (tries - 1)) * (0.5 + luck / 2)
    if failure.wait is not None:
        return max(grown, failure.wait)
    return max(grown, _LEFT_ALONE) if failure.status == 429 else grown


class Attempts:
    def __init__(
        self,
        bucket: str,
        keeper: Keeper,
        patience: Patience,
        on_request: Tell,
        clock: Callable[[], float] = time.monotonic,
        wait: Callable[[float], bool] | None = None,
    ) -> None:
        """
        :param on_request: told of each request
        :param wait: returns early, and says so, when nobody waits for the store any more
        """
        self._bucket, self._keeper, self._patience, self._on_request = bucket, keeper, patience, on_request
        self._closed = threading.Event()
        self._clock, self._wait = clock, wait or self._closed.wait

    def close(self) -> None:
        self._closed.set()

    def run(self, operation: str, key: str, act: Callable[[int], T], tries: int = 0, sent: int = 0) -> T:
        """
        :param act: is given the number of tries before it
        :param tries: at most; 0 for as many as patience has
        :param sent: bytes that go along
        :raises OSError:
        """
        most, end = tries or self._patience.tries, self._clock() + self._patience.total
        renewed, before = False, 0
        while True:
            used, began = self._keeper.current(), self._clock()
            try:
                found = act(before)
            except failures.RAISED as raised:
                failure = failures.of(raised)
            else:
                received = len(found) if isinstance(found, (bytes, memoryview)) else 0
                self._on_request(Request(operation, 200, before > 0, self._clock() - began, received, sent))
                return found
            self._on_request(Request(operation, failure.status, before > 0, self._clock() - began))
            before += 1
            # A HEAD is refused without a word of the reason.
            stale = failure.code in failures.STALE or (failure.status in (401, 403) and not failure.code)
            if stale and not renewed and self._keeper.renewed(used):
                renewed = True
                continue
            rest = pause(before, failure, random.random())
            if not failure.again or before >= most or self._clock() + rest > end:
                raise failures.error(failure, operation, self._bucket, key, before)
            if self._wait(rest):
                raise OSError(
                    errno.EIO, f"{operation} of {key!r} in bucket {self._bucket!r} was given up: it is closed"
                )
