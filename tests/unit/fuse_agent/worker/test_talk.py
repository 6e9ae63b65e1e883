# SPDX-License-Identifier: Apache-2.0
"""What a worker says to its supervisor, whose packets have a bound, and what it does for whom."""

from __future__ import annotations

import socket
from collections.abc import AsyncGenerator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import trio
from paddleflow_fuse.control import Channel, Message
from paddleflow_fuse.worker.serve import Talk
from paddleflow_fuse.worker.service import Unsaved

if TYPE_CHECKING:
    from collections.abc import Iterator

    from paddleflow_fuse.session.base import Session
    from paddleflow_fuse.worker.service import Service

# As of a name in GBK: what is no UTF-8 takes five signs a byte.
LONG = r"\xbf" * 250
MANY = 100


class Stored:
    ended: trio.Event

    def unsaved(self) -> Unsaved:
        return Unsaved(MANY, (LONG,) * MANY)

    async def save(self, _seconds: float) -> None:
        pass

    def status(self) -> dict[str, Any]:
        return {"left_behind": [LONG] * MANY}

    async def command(self, _name: str, _given: Mapping[str, Any]) -> AsyncGenerator[dict[str, Any], None]:
        try:
            yield {}
            await trio.sleep_forever()
        finally:
            self.ended.set()


@contextmanager
def talking(service: Stored) -> Iterator[tuple[Talk, Channel]]:
    ours, theirs = (Channel(end) for end in socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET))
    talk = Talk(theirs)
    talk.service = cast("Service", service)
    yield talk, ours
    for end in (ours, theirs):
        end.close()


def heard(end: Channel) -> Message:
    found = end.receive()
    assert found is not None
    return found


def test_files_that_were_not_stored_are_named_as_far_as_a_message_has_room() -> None:
    with talking(Stored()) as (talk, supervisor):
        trio.run(talk.save, 1.0)
        said = heard(supervisor)
        assert (said.word, said.facts["dirty"]) == ("saved", MANY)
        assert 0 < len(said.facts["names"]) < MANY


def test_an_answer_that_is_too_long_is_told_to_be_and_ends_nobody() -> None:
    async def ask() -> None:
        with trio.fail_after(30):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(talk.listen, nursery, cast("Session", None), 0.0)
                supervisor.send("ask", id=1, do="status", **{"with": {}})
                await trio.lowlevel.wait_readable(supervisor.fileno())
                nursery.cancel_scope.cancel()

    with talking(Stored()) as (talk, supervisor):
        trio.run(ask)
        said = heard(supervisor)
        assert (said.facts["id"], said.facts["done"]) == (1, True)
        assert "one may have" in said.facts["line"]["error"]


def test_what_somebody_asked_for_who_left_at_once_is_ended() -> None:
    service = Stored()

    async def ask() -> None:
        service.ended = trio.Event()
        with trio.fail_after(30):
            async with trio.open_nursery() as nursery:
                supervisor.send("ask", id=1, do="warmup", **{"with": {}})
                supervisor.send("drop", id=1)
                nursery.start_soon(talk.listen, nursery, cast("Session", None), 0.0)
                await service.ended.wait()
                nursery.cancel_scope.cancel()

    with talking(service) as (talk, supervisor):
        trio.run(ask)
