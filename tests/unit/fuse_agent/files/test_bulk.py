# SPDX-License-Identifier: Apache-2.0
"""When a name is believed to be nobody's without asking, and what listing its folder for that may take."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trio
from paddleflow_fuse.cache.memory import Memory
from paddleflow_fuse.files import view
from paddleflow_fuse.files.known.bulk import LEAST, Bulk
from paddleflow_fuse.files.system import FileSystem, Parts
from paddleflow_fuse.files.view import Settings
from paddleflow_fuse.files.written.staging import Staging
from paddleflow_fuse.nodes.records import ROOT
from paddleflow_fuse.nodes.region import Region
from paddleflow_fuse.nodes.table import Nodes
from paddleflow_fuse.opens import Opens
from paddleflow_fuse.operations import Caller
from paddleflow_fuse.sources.base import Found, Kind, Listed, Page
from paddleflow_fuse.sources.memory import MemoryStore
from paddleflow_fuse.sources.objects import ObjectSource

HOLD = 5
WHO = Caller(0, 0, 1, 2)
ALONE = os.O_WRONLY | os.O_CREAT | os.O_EXCL


class Case:
    def __init__(self, nodes: Nodes, monkeypatch: pytest.MonkeyPatch) -> None:
        self.nodes, self.now, self.learned = nodes, 1000 * view.SECOND, list[int]()
        self.bulk = Bulk(nodes, Settings(names_hold=HOLD), lambda _folder, pages: self.learned.append(pages))
        monkeypatch.setattr(view, "now", lambda: self.now)

    def know(self, seconds: int = HOLD) -> None:
        self.nodes.complete(ROOT, self.now // view.SECOND + seconds)

    def make(self, count: int) -> None:
        for _one in range(count):
            self.bulk.made(ROOT)

    def is_free(self) -> bool:
        return self.bulk.is_free(ROOT, b"name")


@pytest.fixture
def case(region: Region, monkeypatch: pytest.MonkeyPatch) -> Case:
    return Case(Nodes(region), monkeypatch)


def test_a_name_is_believed_to_be_free_in_bulk_alone(case: Case) -> None:
    case.know()
    case.make(LEAST - 1)
    assert not case.is_free()
    case.make(1)
    assert case.is_free()
    case.nodes.add(ROOT, b"name", view.known(Found(Kind.FILE), 1, Settings(), case.now))
    assert not case.is_free()


def test_only_as_long_as_all_names_are_known_and_the_row_is_not_over(case: Case) -> None:
    case.make(LEAST)
    assert not case.is_free()
    case.know(3)
    assert case.is_free()
    case.now += 3 * view.SECOND
    assert not case.is_free()
    case.know()
    assert case.is_free()
    case.now += 2 * view.SECOND
    assert not case.is_free()
    case.make(1)
    assert not case.is_free()


def test_where_others_made_one_it_is_asked_each_time(case: Case) -> None:
    case.know()
    case.make(LEAST)
    case.bulk.contested(ROOT)
    assert case.nodes.complete_until(ROOT) == 0
    case.know()
    assert not case.is_free()
    case.nodes.complete(ROOT, 0)
    case.make(100 * LEAST)
    assert case.learned == []


def test_a_folder_is_listed_the_further_the_more_files_were_made(case: Case) -> None:
    case.make(1024)
    assert case.learned == [1, 1, 2, 8, 32]  # for 4, 16, 64, 256 and 1024
    case.now += HOLD * view.SECOND
    case.know()
    case.make(1024)
    assert len(case.learned) == 5, "all of it is known"


class Paged(ObjectSource):
    """A folder of many pages.

    :ivar told: pages that were asked for
    """

    def __init__(self, pages: int) -> None:
        super().__init__(MemoryStore(), "")
        self.pages, self.told = pages, 0

    def list(self, _path: bytes) -> Iterator[Page]:
        for number in range(self.pages):
            self.told += 1
            yield Page([Listed(b"there%d" % number, Found(Kind.FILE, 1, 1, b"v"))])


async def answer(soon: Any) -> Any:
    return await soon if inspect.isawaitable(soon) else soon


@pytest.mark.parametrize("reads", [False, True])
def test_a_listing_that_nobody_waits_for_is_given_up(tmp_path: Path, region: Region, reads: bool) -> None:
    source = Paged(50)

    async def make() -> None:
        async with trio.open_nursery() as nursery:
            parts = Parts(
                Nodes(region), Opens(region, lambda _n: False), source, Memory(1 << 20), None, Staging(tmp_path)
            )
            files = FileSystem(nursery, parts, Settings(names_hold=3600))
            for number in range(LEAST):
                entry, handle = await answer(files.create(WHO, ROOT, b"%d" % number, 0o644, ALONE))
                await answer(files.release(WHO, entry.node, handle.number))
            if reads:
                listed, after = [], 0
                while page := await answer(files.readdir(WHO, ROOT, 0, after, 4096, False)):
                    listed += [one.name for one in page]
                    after = page[-1].after
                assert {b"there%d" % number for number in range(50)} < set(listed)

    trio.run(make)
    # Who reads goes on with it, or begins anew where it was given up before he came.
    assert source.told in ({50, 52} if reads else {2})
    assert bool(Nodes(region).complete_until(ROOT)) is reads
