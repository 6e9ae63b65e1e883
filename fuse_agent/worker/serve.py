# SPDX-License-Identifier: Apache-2.0
"""Serves a mount until it is gone, or is another worker's, or the supervisor is gone."""

from __future__ import annotations

import ctypes
import fcntl
import logging
import os
import signal
import socket
import sys
from contextlib import aclosing, asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import trio

from ..control import Channel, GarbledError, Handed, Message, handed_from, load
from ..control import Session as Names
from ..logs import configure, facts
from ..nodes.region import Region
from ..session.direct import Direct
from .service import Given, RefusedError
from .told import few

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from types import FrameType

    from ..session.base import Session
    from .service import Open, Service

_LOG = logging.getLogger(__name__)
# Of a file that was not stored, characters.
_LONGEST_NAME: Final = 1000
# Loops of one thread and many requests: whoever waits for the interpreter's lock holds up a client.
_SWITCH: Final = 1e-4
# Of malloc: what is fetched at once lies where other memory was freed, since fresh memory costs as much as to copy into it; as much as
# this stays in each of two places, wherever it is freed.
_MALLOC: Final = {"M_TRIM_THRESHOLD": (-1, 32 << 20), "M_MMAP_THRESHOLD": (-3, 16 << 20), "M_ARENA_MAX": (-8, 2)}
_PYFUSE3: Final = "3.5"


def main(begin: Open) -> int:
    """With what a supervisor hands over by the descriptor that is the last word of the command."""
    descriptor = int(sys.argv[-1])
    handed = handed_from(load(descriptor))
    os.close(descriptor)
    configure(handed.json, handed.level)
    # The supervisor hears these, and tells us. Not ignored: programs that are started from here shall end by them.
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _nothing)
    sys.setswitchinterval(_SWITCH)
    _reuse_memory()
    trio.run(_serve, handed, begin)
    return 0


def _reuse_memory() -> None:
    with suppress(AttributeError):  # another library than glibc
        mallopt = ctypes.CDLL(None).mallopt
        for parameter, value in _MALLOC.values():
            mallopt(parameter, value)


async def _serve(handed: Handed, begin: Open) -> None:
    talk = Talk(Channel(socket.socket(fileno=handed.control)))
    Region.check(handed.region)
    await talk.say("loaded")
    if not await talk.told_to_go():
        return
    # Held until this process ends, however that is: two that write would spoil what both know.
    fcntl.lockf(handed.region, fcntl.LOCK_EX | fcntl.LOCK_NB)
    region = Region.adopt(handed.region)
    try:
        async with talk.told_if_refused(), trio.open_nursery() as nursery:
            nursery.start_soon(talk.beat, handed.beat)
            session = _session(handed)
            given = Given(region, session, handed.files, handed.kept, talk.keep, handed.restarts, talk.busy)
            async with begin(given) as service:
                talk.service = service
                nursery.start_soon(talk.listen, nursery, session, handed.grace)
                nursery.start_soon(talk.announce, session.began)
                gone = await session.serve(service.operations)
                if gone:
                    await talk.say("gone")
                if gone or talk.alone:
                    await talk.save(handed.grace)
                if gone and not talk.alone:
                    service.over()
            nursery.cancel_scope.cancel()
    finally:
        region.close()


def _session(handed: Handed) -> Session:
    """
    :raises RefusedError:
    """
    if handed.session == Names.DIRECT:
        return Direct(handed.fuse, handed.agreed, handed.longest)
    try:
        from ..session.libfuse import Libfuse  # what it imports is not everywhere
    except ImportError as error:
        raise RefusedError(
            f"The session pyfuse3 cannot be loaded: {error}. Install pyfuse3 {_PYFUSE3} beside the agent and the distribution's libfuse 3, "
            "or mount with session=direct."
        ) from error
    return Libfuse(handed.fuse, handed.agreed, handed.longest)


class Talk:
    """
    :ivar service: once there is one
    :ivar alone: the supervisor is gone
    """

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self.service: Service | None = None
        self.alone = False
        self._answers: dict[int, trio.CancelScope] = {}

    async def say(self, word: str, **said: Any) -> None:
        while True:
            try:
                self._channel.send(word, **said)
            except BlockingIOError:
                await trio.lowlevel.wait_writable(self._channel.fileno())
            except (BrokenPipeError, ConnectionResetError):
                return  # found by who listens
            else:
                return

    def keep(self, name: str, descriptor: int) -> None:
        self._channel.send("keep", descriptor, name=name)

    def busy(self) -> None:
        """From any thread."""
        with suppress(OSError):  # nobody hears, or hears us already
            self._channel.send("busy")

    async def hear(self) -> Message | None:
        while True:
            try:
                return self._channel.receive()
            except BlockingIOError:
                await trio.lowlevel.wait_readable(self._channel.fileno())

    @asynccontextmanager
    async def told_if_refused(self) -> AsyncIterator[None]:
        refused: Exception | None = None
        try:
            yield
        except* RefusedError as group:
            refused = group.exceptions[0]
        if refused is not None:
            await self.say("refused", why=str(refused))
            raise SystemExit(1)

    async def told_to_go(self) -> bool:
        while message := await self.hear():
            if message.word == "go":
                return True
        return False

    async def announce(self, began: trio.Event) -> None:
        await began.wait()
        await self.say("ready")

    async def beat(self, seconds: float) -> None:
        """From the loop that serves, so that it tells whether that turns."""
        while True:
            await self.say("beat", dirty=self.service.unsaved().number if self.service else 0)
            await trio.sleep(seconds)

    async def listen(self, nursery: trio.Nursery, session: Session, grace: float) -> None:
        while message := await self._hear_or_end():
            told = message.facts
            if message.word == "stop":
                nursery.start_soon(self.save, told["seconds"])
            elif message.word == "yield":
                session.leave(told["seconds"])
            elif message.word == "ask":
                scope = self._answers[told["id"]] = (
                    trio.CancelScope()
                )  # now, since who asked may leave before it is begun
                nursery.start_soon(self._answer, scope, told["id"], told["do"], told["with"])
            elif message.word == "drop" and told["id"] in self._answers:
                self._answers[told["id"]].cancel()
        _LOG.error("the supervisor is gone; what was begun is ended, and then the mount", extra=facts(seconds=grace))
        self.alone = True
        session.leave(grace)

    async def save(self, seconds: float) -> None:
        assert self.service is not None
        with trio.move_on_after(seconds):
            await self.service.save(seconds)
        unsaved = self.service.unsaved()
        names = few([name[:_LONGEST_NAME] for name in unsaved.names])
        if self.alone and unsaved.number:
            _LOG.error("files were not stored", extra=facts(count=unsaved.number, names=", ".join(names)))
        await self.say("saved", dirty=unsaved.number, names=names)

    async def _hear_or_end(self) -> Message | None:
        try:
            return await self.hear()
        except GarbledError as error:
            _LOG.error("the supervisor cannot be understood", extra=facts(why=error))
            return None

    async def _answer(self, scope: trio.CancelScope, number: int, do: str, given: dict[str, Any]) -> None:
        assert self.service is not None
        say = partial(self.say, "answer", id=number)
        last: dict[str, Any] = {}
        with scope:
            try:
                if do == "status":
                    last = self.service.status()
                else:
                    async with aclosing(self.service.command(do, given)) as lines:
                        async for line in lines:
                            await say(line=line)
            except (OSError, ValueError, LookupError) as error:
                last = {"error": str(error)}
            except Exception as error:  # noqa: BLE001 (a defect of one command is no reason to stop serving)
                _LOG.error("%s failed by a defect of the agent", do, exc_info=error)
                last = {"error": f"{do} failed by a defect of the agent; its log says how"}
            finally:
                del self._answers[number]
            try:
                await say(line=last, done=True)
            except ValueError as error:  # it is too long
                await say(line={"error": str(error)}, done=True)


def _nothing(_number: int, _frame: FrameType | None) -> None:
    pass
