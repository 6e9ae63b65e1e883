# SPDX-License-Identifier: Apache-2.0
"""TLS as certificates of people have it, and below that of an https proxy."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest
from paddleflow_core.kube import tls
from paddleflow_core.kube.connection import Connection, Credentials
from paddleflow_core.kube.errors import ConfigError
from paddleflow_core.kube.stop import Stop
from paddleflow_core.kube.transport import _socket

from .conftest import Certified

PATIENCE = 30


def trusting(ca: str) -> ssl.SSLContext:
    return tls.context(Connection("https://lab", "the kubeconfig x", ca=ca), Credentials())


def test_what_stands_beside_certificates_may_be_in_any_letters(certified: Certified) -> None:
    trusted = trusting(f"# Büro Köln\n{certified.pem}# 北京\n{certified.pem}")
    assert len(trusted.get_ca_certs()) == 1


@pytest.mark.parametrize("ca", ["PEM", "-----BEGIN CERTIFICATE-----\nü\n-----END CERTIFICATE-----"])
def test_an_authority_that_is_no_certificate_is_told(ca: str) -> None:
    with pytest.raises(ConfigError, match="The kubeconfig x names an authority that is no PEM certificate: correct it"):
        trusting(ca)


def test_a_watch_within_the_tls_of_a_proxy_can_be_ended(certified: Certified) -> None:
    """urllib3 makes a transport of it that is no socket."""
    from urllib3.util.ssltransport import SSLTransport

    ours, theirs = socket.socketpair()
    ours.settimeout(PATIENCE)
    server: list[ssl.SSLSocket] = []
    meeting = threading.Thread(target=lambda: server.append(certified.server.wrap_socket(theirs, server_side=True)))
    meeting.start()
    inside = SSLTransport(ours, certified.client, server_hostname="lab")
    meeting.join(PATIENCE)
    response: Any = SimpleNamespace(connection=SimpleNamespace(sock=inside))
    channel = _socket(response)
    assert channel is ours
    stop, read = Stop(), []
    stop.reads(channel)
    reader = threading.Thread(target=lambda: read.append(_read(inside)))
    reader.start()
    begun = time.monotonic()
    stop.set()
    reader.join(PATIENCE)
    assert not reader.is_alive()
    assert time.monotonic() - begun < PATIENCE / 2
    for one in (ours, *server):
        one.close()


def _read(inside: Any) -> object:
    try:
        return inside.recv(1)
    except (OSError, ssl.SSLError) as error:
        return error
