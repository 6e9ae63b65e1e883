# SPDX-License-Identifier: Apache-2.0
"""Agents that answer, that say what is wrong, and that end before they answer."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from paddleflow_fuse.cli.ask import AskError, GoneError, asked, last
from paddleflow_fuse.cli.exporter import collected
from paddleflow_fuse.declared.agents import agents, ask, unsaved
from paddleflow_fuse.declared.decide import Agent
from paddleflow_fuse.supervisor.status import address

POINT = Path("/mnt/nowhere")
STATUS = {"pid": 1, "worker_pid": 2, "serves": True, "mount": {"point": str(POINT)}}


@contextmanager
def answering(run: Path, *lines: dict[str, Any]) -> Iterator[Path]:
    """Whatever it is asked, it says these, and ends."""
    path = address(run, POINT)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()

        def serve() -> None:
            while True:
                try:
                    end = listener.accept()[0]
                except OSError:  # it is over
                    return
                with end:
                    if end.recv(1 << 16):
                        end.sendall(b"".join(json.dumps(line).encode() + b"\n" for line in lines))

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield path
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def test_an_answer_has_lines_up_to_the_last(tmp_path: Path) -> None:
    with answering(tmp_path, {"one": 1}, {"two": 2, "done": True}, {"three": 3}) as path:
        assert list(asked(path, "any")) == [{"one": 1}, {"two": 2, "done": True}]
        assert ask(str(path), "any") == {"one": 1, "two": 2, "done": True}
        assert last(tmp_path, POINT, "any") == {"two": 2, "done": True}


def test_what_is_wrong_is_said_by_the_agent(tmp_path: Path) -> None:
    with answering(tmp_path, {"error": "it cannot", "done": True}) as path:
        with pytest.raises(AskError, match="it cannot"):
            ask(str(path), "any")
        found, (silent,) = agents(tmp_path, 1.0, ())
        assert (found, silent.socket, silent.why) == ([], str(path), "it cannot")
        agent = Agent(str(path), str(POINT), "", 1, 2, True, ("", ""))
        assert unsaved(agent, 1.0, iter(())) == ["not known (it cannot)"]


def test_who_ends_before_the_last_line_is_gone(tmp_path: Path) -> None:
    with answering(tmp_path, {"one": 1}) as path:
        with pytest.raises(ConnectionError, match="ended before"):
            ask(str(path), "any")
        with pytest.raises(GoneError, match="ended before"):
            last(tmp_path, POINT, "any")
        assert agents(tmp_path, 1.0, ()) == ([], [])


def test_metrics_are_those_of_the_agents_that_answer(tmp_path: Path) -> None:
    with answering(tmp_path, {"text": "some"}):
        assert collected(tmp_path) == ""
    address(tmp_path, POINT).unlink()
    with answering(tmp_path, {**STATUS, "text": "", "done": True}):
        assert "up{" in collected(tmp_path)
