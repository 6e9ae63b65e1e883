# SPDX-License-Identifier: Apache-2.0
"""The socket by which a mount is asked and told: each line an object of JSON, with the answer to ``do`` in one line or more, the last
with ``done``."""

from __future__ import annotations

import fcntl
import json
import logging
import os
import select
import selectors
import socket
from contextlib import contextmanager, suppress
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

from ..logs import facts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_LOG = logging.getLogger(__name__)
_LONGEST: Final = 1 << 18  # of a request: many paths may be in it
_WAITING: Final = 1 << 20  # of answers that nobody fetches
_CLIENTS: Final = 64


class TakenError(OSError):
    """Another supervisor answers there."""


def address(run: Path, point: Path) -> Path:
    return run / f"{blake2b(os.fsencode(point), digest_size=8).hexdigest()}.sock"


def listen(path: Path, point: Path) -> socket.socket:
    """In the place of one that nobody answers at any more.

    :raises OSError:
    """
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    with _alone(path.parent):
        return _listen(path, point)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Of two who come at the same moment, one sees the other."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _listen(path: Path, point: Path) -> socket.socket:
    with socket.socket(socket.AF_UNIX) as asked:
        asked.settimeout(5)
        try:
            asked.connect(str(path))
        except (FileNotFoundError, ConnectionRefusedError):
            pass
        else:
            raise TakenError(f"Another agent serves {point}: it answers at {path}. End that one first: umount {point}")
    # Made aside and moved there, so that at no time nobody is there, or somebody may enter who may not.
    aside = path.with_suffix(f".{os.getpid()}")
    listener = socket.socket(socket.AF_UNIX)
    try:
        aside.unlink(missing_ok=True)
        listener.bind(str(aside))
        aside.chmod(0o600)
        listener.listen(_CLIENTS)
        aside.rename(path)
    except BaseException:
        listener.close()
        aside.unlink(missing_ok=True)
        raise
    return listener


class Client:
    """Nobody waits for it: what it does not fetch is kept, up to a bound, and then it is left."""

    def __init__(self, status: Status, end: socket.socket) -> None:
        self._status, self.end = status, end
        self._asked, self._told = bytearray(), bytearray()
        self._owed = 0  # answers that are not done
        self._asks_no_more = False
        self.is_gone = False

    def answer(self, done: bool = True, **line: Any) -> None:
        if self.is_gone:
            return
        self._owed -= done
        self._told += json.dumps({**line, **({"done": True} if done else {})}, default=str).encode() + b"\n"
        self._write()

    def turn(self, events: int) -> None:
        if events & selectors.EVENT_WRITE and not self.is_gone:
            self._write()
        if events & selectors.EVENT_READ and not self.is_gone:
            self._read()

    def leave(self) -> None:
        if not self.is_gone:
            self.is_gone = True
            self._status.left(self)
            self.end.close()

    def _read(self) -> None:
        try:
            data = self.end.recv(1 << 16)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._end()
            return
        self._asked += data
        while b"\n" in self._asked and not self.is_gone:
            line, _end, rest = self._asked.partition(b"\n")
            self._asked = bytearray(rest)
            self._take(bytes(line))
        if len(self._asked) > _LONGEST:
            self.answer(error=f"a request may have {_LONGEST} bytes")
            self.leave()

    def _end(self) -> None:
        """It asks no more; but it may wait for what it asked."""
        poll = select.poll()
        poll.register(self.end, 0)
        self._asks_no_more = True
        if any(events & (select.POLLHUP | select.POLLERR) for _number, events in poll.poll(0)):
            self.leave()
        else:
            self._write()

    def _take(self, line: bytes) -> None:
        self._owed += 1
        try:
            asked = json.loads(line)
        except (ValueError, RecursionError):
            asked = None
        if isinstance(asked, dict) and isinstance(asked.get("do"), str):
            self._status.take(self, asked)
        else:
            self.answer(error='a request is an object of JSON in one line, as {"do": "status"}')

    def _write(self) -> None:
        try:
            sent = self.end.send(self._told) if self._told else 0
        except BlockingIOError:
            sent = 0
        except OSError:
            self.leave()
            return
        del self._told[:sent]
        if len(self._told) > _WAITING or (self._asks_no_more and not self._owed and not self._told):
            self.leave()
        else:
            self._status.wants(self, reads=not self._asks_no_more, writes=bool(self._told))


class Status:
    def __init__(
        self,
        selector: selectors.BaseSelector,
        listener: socket.socket,
        path: Path,
        take: Callable[[Client, dict[str, Any]], None],
        left: Callable[[Client], None],
    ) -> None:
        """
        :param take: is given what a client asks
        :param left: is told of one that is gone
        """
        self._selector, self.listener, self._path, self.take, self._left = selector, listener, path, take, left
        self._clients: set[Client] = set()
        listener.setblocking(False)
        selector.register(listener, selectors.EVENT_READ, self._accept)

    def left(self, client: Client) -> None:
        self._clients.discard(client)
        self.wants(client, reads=False, writes=False)
        self._left(client)

    def wants(self, client: Client, reads: bool, writes: bool) -> None:
        events = (selectors.EVENT_READ if reads else 0) | (selectors.EVENT_WRITE if writes else 0)
        with suppress(KeyError):
            self._selector.unregister(client.end)
        if events:
            self._selector.register(client.end, events, client.turn)

    def close(self) -> None:
        for client in list(self._clients):
            client.leave()
        self._selector.unregister(self.listener)
        self.listener.close()
        with suppress(OSError):
            self._path.unlink()

    def _accept(self, _events: int) -> None:
        try:
            end, _address = self.listener.accept()
        except OSError as error:
            _LOG.warning("nobody can be let in", extra=facts(error=error))
            return
        end.setblocking(False)
        if len(self._clients) >= _CLIENTS:
            end.close()
            return
        client = Client(self, end)
        self._clients.add(client)
        self._selector.register(end, selectors.EVENT_READ, client.turn)
