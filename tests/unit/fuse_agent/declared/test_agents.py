# SPDX-License-Identifier: Apache-2.0
"""Agents of a machine that answer, that do not, and that are gone."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from paddleflow_fuse.declared.agents import Silent, agents

SAYS = {"mount": {"point": "/mnt/one"}, "label": "one:1", "pid": 7, "worker_pid": 8, "serves": True, "done": True}


@contextmanager
def listener(path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as end:
        end.bind(str(path))
        end.listen()
        yield end


@contextmanager
def speaking(path: Path, said: Any) -> Iterator[None]:
    """An agent that says this."""
    with listener(path) as end:

        def serve() -> None:
            client, _address = end.accept()
            with client, client.makefile("rb") as lines:
                lines.readline()
                client.sendall(json.dumps(said).encode() + b"\n")

        thread = threading.Thread(target=serve)
        thread.start()
        yield
        thread.join()


@pytest.mark.parametrize("said", [{"error": "no", "done": True}, "noise"])
def test_who_is_silent_or_says_no_sense_keeps_nobody_from_those_that_answer(tmp_path: Path, said: Any) -> None:
    with ExitStack() as stack:
        for name in ("b", "d"):
            stack.enter_context(listener(tmp_path / f"{name}.sock"))
        stack.enter_context(speaking(tmp_path / "c.sock", SAYS))
        with listener(tmp_path / "a.sock"):
            pass  # who listened there was killed
        stack.enter_context(speaking(tmp_path / "e.sock", said))
        found, silent = agents(tmp_path, 0.5, ())
    assert [(one.point, one.pid) for one in found] == [("/mnt/one", 7)]
    names = [Path(one.socket).name for one in silent]
    assert names == ["b.sock", "d.sock", "e.sock"]
    assert {one.process for one in silent[:2]} == {os.getpid()}
    assert all(f"kill -KILL {os.getpid()}" in one.remedy for one in silent[:2])


def test_who_is_known_to_be_silent_is_not_asked_again(tmp_path: Path) -> None:
    with listener(tmp_path / "a.sock"):
        assert agents(tmp_path, 60, [str(tmp_path / "a.sock")]) == ([], [])


def test_where_the_kernel_does_not_tell_the_process_its_log_is_named() -> None:
    assert Silent("/run/a.sock", 0, "timed out").remedy == "See its log, end it, and run again."
