# SPDX-License-Identifier: Apache-2.0
"""A bucket with more in it than anybody would make for a test: `many/` has as many empty keys as are asked for, `big/` has large files
of zeros, `few/` has a few small ones. It is a process of its own, since it is busy."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

FEW, PAGE = 200, 1000
BIG = 256 << 20
WHEN = "2015-10-21T07:28:00.000Z"
CHUNK = bytes(1 << 20)


def _entry(key: str, size: int) -> str:
    return (
        f'<Contents><Key>{key}</Key><LastModified>{WHEN}</LastModified><ETag>"e"</ETag><Size>{size}</Size>'
        "<StorageClass>STANDARD</StorageClass></Contents>"
    )


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Any

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        if "list-type" in query:
            self._list(query)
            return
        key = unquote(url.path).partition("/bucket/")[2]
        size = self._size(key)
        if size < 0:
            self._answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
            return
        start, end = 0, size
        if wanted := self.headers.get("Range", "").removeprefix("bytes="):
            first, _dash, final = wanted.partition("-")
            start, end = int(first), min(int(final) + 1 if final else size, size)
        self.send_response(206 if wanted else 200)
        self._head(end - start)
        self.send_header("Content-Range", f"bytes {start}-{end - 1}/{size}")
        self.end_headers()
        if self.command == "GET":
            left = end - start
            while left:
                left -= self.wfile.write(CHUNK[: min(left, len(CHUNK))])

    def do_HEAD(self) -> None:
        self.do_GET()

    def _size(self, key: str) -> int:
        folder, _slash, name = key.partition("/")
        if folder == "big" and name:
            return BIG
        return {"few": 10, "many": 0}.get(folder, -1) if name else -1

    def _list(self, query: dict[str, str]) -> None:
        prefix, begin = query.get("prefix", ""), int(query.get("continuation-token", "0"))
        count = {"many/": self.server.many, "few/": FEW}.get(prefix, 0)
        end = min(begin + min(PAGE, int(query.get("max-keys", PAGE))), count)
        size = 10 if prefix == "few/" else 0
        body = "".join(_entry(f"{prefix}{index:08}", size) for index in range(begin, end))
        if not prefix:
            body = "".join(
                f"<CommonPrefixes><Prefix>{name}/</Prefix></CommonPrefixes>" for name in ("big", "few", "many")
            )
        elif not count and prefix.partition("/")[0] in ("big", "few", "many"):
            body = _entry(f"{prefix}0", 0) if prefix.endswith("/") and prefix.count("/") == 1 else ""
        more = (
            f"<IsTruncated>true</IsTruncated><NextContinuationToken>{end}</NextContinuationToken>"
            if end < count
            else ""
        )
        self._answer(200, f"<ListBucketResult><Prefix>{prefix}</Prefix>{body}{more}</ListBucketResult>".encode())

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self._head(len(body))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def _head(self, size: int) -> None:
        self.send_header("Content-Length", str(size))
        self.send_header("ETag", '"e"')
        self.send_header("Last-Modified", "Wed, 21 Oct 2015 07:28:00 GMT")

    def log_message(self, *_said: Any) -> None:
        pass


@contextlib.contextmanager
def many_keys(count: int) -> Iterator[str]:
    """Where it is."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.support.many_keys", str(count)], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout
            yield f"http://127.0.0.1:{json.loads(process.stdout.readline())}"
        finally:
            process.kill()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    many = 0


if __name__ == "__main__":
    with _Server(("127.0.0.1", 0), Handler) as server:
        server.many = int(sys.argv[1])
        print(json.dumps(server.server_port), flush=True)
        server.serve_forever()
