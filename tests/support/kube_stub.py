# SPDX-License-Identifier: Apache-2.0
"""An HTTP server that misbehaves as told: what a real API server does only on its worst days."""

from __future__ import annotations

import contextlib
import http.server
import json
import queue
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from paddleflow_core.kube.connection import Connection, Credentials

Step = Callable[["Handler"], None]
PATIENCE = 30.0


@dataclass(frozen=True)
class Seen:
    method: str
    path: str
    query: dict[str, str]
    headers: list[tuple[str, str]]
    body: Any

    def header(self, name: str) -> str:
        return ", ".join(value for key, value in self.headers if key.lower() == name.lower())


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        self.respond()

    def do_POST(self) -> None:
        self.respond()

    def do_PUT(self) -> None:
        self.respond()

    def do_HEAD(self) -> None:
        self.respond()

    def do_PATCH(self) -> None:
        self.respond()

    def do_DELETE(self) -> None:
        self.respond()

    def respond(self) -> None:
        url = urlsplit(self.path)
        length = int(self.headers.get("Content-Length") or 0)
        content = self.rfile.read(length)
        body = json.loads(content) if content else None
        seen = Seen(self.command, url.path, dict(parse_qsl(url.query)), list(self.headers.items()), body)
        self.server.seen.append(seen)
        self.server.choose(seen)(self)

    def log_message(self, *_: object) -> None:
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    seen: list[Seen]
    choose: Callable[[Seen], Step]

    def handle_error(self, *_: object) -> None:
        """A client that leaves in the middle is what the tests want."""


@dataclass
class Stub:
    """``steps`` are taken one by one; when there are none left, ``always`` is."""

    url: str
    seen: list[Seen]
    steps: list[Step] = field(default_factory=list)
    always: Step | None = None

    def choose(self, seen: Seen) -> Step:
        if self.steps:
            return self.steps.pop(0)
        return self.always or answer(599, {"message": f"nothing was planned for {seen.method} {seen.path}"})

    def connection(self, **values: Any) -> Connection:
        given = {"server": self.url, "source": "the stub", "credentials": Credentials(token="t0ken"), **values}
        return Connection(**given)


@contextlib.contextmanager
def kube_stub(*steps: Step, always: Step | None = None) -> Iterator[Stub]:
    with Server(("127.0.0.1", 0), Handler) as server:
        stub = Stub(f"http://127.0.0.1:{server.server_port}", [], list(steps), always)

        def choose(seen: Seen) -> Step:
            return stub.choose(seen)  # whatever the test plans later

        server.seen, server.choose = stub.seen, choose
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield stub
        finally:
            server.shutdown()
            thread.join()


def answer(status: int, body: Any, headers: Mapping[str, str] | None = None) -> Step:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()

    def step(handler: Handler) -> None:
        handler.send_response_only(status)
        for name, value in {"Content-Length": str(len(content)), **(headers or {})}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(content)

    return step


def ok(body: Any) -> Step:
    return answer(200, body)


def refuse(code: int, reason: str, message: str = "because", **headers: str) -> Step:
    status = {"kind": "Status", "code": code, "reason": reason, "message": message}
    return answer(code, status, {name.replace("_", "-"): value for name, value in headers.items()})


def reset(handler: Handler) -> None:
    """Ends the connection as a killed server does."""
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()
    handler.close_connection = True


def truncated(body: Any) -> Step:
    """Half of it, then the end."""
    content = json.dumps(body).encode()

    def step(handler: Handler) -> None:
        handler.send_response_only(200)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content[: len(content) // 2])
        handler.close_connection = True

    return step


class Stream:
    """A chunked answer that a test writes while it is read."""

    def __init__(self, *lines: Any) -> None:
        self.opened, self.left = threading.Event(), threading.Event()
        self._lines: queue.Queue[Any] = queue.Queue()
        for line in lines:
            self.write(line)

    def write(self, line: Any) -> Stream:
        self._lines.put(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n")
        return self

    def end(self) -> Stream:
        self._lines.put("end")
        return self

    def cut(self) -> Stream:
        self._lines.put("cut")
        return self

    def until_left(self) -> Stream:
        self._lines.put("until left")
        return self

    def __call__(self, handler: Handler) -> None:
        handler.send_response_only(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        handler.wfile.flush()
        self.opened.set()
        while True:
            # A stream that nobody ends waits for its reader to leave.
            try:
                line = self._lines.get(timeout=PATIENCE)
            except queue.Empty:
                line = "cut"
            if line == "cut":
                reset(handler)
                return
            if line == "end":
                handler.wfile.write(b"0\r\n\r\n")
                return
            if line == "until left":
                handler.connection.settimeout(PATIENCE)
                with contextlib.suppress(ConnectionResetError):
                    handler.connection.recv(1)
                self.left.set()
                return
            handler.wfile.write(f"{len(line):x}\r\n".encode() + line + b"\r\n")
            handler.wfile.flush()
