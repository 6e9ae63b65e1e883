# SPDX-License-Identifier: Apache-2.0
"""The kernel's first request, with a socket in the kernel's place."""

from __future__ import annotations

import errno
import socket
import struct
from collections.abc import Iterator

import pytest
from paddleflow_fuse.protocol import layout
from paddleflow_fuse.protocol.agree import UnfitError, Wish
from paddleflow_fuse.protocol.codes import Init, Op
from paddleflow_fuse.protocol.requests import MalformedError
from paddleflow_fuse.session.handshake import begin

OFFER = Init(2**43 - 1)
NUMBER = 2


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    kernel, agent = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with kernel, agent:
        kernel.settimeout(30)
        yield kernel, agent


def ask(kernel: socket.socket, op: Op, minor: int = 45, offer: Init = OFFER) -> None:
    body = b""
    if op == Op.INIT:
        body = struct.pack("<IIIII44x", 7, minor, 131072, offer & 0xFFFFFFFF, offer >> 32)
    kernel.send(layout.REQUEST.pack(40 + len(body), op, NUMBER, 1, 0, 0, 0, 0, 0) + body)


def answer(kernel: socket.socket) -> tuple[int, int, bytes]:
    packet = kernel.recv(1 << 16)
    _length, error, number = layout.REPLY.unpack_from(packet)
    return number, -error, packet[layout.REPLY.size :]


@pytest.mark.parametrize("blocking", [True, False])
def test_what_kernel_and_agent_can_is_agreed_on(ends: tuple[socket.socket, socket.socket], blocking: bool) -> None:
    kernel, agent = ends
    agent.setblocking(blocking)
    ask(kernel, Op.INIT, minor=40)
    agreed, lacks = begin(agent.fileno(), Wish(passthrough=1))
    number, error, body = answer(kernel)
    assert (number, error, layout.INIT_OUT.unpack(body)[:2]) == (NUMBER, 0, (7, 40))
    assert agreed.minor == 40
    assert Init.PASSTHROUGH in agreed
    assert lacks == []


def test_what_the_kernel_cannot_is_said_in_words(ends: tuple[socket.socket, socket.socket]) -> None:
    kernel, agent = ends
    ask(kernel, Op.INIT, offer=OFFER & ~Init.HAS_RESEND)
    _agreed, lacks = begin(agent.fileno(), Wish())
    assert lacks == ["going on without an error when the agent is replaced (Linux 6.9)"]


def test_a_kernel_that_is_too_old_is_told_so(ends: tuple[socket.socket, socket.socket]) -> None:
    kernel, agent = ends
    ask(kernel, Op.INIT, minor=20)
    with pytest.raises(UnfitError):
        begin(agent.fileno(), Wish())
    assert answer(kernel)[1] == errno.EPROTO


def test_nothing_else_comes_first(ends: tuple[socket.socket, socket.socket]) -> None:
    kernel, agent = ends
    ask(kernel, Op.READLINK)
    with pytest.raises(MalformedError, match="before INIT"):
        begin(agent.fileno(), Wish())
