# SPDX-License-Identifier: Apache-2.0
"""An open of what was replaced, as the kernel goes about it: it looks the name up again, but only once."""

from __future__ import annotations

import errno
import inspect
import os
import tempfile
from typing import Any

import pytest
import trio
from paddleflow_fuse.cache.memory import Memory
from paddleflow_fuse.files.system import FileSystem, Parts
from paddleflow_fuse.files.view import Settings
from paddleflow_fuse.nodes.region import Region
from paddleflow_fuse.nodes.table import Nodes
from paddleflow_fuse.opens import Opens
from paddleflow_fuse.operations import Caller
from paddleflow_fuse.sources.memory import MemoryStore
from paddleflow_fuse.sources.objects import ObjectSource

SIZE = 2 << 20


def test_what_is_replaced_again_and_again_is_opened_all_the_same(region: Region) -> None:
    who, source = Caller(0, 0, 1, 2), ObjectSource(MemoryStore(), "")

    async def done(found: Any) -> Any:
        return await found if inspect.isawaitable(found) else found

    def replace(by: bytes) -> None:
        with tempfile.TemporaryFile() as file:
            file.write(by * SIZE)
            file.flush()
            source.store(b"file", file.fileno(), SIZE)

    async def test() -> None:
        async with trio.open_nursery() as nursery:
            parts = Parts(Nodes(region), Opens(region, lambda _number: False), source, Memory(1 << 24))
            files = FileSystem(nursery, parts, Settings(attributes_hold=0, names_hold=0))
            replace(b"1")
            first = (await done(files.lookup(who, 1, b"file"))).node
            replace(b"2")
            with pytest.raises(OSError, match="is gone") as refused:
                await done(files.open(who, first, os.O_RDONLY))
            assert refused.value.errno == errno.ESTALE
            second = (await done(files.lookup(who, 1, b"file"))).node
            assert second != first
            replace(b"3")
            handle = await done(files.open(who, second, os.O_RDONLY))
            # What it opened is gone, and nothing else is given in its place.
            with pytest.raises(OSError, match="replaced") as refused:
                await done(files.read(who, second, handle.number, 0, 4096))
            assert refused.value.errno == errno.ESTALE

    trio.run(test)
