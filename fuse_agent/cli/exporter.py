# SPDX-License-Identifier: Apache-2.0
"""One HTTP endpoint for the metrics of all agents of a machine. A process of its own: it holds up no mount, outlives every worker and
supervisor, and says so of those that do not answer."""

from __future__ import annotations

import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Final

from ..metrics import Sample, text, together
from .ask import AskError, asked

if TYPE_CHECKING:
    from pathlib import Path

LISTEN: Final = "127.0.0.1:8993"
_ANSWER: Final = 5.0  # seconds of an agent
_CLIENT: Final = 10  # seconds in which somebody has to have asked
_AT_ONCE: Final = 8
_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


class ListenError(Exception):
    """Nobody can listen there."""


def serve(run: Path, listen: str) -> None:
    """
    :raises ListenError:
    """
    with endpoint(run, listen) as server:
        server.serve_forever()


def endpoint(run: Path, listen: str) -> _Server:
    """
    :raises ListenError:
    """
    host, colon, port = listen.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not port.isdecimal() or int(port) > 0xFFFF or not host:
        raise ListenError(f"{listen!r} is no address to listen at; give one as {LISTEN} or [::1]:8993.")
    try:
        return _Server((host, int(port)), run)
    except OSError as error:
        raise ListenError(
            f"Nobody can listen at {listen}: {error.strerror or error}. One such service serves all agents of a machine; see who is there: "
            f"ss -ltnp sport = :{port}"
        ) from None


def collected(run: Path) -> str:
    """Of all agents."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return together(pool.map(_of_one, sorted(run.glob("*.sock"))))


def _of_one(path: Path) -> str:
    """Nothing of one that ended."""
    try:
        return "".join(line.get("text", "") for line in asked(path, "metrics", seconds=_ANSWER)) + _up(path, 1)
    except (AskError, OSError, ValueError):
        return _up(path, 0)


def _up(path: Path, value: int) -> str:
    try:
        (status,) = asked(path, "status", seconds=_ANSWER)
        return text([Sample("up", value)], {"mp": status["mount"]["point"]})
    except (AskError, OSError, ValueError):
        return ""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    server_version, sys_version = "paddleflow-fuse", ""
    timeout = _CLIENT

    def do_GET(self) -> None:
        if self.path.partition("?")[0] not in ("/", "/metrics"):
            self.send_error(404, "Only /metrics is here")
            return
        body = collected(self.server.run).encode()
        self.send_response(200)
        self.send_header("Content-Type", _TYPE)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (the library's name)
        """Who scrapes is no news."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], run: Path) -> None:
        self.run = run
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self._room = threading.BoundedSemaphore(_AT_ONCE)
        super().__init__(address, _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._room.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Whoever asked has left."""
