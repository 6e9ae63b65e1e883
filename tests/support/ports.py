# SPDX-License-Identifier: Apache-2.0
"""Ports at which nobody answers: a number that was free a moment ago may be anybody's by now."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def held_port() -> Iterator[int]:
    """One that nobody takes but who is told of it, and starts a server there, as all do that may listen where one has just ended. It refuses as
    long as none does."""
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        one.bind(("127.0.0.1", 0))
        yield int(one.getsockname()[1])
