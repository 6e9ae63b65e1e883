# SPDX-License-Identifier: Apache-2.0
"""All that was written is to be stored, and the source is away."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import NoReturn

import pytest
import trio
from paddleflow_fuse.nodes.records import ROOT
from paddleflow_fuse.nodes.region import Region
from paddleflow_fuse.sources.memory import MemoryStore
from paddleflow_fuse.sources.objects import ObjectSource

from tests.support.asked_files import asked

AT_ONCE, FILES = 16, 100


def test_not_each_of_many_files_is_waited_for(region: Region, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = ObjectSource(MemoryStore(), "")
    tried: list[bytes] = []

    def away(path: bytes, *_given: object) -> NoReturn:
        tried.append(path)
        raise OSError(errno.ETIMEDOUT, "it is away")

    async def test() -> None:
        async with asked(region, tmp_path, source) as ask:
            handles = []
            for index in range(FILES):
                entry, handle = await ask("create", ROOT, b"%d" % index, 0o644, os.O_WRONLY | os.O_CREAT)
                await ask.write(entry.node, handle.number, b"content")
                handles.append((entry.node, handle.number))
            with monkeypatch.context() as patched:
                patched.setattr(source, "store", away)
                failed = await ask.files.store_all()
            assert sorted(failed) == sorted(b"%d" % index for index in range(FILES)), "all are named"
            assert len(tried) <= 2 * AT_ONCE
            assert await ask.files.store_all() == []
            for node, number in handles:
                await ask("release", node, number)

    trio.run(test)
