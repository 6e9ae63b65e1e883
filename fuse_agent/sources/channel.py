# SPDX-License-Identifier: Apache-2.0
"""Values and descriptors between two processes of ours, over a socket that nobody else can reach."""

from __future__ import annotations

import os
import pickle
import select
import socket
import struct
from typing import Any, Final

_HEAD: Final = struct.Struct("<Q")
_MOST_DESCRIPTORS: Final = 4
# In the place of an answer that takes long.
GOES_ON: Final = "goes on"


class Channel:
    """One end. It waits, so only threads use it, one at a time."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end

    def send(self, value: object, *descriptors: int) -> None:
        data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        socket.send_fds(self._end, [_HEAD.pack(len(data))], descriptors)
        self._end.sendall(data)

    def receive(self) -> tuple[Any, list[int]]:
        """
        :raises EOFError: at the end
        """
        head, descriptors, _flags, _address = socket.recv_fds(self._end, _HEAD.size, _MOST_DESCRIPTORS)
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)
        if len(head) != _HEAD.size:
            raise EOFError
        buffer = bytearray(_HEAD.unpack(head)[0])
        view, done = memoryview(buffer), 0
        while done < len(buffer):
            some = self._end.recv_into(view[done:])
            if not some:
                raise EOFError
            done += some
        return pickle.loads(buffer), descriptors

    def limit(self, seconds: float) -> None:
        """How long it waits for the other end."""
        self._end.settimeout(seconds)

    @property
    def is_over(self) -> bool:
        """Whether the other end is closed, where it never says anything."""
        asked = select.poll()
        asked.register(self._end, select.POLLRDHUP)
        return bool(asked.poll(0))

    def close(self) -> None:
        self._end.close()


def pair() -> tuple[Channel, socket.socket]:
    """An end, and the socket of the other."""
    ours, theirs = socket.socketpair()
    return Channel(ours), theirs
