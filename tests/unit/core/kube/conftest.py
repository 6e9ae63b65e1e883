# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

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
            options = {key: values.pop(key) for key in ("timeout", "writers") if key in values}
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
