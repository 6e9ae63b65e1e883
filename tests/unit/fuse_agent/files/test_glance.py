# SPDX-License-Identifier: Apache-2.0
"""What is answered in one step is what would be answered by all of them, or nothing."""

from __future__ import annotations

import inspect
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
from paddleflow_fuse.cache.memory import Memory
from paddleflow_fuse.files.stats import WithStats
from paddleflow_fuse.files.system import Parts
from paddleflow_fuse.files.view import Settings
from paddleflow_fuse.files.written.staging import Staging
from paddleflow_fuse.nodes.records import ROOT, StaleError
from paddleflow_fuse.nodes.region import Region
from paddleflow_fuse.nodes.table import Nodes
from paddleflow_fuse.opens import Opens
from paddleflow_fuse.operations import Absent, Caller
from paddleflow_fuse.protocol import replies
from paddleflow_fuse.sources.local import LocalSource

WHO = Caller(os.getuid(), os.getgid(), 1, 2)
HELD = Settings(attributes_hold=60, names_hold=60, kernel_attributes_hold=7.5, kernel_names_hold=0.25)


async def done(found: Any) -> Any:
    return await found if inspect.isawaitable(found) else found


@asynccontextmanager
async def begun(region: Region, folder: Path, settings: Settings = HELD) -> AsyncIterator[WithStats]:
    for name in ("source", "staging"):
        (folder / name).mkdir()
    async with trio.open_nursery() as nursery:
        parts = Parts(
            Nodes(region), Opens(region, lambda _number: False), LocalSource(str(folder / "source")), Memory(1 << 20),
            staging=Staging(folder / "staging"),
        )  # fmt: skip
        yield WithStats(nursery, parts, settings, lambda: "text")
        nursery.cancel_scope.cancel()


def test_what_is_known_of_a_name_is_answered_as_ever(region: Region, tmp_path: Path) -> None:
    async def test() -> None:
        async with begun(region, tmp_path) as files:
            (tmp_path / "source" / "file").write_bytes(b"x" * 1025)
            (tmp_path / "source" / "folder").mkdir()
            for name in (b"file", b"folder"):
                assert files.known_entry(ROOT, name) is None
                entry = await done(files.lookup(WHO, ROOT, name))
                assert files.known_entry(ROOT, name) == replies.entry(entry)
                held = await done(files.getattr(WHO, entry.node, None))
                assert files.known_attributes(entry.node) == replies.attributes(*held)
                # The kernel holds it for each answer, and for no other question.
                files.forget([(entry.node, 1)])
                files._nodes.unname(entry.node)
                assert entry.node in files._nodes
                assert files.known_attributes(entry.node) is None, "it has one name less"
                files.forget([(entry.node, 1)])
                assert entry.node not in files._nodes
                with pytest.raises(StaleError):
                    files.known_attributes(entry.node)

    trio.run(test)


def test_that_a_name_means_nothing_is_answered_where_all_names_are_known(region: Region, tmp_path: Path) -> None:
    async def test() -> None:
        async with begun(region, tmp_path) as files:
            assert files.known_entry(ROOT, b"absent") is None
            assert await done(files.readdir(WHO, ROOT, 0, 0, 4096, True))
            found = await done(files.lookup(WHO, ROOT, b"absent"))
            assert isinstance(found, Absent)
            assert files.known_entry(ROOT, b"absent") == replies.absent(found.hold)
            assert files.known_entry(ROOT, b"x" * 255) == replies.absent(found.hold)
            # What cannot be a name, and what the agent tells of itself.
            assert [files.known_entry(ROOT, name) for name in (b"", b"x" * 256, b".stats")] == [None] * 3

    trio.run(test)


@pytest.mark.parametrize("settings", [HELD._replace(attributes_hold=0), HELD._replace(names_hold=0)])
def test_what_does_not_hold_is_asked_for(region: Region, tmp_path: Path, settings: Settings) -> None:
    async def test() -> None:
        async with begun(region, tmp_path, settings) as files:
            (tmp_path / "source" / "file").touch()
            entry = await done(files.lookup(WHO, ROOT, b"file"))
            assert files.known_entry(ROOT, b"file") is None
            assert (files.known_attributes(entry.node) is None) == (settings.attributes_hold == 0)

    trio.run(test)


def test_of_what_is_written_or_has_several_names_nothing_is_answered(region: Region, tmp_path: Path) -> None:
    async def test() -> None:
        async with begun(region, tmp_path) as files:
            entry, handle = await done(files.create(WHO, ROOT, b"new", 0o644, os.O_WRONLY))
            assert files.known_entry(ROOT, b"new") is None
            assert files.known_attributes(entry.node) is None
            await done(files.release(WHO, entry.node, handle.number))
            (tmp_path / "source" / "one").touch()
            (tmp_path / "source" / "two").hardlink_to(tmp_path / "source" / "one")
            entry = await done(files.lookup(WHO, ROOT, b"one"))
            assert entry.attributes.links == 2
            assert files.known_entry(ROOT, b"one") is None
            assert files.known_attributes(entry.node) is None

    trio.run(test)


def test_what_the_agent_tells_of_itself_is_told_anew(region: Region, tmp_path: Path) -> None:
    async def test() -> None:
        async with begun(region, tmp_path) as files:
            await done(files.readdir(WHO, ROOT, 0, 0, 4096, True))
            entry = await done(files.lookup(WHO, ROOT, b".stats"))
            assert files.known_entry(ROOT, b".stats") is None
            with pytest.raises(StaleError):
                files.known_attributes(entry.node)

    trio.run(test)
