# SPDX-License-Identifier: Apache-2.0
"""What stands between a client and a server: a relay that can be cut, and a proxy that opens tunnels."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator

PATIENCE = 30.0


class Relay:
    """Passes bytes on from a port of its own to ``target``.

    :ivar there: how many it passed on, ``back`` the other way
    """

    def __init__(self, target: tuple[str, int]) -> None:
        self.target = target
        self.connections = self.there = self.back = 0
        self._open: list[socket.socket] = []
        self._deaf: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def cut(self) -> int:
        """Ends every connection that passes now; how many there were."""
        with self._lock:
            cut, self._open = self._open, []
        for one in cut:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        return len(cut) // 2

    def deafen(self) -> None:
        """Whatever ``target`` says by those that pass now is lost."""
        with self._lock:
            self._deaf.update(self._open)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()
        self._thread.join(PATIENCE)

    def _accept(self) -> None:
        while True:
            try:
                client, _address = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        try:
            target = self._reach(client)
        except OSError:
            client.close()
            return
        with self._lock:
            self._open += [client, target]
        there = threading.Thread(target=_pass_on, args=(client, target, self._count_there), daemon=True)
        there.start()
        _pass_on(target, client, self._count_back, lambda: client in self._deaf)
        there.join(PATIENCE)
        for one in (client, target):
            one.close()

    def _count_there(self, size: int) -> None:
        with self._lock:
            self.there += size

    def _count_back(self, size: int) -> None:
        with self._lock:
            self.back += size

    def _reach(self, _client: socket.socket) -> socket.socket:
        return socket.create_connection(self.target, PATIENCE)


class TunnelProxy(Relay):
    """An HTTP proxy that knows CONNECT alone. Whatever host it is asked for, it leads to ``target``."""

    def __init__(self, target: tuple[str, int], refuse: bool = False) -> None:
        self.asked: list[str] = []
        self.headers: list[str] = []
        self._refuse = refuse
        super().__init__(target)

    def _reach(self, client: socket.socket) -> socket.socket:
        head = b""
        while b"\r\n\r\n" not in head:
            got = client.recv(4096)
            if not got:
                raise OSError("the client left")
            head += got
        first, *headers = head.decode().split("\r\n")
        self.asked.append(first.split()[1])
        self.headers += headers
        if self._refuse:
            client.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
            raise OSError("refused")
        target = super()._reach(client)
        client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        return target


def _pass_on(
    source: socket.socket,
    target: socket.socket,
    count: Callable[[int], None],
    is_lost: Callable[[], bool] = lambda: False,
) -> None:
    with contextlib.suppress(OSError):
        while content := source.recv(65536):
            count(len(content))
            if not is_lost():
                target.sendall(content)
    for one in (source, target):
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def closing(make: Callable[[], Relay]) -> Iterator[Relay]:
    relay = make()
    try:
        yield relay
    finally:
        relay.close()
