# SPDX-License-Identifier: Apache-2.0
"""What a source can never name is refused before anything is written under it."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest
import trio
from paddleflow_fuse.nodes.records import ROOT
from paddleflow_fuse.nodes.region import Region
from paddleflow_fuse.sources.base import Bounds
from paddleflow_fuse.sources.hdfs.source import HdfsSource
from paddleflow_fuse.sources.memory import MemoryStore
from paddleflow_fuse.sources.objects import ObjectSource
from paddleflow_fuse.sources.s3.near import NearStore
from paddleflow_fuse.sources.s3.store import S3Store

from tests.support.asked_files import asked, put
from tests.support.source_suite import failing


class Short(MemoryStore):
    longest = 12


REGULAR = 0o100644


def test_nothing_is_made_or_moved_where_its_key_would_be_too_long(region: Region, tmp_path: Path) -> None:
    source = ObjectSource(Short(), "root")
    put(source, b"file", b"content")
    put(source, b"old/file", b"content")
    longest = b"x" * 7
    makes: dict[str, tuple[Any, ...]] = {
        "create": (0o644, os.O_RDWR), "mknod": (REGULAR, 0), "symlink": (b"target",), "mkdir": (0o755,),
    }  # fmt: skip

    async def test() -> None:
        async with asked(region, tmp_path, source) as ask:
            for name, given in makes.items():
                with failing(errno.ENAMETOOLONG):
                    await ask(name, ROOT, longest + b"x", *given)
            for old, new in ((b"file", longest + b"x"), (b"old", longest)):  # a folder's key ends with a slash
                await ask("lookup", ROOT, old)
                with failing(errno.ENAMETOOLONG):
                    await ask("rename", (ROOT, old), (ROOT, new), 0)
            with failing(errno.ENAMETOOLONG):
                await ask("mkdir", ROOT, longest, 0o755)
            assert await ask.names() == {b"file", b"old"}
            await ask("rename", (ROOT, b"file"), (ROOT, longest), 0)
            await ask("mkdir", ROOT, longest[1:], 0o755)
            assert not ask.staged

    trio.run(test)
    assert source.find(longest).size == 7
    source.close()


@pytest.mark.parametrize(("bounds", "path", "code"), [
    (Bounds(), b"\xff" * 9999 + b":", 0),
    (Bounds(text=True), b"\xff", errno.EILSEQ),
    (Bounds(longest=3), b"abc", 0),
    (Bounds(longest=3), b"abcd", errno.ENAMETOOLONG),
    (HdfsSource.abilities.names, b"a/b", 0),
    (HdfsSource.abilities.names, b"a/b:c", errno.EINVAL),
])  # fmt: skip
def test_what_is_out_of_bounds(bounds: Bounds, path: bytes, code: int) -> None:
    if not code:
        bounds.require(path)
        return
    with failing(code):
        bounds.require(path)


def test_a_bucket_says_the_same_whoever_asks_it() -> None:
    assert S3Store.longest == NearStore.longest == 1024
