# SPDX-License-Identifier: Apache-2.0
"""Threads that wait for a cluster which does not answer: so many are left alone, and then only another process helps. And who is not let in."""

from __future__ import annotations

import errno
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from paddleflow_fuse.sources.base import StuckError
from paddleflow_fuse.sources.hdfs import calls
from paddleflow_fuse.sources.hdfs.calls import Calls, Patience, Turn
from paddleflow_fuse.sources.hdfs.options import Options

from tests.support.granted import until

THREADS = 64
TICKET = RuntimeError('GSSAPIError(GssMajorCodes(GSS_S_FAILURE), 100001, "Ticket expired")')


@pytest.fixture(autouse=True)
def _nobody_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "_SPOKEN", {})
    monkeypatch.setenv("HADOOP_USER_NAME", "somebody")


@pytest.fixture
def patient() -> Iterator[Calls]:
    made = Calls(Options(("127.0.0.1:1",), "somebody"), Patience(total=60, tries=3, answer=1))
    yield made
    made.close()


class Asks:
    """A question that fails as often as there are errors.

    :ivar clients: by which it was asked
    """

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.clients: list[object] = []

    def __call__(self, turn: Turn) -> str:
        self.clients.append(turn.client)
        if self.errors:
            raise self.errors.pop()
        return "answer"


def test_who_was_let_in_is_let_in_again_by_another_connection(patient: Calls) -> None:
    """His ticket has ended, or whoever gives tickets is away for a moment."""
    first, again = Asks(), Asks(TICKET, TICKET)
    assert patient.run("find", b"", first) == patient.run("find", b"", again) == "answer"
    assert again.clients[0] is first.clients[0]
    assert len({id(client) for client in again.clients}) == len(again.clients) == 3


def test_who_was_never_let_in_or_is_not_any_more_is_told_at_once(patient: Calls) -> None:
    def refused(asks: Asks) -> int:
        with pytest.raises(PermissionError, match="see whether the KDC can be reached from here"):
            patient.run("find", b"", asks)
        return len(asks.clients)

    assert refused(Asks(TICKET, TICKET)) == 1
    assert patient.run("find", b"", Asks()) == "answer"
    assert refused(Asks(*[TICKET] * 9)) == 3
    assert refused(Asks(*[TICKET] * 9)) == 1


def test_what_somebody_may_not_do_is_asked_once(patient: Calls) -> None:
    denied = RuntimeError('RPCError("org.apache.hadoop.security.AccessControlException", "Permission denied")')
    asks = Asks(denied)
    assert patient.run("find", b"", Asks()) == "answer"
    with pytest.raises(PermissionError) as raised:
        patient.run("find", b"", asks)
    assert raised.value.errno == errno.EACCES
    assert len(asks.clients) == 1


def test_who_has_no_thread_left_that_can_be_waited_for_says_so() -> None:
    there = Calls(Options(("127.0.0.1:1",), "somebody"), Patience(total=0, tries=1, answer=0.2))
    answers = threading.Event()

    def ask(call: str) -> type[OSError] | None:
        try:
            there.run(call, b"", lambda turn: turn.ask(answers.wait))
        except OSError as error:
            return type(error)
        return None

    try:
        with ThreadPoolExecutor(THREADS) as pool:
            assert StuckError not in set(pool.map(ask, ["find"] * THREADS))
        assert ask("find") is StuckError
        answers.set()
        until("they come back", lambda: ask("find") is None)
    finally:
        answers.set()
        there.close()
