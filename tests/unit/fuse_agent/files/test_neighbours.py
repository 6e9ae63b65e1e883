# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import stat

import pytest
from paddleflow_fuse.files.read.neighbours import MOST, Neighbours
from paddleflow_fuse.nodes.records import ROOT, Known
from paddleflow_fuse.nodes.region import Region
from paddleflow_fuse.nodes.table import Nodes

FILE = Known(stat.S_IFREG | 0o644, size=1)


class Folder:
    """A hundred times two files, of which as many are here as were named."""

    def __init__(self, region: Region) -> None:
        table = Nodes(region)
        self.nodes = [table.add(ROOT, b"%03d" % index, FILE) for index in range(200)]
        self.neighbours = Neighbours(table)
        self.here: set[int] = set()

    def open(self, index: int) -> list[int]:
        found = [self.nodes.index(node) for node in self.neighbours.after(self.nodes[index], index not in self.here)]
        self.here.update(found, [index])
        return found


@pytest.fixture
def folder(region: Region) -> Folder:
    return Folder(region)


def test_who_opens_in_order_finds_the_next_ones_fetched(folder: Folder) -> None:
    misses = []
    for index in range(200):
        if index not in folder.here:
            misses.append(index)
        folder.open(index)
    assert misses == [0, 1]


def test_more_are_fetched_the_longer_it_goes_on_and_never_too_many(folder: Folder) -> None:
    ahead = []
    for index in range(150):
        folder.open(index)
        ahead.append(max(folder.here) - index)
    assert ahead[2] < ahead[20] < ahead[60]
    assert max(ahead) <= 2 * MOST


def test_each_is_named_once(folder: Folder) -> None:
    named = [one for index in range(200) for one in folder.open(index)]
    assert len(named) == len(set(named))


def test_nothing_is_fetched_for_who_opens_without_order(folder: Folder) -> None:
    assert [folder.open(index) for index in (150, 10, 80, 3, 120, 40)] == [[]] * 6


def test_readers_that_share_a_folder_leave_some_out(folder: Folder) -> None:
    misses = []
    for index in range(0, 200, 2):
        if index not in folder.here:
            misses.append(index)
        folder.open(index)
    assert misses == [0, 2]


def test_nothing_is_fetched_where_all_is_here(folder: Folder) -> None:
    folder.here.update(range(200))
    assert all(folder.open(index) == [] for index in range(200))
