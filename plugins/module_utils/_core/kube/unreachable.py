# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""From an exception of the network to the error that says why a server did not answer, and what to do."""

from __future__ import annotations

import errno
import socket
import ssl
import typing as t

from .errors import UnreachableError
from .proxy import without_password

if t.TYPE_CHECKING:
    from .connection import Connection
    from .errors import Asked, Cause


# Before a request leaves, there is a connection and a handshake. ProxyError alone says nothing: urllib3 raises it too
# when a tunnel is cut under a request that was sent.
_NOT_CONNECTED = {"NewConnectionError", "NameResolutionError", "ConnectTimeoutError"}
_NO_TUNNEL = "Tunnel connection failed"
_NOT_TRUSTED = {"SSLCertVerificationError", "CertificateError"}


class _Why(t.NamedTuple):
    cause: Cause
    found: str
    remedy: str


_NAME = (
    "its certificate is for another name",
    "use a name of the certificate, or set tls-server-name in the kubeconfig",
)
# OpenSSL's verification codes.
_CERTIFICATE = {
    9: ("its certificate is not valid yet", "set the clock of this machine or of the server"),
    10: ("its certificate has expired", "renew it on the server"),
    62: _NAME,  # of a name
    64: _NAME,  # of an address
}
_AUTHORITY = (
    "its certificate is by another authority than the one that is trusted",
    "fetch the cluster's kubeconfig again, or give its authority with ca_cert",
)


def error(
    cause: BaseException, connection: Connection, asked: Asked, *, handled: BaseException | None = None
) -> UnreachableError:
    """
    :param cause: what urllib3 or the standard library raised
    :param handled: what our caller was busy with when it asked, which Python takes for a part of the cause
    """
    chain = list(_chain(cause, handled))
    why = _why(chain)
    sent = not (_not_connected(chain) or _NOT_TRUSTED & {type(one).__name__ for one in chain})
    doubt = " It is not known whether the server did it." if sent and asked.verb not in ("get", "list", "watch") else ""
    text = f"Could not {asked}: the API server {connection}{_through(connection)} did not answer: {why.found}: {why.remedy}.{doubt}"
    return UnreachableError(text, why.cause, asked, sent=sent)


def _through(connection: Connection) -> str:
    return f" through the proxy {without_password(connection.proxy)}" if connection.proxy else ""


def _chain(error: BaseException, handled: BaseException | None) -> t.Iterator[BaseException]:
    """The exception, what it wraps, and why those were raised, outermost first."""
    seen = {id(handled)}
    waiting: list[t.Any] = [error]
    while waiting:
        one = waiting.pop(0)
        if not isinstance(one, BaseException) or id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        waiting += [argument for argument in one.args if isinstance(argument, BaseException)]
        waiting += [getattr(one, "reason", None), getattr(one, "original_error", None), one.__cause__, one.__context__]


def _not_connected(chain: list[BaseException]) -> bool:
    return any(type(one).__name__ in _NOT_CONNECTED or _tunnel(one) for one in chain)


def _tunnel(error: BaseException) -> str:
    """What a proxy said when it opened no tunnel."""
    text = str(error) if isinstance(error, OSError) else ""
    return text if text.startswith(_NO_TUNNEL) else ""


def _why(chain: list[BaseException]) -> _Why:
    names = {type(one).__name__ for one in chain}
    numbers = {one.errno for one in chain if isinstance(one, OSError)}
    if "ProxyError" in names and _not_connected(chain):
        tunnel = next(filter(None, map(_tunnel, chain)), "")
        found = f"the proxy does not lead there ({tunnel or 'it cannot be connected to'})"
        return _Why("proxy", found, "correct proxy (or proxy-url, HTTPS_PROXY), or exempt the server with no_proxy")
    if any(isinstance(one, ssl.SSLError) for one in chain) or "CertificateError" in names:
        return _tls(chain)
    if any(isinstance(one, socket.gaierror) for one in chain):
        return _Why("dns", "its name is not known", "correct the server's name, or DNS")
    if any(isinstance(one, ConnectionRefusedError) for one in chain):
        return _Why("refused", "nothing listens there", "start the cluster, or correct the server's address and port")
    if "ConnectTimeoutError" in names:
        remedy = "connect to its network (VPN?), or look at its firewall"
        return _Why("timeout", "it could not be connected to in time", remedy)
    if "ReadTimeoutError" in names or any(isinstance(one, TimeoutError) for one in chain):
        return _Why("timeout", "it did not answer in time", "look at its load, or allow more time")
    if numbers & {errno.EHOSTUNREACH, errno.ENETUNREACH}:
        return _Why("network", "there is no route to it", "connect to its network (VPN?)")
    found = f"the connection was cut off ({type(chain[-1]).__name__})"
    return _Why("cut", found, "see whether the server or something on the way restarts")


def _tls(chain: list[BaseException]) -> _Why:
    errors = [one for one in chain if isinstance(one, ssl.SSLError)]
    for one in errors:
        if isinstance(one, ssl.SSLCertVerificationError):
            return _Why("tls", *_CERTIFICATE.get(one.verify_code, _AUTHORITY))
    if not errors:  # urllib3 1.26 compares names itself
        return _Why("tls", *_NAME)
    reason = (errors[-1].reason or str(errors[-1])).replace("_", " ").lower()
    if "wrong version number" in reason or "record layer failure" in reason:
        return _Why("tls", "it does not speak TLS", "correct the server's address and port")
    found = f"no TLS connection could be made ({reason})"
    return _Why("tls", found, "look at the certificates of server and client")
