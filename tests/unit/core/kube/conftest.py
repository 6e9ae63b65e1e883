# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import contextlib
import ssl
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from paddleflow_core.kube.client import Client
from paddleflow_core.kube.transport import Transport

from tests.support.kube_stub import Step, Stub, kube_stub


class Paused:
    """What a transport would have slept."""

    def __init__(self) -> None:
        self.pauses: list[float] = []

    def __call__(self, seconds: float) -> None:
        self.pauses.append(seconds)


@pytest.fixture
def paused() -> Paused:
    return Paused()


@pytest.fixture
def stub() -> Iterator[Stub]:
    with kube_stub() as running:
        yield running


@pytest.fixture
def connect(stub: Stub, paused: Paused) -> Iterator[Callable[..., Transport]]:
    """Transports to the stub, which never really sleep."""
    with contextlib.ExitStack() as stack:

        def made(**values: Any) -> Transport:
            options = {key: values.pop(key) for key in ("timeout", "writers", "before") if key in values}
            transport = Transport(stub.connection(**values), sleep=paused, **options)
            stack.callback(transport.close)
            return transport

        yield made


@pytest.fixture
def client(connect: Callable[..., Transport]) -> Client:
    return Client(connect())


@pytest.fixture
def plan(stub: Stub) -> Callable[..., None]:
    """What the stub answers, in this order."""

    def planned(*steps: Step) -> None:
        stub.steps += steps

    return planned


class Certified(NamedTuple):
    """A certificate of its own authority, and both ends of TLS with it."""

    pem: str
    server: ssl.SSLContext
    client: ssl.SSLContext


@pytest.fixture(scope="session")
def certified(tmp_path_factory: pytest.TempPathFactory) -> Certified:
    folder: Path = tmp_path_factory.mktemp("certified")
    key, cert = folder / "key", folder / "cert"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1",
         "-keyout", str(key), "-out", str(cert), "-subj", "/CN=lab", "-addext", "subjectAltName=DNS:lab"],
        check=True, capture_output=True,
    )  # fmt: skip
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(cert, key)
    return Certified(cert.read_text(encoding="utf-8"), server, ssl.create_default_context(cafile=str(cert)))
