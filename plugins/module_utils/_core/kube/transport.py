# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Requests to one API server as one user. Any number of threads may share a transport.

A failed request is sent again when that is safe: what the server put off (429) always, what never left this machine
always, and the rest only when doing it twice is the same as once. All of it ends with the request's deadline.
"""

from __future__ import annotations

import json
import math
import re
import sys
import threading
import time
import typing as t
from urllib.parse import urlencode, urlsplit

from . import errors
from .connection import Credentials
from .stop import Stop

if t.TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterable, Iterator, Mapping

    import urllib3

    from .connection import Connection
    from .errors import Asked

    Query: t.TypeAlias = "Iterable[tuple[str, str | int]]"
    Result = t.TypeVar("Result")

JSON = "application/json"
TRIES = 8
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0
_CONNECT_SECONDS = 10.0
_CHUNK = 65536
_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
# The connection keeps it for what is sent next.
_SHORTEST_TIMEOUT = 0.5
# Watches and logs hold connections beside the writers.
_SPARE_CONNECTIONS = 4
# Of a thousand objects, each may have one of its own.
_MOST_WARNINGS = 20


class _Call(t.NamedTuple):
    method: str
    path: str
    query: Query
    body: bytes | None
    content_type: str
    deadline: float
    safe: bool
    asked: Asked

    def __repr__(self) -> str:  # the body may be secret
        return f"<{self.method} {self.path}>"


class _Opened(t.NamedTuple):
    credentials: Credentials
    close: Callable[[], None]
    # Before the path: the server's address, or only the path of it.
    base: str
    send: Callable[..., urllib3.BaseHTTPResponse]
    headers: urllib3.HTTPHeaderDict
    timeout: type[urllib3.Timeout]
    failures: tuple[type[Exception], ...]

    def __repr__(self) -> str:  # the headers are secret
        return "<opened>"


class Transport:
    """A deadline is a ``time.monotonic()``; a request that is given none has ``timeout`` seconds."""

    def __init__(
        self,
        connection: Connection,
        *,
        writers: int = 8,
        timeout: float = 60.0,
        agent: str = "paddleflow",
        sleep: Callable[[float], None] | None = None,
        before: Transport | None = None,
    ) -> None:
        """
        :param before: one that is done, whose connections this one goes on with when they are to the same server as the same user
        """
        self.connection = connection
        self.timeout = timeout
        # What the server warned of (deprecated APIs, policies that only warn), each once, and not all of very many.
        self.warnings: list[str] = []
        self._connections = writers + _SPARE_CONNECTIONS
        self._agent = agent
        # When it is set nothing is sent any more, by whichever thread, and what was sent is not waited for.
        self.stop = Stop()
        self._lock = threading.Lock()
        self._opened: _Opened | None = None
        self._answered = False
        if before is not None:
            same = before.connection.same_as(connection) and before._connections == self._connections
            if same and not before.stop:
                self.stop, self._opened, self._answered = before.stop, before._opened, before._answered
            else:
                before.close()
        self._sleep = sleep or self.stop.wait

    def request(
        self,
        method: str,
        path: str,
        *,
        asked: Asked,
        query: Query = (),
        body: t.Any = None,
        content_type: str = JSON,
        deadline: float | None = None,
        safe: bool | None = None,
    ) -> t.Any:
        """The decoded answer.

        :param safe: whether sending it twice is the same as once; by default that is so for GET
        :raises KubeError: when there is no answer, or it is no
        """
        content = None if body is None else _json(body)
        until = self._until(deadline)
        call = _Call(
            method, path, query, content, content_type, until, method == "GET" if safe is None else safe, asked
        )
        answer = self._exchange(call, lambda response: b"".join(_chunks(response, until)))
        try:
            return json.loads(answer)
        except ValueError:
            text = f"Could not {asked}: {self.connection} answered with something that is no JSON: correct the server's address."
            raise errors.ServerError(text, asked, 200) from None

    def lines(
        self,
        path: str,
        *,
        asked: Asked,
        query: Query = (),
        deadline: float | None = None,
        opened: Callable[[socket.socket], None] | None = None,
    ) -> Iterator[bytes]:
        """The lines of an answer as they come; ends when the server ends it.

        :param opened: is given the socket, so that another thread can shut it down
        :raises UnreachableError: when the connection is cut off, or nothing comes until the deadline
        """
        until = self._until(deadline)
        response = self._exchange(_Call("GET", path, query, None, JSON, until, True, asked), lambda response: response)
        try:
            channel = _socket(response)
            if opened is not None and channel is not None:
                opened(channel)
            rest = b""
            for chunk in _chunks(response, until):
                *whole, rest = (rest + chunk).split(b"\n")
                yield from whole
                if channel is not None and math.isfinite(until):
                    # The timeout that was given is one for each piece. A stream has its connection for itself.
                    channel.settimeout(max(until - time.monotonic(), _SHORTEST_TIMEOUT))
            if rest:
                yield rest
        except self._open().failures as error:
            raise self._unreachable(error, asked) from error
        finally:
            response.close()

    def close(self) -> None:
        with self._lock:
            if self._opened is not None:
                self._opened.close()
                self._opened = None

    def _until(self, deadline: float | None) -> float:
        return time.monotonic() + self.timeout if deadline is None else deadline

    def _exchange(self, call: _Call, read: Callable[[urllib3.BaseHTTPResponse], Result]) -> Result:
        opened, renewed, attempt = self._open(), False, 0
        while True:
            attempt += 1
            if self.stop:
                raise errors.UnreachableError(
                    f"Could not {call.asked}: the task was ended before.", "cut", call.asked, sent=False
                )
            try:
                return self._once(opened, call, read)
            except errors.UnauthorizedError:
                newer = opened if renewed else self._open(refused=opened)
                if newer is opened:
                    raise
                opened, renewed, pause = newer, True, 0.0
            except (errors.StatusError, errors.UnreachableError) as error:
                pause = self._pause(error, attempt, call)
                if not pause:
                    if attempt > 1:
                        error.args = (f"{error} It was tried {attempt} times.",)
                    raise
            self._sleep(pause)

    def _pause(self, error: errors.StatusError | errors.UnreachableError, attempt: int, call: _Call) -> float:
        """How long to wait before the next attempt; 0 when there shall be none."""
        if attempt >= TRIES or not self._again(error, call.safe):
            return 0.0
        import random

        wanted = error.retry_after if isinstance(error, errors.StatusError) else 0.0
        backoff = min(_FIRST_PAUSE * 2 ** (attempt - 1), _LONGEST_PAUSE)
        # Spread, so that threads that were refused together do not come back together.
        pause = wanted * random.uniform(1, 1.1) if wanted else backoff * random.uniform(0.5, 1)
        return pause if time.monotonic() + pause < call.deadline else 0.0

    def _again(self, error: errors.StatusError | errors.UnreachableError, safe: bool) -> bool:
        if isinstance(error, errors.UnreachableError):
            if error.cause == "tls":
                return False
            # An address that never answered is rather wrong than busy.
            return safe if error.sent else self._answered
        return isinstance(error, errors.ThrottledError) or (isinstance(error, errors.ServerError) and safe)

    def _once(self, opened: _Opened, call: _Call, read: Callable[[urllib3.BaseHTTPResponse], Result]) -> Result:
        remaining = call.deadline - time.monotonic()
        if remaining <= 0:
            # Not the server's fault, and nothing that its load explains.
            text = f"Could not {call.asked}: the task's time was over before this was asked: raise wait_timeout (of an info, timeout)."
            raise errors.UnreachableError(text, "timeout", call.asked, sent=False)
        headers = opened.headers.copy()
        if call.body is not None:
            headers["Content-Type"] = call.content_type
        query = urlencode(list(call.query))
        handled = sys.exc_info()[1]
        try:
            response = opened.send(
                call.method,
                f"{opened.base}{call.path}{'?' if query else ''}{query}",
                body=call.body,
                headers=headers,
                timeout=opened.timeout(
                    connect=min(_CONNECT_SECONDS, remaining), read=remaining if math.isfinite(remaining) else None
                ),
                retries=False,
                redirect=False,
                preload_content=False,
                enforce_content_length=True,  # urllib3 1.26 would take a truncated answer for a whole one
            )
            self._answered = True
            self._note_warnings(response.headers.getlist("Warning"))
            if 200 <= response.status < 300:
                return read(response)
            body = b"".join(_chunks(response, call.deadline))
        except opened.failures as error:
            raise self._unreachable(error, call.asked, handled=handled) from error
        wait = response.headers.get("Retry-After", "")
        refusal = self.refusal(response.status, body, call.asked, opened.credentials)
        refusal.retry_after = float(wait) if wait.isdigit() else 0.0
        raise refusal

    def refusal(
        self, code: int, body: bytes, asked: Asked, credentials: Credentials | None = None
    ) -> errors.StatusError:
        """The error that an answer means, also one that comes inside a stream."""
        from . import answers

        server = f"the API server {self.connection}"
        return answers.error(answers.Answer(code, body, asked, server, credentials or Credentials()))

    def _unreachable(
        self, error: BaseException, asked: Asked, *, handled: BaseException | None = None
    ) -> errors.UnreachableError:
        from . import unreachable

        return unreachable.error(error, self.connection, asked, handled=handled)

    def _note_warnings(self, headers: list[str]) -> None:
        for header in headers:
            text = header.partition('"')[2].rpartition('"')[0].replace('\\"', '"') or header
            with self._lock:
                if text not in self.warnings and len(self.warnings) < _MOST_WARNINGS:
                    self.warnings.append(text)

    def _open(self, refused: _Opened | None = None) -> _Opened:
        """What to send requests with; anew, with newer credentials, when the server refused these."""
        with self._lock:
            if self._opened is not None and self._opened is not refused:
                return self._opened
            connection = self.connection
            credentials = connection.credentials
            if connection.renew is not None and (refused is not None or credentials == Credentials()):
                credentials = connection.renew()
            if refused is None or credentials != refused.credentials:
                self._opened = _open(connection, credentials, self._connections, self._agent, self.stop)
            return t.cast("_Opened", self._opened)


def _open(connection: Connection, credentials: Credentials, connections: int, agent: str, stop: Stop) -> _Opened:
    import socket

    try:
        import urllib3
        from urllib3._collections import HTTPHeaderDict  # 1.26 has it nowhere else
        from urllib3._version import __version__ as version
        from urllib3.connection import HTTPConnection
    except ImportError as error:
        raise errors.not_installed(f"the API server {connection}", "urllib3", error) from None

    from . import tls

    keep_alive = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
    # A watch may be silent for a minute, and a server that is gone is silent for ever.
    for name, seconds in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, name):
            keep_alive.append((socket.IPPROTO_TCP, getattr(socket, name), seconds))
    options: dict[str, t.Any] = {
        "maxsize": connections,
        "socket_options": [*HTTPConnection.default_socket_options, *keep_alive],
    }
    if connection.server.startswith("https:"):
        options["ssl_context"] = context = tls.context(connection, credentials)
        if version.startswith("1."):
            # It compares names itself, and does not tell Python the name when that is an address.
            context.check_hostname = False
        options["cert_reqs"] = "CERT_REQUIRED" if connection.verify else "CERT_NONE"
        if connection.tls_server_name:
            options["server_hostname"] = connection.tls_server_name
        if not connection.verify:
            urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)  # it was asked for
    base, send, close = _way(connection, options, stop)
    headers = _headers(HTTPHeaderDict({"Accept": JSON, "User-Agent": agent}), connection, credentials)
    return _Opened(credentials, close, base, send, headers, urllib3.Timeout, (urllib3.exceptions.HTTPError, OSError))


def _way(
    connection: Connection, options: Mapping[str, t.Any], stop: Stop
) -> tuple[str, Callable[..., urllib3.BaseHTTPResponse], Callable[[], None]]:
    """What comes before a path, how to send something, and how to end it."""
    import urllib3

    from . import proxy

    source = "the proxy's address" if connection.proxy else f"the address of the API server {connection}"
    unreadable = errors.ConfigError(source, "cannot be read", "write it as https://<host>:<port>")
    proxy.parts(connection.proxy or connection.server, unreadable)
    try:
        if connection.proxy:
            told = {**proxy.login_of(connection.proxy), **connection.proxy_headers}
            behind = urllib3.ProxyManager(connection.proxy, proxy_headers=told, **options)
            stop.ends(behind)
            return connection.server, behind.request_encode_url, behind.clear
        # Straight to the server's own connections: to find them anew for each request is a tenth of what it costs.
        manager = urllib3.PoolManager(**options)
        stop.ends(manager)
        pool = manager.connection_from_url(connection.server)
    except urllib3.exceptions.LocationValueError:
        raise unreadable from None
    return urlsplit(connection.server).path, pool.request_encode_url, pool.close


def _headers(
    headers: urllib3.HTTPHeaderDict, connection: Connection, credentials: Credentials
) -> urllib3.HTTPHeaderDict:
    """With who asks, and as whom."""
    from . import proxy

    if credentials.token:
        headers["Authorization"] = f"Bearer {credentials.token}"
    elif credentials.username:
        headers["Authorization"] = proxy.basic(f"{credentials.username}:{credentials.password}")
    for name, value in connection.impersonate:
        headers.add(name, value.encode().decode("latin-1"))  # http.client encodes it back
    return headers


def _socket(response: urllib3.BaseHTTPResponse) -> socket.socket | None:
    """Below the TLS within the TLS of an https proxy, of which urllib3 makes something that is no socket."""
    import socket

    found = getattr(response.connection, "sock", None)
    while found is not None and not isinstance(found, socket.socket):
        found = getattr(found, "socket", None)
    return found


def _json(body: t.Any) -> bytes:
    """As the server reads it: YAML has no pairs of escapes."""
    text = json.dumps(body, separators=(",", ":"), ensure_ascii=False)
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text).encode()


def _chunks(response: urllib3.BaseHTTPResponse, deadline: float) -> Iterator[bytes]:
    for chunk in response.stream(_CHUNK):
        yield chunk
        if time.monotonic() > deadline:
            raise TimeoutError
