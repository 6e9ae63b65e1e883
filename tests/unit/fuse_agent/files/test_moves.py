# SPDX-License-Identifier: Apache-2.0
"""A rename that was cut off is ended, whatever else is done meanwhile with what it moves."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path

import trio
import trio.testing
from paddleflow_fuse.nodes.records import ROOT
from paddleflow_fuse.nodes.region import Region
from paddleflow_fuse.sources.base import Data
from paddleflow_fuse.sources.memory import MemoryStore
from paddleflow_fuse.sources.objects import ObjectSource

from tests.support.asked_files import asked, put


class Slow(ObjectSource):
    """Who reads what is not at the beginning of a file waits until he may go on."""

    def __init__(self) -> None:
        super().__init__(MemoryStore(), "")
        self.began, self.goes_on = threading.Event(), threading.Event()

    def read(self, path: bytes, version: bytes, offset: int, size: int) -> Data:
        if offset:
            self.began.set()
            assert self.goes_on.wait(30)
        return super().read(path, version, offset, size)


def test_who_stores_and_who_moves_do_not_wait_for_each_other(region: Region, tmp_path: Path) -> None:
    source = Slow()
    put(source, b"old/file", bytes(2 << 20))

    async def test() -> None:
        async with asked(region, tmp_path, source) as ask:
            folder = (await ask("lookup", ROOT, b"old")).node
            node = (await ask("lookup", folder, b"file")).node
            handle = (await ask("open", node, os.O_WRONLY)).number
            await ask.write(node, handle, b"data")
            moves = ask.files.tree._moves

            async def flush() -> None:
                with suppress(OSError):  # what it lacks is not there any more
                    await ask("flush", node, handle)

            async def finish() -> None:
                await moves._finish(plan)

            with trio.fail_after(30):
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(flush)
                    assert await trio.to_thread.run_sync(source.began.wait, 30)
                    plan = moves._plans.begin(b"old", b"new")
                    source.rename_folder(b"old", b"new", plan.steps)  # as who was killed over it
                    nursery.start_soon(finish)
                    await trio.testing.wait_all_tasks_blocked()
                    source.goes_on.set()
            assert moves._plans.left() == []
            assert await ask.names() == {b"new"}

    trio.run(test)
