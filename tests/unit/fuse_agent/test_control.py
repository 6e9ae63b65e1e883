# SPDX-License-Identifier: Apache-2.0
"""Messages between supervisor and worker, over a real socket."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from paddleflow_fuse.control import Channel, GarbledError, Handed, Message, handed_from, load, store
from paddleflow_fuse.protocol.agree import Agreed
from paddleflow_fuse.protocol.codes import Init


@pytest.fixture
def ends() -> Iterator[tuple[Channel, Channel]]:
    one, other = pair()
    yield one, other
    one.close()
    other.close()


def pair() -> tuple[Channel, Channel]:
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    return Channel(one), Channel(other)


def fill(channel: Channel) -> None:
    for _message in range(1 << 20):
        channel.send("go")


def test_messages_come_whole_and_in_order_and_nobody_waits(ends: tuple[Channel, Channel]) -> None:
    one, other = ends
    one.send("beat", dirty=3)
    one.send("go")
    assert other.receive() == Message("beat", {"dirty": 3})
    assert other.receive() == Message("go", {})
    with pytest.raises(BlockingIOError):
        other.receive()


def test_a_descriptor_comes_along_and_goes_to_no_child(ends: tuple[Channel, Channel]) -> None:
    one, other = ends
    memory = store({"secret": 1}, "test")
    one.send("keep", memory, name="test")
    os.close(memory)
    message = other.receive()
    assert message is not None
    (descriptor,) = message.descriptors
    assert load(descriptor) == {"secret": 1}
    assert not os.get_inheritable(descriptor)
    os.close(descriptor)


@pytest.mark.parametrize("unread", [True, False])
def test_the_end_is_found(unread: bool) -> None:
    one, other = pair()
    if unread:
        other.send("go")
    one.close()
    assert other.receive() is None
    with pytest.raises(BrokenPipeError):
        other.send("go")
    other.close()


def test_who_does_not_read_makes_nobody_wait(ends: tuple[Channel, Channel]) -> None:
    one, _other = ends
    with pytest.raises(BlockingIOError):
        fill(one)


def test_a_message_that_is_too_long_is_refused(ends: tuple[Channel, Channel]) -> None:
    with pytest.raises(ValueError, match="answer has 70"):
        ends[0].send("answer", line="x" * 70_000)


@given(st.binary(min_size=1, max_size=50))
def test_what_is_no_message_is_said_to_be_none(packet: bytes) -> None:
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with one:
        one.send(packet)
        channel = Channel(other)
        try:
            assert isinstance(channel.receive(), Message)
        except GarbledError as error:
            assert "cannot be read" in str(error)  # noqa: PT017 (either is right)
        finally:
            channel.close()


@pytest.mark.parametrize(
    "packet",
    [b"noise", b"[]", b"{}", b"3", b"\xff", b'{"word": 3}', b'{"word": "beat"}', b'{"word": "stop", "seconds": "3"}'],
)
def test_what_has_no_word_is_no_message(packet: bytes) -> None:
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with one:
        one.send(packet)
        channel = Channel(other)
        with pytest.raises(GarbledError):
            channel.receive()
        channel.close()


def test_what_a_worker_is_born_with_comes_as_it_was_and_shows_no_secret() -> None:
    agreed = Agreed(41, Init.PASSTHROUGH | Init.HAS_RESEND, 1 << 20, 1 << 17, 1)
    handed = Handed(3, 4, 5, {"owner": 6}, agreed, 2.0, 300.0, "direct", 30.0, False, {"key": "hush-hush"})
    memory = store(handed._asdict(), "test")
    found = handed_from(load(memory))
    os.close(memory)
    assert found == handed
    assert Init.HAS_RESEND in found.agreed
    assert "hush-hush" not in repr(found)
    assert "owner" in repr(found)
