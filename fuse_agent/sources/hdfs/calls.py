# SPDX-License-Identifier: Apache-2.0
"""The client of one cluster, for all threads.

hdfs-native may be asked from threads, and leaves the interpreter alone meanwhile: 6,000 questions a second, where asyncio has 1,400. But it waits
for ever for a name node that does not answer. So a question is asked in a thread that can be left alone with it.
"""

from __future__ import annotations

import errno
import os
import queue
import random
import threading
import time
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import hdfs_native

from ...metrics import Request
from ..base import StuckError, quiet
from . import failures
from .kerberos import Tickets

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..base import Tell
    from ..failed import Failure
    from .options import Options

T = TypeVar("T")
_FIRST, _LONGEST = 0.1, 5.0
# Those that work, and those that are left alone.
_THREADS: Final = 64
_SERVICE: Final = "paddleflow"
_USER: Final = "HADOOP_USER_NAME"


class Patience(NamedTuple):
    total: float = 60.0  # seconds after the first failure, after which nothing is tried again
    tries: int = 10
    answer: float = 60.0  # to one request, or one piece of a file


PATIENT = Patience()


class Turn:
    """One try.

    :ivar before: tries that came to nothing; the cluster may have done what they asked
    """

    def __init__(self, calls: Calls, client: hdfs_native.Client, before: int) -> None:
        self._calls, self.client, self.before = calls, client, before

    def ask(self, call: Callable[..., T], *given: object) -> T:
        return self._calls.wait(partial(call, *given))


class Calls:
    def __init__(
        self,
        options: Options,
        patience: Patience = PATIENT,
        on_request: Tell = quiet,
    ) -> None:
        """
        :param on_request: told of each request
        :raises OSError: of another user than this process has spoken for before
        """
        self._options, self._patience, self._on_request = options, patience, on_request
        self._closed = threading.Event()
        self._lock = threading.Lock()
        self._work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._threads = self._idle = self._stuck = 0
        self._client: hdfs_native.Client | None = None
        self._let_in = False  # the last who asked for it, by his ticket
        _speak_as(options.user)
        self._tickets = Tickets(options.kerberos) if options.kerberos else None

    def close(self) -> None:
        with self._lock:
            if self._closed.is_set():
                return
            self._closed.set()
            for _thread in range(self._threads):
                self._work.put(None)
            self._client = None
        if self._tickets:
            self._tickets.close()

    def run(self, operation: str, path: bytes, act: Callable[[Turn], T], sent: int = 0) -> T:
        """
        :param act: is done again when the cluster was lost, or not ready
        :raises OSError:
        """
        before, end = 0, 0.0
        while True:
            began = time.monotonic()

            def tell(status: int, received: int = 0, began: float = began, again: bool = before > 0) -> None:
                done = sent if status == 200 else 0
                self._on_request(Request(operation, status, again, time.monotonic() - began, received, done))

            client = None
            try:
                client = self._connected()
                answer = act(Turn(self, client, before))
            except failures.RAISED as raised:
                if isinstance(raised, OSError) and raised.errno is not None:  # ours: the client's have no number
                    tell(failures.status(raised.errno))
                    raise
                failure = self._seen(failures.of(raised), client)
            else:
                self._let_in = True
                tell(200, len(answer) if isinstance(answer, bytes) else 0)
                return answer
            tell(failure.status)
            before += 1
            now = time.monotonic()
            end = end or now + self._patience.total
            rest = min(_LONGEST, _FIRST * 2 ** (before - 1)) * (0.5 + random.random() / 2)
            if not failure.again or before >= self._patience.tries or now + rest > end:
                self._let_in = self._let_in and not failure.login
                raise failure.told(operation, path, self._options.place, before)
            if self._closed.wait(rest):
                raise self._is_closed()

    def _seen(self, failure: Failure, client: hdfs_native.Client | None) -> Failure:
        """Who was let in before is let in again, by another connection: a ticket ended, or whoever gives tickets is away for a moment."""
        if not failure.login:
            return failure
        self._leave(client)
        return failure._replace(again=self._let_in)

    def _leave(self, client: hdfs_native.Client | None) -> None:
        """Whoever asks next asks by another connection."""
        with self._lock:
            if self._client is client:
                self._client = None

    def wait(self, call: Callable[[], T]) -> T:
        """What comes of a call within its time.

        :raises SilentError: when nothing does
        """
        done: Future[T] = Future()
        is_left = False

        def work() -> None:
            try:
                done.set_result(call())
            except BaseException as error:  # noqa: BLE001 (raised again where it is waited for; the client's defects are no Exception)
                done.set_exception(error)
            with self._lock:
                self._stuck -= is_left

        client = self._client
        self._put(work)
        try:
            return done.result(self._patience.answer)
        except TimeoutError:
            self._leave(client)
            with self._lock:
                is_left = not done.done()
                self._stuck += is_left
            raise failures.SilentError from None

    def _put(self, work: Callable[[], None]) -> None:
        with self._lock:
            if self._closed.is_set():
                raise self._is_closed()
            if self._idle:
                self._idle -= 1
            elif self._threads < _THREADS:
                self._threads += 1
                threading.Thread(target=self._serve, name="hdfs", daemon=True).start()
            elif self._stuck >= _THREADS // 2:
                raise StuckError(
                    f"{self._stuck} of {_THREADS} threads wait for {self._options.place}, which does not answer them"
                )
            else:
                raise failures.SilentError
            self._work.put(work)

    def _serve(self) -> None:
        while work := self._work.get():
            work()
            with self._lock:
                self._idle += 1

    def _connected(self) -> hdfs_native.Client:
        """It connects when it is asked something."""
        with self._lock:
            if self._closed.is_set():
                raise self._is_closed()
            if self._client is None:
                self._client = self._make()
            return self._client

    def _make(self) -> hdfs_native.Client:
        options, kerberos = self._options, self._options.kerberos
        names = [f"n{index}" for index in range(len(options.namenodes))]
        given = {
            f"dfs.ha.namenodes.{_SERVICE}": ",".join(names),
            "dfs.client.failover.max.attempts": str(2 * len(names)),  # the rest is ours
            "dfs.client.failover.sleep.base.millis": "100",
        }
        for name, place in zip(names, options.namenodes, strict=True):
            given[f"dfs.namenode.rpc-address.{_SERVICE}.{name}"] = place
        if options.protection:
            given["dfs.data.transfer.protection"] = options.protection
        more: dict[str, Any] = {}
        if kerberos and self._tickets:
            given["hadoop.security.authentication"] = "kerberos"
            more = {"kerberos_principal": kerberos.principal, "kerberos_keytab": self._tickets.keytab}
        # Nothing that this machine's user happens to have: there are no files of Hadoop's in this folder.
        return hdfs_native.Client(f"hdfs://{_SERVICE}", given, os.devnull, **more)

    def _is_closed(self) -> OSError:
        return OSError(errno.EIO, f"what was asked of {self._options.place} was given up: it is closed")


def _speak_as(user: str) -> None:
    """The client takes its user from the environment alone, whenever it connects."""
    spoken = _SPOKEN.setdefault(_USER, user)
    if spoken != user:
        raise OSError(
            errno.EINVAL,
            f"this process speaks to HDFS as {spoken!r}, and cannot as {user!r} too; mount it by another process",
        )
    os.environ[_USER] = user


_SPOKEN: dict[str, str] = {}
