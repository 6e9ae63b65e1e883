# SPDX-License-Identifier: Apache-2.0
"""A store that misbehaves as told: what a real one does only on its worst days, and what keys a real one here does not take."""

from __future__ import annotations

import contextlib
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit
from xml.sax.saxutils import escape

from paddleflow_fuse.sources.s3.credentials import Credentials
from paddleflow_fuse.sources.s3.options import Options

from tests.support import kube_stub
from tests.support.kube_stub import Seen, Server, Step, answer

KEYS = Credentials("planted-key", "planted-secret")
WHEN = "Wed, 21 Oct 2015 07:28:00 GMT"
HEAD = {"ETag": '"v1"', "Last-Modified": WHEN}


class Handler(kube_stub.Handler):
    """Bodies are bytes here."""

    def respond(self) -> None:
        url = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        query = dict(parse_qsl(url.query, keep_blank_values=True))
        seen = Seen(self.command, unquote(url.path), query, list(self.headers.items()), body)
        self.server.seen.append(seen)
        self.server.choose(seen)(self)


@dataclass
class Stub:
    """``steps`` are taken one by one; what comes when there are none left is in nobody's plan."""

    options: Options
    seen: list[Seen]
    steps: list[Step] = field(default_factory=list)

    def choose(self, seen: Seen) -> Step:
        return self.steps.pop(0) if self.steps else refused(501, "NothingPlanned", f"{seen.method} {seen.path}")

    def asked(self) -> list[str]:
        return [seen.method for seen in self.seen]


@contextlib.contextmanager
def s3_stub(*steps: Step, context: ssl.SSLContext | None = None) -> Iterator[Stub]:
    """
    :param context: for TLS
    """
    with Server(("127.0.0.1", 0), Handler) as server:
        if context:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        url = f"http{'s' if context else ''}://127.0.0.1:{server.server_port}"
        stub = Stub(Options("bucket", url, path_style=True, credentials=KEYS), [], list(steps))

        def choose(seen: Seen) -> Step:
            return stub.choose(seen)  # which a test may have replaced

        server.seen, server.choose = stub.seen, choose
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield stub
        finally:
            server.shutdown()
            thread.join()


def refused(status: int, code: str = "", message: str = "because", **headers: str) -> Step:
    body = f"<Error><Code>{code}</Code><Message>{message}</Message></Error>" if code else ""
    return answer(status, body.encode(), {name.replace("_", "-"): value for name, value in headers.items()})


def part(data: bytes, total: int, offset: int = 0, etag: str = "v1") -> Step:
    """Of an object."""
    where = {"Content-Range": f"bytes {offset}-{offset + len(data) - 1}/{total}"}
    return answer(206, data, {**HEAD, "ETag": f'"{etag}"', **where})


def cut(data: bytes, total: int) -> Step:
    """It says that there is more, and ends."""

    def step(handler: kube_stub.Handler) -> None:
        _begin(handler, total)
        handler.wfile.write(data)
        handler.close_connection = True

    return step


def torn(data: bytes, total: int) -> Step:
    """Likewise, by a reset."""

    def step(handler: kube_stub.Handler) -> None:
        _begin(handler, total)
        handler.wfile.write(data)
        handler.wfile.flush()
        kube_stub.reset(handler)

    return step


@dataclass
class Stalled:
    """Sends a little, and then nothing until it is let go."""

    data: bytes
    total: int
    over: threading.Event = field(default_factory=threading.Event)

    def __call__(self, handler: kube_stub.Handler) -> None:
        _begin(handler, self.total)
        handler.wfile.write(self.data)
        handler.wfile.flush()
        self.over.wait(kube_stub.PATIENCE)
        handler.close_connection = True


def found(size: int, etag: str = "v1", **metadata: str) -> Step:
    """A HEAD's."""
    kept = {f"x-amz-meta-{name.replace('_', '-')}": value for name, value in metadata.items()}
    return answer(200, b"", {**HEAD, "ETag": f'"{etag}"', "Content-Length": str(size), **kept})


def stored(etag: str = "v1") -> Step:
    return answer(200, b"", {"ETag": f'"{etag}"'})


def listed(
    keys: list[str],
    prefixes: tuple[str, ...] = (),
    when: str = "2015-10-21T07:28:00.123Z",
    size: int = 1,
    **more: Any,
) -> Step:
    parts = [
        f"<Contents><Key>{escape(key)}</Key><LastModified>{when}</LastModified><ETag>&quot;v1&quot;</ETag><Size>{size}</Size></Contents>"
        for key in keys
    ]
    parts += [f"<CommonPrefixes><Prefix>{escape(prefix)}</Prefix></CommonPrefixes>" for prefix in prefixes]
    parts += [f"<{name}>{value}</{name}>" for name, value in more.items()]
    return answer(200, f"<ListBucketResult>{''.join(parts)}</ListBucketResult>".encode())


def _begin(handler: kube_stub.Handler, total: int) -> None:
    handler.send_response_only(206)
    for name, value in {**HEAD, "Content-Length": str(total), "Content-Range": f"bytes 0-{total - 1}/{total}"}.items():
        handler.send_header(name, value)
    handler.end_headers()
