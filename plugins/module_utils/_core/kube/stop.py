# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Ends what other threads read and write."""

from __future__ import annotations

import contextlib
import threading
import typing as t

if t.TYPE_CHECKING:
    import socket

    import urllib3


class Stop:
    def __init__(self) -> None:
        self._event, self._lock = threading.Event(), threading.Lock()
        self._sockets: list[socket.socket] = []

    def __bool__(self) -> bool:
        return self._event.is_set()

    def wait(self, seconds: float) -> None:
        self._event.wait(seconds)

    def reads(self, channel: socket.socket) -> None:
        with self._lock:
            self._sockets = [one for one in self._sockets if one.fileno() >= 0] + [channel]
        if self:
            self.set()

    def set(self) -> None:
        import socket

        self._event.set()
        with self._lock:
            for channel in self._sockets:
                with contextlib.suppress(OSError):  # it is closed already
                    # Not by the method of a TLS socket: it would take away the TLS that a thread is reading by.
                    socket.socket.shutdown(channel, socket.SHUT_RDWR)

    def ends(self, pool: urllib3.PoolManager) -> None:
        """From now on each connection of a pool ends too; one that was only being made, before anything is sent."""
        pools = pool.pool_classes_by_scheme
        pool.pool_classes_by_scheme = {scheme: _noted(base, self) for scheme, base in pools.items()}


def _noted(base: t.Any, stop: Stop) -> t.Any:
    class Connection(base.ConnectionCls):  # type: ignore[misc]  # whichever the scheme has
        def connect(self) -> None:
            import socket

            super().connect()
            channel = self.sock
            while channel is not None and not isinstance(channel, socket.socket):
                channel = getattr(channel, "socket", None)  # TLS within the TLS of a proxy
            if channel is not None:
                stop.reads(channel)

    return type(base.__name__, (base,), {"ConnectionCls": Connection})
