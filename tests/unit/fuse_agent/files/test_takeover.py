# SPDX-License-Identifier: Apache-2.0
"""What a file system takes over from the process that served the mount before it."""

from __future__ import annotations

import trio
from paddleflow_fuse.cache.memory import Memory
from paddleflow_fuse.files.system import FileSystem, Parts
from paddleflow_fuse.files.view import Settings
from paddleflow_fuse.nodes.records import ROOT, Known
from paddleflow_fuse.nodes.region import Region
from paddleflow_fuse.nodes.table import Nodes
from paddleflow_fuse.opens import Opens
from paddleflow_fuse.sources.memory import MemoryStore
from paddleflow_fuse.sources.objects import ObjectSource


def test_a_file_below_that_nobody_has_open_is_given_back(region: Region) -> None:
    """It would keep the space of what was evicted for as long as the mount lives."""
    bound = {1, 2}

    def unbind(number: int) -> bool:
        there = number in bound
        bound.discard(number)
        return there

    before, nodes = Opens(region, unbind), Nodes(region)
    before.open(nodes.add(ROOT, b"file", Known(0o100644)), 1, bind=lambda: 1)
    # It was killed before it could say to whom it gave the other one.

    async def take_over() -> None:
        async with trio.open_nursery() as nursery:
            source = ObjectSource(MemoryStore(), "")
            parts = Parts(Nodes(region), Opens(region, unbind), source, Memory(1 << 20), bind=lambda _file: 0)
            FileSystem(nursery, parts, Settings())

    trio.run(take_over)
    assert bound == {1}
