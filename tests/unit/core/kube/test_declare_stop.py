# SPDX-License-Identifier: Apache-2.0
"""A task that is ended (its timeout, a signal) comes back at once, and nothing is written after that."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from paddleflow_core.kube.client import Client
from paddleflow_core.kube.declare import declare
from paddleflow_core.kube.errors import UnreachableError
from paddleflow_core.kube.transport import Transport
from paddleflow_core.kube.wanted import Run, Wanted

from tests.support.kube_stub import Handler, Stub, ok, refuse

NAMES = ("a", "b", "c", "d", "e", "f")
EMPTY = ok({"metadata": {"resourceVersion": "7"}, "items": []})


class EndedError(BaseException):
    """As Ansible ends a task."""


@pytest.fixture
def alarm() -> Iterator[None]:
    def end(*_: object) -> None:
        raise EndedError

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def settings(name: str) -> Wanted:
    found = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "team"}}
    return Wanted(found, where=name)


def ended(stub: Stub, *steps: Any) -> float:
    stub.steps = list(steps)
    transport = Transport(stub.connection())
    began = time.monotonic()
    with pytest.raises(EndedError):
        declare(Run(Client(transport), math.inf, writers=3), [settings(name) for name in NAMES])
    return time.monotonic() - began


@pytest.mark.usefixtures("alarm")
def test_writers_that_wait_for_another_attempt_make_none(stub: Stub) -> None:
    stub.always = refuse(429, "TooManyRequests", Retry_After="30")
    assert ended(stub, EMPTY) < 20
    seen = len(stub.seen)
    for thread in threading.enumerate():
        if thread.name.endswith("(write)"):
            thread.join(20)
            assert not thread.is_alive()
    assert len(stub.seen) == seen


@pytest.mark.usefixtures("alarm")
def test_what_is_on_its_way_is_cut_off_and_what_had_not_begun_does_not(stub: Stub) -> None:
    left: list[bool] = []
    holding = threading.Event()

    def hold(handler: Handler) -> None:
        handler.connection.settimeout(10)
        left.append(handler.connection.recv(1) == b"")
        if len(left) == 3:
            holding.set()

    stub.always = hold
    assert ended(stub, EMPTY) < 2.5
    assert holding.wait(5)
    assert left == [True] * 3
    assert len(stub.seen) == 4


def test_a_transport_that_was_stopped_sends_nothing(stub: Stub) -> None:
    stub.always = EMPTY
    client = Client(Transport(stub.connection()))
    client.transport.stop.set()
    with pytest.raises(UnreachableError, match=r"Could not list ConfigMap in team: the task was ended before\."):
        client.list(client.kind("v1", "ConfigMap"), "team")
    assert stub.seen == []
