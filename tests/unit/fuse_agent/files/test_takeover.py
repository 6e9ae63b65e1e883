# SPDX-License-Identifier: Apache-2.0
"""What a file system takes over from the process that served the mount before it."""

from __future__ import annotations

import errno
import logging
import tempfile
from pathlib import Path

import pytest
import trio
from paddleflow_fuse.cache.memory import Memory
from paddleflow_fuse.files.notes import Note
from paddleflow_fuse.files.stage import Staging
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


def test_what_a_full_disk_cut_off_is_not_stored_after_a_crash(
    region: Region, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    source, before = ObjectSource(MemoryStore(), ""), Staging(tmp_path)
    with tempfile.TemporaryFile() as file:
        file.write(b"old")
        file.flush()
        version = source.store(b"file", file.fileno(), 3).version
    for path, over in ((b"file", version), (b"new", b"")):
        stage = before.begin(Note(path, over))
        stage.write(0, b"lacks a part")
        stage.poison(OSError(errno.ENOSPC, "the disk took no more"))
        stage.close()

    async def begin_anew() -> None:
        async with trio.open_nursery() as nursery:
            parts = Parts(
                Nodes(region), Opens(region, lambda _number: False), source, Memory(1 << 20), staging=Staging(tmp_path)
            )
            FileSystem(nursery, parts, Settings())

    trio.run(begin_anew)
    assert [told.name for page in source.list(b"") for told in page.listed] == [b"file"]
    assert bytes(source.read(b"file", version, 0, 100)) == b"old"
    assert list(tmp_path.iterdir()) == []
    said = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    assert [line.partition(" path=")[2] for line in said] == ["b'file'; write it again", "b'new'; write it again"]
