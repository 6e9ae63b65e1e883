# SPDX-License-Identifier: Apache-2.0
"""The loop that serves the kernel, with a socket in the kernel's place."""

from __future__ import annotations

import errno
import logging
import socket
import struct
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest
import trio
import trio.testing
from paddleflow_fuse.nodes.region import Region
from paddleflow_fuse.nodes.results import Results
from paddleflow_fuse.operations import Absent, Caller, Operations
from paddleflow_fuse.protocol import layout, replies
from paddleflow_fuse.protocol.agree import Agreed
from paddleflow_fuse.protocol.codes import RESENT, Init, Notify, Op
from paddleflow_fuse.protocol.replies import Attributes, Entry, Handle
from paddleflow_fuse.session.direct import Direct
from paddleflow_fuse.session.spin import Spin

AGREED = Agreed(41, Init.ASYNC_READ, 1 << 17, 1 << 17, 0)


class Kernel:
    """Asks, and reads what is answered."""

    def __init__(self, end: trio.socket.SocketType) -> None:
        self._end = end
        self._number = 0

    def restart(self) -> None:
        """What is asked next has the numbers of what was asked first."""
        self._number = 0

    async def ask(self, op: int, body: bytes = b"", node: int = 1, again: bool = False) -> int:
        self._number += 2
        number = self._number | (RESENT if again else 0)
        await self._end.send(layout.REQUEST.pack(40 + len(body), op, number, node, 5, 6, 7, 0, 0) + body)
        return number

    async def answer(self) -> tuple[int, int, bytes]:
        """Whose, the errno, and what else."""
        with trio.fail_after(30):
            packet = await self._end.recv(1 << 21)
        length, error, number = layout.REPLY.unpack_from(packet)
        assert length == len(packet)
        return number, -error, packet[layout.REPLY.size :]

    async def send(self, packet: bytes) -> None:
        await self._end.send(packet)


@contextmanager
def connected() -> Iterator[tuple[Kernel, int]]:
    """A kernel, and the descriptor to serve it by."""
    ours, theirs = trio.socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        yield Kernel(ours), theirs.fileno()


@asynccontextmanager
async def served(operations: Operations, longest: float = 60.0, agreed: Agreed = AGREED) -> AsyncIterator[Kernel]:
    with connected() as (kernel, descriptor):
        session = Direct(descriptor, agreed, longest)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(session.serve, operations)
            yield kernel
            await kernel.ask(Op.DESTROY)


class Slow(Operations):
    """Knows one name at once, one after a while, one never; and has a defect."""

    def __init__(self) -> None:
        self.callers: list[Caller] = []
        self.forgotten: list[tuple[int, int]] = []
        self.go_on = trio.Event()

    def lookup(self, caller: Caller, parent: int, name: bytes) -> Entry | Absent | Coroutine[Any, Any, Entry | Absent]:
        self.callers.append(caller)
        if name == b"denied":
            raise PermissionError(errno.EACCES, "no")
        if name == b"defect":
            raise ZeroDivisionError
        if name in (b"late", b"late defect", b"shielded"):
            return self._late(name)
        return Absent(parent)

    async def _late(self, name: bytes) -> Absent:
        with trio.CancelScope(shield=name == b"shielded"):
            await self.go_on.wait()
        if name == b"late defect":
            raise KeyError(name)
        return Absent(2)

    def forget(self, nodes: Sequence[tuple[int, int]]) -> None:
        self.forgotten += nodes

    def open(self, _caller: Caller, _node: int, _flags: int) -> Handle:
        return Handle(1)

    def flush(self, _caller: Caller, _node: int, _handle: int) -> None:
        return None

    def fsync(self, _caller: Caller, _node: int, _handle: int, _data_only: bool) -> None:
        return None


ABSENT = 0


def test_what_is_known_is_answered_and_who_asked_is_told() -> None:
    async def test() -> None:
        operations = Slow()
        async with served(operations) as kernel:
            number = await kernel.ask(Op.LOOKUP, b"name\0", node=9)
            assert (await kernel.answer())[:2] == (number, ABSENT)
            again = await kernel.ask(Op.LOOKUP, b"name\0", again=True)
            assert (await kernel.answer())[0] == again
        assert operations.callers == [
            Caller(uid=5, gid=6, pid=7, number=number),
            Caller(uid=5, gid=6, pid=7, number=again & ~RESENT, again=True),
        ]

    trio.run(test)


def test_what_is_known_is_answered_as_it_lies_there_and_all_else_by_who_is_asked(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Knows(Slow):
        def known_entry(self, parent: int, name: bytes) -> bytes | None:
            if name == b"defect":
                raise ZeroDivisionError
            return b"entry of %d" % parent if name == b"known" else None

        def known_attributes(self, node: int) -> bytes | None:
            return b"attributes of %d" % node

    async def test() -> None:
        operations, observed = Knows(), list[tuple[str, int]]()
        with connected() as (kernel, descriptor):
            session = Direct(descriptor, AGREED)
            session.observe = lambda name, code, _seconds: observed.append((name, code))
            async with trio.open_nursery() as nursery:
                nursery.start_soon(session.serve, operations)
                for op, body, answer in (
                    (Op.LOOKUP, b"known\0", (0, b"entry of 9")),
                    (Op.GETATTR, bytes(16), (0, b"attributes of 9")),
                    (Op.LOOKUP, b"name\0", (0, replies.absent(9))),
                    (Op.LOOKUP, b"defect\0", (errno.EIO, b"")),
                    (Op.LOOKUP, b"known", (errno.EIO, b"")),
                ):
                    number = await kernel.ask(op, body, node=9)
                    assert await kernel.answer() == (number, *answer)
                await kernel.ask(Op.DESTROY)
        assert observed == [("LOOKUP", 0), ("GETATTR", 0), ("LOOKUP", 0), ("LOOKUP", errno.EIO)]
        assert len(operations.callers) == 2

    trio.run(test)
    assert sum(record.exc_info is not None for record in caplog.records) == 1


def test_who_waits_holds_up_nobody() -> None:
    async def test() -> None:
        operations = Slow()
        async with served(operations) as kernel:
            late = await kernel.ask(Op.LOOKUP, b"late\0")
            soon = await kernel.ask(Op.LOOKUP, b"name\0")
            assert (await kernel.answer())[0] == soon
            operations.go_on.set()
            assert (await kernel.answer())[:2] == (late, ABSENT)

    trio.run(test)


@pytest.mark.parametrize(
    ("name", "error"),
    [(b"denied", errno.EACCES), (b"defect", errno.EIO), (b"late defect", errno.EIO)],
)
def test_what_fails_is_answered_with_an_errno_and_the_loop_goes_on(
    name: bytes, error: int, caplog: pytest.LogCaptureFixture
) -> None:
    async def test() -> None:
        operations = Slow()
        operations.go_on.set()
        async with served(operations) as kernel:
            number = await kernel.ask(Op.LOOKUP, name + b"\0")
            assert (await kernel.answer())[:2] == (number, error)
            await kernel.ask(Op.LOOKUP, b"name\0")
            assert (await kernel.answer())[1] == 0

    trio.run(test)
    told = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert bool(told) == (error == errno.EIO)


def test_who_is_interrupted_is_told_at_once_unless_it_must_not_stop_half_way() -> None:
    async def test() -> None:
        operations = Slow()
        async with served(operations) as kernel:
            late = await kernel.ask(Op.LOOKUP, b"late\0")
            await kernel.ask(Op.INTERRUPT, struct.pack("<Q", late))
            assert (await kernel.answer())[:2] == (late, errno.EINTR)
            shielded = await kernel.ask(Op.LOOKUP, b"shielded\0")
            await kernel.ask(Op.INTERRUPT, struct.pack("<Q", shielded))
            await kernel.ask(Op.INTERRUPT, struct.pack("<Q", 4711))  # was answered before
            soon = await kernel.ask(Op.LOOKUP, b"name\0")
            assert (await kernel.answer())[0] == soon
            operations.go_on.set()
            assert (await kernel.answer())[:2] == (shielded, ABSENT)

    trio.run(test)


def test_nobody_waits_for_ever() -> None:
    async def test() -> None:
        async with served(Slow(), longest=0.01) as kernel:
            late = await kernel.ask(Op.LOOKUP, b"late\0")
            assert (await kernel.answer())[:2] == (late, errno.EIO)

    trio.run(test)


def test_what_is_forgotten_is_not_answered() -> None:
    async def test() -> None:
        operations = Slow()
        async with served(operations) as kernel:
            await kernel.ask(Op.FORGET, struct.pack("<Q", 3), node=8)
            await kernel.ask(Op.BATCH_FORGET, struct.pack("<IIQQQQ", 2, 0, 8, 1, 9, 2))
            await kernel.ask(Op.BATCH_FORGET, struct.pack("<II", 2, 0))  # cannot be read
            number = await kernel.ask(Op.LOOKUP, b"name\0")
            assert (await kernel.answer())[0] == number
        assert operations.forgotten == [(8, 3), (8, 1), (9, 2)]

    trio.run(test)


def test_what_is_not_known_here_is_refused_and_python_is_told_that_no_file_is_a_terminal() -> None:
    async def test() -> None:
        async with served(Operations()) as kernel:
            for op, body, error in (
                (Op.STATFS, b"", errno.ENOSYS),
                (4711, b"anything", errno.ENOSYS),
                (Op.GETLK, bytes(48), errno.ENOLCK),
                (Op.READ, b"short", errno.EIO),
                (Op.IOCTL, bytes(32), errno.ENOTTY),
            ):
                number = await kernel.ask(op, body)
                assert (await kernel.answer())[:2] == (number, error), op
            await kernel.send(b"noise")
            number = await kernel.ask(Op.STATFS)
            assert (await kernel.answer())[0] == number

    trio.run(test)


@pytest.mark.parametrize(("flag", "error"), [(Init.ASYNC_READ, 0), (Init.NO_OPEN_SUPPORT, errno.ENOSYS)])
def test_the_kernel_opens_and_closes_by_itself_where_that_was_agreed(flag: Init, error: int) -> None:
    async def test() -> None:
        async with served(Slow(), agreed=AGREED._replace(flags=flag)) as kernel:
            for op, body in ((Op.OPEN, bytes(8)), (Op.FLUSH, bytes(24))):
                number = await kernel.ask(op, body)
                assert (await kernel.answer())[:2] == (number, error)
            # One such answer would hold for the whole mount, and to what is stored.
            number = await kernel.ask(Op.FSYNC, bytes(16))
            assert (await kernel.answer())[:2] == (number, 0)

    trio.run(test)


def test_who_takes_over_asks_for_what_was_not_answered() -> None:
    async def test() -> None:
        with connected() as (kernel, descriptor):
            session = Direct(descriptor, AGREED)
            session.take_over()
            assert await kernel.answer() == (0, -Notify.RESEND, b"")

    trio.run(test)


def test_who_leaves_reads_no_more_and_ends_what_it_read_if_that_takes_no_longer() -> None:
    async def test() -> None:
        operations = Slow()
        with connected() as (kernel, descriptor):
            session = Direct(descriptor, AGREED)
            async with trio.open_nursery() as nursery:
                ended = trio.Event()
                gone: list[bool] = []

                async def serve() -> None:
                    gone.append(await session.serve(operations))
                    ended.set()

                nursery.start_soon(serve)
                late = await kernel.ask(Op.LOOKUP, b"late\0")
                soon = await kernel.ask(Op.LOOKUP, b"name\0")
                assert (await kernel.answer())[0] == soon
                session.leave(longest=30)
                await trio.testing.wait_all_tasks_blocked()
                await kernel.ask(Op.LOOKUP, b"name\0")
                await trio.testing.wait_all_tasks_blocked()
                assert not ended.is_set()
                operations.go_on.set()
                assert (await kernel.answer())[:2] == (late, ABSENT)
                await ended.wait()
            assert gone == [False]
            assert len(operations.callers) == 2

    trio.run(test)


def test_who_leaves_answers_nothing_that_takes_longer() -> None:
    async def test() -> None:
        operations = Slow()
        with connected() as (kernel, descriptor):
            session = Direct(descriptor, AGREED)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(session.serve, operations)
                await kernel.ask(Op.LOOKUP, b"late\0")
                soon = await kernel.ask(Op.LOOKUP, b"name\0")
                assert (await kernel.answer())[0] == soon
                session.leave(longest=0)
            session.take_over()  # what is said next is the first that comes
            assert await kernel.answer() == (0, -Notify.RESEND, b"")

    trio.run(test)


def test_a_mount_that_ends_is_gone() -> None:
    async def test() -> None:
        with connected() as (kernel, descriptor):
            await kernel.ask(Op.DESTROY)
            assert await Direct(descriptor, AGREED).serve(Operations())

    trio.run(test)


def test_who_looks_catches_the_next_request_and_others_have_their_turn_all_the_same() -> None:
    """A client that asks again at once, from a process of its own so to say: a thread with a blocking socket."""

    def ask(end: socket.socket, enough: threading.Event) -> int:
        number = 0
        while not enough.is_set() and number < 200_000:
            number += 2
            end.send(layout.REQUEST.pack(45, Op.LOOKUP, number, 1, 5, 6, 7, 0, 0) + b"name\0")
            assert layout.REPLY.unpack_from(end.recv(1 << 12))[2] == number
        end.send(layout.REQUEST.pack(40, Op.DESTROY, number + 2, 1, 5, 6, 7, 0, 0))
        return number

    async def test() -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        enough = threading.Event()
        with ours, theirs:
            session = Direct(theirs.fileno(), AGREED)
            session.spin = Spin(0.01)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(session.serve, Slow())
                nursery.start_soon(trio.to_thread.run_sync, ask, ours, enough)
                with trio.move_on_after(30):
                    while session.spin.caught < 100:
                        await trio.lowlevel.checkpoint()
                enough.set()
            assert session.spin.caught >= 100

    trio.run(test)


def test_what_was_about_to_be_answered_is_answered_and_not_done_again() -> None:
    class Makes(Operations):
        made = 0

        def mkdir(self, _caller: Caller, _parent: int, _name: bytes, _mode: int) -> Entry:
            self.made += 1
            if self.made == 2:
                raise FileExistsError(errno.EEXIST, "it is there")
            return Entry(7, Attributes(70, 0o40755))

    async def test() -> None:
        operations, region = Makes(), Region.create()
        body = struct.pack("<II", 0o755, 0) + b"name\0"
        with connected() as (kernel, descriptor):
            answers = []
            for again in (False, True):
                session = Direct(descriptor, AGREED)
                session.results = Results(region)
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(session.serve, operations)
                    kernel.restart()
                    for _turn in range(2):
                        await kernel.ask(Op.MKDIR, body, again=again)
                        number, code, told = await kernel.answer()
                        answers.append((number & ~RESENT, code, told))
                    session.leave(0)
            assert answers[:2] == answers[2:]
            assert [code for _number, code, _told in answers] == [0, errno.EEXIST] * 2
            assert operations.made == 2
        region.close()

    trio.run(test)
