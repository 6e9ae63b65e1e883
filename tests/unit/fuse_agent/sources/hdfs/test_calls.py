# SPDX-License-Identifier: Apache-2.0
"""Threads that wait for a cluster which does not answer: so many are left alone, and then only another process helps."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from paddleflow_fuse.sources.base import StuckError
from paddleflow_fuse.sources.hdfs import calls
from paddleflow_fuse.sources.hdfs.calls import Calls, Patience
from paddleflow_fuse.sources.hdfs.options import Options

from tests.support.granted import until

THREADS = 64


def test_who_has_no_thread_left_that_can_be_waited_for_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "_SPOKEN", {})
    monkeypatch.setenv("HADOOP_USER_NAME", "somebody")
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
