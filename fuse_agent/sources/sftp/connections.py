# SPDX-License-Identifier: Apache-2.0
"""The connections to one server, shared by all threads, in a thread of their own.

asyncssh has many requests under way on one connection: it reads 2.5 times as fast as paramiko for half of the processor's time (8 MiB ranges
from OpenSSH of this machine), and may be asked by several threads at once. AES with a check of its own goes first, since it is half as
fast again as what asyncssh would choose.
"""

from __future__ import annotations

import asyncio
import errno
import random
import threading
from concurrent.futures import CancelledError
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

import asyncssh

from ...metrics import Request
from ..base import quiet
from . import failures
from .options import private_key

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine

    from ..base import Tell
    from .options import Logins, Options

T = TypeVar("T")
# A server works for each by a process of its own, and OpenSSH admits ten who are not let in yet.
_CONNECTIONS: Final = 4
_FIRST, _LONGEST = 0.1, 5.0
_CIPHERS: Final = "^aes128-gcm@openssh.com,aes256-gcm@openssh.com"


class Patience(NamedTuple):
    total: float = 60.0  # seconds after the first failure, after which nothing is tried again
    tries: int = 10
    connect: float = 5.0
    login: float = 20.0
    silence: float = 20.0  # of a connection
    answer: float = 60.0  # to one request, or one piece of a file


PATIENT = Patience()


class Turn:
    """One try.

    :ivar before: tries that came to nothing; the server may have done what they asked
    """

    def __init__(self, client: asyncssh.SFTPClient, before: int, limit: asyncio.Timeout, patience: Patience) -> None:
        self.client, self.before = client, before
        self._limit, self._patience = limit, patience

    def goes_on(self) -> None:
        """The next piece has its own time."""
        self._limit.reschedule(asyncio.get_running_loop().time() + self._patience.answer)


class _Slot:
    """A place of one connection."""

    def __init__(self) -> None:
        self.users = 0
        self.connection: asyncssh.SSHClientConnection | None = None
        self.client: asyncssh.SFTPClient | None = None
        self.making: asyncio.Task[None] | None = None

    @property
    def is_open(self) -> bool:
        return self.connection is not None and not self.connection.is_closed()

    def drop(self) -> None:
        if self.connection is not None:
            self.connection.abort()
        self.connection = self.client = None


class Connections:
    def __init__(
        self,
        options: Options,
        logins: Logins,
        patience: Patience = PATIENT,
        on_request: Tell = quiet,
    ) -> None:
        """
        :param on_request: told of each request
        """
        self._options, self._logins, self._patience, self._on_request = options, logins, patience, on_request
        self._slots = [_Slot() for _number in range(_CONNECTIONS)]
        self._failures, self._not_before = 0, 0.0
        self._aside: set[asyncio.Task[None]] = set()
        self._lock = threading.Lock()
        self._closed = False
        asyncssh.set_log_level("WARNING")  # it tells of every connection
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="sftp", daemon=True)
        self._thread.start()

    def close(self) -> None:
        with self._lock:
            if self._closed:
                return
            self._closed = True
            ended = asyncio.run_coroutine_threadsafe(self._end(), self._loop)
        ended.result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def run(self, operation: str, path: bytes, act: Callable[[Turn], Awaitable[T]], sent: int = 0) -> T:
        """From any thread.

        :param act: is done again on another connection when one was lost
        :raises OSError:
        """
        with self._lock:
            work = (
                None
                if self._closed
                else asyncio.run_coroutine_threadsafe(self._try(operation, path, act, sent), self._loop)
            )
        try:
            if work is not None:
                return work.result()
        except CancelledError:
            pass
        raise OSError(errno.EIO, f"{operation} of {path!r} on {self._options.place} was given up: it is closed")

    def aside(self, work: Coroutine[None, None, None]) -> None:
        """What nobody waits for. Of the loop's thread."""

        async def done() -> None:
            with suppress(*failures.RAISED):
                await work

        task = self._loop.create_task(done())
        self._aside.add(task)
        task.add_done_callback(self._aside.discard)

    async def _try(self, operation: str, path: bytes, act: Callable[[Turn], Awaitable[T]], sent: int) -> T:
        before, end = 0, 0.0
        while True:
            began = self._loop.time()

            def tell(status: int, received: int = 0, began: float = began, again: bool = before > 0) -> None:
                done = sent if status == 200 else 0
                self._on_request(Request(operation, status, again, self._loop.time() - began, received, done))

            try:
                async with self._connected() as client, asyncio.timeout(self._patience.answer) as limit:
                    answer = await act(Turn(client, before, limit, self._patience))
            except failures.RAISED as raised:
                failure = failures.of(raised)
            except OSError as error:  # what we made of an answer
                tell(failures.answered(error.errno or errno.EIO, "").status)
                raise
            else:
                tell(200, len(answer) if isinstance(answer, bytes) else 0)
                return answer
            tell(failure.status)
            before += 1
            now = self._loop.time()
            end = end or now + self._patience.total
            if not failure.again or before >= self._patience.tries or max(now, self._not_before) >= end:
                raise failure.told(operation, path, self._options.place, before)

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[asyncssh.SFTPClient]:
        slot = min(self._slots, key=lambda one: one.users)
        slot.users += 1
        client = None
        try:
            client = await self._client(slot)
            yield client
            self._failures = 0
        except BaseException as error:
            # Whoever gives up waiting may leave a server behind that is stuck.
            if client is not None and slot.client is client and _breaks(error):
                slot.drop()
                self._failed()
            raise
        finally:
            slot.users -= 1

    async def _client(self, slot: _Slot) -> asyncssh.SFTPClient:
        if not slot.is_open:
            if slot.making is None:
                slot.making = self._loop.create_task(self._connect(slot))
                slot.making.add_done_callback(lambda task: _ended(slot, task))
            await asyncio.shield(slot.making)
        assert slot.client is not None
        return slot.client

    async def _connect(self, slot: _Slot) -> None:
        """All who want one wait for the same, and a server that takes none is left alone for longer and longer."""
        await asyncio.sleep(self._not_before - self._loop.time())
        slot.drop()
        try:
            slot.connection = await self._log_in()
            # By a program of the server, which may be stuck while the server itself is well.
            async with asyncio.timeout(self._patience.login):
                slot.client = await slot.connection.start_sftp_client(path_encoding=None)
        except (asyncssh.Error, OSError) as error:
            slot.drop()
            self._failed()
            raise failures.of_connecting(error) from error
        except BaseException:
            slot.drop()
            raise

    async def _log_in(self) -> asyncssh.SSHClientConnection:
        options, patience = self._options, self._patience
        try:
            login = await asyncio.to_thread(self._logins.login)  # others' requests go on meanwhile
            keys = [private_key(login.key)] if login.key else None
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            raise failures.UnwelcomeError(f"{where}{error.strerror}") from error
        return await asyncssh.connect(
            options.host,
            options.port,
            username=options.user,
            password=login.password or None,
            client_keys=keys,
            known_hosts=options.host_keys,
            # Nothing that this machine's user happens to have.
            config=None,
            agent_path=None,
            gss_host=None,
            x509_trusted_certs=None,
            encryption_algs=_CIPHERS,
            compression_algs=None,
            connect_timeout=patience.connect,
            login_timeout=patience.login,
            keepalive_interval=patience.silence / 4,
            keepalive_count_max=3,
        )

    def _failed(self) -> None:
        self._failures += 1
        pause = min(_LONGEST, _FIRST * 2 ** (self._failures - 1)) * (0.5 + random.random() / 2)
        self._not_before = self._loop.time() + pause

    async def _end(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for one in others:
            one.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        gone = [slot.connection for slot in self._slots if slot.connection is not None]
        for slot in self._slots:
            slot.drop()
        await asyncio.gather(*(one.wait_closed() for one in gone))


def _breaks(error: BaseException) -> bool:
    if isinstance(error, asyncio.CancelledError):
        return False
    return isinstance(error, failures.RAISED) and not failures.is_answer(error)


def _ended(slot: _Slot, task: asyncio.Task[None]) -> None:
    slot.making = None
    if not task.cancelled():
        task.exception()  # whoever waited was told
