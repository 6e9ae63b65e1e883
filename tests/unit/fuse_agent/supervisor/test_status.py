# SPDX-License-Identifier: Apache-2.0
"""The socket by which a mount is asked, with real clients."""

from __future__ import annotations

import fcntl
import json
import os
import selectors
import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from paddleflow_fuse.supervisor.asks import Asks
from paddleflow_fuse.supervisor.status import Client, Status, TakenError, address, listen

POINT = Path("/mnt/data")


class Served:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.selector = selectors.DefaultSelector()
        self.asked: list[tuple[Client, dict[str, Any]]] = []
        self.left: list[Client] = []
        self.status = Status(self.selector, listen(path, POINT), path, self._take, self.left.append)

    def _take(self, client: Client, asked: dict[str, Any]) -> None:
        self.asked.append((client, asked))

    def until(self, found: Callable[[], object]) -> None:
        end = time.monotonic() + 30
        while not found():
            assert time.monotonic() < end
            for key, events in self.selector.select(0.05):
                key.data(events)

    def connect(self) -> socket.socket:
        end = socket.socket(socket.AF_UNIX)
        end.settimeout(30)
        end.connect(str(self.path))
        return end


@pytest.fixture
def path() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="pf") as folder:
        yield address(Path(folder) / "run", POINT)


@pytest.fixture
def served(path: Path) -> Iterator[Served]:
    found = Served(path)
    yield found
    found.status.close()
    found.selector.close()
    assert not path.exists()


def test_each_mount_point_has_a_place_of_its_own() -> None:
    run = Path("/run/x")
    assert address(run, Path("/mnt/a")) != address(run, Path("/mnt/b"))
    assert address(run, Path("/mnt/a")) == address(run, Path("/mnt/a"))
    assert len(str(address(Path("/run/paddleflow/fuse"), Path("/" + "x" * 4000)))) < 100


def test_of_two_who_come_at_once_the_second_sees_the_first(path: Path) -> None:
    """He looks when the first is done."""
    path.parent.mkdir()
    folder = os.open(path.parent, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    with ThreadPoolExecutor(1) as pool:
        second = pool.submit(listen, path, POINT)
        with pytest.raises(TimeoutError):
            second.result(0.3)
        with socket.socket(socket.AF_UNIX) as first:
            first.bind(str(path))
            first.listen()
            os.close(folder)
            with pytest.raises(TakenError):
                second.result(30)


def test_only_its_own_user_may_enter(served: Served) -> None:
    assert served.path.stat().st_mode & 0o777 == 0o600


def test_requests_are_lines_however_they_come(served: Served) -> None:
    with served.connect() as end:
        end.send(b'{"do": "sta')
        end.send(b'tus"}\n{"do": "stop", "seconds": 3}\n')
        served.until(lambda: len(served.asked) == 2)
        assert [asked for _client, asked in served.asked] == [{"do": "status"}, {"do": "stop", "seconds": 3}]
        client = served.asked[0][0]
        client.answer(done=False, step=1)
        client.answer(step=2)
        assert end.recv(1000) == b'{"step": 1}\n{"step": 2, "done": true}\n'
    served.until(lambda: served.left == [client])


def test_one_that_nobody_answers_at_is_replaced_and_one_that_lives_is_not(path: Path) -> None:
    path.parent.mkdir()
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    with listen(path, POINT):
        with pytest.raises(TakenError, match="Another agent serves /mnt/data"):
            listen(path, POINT)
        assert list(path.parent.iterdir()) == [path]


def test_who_does_not_fetch_what_it_asked_for_is_left(served: Served) -> None:
    with served.connect() as end:
        end.send(b'{"do": "count"}\n')
        served.until(lambda: served.asked)
        client = served.asked[0][0]
        for _line in range(3000):
            client.answer(done=False, line="x" * 1000)
        assert client.is_gone
        client.answer(line="x")  # is said to nobody


def test_what_is_fetched_slowly_comes_whole(served: Served) -> None:
    with served.connect() as end, end.makefile("r") as file:
        end.send(b'{"do": "count"}\n')
        served.until(lambda: served.asked)
        client = served.asked[0][0]
        for number in range(800):
            client.answer(done=False, number=number, line="x" * 1000)
        assert not client.is_gone
        end.setblocking(False)
        found = b""

        def fetched() -> bool:
            nonlocal found
            with suppress(BlockingIOError):
                found += end.recv(1 << 16)
            return found.count(b"\n") == 800

        served.until(fetched)
        assert [json.loads(line)["number"] for line in found.splitlines()] == list(range(800))
        assert file


def test_a_request_without_an_end_is_refused(served: Served) -> None:
    with served.connect() as end:
        end.setblocking(False)

        def refused() -> bool:
            with suppress(BlockingIOError):
                end.send(b"x" * 65536)
            return bool(served.left)

        with suppress(BrokenPipeError):
            served.until(refused)
        served.until(lambda: served.left)
        end.settimeout(30)
        assert b"a request may have" in end.recv(1000)


def test_who_asks_no_more_gets_its_answer_and_is_left_then(served: Served) -> None:
    with served.connect() as end:
        end.send(b'{"do": "status"}\n')
        end.shutdown(socket.SHUT_WR)
        served.until(lambda: served.asked)
        client = served.asked[0][0]
        served.until(lambda: client.end not in served.selector.get_map())  # nothing is read of it any more
        assert not client.is_gone
        client.answer(serves=True)
        assert served.left == [client]
        assert json.loads(end.recv(1000)) == {"serves": True, "done": True}


class Told:
    """In the place of a worker."""

    def __init__(self, ready: bool = True) -> None:
        self.ready = ready
        self.told: list[tuple[str, dict[str, Any]]] = []

    def tell(self, word: str, **told: Any) -> bool:
        self.told.append((word, told))
        return True


def test_what_only_a_worker_knows_is_asked_of_it(served: Served) -> None:
    with served.connect() as end, end.makefile("r") as file:
        end.send(b'{"do": "count"}\n' * 4)
        served.until(lambda: len(served.asked) == 4)
        client = served.asked[0][0]
        asks, worker = Asks(), Told()

        def last(said: object) -> dict[str, Any]:
            return {"worker": said}

        asks.ask(worker, client, "count", {"to": 3}, last)  # type: ignore[arg-type]
        assert worker.told == [("ask", {"id": 1, "do": "count", "with": {"to": 3}})]
        asks.answered(1, {"step": 1}, done=False)
        asks.answered(1, {"sum": 1}, done=True)
        asks.answered(1, {"late": True}, done=True)
        asks.ask(worker, client, "status", {}, last, until=5)  # type: ignore[arg-type]
        assert asks.due() == 5
        asks.expire(4)
        asks.expire(5)
        asks.ask(worker, client, "count", {}, last)  # type: ignore[arg-type]
        asks.fail()
        asks.ask(Told(ready=False), client, "count", {}, last)  # type: ignore[arg-type]
        said = [json.loads(file.readline()) for _line in range(5)]
        assert said == [
            {"step": 1},
            {"worker": {"sum": 1}, "done": True},
            {"worker": "does not answer", "done": True},
            {"worker": "ended before it answered", "done": True},
            {"worker": "does not answer", "done": True},
        ]
        asks.ask(worker, client, "wait", {}, last)  # type: ignore[arg-type]
        asks.left(worker, client)  # type: ignore[arg-type]
        assert worker.told[-1] == ("drop", {"id": 5})
