# SPDX-License-Identifier: Apache-2.0
"""Serves /dev/fuse itself, from one loop that reads and many tasks that may wait."""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import select
from time import perf_counter
from types import CoroutineType
from typing import TYPE_CHECKING, Any, Final

import trio

from ..protocol import replies, requests
from ..protocol.codes import BACKING_CLOSE, BACKING_OPEN, RESENT, Init, Op
from ..protocol.layout import BACKING, REQUEST, SHAPES
from .base import code, late
from .calls import CALLS, FORGETS, RECORDED, caller
from .spin import Spin

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from ..nodes.results import Results
    from ..operations import Operations
    from ..protocol.agree import Agreed
    from ..protocol.requests import Request
    from .calls import Pack

_LOG = logging.getLogger(__name__)
# Beside the data of the largest write: what the kernel demands for a header.
_HEAD: Final = 4096
# Seconds in which requests are answered in a row before others have their turn.
_TURN: Final = 0.0005
# What the kernel says of a mount that is gone, and of a request that nobody waits for any more.
_GONE: Final = (errno.ENODEV, errno.ENOTCONN, errno.ECONNABORTED)
_UNWANTED: Final = errno.ENOENT
_NAMES: Final = {int(op): op.name for op in Op}
# What has the same answer always. Python asks with each open() whether a file is a terminal; locks come only where they are to be refused.
_REFUSED: Final = {
    int(Op.IOCTL): errno.ENOTTY,
    **dict.fromkeys(map(int, (Op.GETLK, Op.SETLK, Op.SETLKW)), errno.ENOLCK),
}
# What the kernel does by itself from the first such answer on, for the whole mount. Folders are opened: what it kept of their listings
# it would keep for ever.
_NEEDLESS: Final = dict.fromkeys(map(int, (Op.OPEN, Op.FLUSH)), errno.ENOSYS)
# Numbers, since to compare with a member of an enumeration takes as long as all else that is done to tell what is asked.
_LOOKUP, _GETATTR = int(Op.LOOKUP), int(Op.GETATTR)
_GETATTR_SIZE: Final = REQUEST.size + SHAPES[Op.GETATTR].fixed.size
# Of an answer, up to which it is copied behind its header: two parts cost more.
_COPIED: Final = 4096


class GoneError(Exception):
    """The mount ended."""


class Direct:
    """
    :ivar agreed: what kernel and agent can do for each other
    :ivar spin: when to look for the next request instead of being woken by it
    :ivar results: of requests that a worker before this one may have answered; None where none are kept
    :ivar observe: is told of each operation, the errno of its answer, and the seconds it took
    :ivar began: requests are answered
    """

    def __init__(self, descriptor: int, agreed: Agreed, longest: float = 300.0) -> None:
        """
        :param descriptor: of /dev/fuse, mounted
        :param longest: seconds that an operation may take
        """
        self.agreed = agreed
        self._descriptor, self._longest = descriptor, longest
        self._refused = {**_REFUSED, **(_NEEDLESS if Init.NO_OPEN_SUPPORT in agreed else {})}
        self._buffer = bytearray(agreed.largest + _HEAD)
        self._buffers = (self._buffer,)
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLIN)
        self._view = memoryview(self._buffer)
        self._waiting: dict[int, trio.CancelScope] = {}
        self._reading, self._ending = trio.CancelScope(), trio.CancelScope()
        self.spin = Spin(0.0)
        self.observe: Callable[[str, int, float], None] = lambda _name, _code, _seconds: None
        self.began = trio.Event()
        self.results: Results | None = None
        os.set_blocking(descriptor, False)

    @property
    def waiting(self) -> int:
        """Requests that are not answered yet."""
        return len(self._waiting)

    def take_over(self) -> None:
        """From a worker that died: what it had read comes again."""
        self.tell(replies.resend())

    async def serve(self, operations: Operations) -> bool:
        """Until the mount is gone, or this is to leave it to another; whether it is gone."""
        if Init.HAS_RESEND in self.agreed:
            self.take_over()
        self.began.set()
        with self._ending:
            async with trio.open_nursery() as nursery:
                try:
                    with self._reading:
                        await self._serve(operations, nursery)
                except GoneError:
                    nursery.cancel_scope.cancel()
                    return True
        return False

    def leave(self, longest: float) -> None:
        """No further request is read. Those that were are ended, as far as that takes no longer; the rest is the next one's."""
        self._reading.cancel()
        self._ending.deadline = min(self._ending.deadline, trio.current_time() + longest)

    def tell(self, *parts: bytes | memoryview) -> bool:
        """An answer, or what the kernel is told unasked; whether anybody is there to take it. That the mount is gone is found by
        who reads.

        Nothing unasked from within an operation on the same node: the kernel holds what it would have to take.
        """
        try:
            if len(parts) == 1:
                os.write(self._descriptor, parts[0])
            else:
                os.writev(self._descriptor, parts)
        except OSError as error:
            if error.errno in (*_GONE, _UNWANTED):
                return False
            raise
        return True

    def bind(self, file: int) -> int:
        """The kernel's number for a file that it shall read and write by itself."""
        # It returns the number only through memory that may be written to.
        number: int = fcntl.ioctl(self._descriptor, BACKING_OPEN, bytearray(BACKING.pack(file, 0, 0)), True)
        return number

    def doubt(self, node: int) -> bool:
        """What the kernel knows of its attributes. Also from within an operation on it: nothing is held for that."""
        return self.tell(replies.forget_data(node, -1))

    def unbind(self, number: int) -> bool:
        try:
            fcntl.ioctl(self._descriptor, BACKING_CLOSE, bytearray(number.to_bytes(4, "little")), True)
        except OSError as error:
            if error.errno in (
                errno.ENOENT,
                errno.EPERM,
            ):  # the latter where there can be none: rootless, or not agreed on
                return False
            raise
        return True

    async def _serve(self, operations: Operations, nursery: trio.Nursery) -> None:
        ends = perf_counter() + _TURN
        while True:
            if not (self._is_asked() or self._look()):
                await trio.lowlevel.wait_readable(self._descriptor)
                ends = perf_counter() + _TURN
            if size := self._read():
                self._take(operations, nursery, size)
            if perf_counter() >= ends:
                await trio.lowlevel.checkpoint()
                ends = perf_counter() + _TURN

    def _read(self) -> int:
        """Bytes of the next request; 0 when there is none yet.

        :raises GoneError:
        """
        while True:
            try:
                return os.readv(self._descriptor, self._buffers)
            except BlockingIOError:
                return 0
            except OSError as error:
                if error.errno in _GONE:
                    raise GoneError from None
                if error.errno not in (_UNWANTED, errno.EINTR):
                    raise

    def _is_asked(self) -> bool:
        """Or the mount is gone. To read in vain takes three times as long."""
        return bool(self._poll.poll(0))

    def _look(self) -> bool:
        """For the next request, as long as it is likely to come at once. Not while clients wait for what others are to do."""
        if self._waiting or not self.spin.begin(perf_counter()):
            return False
        while True:
            os.sched_yield()  # the client may want this very processor
            asked, now = self._is_asked(), perf_counter()
            if asked:
                self.spin.came(now)
                return True
            if not self.spin.goes_on(now):
                return False

    def _take(self, operations: Operations, nursery: trio.Nursery, size: int) -> None:
        if self._answer_at_once(operations, size):
            return
        try:
            self._begin(operations, nursery, requests.parse(self._view[:size]))
        except requests.UnknownOpError as unknown:
            self._refuse(unknown.number, errno.ENOSYS)
        except requests.MalformedError as malformed:
            _LOG.error("%s", malformed)
            if malformed.number:
                self._refuse(malformed.number, errno.EIO)

    def _answer_at_once(self, operations: Operations, size: int) -> bool:
        """What is asked most, without anything in between. What is odd about a request is found on the long way, when this answers
        nothing."""
        begun = perf_counter()
        length, op, number, node, _uid, _gid, _pid, extensions, _padding = REQUEST.unpack_from(self._buffer)
        if length != size or extensions:
            return False
        try:
            if op == _LOOKUP and not self._buffer[size - 1]:
                body = operations.known_entry(node, bytes(self._view[REQUEST.size : size - 1]))
            elif op == _GETATTR and size == _GETATTR_SIZE:
                body = operations.known_attributes(node)
            else:
                return False
        except Exception:  # noqa: BLE001 (it is raised again on the long way, and told there)
            return False
        if body is None:
            return False
        self.tell(replies.done(number, body))
        self.observe(_NAMES[op], 0, perf_counter() - begun)
        return True

    def _begin(self, operations: Operations, nursery: trio.Nursery, request: Request) -> None:
        if request.op in self._refused:
            self._refuse(request.number, self._refused[request.op])
        elif request.op in CALLS:
            if not (request.resent and self._is_answered(request)):
                self._call(operations, nursery, request)
        elif request.op == Op.INTERRUPT:
            # What was answered meanwhile needs no more; what must not stop half-way shields itself.
            scope = self._waiting.get(request.fixed[0])
            if scope:
                scope.cancel()
        elif request.op in FORGETS:
            operations.forget(requests.forgotten(request))
        elif request.op == Op.DESTROY:
            raise GoneError
        else:
            self._refuse(request.number, errno.ENOSYS)

    def _call(self, operations: Operations, nursery: trio.Nursery, request: Request) -> None:
        call, pack = CALLS[request.op]
        begun = perf_counter()
        try:
            found = call(operations, caller(request), request)
            if isinstance(found, CoroutineType):
                scope = trio.CancelScope(deadline=trio.current_time() + self._longest)
                self._waiting[request.number] = scope  # now, since it may be interrupted before it is begun
                # What it was asked outlives the buffer; what it was given, an operation has taken by now.
                nursery.start_soon(self._finish, request._replace(data=memoryview(b"")), found, pack, scope, begun)
                return
            body = pack(request, found)
        except Exception as error:  # noqa: BLE001 (a defect of one request is no reason to take the mount from all)
            self._fail(request, error, begun)
        else:
            self._succeed(request, body, begun)

    async def _finish(
        self, request: Request, work: Coroutine[Any, Any, Any], pack: Pack, scope: trio.CancelScope, begun: float
    ) -> None:
        body: bytes | memoryview = b""
        try:
            with scope:
                body = pack(request, await work)
        except Exception as error:  # noqa: BLE001 (as above)
            self._fail(request, error, begun)
        else:
            if not scope.cancelled_caught:
                self._succeed(request, body, begun)
            elif trio.current_time() >= scope.deadline:
                self._fail(request, late(self._longest), begun)
            else:
                self._answer(request, errno.EINTR, begun)
        finally:
            del self._waiting[request.number]

    def _is_answered(self, request: Request) -> bool:
        """As a worker was about to when it died."""
        found = self.results.find(request.number & ~RESENT) if self.results and request.op in RECORDED else None
        if found is None:
            return False
        self.tell(
            replies.failed(request.number, found.code) if found.code else replies.done(request.number, found.body)
        )
        return True

    def _record(self, request: Request, failed: int, body: bytes | memoryview = b"") -> None:
        if self.results and request.op in RECORDED:
            self.results.end(request.number & ~RESENT, failed, body)

    def _succeed(self, request: Request, body: bytes | memoryview, begun: float) -> None:
        self._record(request, 0, body)
        if len(body) <= _COPIED:
            self.tell(replies.done(request.number, body))
        else:
            self.tell(replies.header(request.number, len(body)), body)
        self.observe(_NAMES[request.op], 0, perf_counter() - begun)

    def _fail(self, request: Request, error: Exception, begun: float) -> None:
        self._answer(request, code(error, f"{_NAMES[request.op]} of node {request.node}"), begun)

    def _answer(self, request: Request, failed: int, begun: float) -> None:
        self._record(request, failed)
        self._refuse(request.number, failed)
        self.observe(_NAMES[request.op], failed, perf_counter() - begun)

    def _refuse(self, number: int, failed: int) -> None:
        self.tell(replies.failed(number, failed))
