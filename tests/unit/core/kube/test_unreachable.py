# SPDX-License-Identifier: Apache-2.0
"""What the exceptions of a network mean. Most are met for real in test_transport.py and tests/api."""

from __future__ import annotations

import errno
import socket
import ssl

import pytest
from paddleflow_core.kube.connection import Connection
from paddleflow_core.kube.errors import Asked, UnreachableError
from paddleflow_core.kube.unreachable import error

CONNECTION = Connection("https://lab:6443", "the kubeconfig x, context lab")


class ProxyError(Exception):
    """These go by their names, as the two versions of urllib3 share no others."""


class ConnectTimeoutError(Exception):
    pass


class CertificateError(ValueError):
    pass


class NewConnectionError(Exception):
    pass


def unverified(code: int) -> ssl.SSLCertVerificationError:
    made = ssl.SSLCertVerificationError()
    made.verify_code = code
    return made


def alert(reason: str) -> ssl.SSLError:
    made = ssl.SSLError(1, "text")
    made.reason = reason
    return made


def wrapping(outer: Exception, inner: BaseException) -> Exception:
    outer.__context__ = inner
    return outer


@pytest.mark.parametrize(
    ("raised", "cause", "sent", "said"),
    [
        (ConnectionResetError(), "cut", True, "the connection was cut off (ConnectionResetError)"),
        (ConnectionRefusedError(), "refused", True, "nothing listens there"),
        (wrapping(NewConnectionError(), ConnectionRefusedError()), "refused", False, "nothing listens there"),
        (wrapping(NewConnectionError(), socket.gaierror()), "dns", False, "its name is not known"),
        (OSError(errno.EHOSTUNREACH, ""), "network", True, "there is no route to it: connect to its network (VPN?)"),
        (OSError(errno.ENETUNREACH, ""), "network", True, "there is no route to it"),
        (ConnectTimeoutError(), "timeout", False, "it could not be connected to in time"),
        (TimeoutError(), "timeout", True, "it did not answer in time"),
        (
            ProxyError("x", OSError("Tunnel connection failed: 407")),
            "proxy",
            False,
            "there (Tunnel connection failed: 407)",
        ),
        (
            wrapping(ProxyError("x"), wrapping(NewConnectionError(), ConnectionRefusedError())),
            "proxy",
            False,
            "there (it cannot be connected to): correct proxy",
        ),
        # urllib3 says so also of a tunnel that was cut after the request had gone through it.
        (ProxyError("x", ConnectionResetError()), "cut", True, "the connection was cut off (ConnectionResetError)"),
        (unverified(10), "tls", False, "its certificate has expired: renew it on the server"),
        (unverified(9), "tls", False, "its certificate is not valid yet: set the clock"),
        (unverified(62), "tls", False, "its certificate is for another name"),
        (unverified(64), "tls", False, "its certificate is for another name"),
        (unverified(19), "tls", False, "its certificate is by another authority"),
        (CertificateError(), "tls", False, "its certificate is for another name"),
        (alert("WRONG_VERSION_NUMBER"), "tls", True, "it does not speak TLS: correct the server's address and port"),
        (alert("TLSV13_ALERT_CERTIFICATE_REQUIRED"), "tls", True, "could be made (tlsv13 alert certificate required)"),
    ],
)
def test_why(raised: Exception, cause: str, sent: bool, said: str) -> None:
    made = error(raised, CONNECTION, Asked("apply", "Queue", "ml"))
    assert isinstance(made, UnreachableError)
    assert (made.cause, made.sent) == (cause, sent)
    assert str(made).startswith(f"Could not apply Queue ml: the API server {CONNECTION} did not answer: ")
    assert said in str(made)
    assert str(made).endswith("It is not known whether the server did it.") is sent


def test_of_a_read_there_is_no_doubt() -> None:
    made = error(ConnectionResetError(), CONNECTION, Asked("list", "Queue"))
    assert str(made).endswith("see whether the server or something on the way restarts.")


def test_exceptions_that_contain_each_other_end() -> None:
    one, two = ValueError(), ConnectionResetError()
    one.__context__, two.__context__ = two, one
    assert error(one, CONNECTION, Asked("get")).cause == "cut"


def test_what_was_handled_before_is_no_cause() -> None:
    handled = ConnectionRefusedError()
    made = error(wrapping(ConnectionResetError(), handled), CONNECTION, Asked("get"), handled=handled)
    assert made.cause == "cut"
