# SPDX-License-Identifier: Apache-2.0
"""What a mount takes from listings of the mounts before it, and what it asks the source all the same."""

from __future__ import annotations

import inspect
import itertools
import os
import sqlite3
import tempfile
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import trio
from paddleflow_fuse.cache.memory import Memory
from paddleflow_fuse.files.known import recalls
from paddleflow_fuse.files.known.remembered import NAMES, Remembered, Row
from paddleflow_fuse.files.system import FileSystem, Parts
from paddleflow_fuse.files.view import Settings
from paddleflow_fuse.files.written.staging import Staging
from paddleflow_fuse.nodes.records import ROOT
from paddleflow_fuse.nodes.region import Region
from paddleflow_fuse.nodes.table import Nodes
from paddleflow_fuse.opens import Opens
from paddleflow_fuse.operations import Absent, Caller
from paddleflow_fuse.protocol.replies import Entry
from paddleflow_fuse.sources.base import Found, Page
from paddleflow_fuse.sources.memory import MemoryStore
from paddleflow_fuse.sources.objects import ObjectSource

HOLD = 3600.0
PATIENCE = 30.0


class Source(ObjectSource):
    """
    :ivar asked: how often
    """

    def __init__(self) -> None:
        self.store_ = MemoryStore()
        self.asked: Counter[str] = Counter()
        super().__init__(self.store_, "")

    def put(self, *keys: str) -> None:
        with tempfile.TemporaryFile() as file:
            file.write(b"x")  # an empty one may be a link, which a listing cannot tell
            file.flush()
            for key in keys:
                self.store_.put(key, file.fileno(), 1, {})

    def find(self, path: bytes) -> Found:
        self.asked["find"] += 1
        return super().find(path)

    def find_file(self, path: bytes) -> Found:
        self.asked["find"] += 1
        return super().find_file(path)

    def list(self, path: bytes) -> Iterator[Page]:
        self.asked["list"] += 1
        return super().list(path)


class Mount:
    """One after another, of the same source."""

    def __init__(self, files: FileSystem, region: Region, numbers: Iterator[int]) -> None:
        self.files, self.nodes, self._numbers = files, Nodes(region), numbers

    def caller(self) -> Caller:
        return Caller(0, 0, 1, next(self._numbers))

    async def node(self, path: str) -> int:
        node = ROOT
        for name in filter(None, path.split("/")):
            entry = await self.lookup(node, name)
            assert isinstance(entry, Entry), path
            node = entry.node
        return node

    async def lookup(self, parent: int, name: str) -> Entry | Absent:
        found: Entry | Absent = await answer(self.files.lookup(self.caller(), parent, name.encode()))
        return found

    async def names(self, path: str) -> list[str]:
        node, after, found = await self.node(path), 0, list[str]()
        while page := await answer(self.files.readdir(self.caller(), node, 0, after, 1 << 12, True)):
            found += [one.name.decode() for one in page]
            after = page[-1].after
        return found[2:]


async def answer(soon: Any) -> Any:
    return await soon if inspect.isawaitable(soon) else soon


@pytest.fixture
def source() -> Source:
    made = Source()
    made.put("a/1", "a/2", "a/b/3", "c/4")
    return made


@pytest.fixture
def run(tmp_path: Path, source: Source) -> Callable[[Callable[[Mount], Awaitable[None]]], None]:
    """One mount from its beginning to its end."""
    numbers = itertools.count(1)
    (tmp_path / "names").mkdir()

    def one(work: Callable[[Mount], Awaitable[None]], *, gate: Gate | None = None, **settings: Any) -> None:
        settings = {"attributes_hold": HOLD, "names_hold": HOLD, **settings}
        kept = (Remembered if gate is None else gate.hold)(tmp_path / "names", settings["names_hold"], changes=True)
        source.asked.clear()
        region = Region.create()

        async def serve() -> None:
            async with trio.open_nursery() as nursery:
                parts = Parts(
                    Nodes(region), Opens(region, lambda _number: False), source, Memory(1 << 20),
                    staging=Staging(tmp_path / "staging"), remembered=kept,
                )  # fmt: skip
                mount = Mount(FileSystem(nursery, parts, Settings(**settings)), region, numbers)
                with trio.fail_after(PATIENCE):
                    await work(mount)
                nursery.cancel_scope.cancel()

        try:
            trio.run(serve)
        finally:
            kept.close(well=True)
            region.close()

    return one


Run = Callable[..., None]


class Gate:
    """Pages of earlier listings wait until they are let go."""

    def __init__(self) -> None:
        self.reached, self.open = threading.Event(), threading.Event()

    def hold(self, *given: Any, **more: Any) -> Remembered:
        gate = self

        class Held(Remembered):
            def page(self, row: Row, number: int) -> Page:
                gate.reached.set()
                assert gate.open.wait(PATIENCE)
                return super().page(row, number)

        return Held(*given, **more)

    async def behind(self, mount: Mount, path: str) -> int:
        """The folder, whose pages wait from now on."""
        self.open.set()
        node = await mount.node(path)
        self.open.clear()
        self.reached.clear()
        return node

    async def until_reached(self) -> None:
        assert await trio.to_thread.run_sync(self.reached.wait, PATIENCE)


async def lists_all(mount: Mount) -> None:
    assert await mount.names("") == ["a", "c"]
    assert await mount.names("a") == ["b", "1", "2"]


def test_the_next_mount_lists_and_looks_up_without_asking(run: Run, source: Source) -> None:
    run(lists_all)
    assert source.asked["list"] == 2
    run(lists_all)
    assert not source.asked

    async def looks_up(mount: Mount) -> None:
        assert isinstance(await mount.lookup(await mount.node("a"), "1"), Entry)
        assert isinstance(await mount.lookup(await mount.node("a"), "none"), Absent)
        assert not source.asked
        assert isinstance(await mount.lookup(await mount.node("c"), "4"), Entry)
        assert source.asked == {"find": 1}, "nobody listed it"

    run(looks_up)


def test_many_at_once_wait_for_one_recall(run: Run, source: Source) -> None:
    run(lists_all)

    async def all_at_once(mount: Mount) -> None:
        node = await mount.node("a")
        async with trio.open_nursery() as nursery:
            for name in ("1", "2", "b", "none") * 3:
                nursery.start_soon(mount.lookup, node, name)
            nursery.start_soon(mount.names, "a")
        assert not source.asked

    run(all_at_once)


@pytest.mark.parametrize("names_hold", [HOLD, 0.0])
def test_what_is_believed_no_more_is_asked_anew(run: Run, source: Source, names_hold: float) -> None:
    run(lists_all)
    source.put("a/new")

    async def lists(mount: Mount) -> None:
        assert ("new" in await mount.names("a")) == (names_hold == 0)

    run(lists, names_hold=names_hold)
    assert bool(source.asked["list"]) == (names_hold == 0)


def test_attributes_that_hold_no_more_are_asked_anew_and_names_are_not(run: Run, source: Source) -> None:
    run(lists_all)

    async def looks(mount: Mount) -> None:
        assert await mount.names("a") == ["b", "1", "2"]
        assert not source.asked["list"]
        before = source.asked["find"]
        await mount.lookup(await mount.node("a"), "1")
        assert source.asked["find"] > before

    run(looks, attributes_hold=0.0)


def test_what_is_changed_here_is_seen_by_the_next_mount(run: Run, source: Source) -> None:
    run(lists_all)

    async def changes(mount: Mount) -> None:
        node = await mount.node("a")
        await answer(mount.files.unlink(mount.caller(), node, b"1"))
        await answer(mount.files.mkdir(mount.caller(), node, b"new", 0o755))
        assert sorted(await mount.names("a")) == ["2", "b", "new"], "and by this one"
        await answer(mount.files.rename(mount.caller(), (node, b"b"), (ROOT, b"moved"), 0))

    async def looks(mount: Mount) -> None:
        assert sorted(await mount.names("a")) == ["2", "new"]
        assert sorted(await mount.names("")) == ["a", "c", "moved"]
        assert await mount.names("moved") == ["3"]

    run(changes)
    run(looks)
    run(looks)
    assert not source.asked


def test_what_others_changed_is_known_to_the_next_mount_when_this_one_saw_it(run: Run, source: Source) -> None:
    run(lists_all)
    source.put("a/1")
    source.store_.delete(["a/2"])

    async def opens(mount: Mount) -> None:
        node = await mount.node("a")
        entry = await mount.lookup(node, "1")
        assert isinstance(entry, Entry)
        assert isinstance(await mount.lookup(node, "2"), Entry)
        with pytest.raises(OSError, match="gone"):
            await answer(mount.files.open(mount.caller(), entry.node, os.O_RDONLY))

    async def looks(mount: Mount) -> None:
        assert await mount.names("a") == ["b", "1"]

    run(opens)
    run(looks)
    assert source.asked["list"] == 1


def test_of_a_large_folder_one_name_is_asked_for_while_the_others_come(
    run: Run, source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(lists_all)
    monkeypatch.setattr(recalls, "_FEW", 2)
    source.store_.delete(["a/1"])
    gate = Gate()

    async def looks(mount: Mount) -> None:
        node = await gate.behind(mount, "a")
        assert isinstance(await mount.lookup(node, "2"), Entry)
        assert isinstance(await mount.lookup(node, "1"), Absent)
        assert source.asked["find"] == 2
        await gate.until_reached()
        gate.open.set()
        assert sorted(await mount.names("a")) == ["2", "b"], "what was told to be gone does not come back"
        assert not source.asked["list"]

    run(looks, gate=gate)


def test_who_changes_a_folder_while_it_is_recalled_sees_that(run: Run) -> None:
    run(lists_all)
    gate = Gate()

    async def looks(mount: Mount) -> None:
        node = await gate.behind(mount, "a")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(mount.names, "a")
            await gate.until_reached()
            await answer(mount.files.unlink(mount.caller(), node, b"1"))
            gate.open.set()
        assert sorted(await mount.names("a")) == ["2", "b"]

    run(looks, gate=gate)


def test_a_recall_that_breaks_off_is_made_good_by_the_source(run: Run, source: Source, tmp_path: Path) -> None:
    source.put(*(f"many/{number:05}" for number in range(3000)))
    source.put(*(f"many/z{number:05}" for number in range(10)))

    async def lists(mount: Mount) -> None:
        assert len(await mount.names("many")) == 3010

    run(lists)
    with closing(sqlite3.connect(tmp_path / "names" / NAMES, isolation_level=None)) as other:
        other.execute("UPDATE pages SET body = X'00' WHERE number = 2")
    source.store_.delete(["many/00000", "many/00500"])

    async def lists_again(mount: Mount) -> None:
        await mount.names("many")
        found = await mount.names("many")
        assert len(found) == len(set(found)) == 3008
        assert source.asked["list"] == 1

    run(lists_again)


def test_who_warms_names_asks_the_source(run: Run, source: Source) -> None:
    run(lists_all)
    source.put("a/new")

    async def warms(mount: Mount) -> None:
        async for told in mount.files.warm(data=False, at_once=10).run([b""]):
            last = told
        assert last["failed"] == 0
        assert source.asked["list"] == 4
        assert await mount.names("a") == ["b", "1", "2", "new"]

    run(warms)


@pytest.mark.parametrize("path", ["", "a"])
def test_what_is_cleared_is_asked_for_anew(run: Run, source: Source, path: str) -> None:
    run(lists_all)
    source.put("a/new")

    async def clears(mount: Mount) -> None:
        assert "new" not in await mount.names("a")
        await mount.files.clear([path.encode()] if path else [])
        assert "new" in await mount.names("a")
        assert source.asked["list"] == 1

    run(clears)
