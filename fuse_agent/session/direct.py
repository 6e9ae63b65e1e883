# SPDX-License-Identifier: Apache-2.0
"""Serves /dev/fuse itself, from one loop that reads and many tasks that may wait."""

from __future__ import annotations

import errno
import fcntl
import inspect
import logging
import os
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import trio

from ..protocol import agree, replies, requests
from ..protocol.codes import BACKING_CLOSE, BACKING_OPEN, Op
from ..protocol.layout import BACKING
from .calls import CALLS, UNANSWERED, caller

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from ..operations import Operations
    from ..protocol.agree import Agreed, Wish
    from ..protocol.requests import Request
    from .calls import Pack

_LOG = logging.getLogger(__name__)
# Beside the data of the largest write: what the kernel demands for a header.
_HEAD: Final = 4096
# Requests that are answered in a row before others have their turn.
_ROW: Final = 32
# What the kernel says of a mount that is gone, of a request that nobody waits for any more, and when there is none.
_GONE: Final = (errno.ENODEV, errno.ENOTCONN, errno.ECONNABORTED)
_UNWANTED: Final = (errno.ENOENT,)


class GoneError(Exception):
    """The mount ended."""


class Direct:
    """
    :ivar agreed: what kernel and agent can do for each other
    """

    def __init__(self, descriptor: int, agreed: Agreed, longest: float = 300.0) -> None:
        """
        :param descriptor: of /dev/fuse, mounted
        :param longest: seconds that an operation may take
        """
        self.agreed = agreed
        self._descriptor, self._longest = descriptor, longest
        self._buffer = bytearray(agreed.largest + _HEAD)
        self._view = memoryview(self._buffer)
        self._waiting: dict[int, trio.CancelScope] = {}
        os.set_blocking(descriptor, False)

    @classmethod
    async def begin(cls, descriptor: int, wish: Wish) -> Direct:
        """Answers the kernel's first request.

        :raises agree.Unfit:
        """
        os.set_blocking(descriptor, False)
        buffer = bytearray(1 << 17)
        size = await _read(descriptor, buffer)
        request = requests.parse(memoryview(buffer)[:size])
        if request.op != Op.INIT:
            raise requests.MalformedError(request.number, f"operation {request.op} before INIT")
        try:
            agreed = agree.agree(request, wish)
        except agree.Unfit:
            os.write(descriptor, replies.failed(request.number, errno.EPROTO))
            raise
        os.write(descriptor, replies.done(request.number, agree.answer(agreed)))
        for lack in agree.lacking(request, wish):
            _LOG.warning("this kernel cannot: %s", lack)
        return cls(descriptor, agreed)

    def take_over(self) -> None:
        """From a worker that died: what it had read comes again."""
        self.tell(replies.resend())

    async def serve(self, operations: Operations) -> None:
        """Until the mount is gone, or this is cancelled."""
        async with trio.open_nursery() as nursery:
            try:
                await self._serve(operations, nursery)
            except GoneError:
                nursery.cancel_scope.cancel()

    def tell(self, notification: bytes) -> bool:
        """Whether the kernel knew what it was told about.

        Never from within an operation on the same node: the kernel holds what it would have to take.
        """
        try:
            os.write(self._descriptor, notification)
        except OSError as error:
            if error.errno in (*_GONE, *_UNWANTED):
                return False
            raise
        return True

    def bind(self, file: int) -> int:
        """The kernel's number for a file that it shall read and write by itself."""
        # It returns the number only through memory that may be written to.
        number: int = fcntl.ioctl(self._descriptor, BACKING_OPEN, bytearray(BACKING.pack(file, 0, 0)), True)
        return number

    def unbind(self, number: int) -> bool:
        try:
            fcntl.ioctl(self._descriptor, BACKING_CLOSE, bytearray(number.to_bytes(4, "little")), True)
        except OSError as error:
            if error.errno == errno.ENOENT:
                return False
            raise
        return True

    async def _serve(self, operations: Operations, nursery: trio.Nursery) -> None:
        row = 0
        while True:
            try:
                size = os.readv(self._descriptor, [self._buffer])
            except BlockingIOError:
                row = 0
                await trio.lowlevel.wait_readable(self._descriptor)
                continue
            except OSError as error:
                if error.errno in _GONE:
                    raise GoneError from None
                if error.errno in (*_UNWANTED, errno.EINTR):
                    continue
                raise
            self._take(operations, nursery, self._view[:size])
            row += 1
            if row == _ROW:
                row = 0
                await trio.lowlevel.checkpoint()

    def _take(self, operations: Operations, nursery: trio.Nursery, packet: memoryview) -> None:
        try:
            request = requests.parse(packet)
        except requests.UnknownOpError as unknown:
            self._answer(replies.failed(unknown.number, errno.ENOSYS))
        except requests.MalformedError as malformed:
            _LOG.error("%s", malformed)
            if malformed.number:
                self._answer(replies.failed(malformed.number, errno.EIO))
        else:
            if request.op == Op.IOCTL:  # Python asks with each open() whether a file is a terminal
                self._answer(replies.failed(request.number, errno.ENOTTY))
            elif request.op in CALLS:
                self._call(operations, nursery, request)
            elif request.op in UNANSWERED:
                self._note(operations, request)
            elif request.op == Op.DESTROY:
                raise GoneError
            else:
                self._answer(replies.failed(request.number, errno.ENOSYS))

    def _call(self, operations: Operations, nursery: trio.Nursery, request: Request) -> None:
        call, pack = CALLS[request.op]
        try:
            found = call(operations, caller(request), request)
            if inspect.iscoroutine(found):
                scope = trio.CancelScope(deadline=trio.current_time() + self._longest)
                self._waiting[request.number] = scope  # now, since it may be interrupted before it is begun
                # What it was asked outlives the buffer; what it was given, an operation has taken by now.
                nursery.start_soon(self._finish, request._replace(data=memoryview(b"")), found, pack, scope)
                return
            body = pack(request, found)
        except OSError as error:
            self._fail(request, error)
        except NotImplementedError:
            self._answer(replies.failed(request.number, errno.ENOSYS))
        except Exception:  # noqa: BLE001 (a defect of one request is no reason to take the mount from all)
            self._defect(request)
        else:
            self._succeed(request, body)

    async def _finish(
        self, request: Request, work: Coroutine[Any, Any, Any], pack: Pack, scope: trio.CancelScope
    ) -> None:
        body: bytes | memoryview = b""
        try:
            with scope:
                body = pack(request, await work)
        except OSError as error:
            self._fail(request, error)
        except Exception:  # noqa: BLE001 (as above)
            self._defect(request)
        else:
            if not scope.cancelled_caught:
                self._succeed(request, body)
            elif trio.current_time() >= scope.deadline:
                self._fail(request, OSError(errno.EIO, f"it took more than {self._longest:g} s"))
            else:
                self._answer(replies.failed(request.number, errno.EINTR))
        finally:
            del self._waiting[request.number]

    def _note(self, operations: Operations, request: Request) -> None:
        if request.op == Op.INTERRUPT:
            # What was answered meanwhile needs no more; what must not stop half-way shields itself.
            scope = self._waiting.get(request.fixed[0])
            if scope:
                scope.cancel()
            return
        try:
            operations.forget(requests.forgotten(request))
        except requests.MalformedError as malformed:
            _LOG.error("%s", malformed)

    def _succeed(self, request: Request, body: bytes | memoryview) -> None:
        self._answer(replies.header(request.number, len(body)), body)

    def _fail(self, request: Request, error: OSError) -> None:
        if not error.errno:
            self._defect(request)
            return
        _LOG.debug("%s of node %d: %s", Op(request.op).name, request.node, error)
        self._answer(replies.failed(request.number, error.errno))

    def _defect(self, request: Request) -> None:
        _LOG.exception("%s of node %d failed by a defect of the agent", Op(request.op).name, request.node)
        self._answer(replies.failed(request.number, errno.EIO))

    def _answer(self, *parts: bytes | memoryview) -> None:
        try:
            os.writev(self._descriptor, parts)
        except OSError as error:
            # That the mount is gone is found by who reads.
            if error.errno not in (*_GONE, *_UNWANTED):
                raise


async def _read(descriptor: int, buffer: bytearray) -> int:
    read = partial(os.readv, descriptor, [buffer])
    while True:
        try:
            return read()
        except BlockingIOError:
            await trio.lowlevel.wait_readable(descriptor)
