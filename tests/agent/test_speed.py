# SPDX-License-Identifier: Apache-2.0
"""That the kernel does the work: what is cached is read without the agent, and about as fast as from a plain folder.

Ratios of the same moment on the same machine, with wide margins; `make bench-agent` has the narrow ones.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.agent_command import Command, command

MIB = 1 << 20
SIZE = 32 * MIB
FILES = 100
ROUNDS = 7
HOLD = {"attr-timeout": "60", "entry-timeout": "60", "meta-cache-expire": "60", "entry-cache-expire": "60"}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    return folder


@pytest.fixture
def agents(tmp_path: Path) -> Iterator[Callable[[str], Command]]:
    with ExitStack() as stack:

        def begin(name: str) -> Command:
            (tmp_path / name).mkdir()
            return stack.enter_context(command(tmp_path / name))

        yield begin


def large(source: Path) -> bytes:
    content = os.urandom(MIB) * (SIZE // MIB)
    (source / "large").write_bytes(content)
    return content


def whole(descriptor: int) -> bytes:
    return b"".join(os.pread(descriptor, MIB, place) for place in range(0, SIZE, MIB))


def ticks(process: int) -> int:
    """Of a processor, that it used so far."""
    numbers = Path("/proc", str(process), "stat").read_text().rpartition(")")[2].split()
    return int(numbers[11]) + int(numbers[12])


def least(*works: Callable[[], object]) -> list[float]:
    """Seconds of each, in turn, so that what else the machine does meets them all."""
    took: list[list[float]] = [[] for _work in works]
    for _round in range(ROUNDS):
        for work, seconds in zip(works, took, strict=True):
            begin = time.perf_counter()
            work()
            seconds.append(time.perf_counter() - begin)
    return list(map(min, took))


def test_an_open_file_that_is_cached_is_read_while_the_agent_stands_still(
    agents: Callable[[str], Command], source: Path
) -> None:
    content = large(source)
    agent = agents("agent")
    agent.mount(f"local:/{source}")
    agent("warmup", str(agent.point))
    worker = agent.status()["worker_pid"]
    descriptor = os.open(agent.point / "large", os.O_RDONLY)
    os.kill(worker, signal.SIGSTOP)
    try:
        before = ticks(worker)
        assert whole(descriptor) == content
        assert ticks(worker) == before
    finally:
        os.kill(worker, signal.SIGCONT)
        os.close(descriptor)


def test_a_cached_file_is_read_about_as_fast_as_the_file_itself(agents: Callable[[str], Command], source: Path) -> None:
    large(source)
    agent = agents("agent")
    agent.mount(f"local:/{source}", options=HOLD)
    agent("warmup", str(agent.point))

    def read(path: Path) -> Callable[[], None]:
        buffer = bytearray(MIB)

        def run() -> None:
            descriptor = os.open(path, os.O_RDONLY)
            while os.readv(descriptor, [buffer]):
                pass
            os.close(descriptor)

        return run

    ours, native = least(read(agent.point / "large"), read(source / "large"))
    assert native / ours >= 0.3


def test_small_files_are_opened_much_faster_where_the_kernel_need_not_ask(
    agents: Callable[[str], Command], source: Path
) -> None:
    for index in range(FILES):
        (source / str(index)).write_bytes(b"x" * 4096)
    asks, asks_not = agents("large"), agents("small")
    asks.mount(f"local:/{source}", options=HOLD)
    asks_not.mount(f"local:/{source}", options={**HOLD, "read-only": "true", "profile": "small"})

    def read(agent: Command) -> Callable[[], None]:
        paths = [str(agent.point / str(index)) for index in range(FILES)]

        def run() -> None:
            for path in paths:
                descriptor = os.open(path, os.O_RDONLY)
                assert len(os.read(descriptor, MIB)) == 4096
                os.close(descriptor)

        return run

    slow, fast = least(read(asks), read(asks_not))
    assert slow / fast >= 5
