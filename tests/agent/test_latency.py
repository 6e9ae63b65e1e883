# SPDX-License-Identifier: Apache-2.0
"""Whoever asks for what is known is answered soon, whatever else the agent does."""

from __future__ import annotations

import gc
import inspect
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import trio
from paddleflow_fuse.cache.memory import Memory
from paddleflow_fuse.files.known.remembered import Remembered
from paddleflow_fuse.files.system import FileSystem, Parts
from paddleflow_fuse.files.view import Settings
from paddleflow_fuse.nodes.region import Region
from paddleflow_fuse.nodes.table import Nodes
from paddleflow_fuse.opens import Opens
from paddleflow_fuse.operations import Caller
from paddleflow_fuse.sources.memory import MemoryStore
from paddleflow_fuse.sources.objects import ObjectSource
from paddleflow_fuse.sources.s3.options import Options

from tests.conftest import EXTENDED
from tests.support.agent_command import Command, command
from tests.support.many_keys import BIG, FEW, many_keys
from tests.support.minio import KEYS

MANY = 1_000_000 if EXTENDED else 20_000
READ = 10 << 30 if EXTENDED else 4 * BIG  # long enough for several windows
WINDOW = 500
HOURS = 7200.0
# The kernel asks for each; the agent knows.
HELD = {
    "attr-timeout": "0", "entry-timeout": "0", "meta-cache-expire": "3600", "entry-cache-expire": "3600", "path-cache-expire": "3600",
}  # fmt: skip
STATS = """
import json, os, sys, time
folder, count, window = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
names = [f"{folder}/{index:08}" for index in range(count)]
for line in sys.stdin:
    took = []
    for turn in range(window):
        begun = time.perf_counter()
        os.stat(names[turn % count])
        took.append(time.perf_counter() - begun)
    took.sort()
    print(json.dumps([took[len(took) // 2], took[len(took) * 99 // 100]]), flush=True)
"""
LIST = "import os, sys\nprint(sum(1 for one in os.scandir(sys.argv[1])))"
READ_ALL = """
import os, sys
left, number, buffer = int(sys.argv[2]), 0, bytearray(1 << 20)
while left > 0:
    with open(f"{sys.argv[1]}/{number}", "rb", buffering=0) as file:
        while got := file.readinto(buffer):
            left -= got
    number += 1
"""
BURN = "while True: pass"


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Command]:
    (tmp_path / "agent").mkdir()
    with ExitStack() as stack:
        url = stack.enter_context(many_keys(MANY))
        one = stack.enter_context(command(tmp_path / "agent"))
        bucket = Options("bucket", url, credentials=KEYS)
        one.mount_bucket(bucket, options={**HELD, "region": "us-east-1", "ro": "true", "data-cache-quota": "1Gi"})
        yield one


@contextmanager
def running(*programs: Sequence[str]) -> Iterator[list[subprocess.Popen[str]]]:
    begun = [
        subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", *words], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True
        )
        for words in programs
    ]
    try:
        yield begun
    finally:
        for one in begun:
            one.kill()
            one.communicate()


def measured(asks: subprocess.Popen[str]) -> list[float]:
    """The median, and what one in a hundred takes longer than."""
    assert asks.stdin
    assert asks.stdout
    asks.stdin.write("\n")
    asks.stdin.flush()
    found: list[float] = json.loads(asks.stdout.readline())
    return found


def test_what_is_known_is_answered_soon_while_folders_are_listed_and_files_are_read(agent: Command) -> None:
    """In 5 ms; or as soon as where programs that have nothing to do with it keep the processors as busy."""
    few, many, big = (str(agent.point / name) for name in ("few", "many", "big"))
    with running((STATS, few, str(FEW), str(WINDOW))) as (asks,):
        measured(asks)
        with running(*[(BURN,)] * 4):
            usual = [measured(asks) for _window in range(12)]  # some of them wait for their turn, and some do not
        with running((LIST, many), (READ_ALL, big, str(READ))) as works:
            busy = [measured(asks)]
            while any(work.poll() is None for work in works):
                busy.append(measured(asks))
            assert works[0].communicate()[0] == f"{MANY}\n"
            assert [work.returncode for work in works] == [0, 0]
    assert min(rare for _median, rare in busy) < max(0.005, *(4 * rare for _median, rare in usual))


class Steps(trio.abc.Instrument):
    """How long each step of a task held the loop, in seconds of the processor: what else the machine does is no part of it."""

    def __init__(self) -> None:
        self.took: list[float] = []
        self._begun = 0.0

    def before_task_step(self, _task: trio.lowlevel.Task) -> None:
        self._begun = time.thread_time()

    def after_task_step(self, _task: trio.lowlevel.Task) -> None:
        self.took.append(time.thread_time() - self._begun)


@pytest.mark.parametrize("by", ["source", "earlier mount"])
def test_a_listing_lets_others_have_their_turn(tmp_path: Path, by: str) -> None:
    steps, count = Steps(), 20_000
    store = MemoryStore()
    with tempfile.TemporaryFile() as empty:
        for index in range(count):
            store.put(f"{index:08}", empty.fileno(), 0, {})

    async def list_all(region: Region, kept: Remembered) -> None:
        async with trio.open_nursery() as nursery:
            parts = Parts(
                Nodes(region), Opens(region, lambda _number: False), ObjectSource(store, ""), Memory(1 << 20), remembered=kept,
            )  # fmt: skip
            files, seen, after = FileSystem(nursery, parts, Settings(names_hold=HOURS)), 0, 0
            while True:
                found = files.readdir(Caller(0, 0, 1, 2), 1, 0, after, 1 << 16, True)
                page = await found if inspect.isawaitable(found) else found
                if not page:
                    break
                seen, after = seen + len(page), page[-1].after
        assert seen == count + 2

    def mount(*instruments: Steps) -> None:
        region, kept = Region.create(), Remembered(tmp_path, HOURS, changes=False)
        try:
            trio.run(list_all, region, kept, instruments=instruments)
        finally:
            kept.close(well=True)
            region.close()

    if by == "earlier mount":
        mount()
        store.close()  # nobody asks it again
    gc.collect()
    gc.disable()  # a collection would be counted as whose step it falls into
    try:
        mount(steps)
    finally:
        gc.enable()
    assert sorted(steps.took)[-5] < 0.01  # of twenty pages, each of which takes twice that
