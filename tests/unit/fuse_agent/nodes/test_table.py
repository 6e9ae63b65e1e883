# SPDX-License-Identifier: Apache-2.0
"""The table of nodes: what it answers, what it forgets, and what a killed writer leaves."""

from __future__ import annotations

import itertools
import os
import stat
import sys
from types import FrameType
from typing import Any

import pytest
from paddleflow_fuse.nodes.records import LOOKUPS, ROOT, WORDS, Known, StaleError, number
from paddleflow_fuse.nodes.region import LAYOUT, VERSION, LayoutError, Region
from paddleflow_fuse.nodes.table import Nodes

FILE = Known(stat.S_IFREG | 0o644, uid=5, gid=6, size=10, number=77, mtime=-1, ctime=2, atime=3, holds=4, name_holds=5)
FOLDER = Known(stat.S_IFDIR | 0o755, number=78)


@pytest.fixture
def nodes(region: Region) -> Nodes:
    return Nodes(region)


def names(nodes: Nodes, node: int = ROOT) -> list[bytes]:
    return [child.name for child in nodes.children(node)]


def test_a_name_means_the_node_that_was_added_for_it(nodes: Nodes) -> None:
    folder = nodes.add(ROOT, b"train", FOLDER)
    node = nodes.add(folder, b"\xff 1.jpg", FILE, b'"etag"')
    assert nodes.find(ROOT, b"train") == folder
    assert nodes.find(folder, b"\xff 1.jpg") == node
    assert nodes.find(ROOT, b"\xff 1.jpg") == 0
    assert (nodes.name(node), nodes.parent(node), nodes.parent(folder)) == (b"\xff 1.jpg", folder, ROOT)
    assert nodes.path(node) == [b"train", b"\xff 1.jpg"]
    assert nodes.known(node) == FILE
    assert nodes.version(node) == b'"etag"'
    assert len(nodes) == 3


def test_the_root_is_there_from_the_start(nodes: Nodes) -> None:
    assert (nodes.parent(ROOT), nodes.path(ROOT)) == (0, [])
    nodes.set(ROOT, FOLDER)
    assert nodes.known(ROOT).mode == FOLDER.mode


def test_a_name_that_means_another_version_gets_another_node(nodes: Nodes) -> None:
    old = nodes.add(ROOT, b"a", FILE, b"1")
    nodes.looked_up(old)
    new = nodes.add(ROOT, b"a", FILE._replace(size=11), b"2")
    assert nodes.find(ROOT, b"a") == new != old
    # Who holds the old one goes on with it.
    assert (nodes.version(old), nodes.known(old).size) == (b"1", 10)
    assert nodes.parent(old) == 0
    with pytest.raises(StaleError):
        nodes.path(old)
    nodes.forget(old, 1)
    assert old not in nodes
    assert names(nodes) == [b"a"]


def test_no_number_is_given_twice(nodes: Nodes) -> None:
    given = []
    for _round in range(100):
        given.append(nodes.add(ROOT, b"a", FILE))
        nodes.unname(given[-1])
    assert len(set(given)) == 100
    assert nodes.region.resident < 1 << 16  # the same slot each time
    with pytest.raises(StaleError):
        nodes.known(given[0])


def test_a_node_goes_when_neither_a_name_nor_anybody_holds_it(nodes: Nodes) -> None:
    node = nodes.add(ROOT, b"a", FILE)
    nodes.looked_up(node)
    nodes.looked_up(node)
    nodes.pin(node)
    nodes.unname(node)
    nodes.forget(node, 2)
    assert node in nodes
    nodes.unpin(node)
    assert node not in nodes
    nodes.forget(node, 1)  # is no harm
    assert len(nodes) == 1


def test_a_node_may_be_looked_up_more_often_than_is_counted(region: Region, nodes: Nodes) -> None:
    """As a folder that the kernel holds for no time, by each path that leads through it."""
    node = nodes.add(ROOT, b"a", FILE)
    region.words[(node & 0xFFFFFFFF) * WORDS + LOOKUPS] = 2**32 - 2
    for _time in range(3):
        nodes.looked_up(node)
    nodes.unname(node)
    nodes.forget(node, 2**32 + 1)
    assert node not in nodes


def test_what_has_a_name_is_kept_for_its_own_sake(nodes: Nodes) -> None:
    node = nodes.add(ROOT, b"a", FILE)
    nodes.looked_up(node)
    nodes.forget(node, 1)
    assert nodes.find(ROOT, b"a") == node


def test_attributes_change_and_kind_and_number_do_not(nodes: Nodes) -> None:
    node = nodes.add(ROOT, b"a", FILE, b"1")
    nodes.set(node, FILE._replace(size=99, number=1, mode=stat.S_IFREG | 0o600))
    nodes.set_version(node, b"a much longer version than before")
    assert nodes.known(node) == FILE._replace(size=99, mode=stat.S_IFREG | 0o600)
    assert nodes.version(node) == b"a much longer version than before"
    with pytest.raises(ValueError, match="another kind"):
        nodes.set(node, FOLDER)
    with pytest.raises(NotADirectoryError):
        nodes.add(node, b"below a file", FILE)


def test_a_name_that_means_something_else_keeps_its_place_in_a_listing(nodes: Nodes) -> None:
    first, last = (nodes.add(ROOT, name, FILE, b"1") for name in (b"first", b"last"))
    before = list(nodes.children(ROOT))
    nodes.looked_up(first)
    others = [nodes.add(ROOT, name, FILE, b"2") for name in (b"first", b"last")]
    after = list(nodes.children(ROOT))
    assert [one._replace(node=0) for one in after] == [one._replace(node=0) for one in before]
    assert [one.node for one in after] == others
    assert nodes.count(ROOT) == 2
    assert (first in nodes, last in nodes) == (True, False)


def test_a_rename_takes_along_what_is_below_and_replaces_what_is_there(nodes: Nodes) -> None:
    folder = nodes.add(ROOT, b"old", FOLDER)
    below = nodes.add(folder, b"a", FILE)
    other = nodes.add(ROOT, b"other", FOLDER)
    there = nodes.add(other, b"new", FILE)
    nodes.looked_up(there)
    nodes.rename(folder, other, b"new")
    assert nodes.path(below) == [b"other", b"new", b"a"]
    assert (nodes.find(ROOT, b"old"), nodes.find(other, b"new")) == (0, folder)
    assert nodes.parent(there) == 0
    nodes.rename(folder, other, b"new")  # to itself
    assert (names(nodes), names(nodes, other)) == ([b"other"], [b"new"])


def test_a_listing_by_pages_takes_no_longer_for_each_name_when_there_are_many(nodes: Nodes) -> None:
    def steps(folder: int, count: int) -> float:
        """Lines that are run for each, which no machine does slower."""
        run = 0

        def trace(_frame: FrameType, event: str, _given: Any) -> Any:
            nonlocal run
            run += event == "line"
            return trace

        before, after, found = sys.gettrace(), 0, 0
        sys.settrace(trace)
        try:
            while page := list(itertools.islice(nodes.children(folder, after), 20)):
                found += len(page[:-1]) or 1
                after = page[-2].order if len(page) > 1 else page[-1].order  # as whoever had no room for the last
        finally:
            sys.settrace(before)
        assert found == count
        return run / count

    few, many = nodes.add(ROOT, b"few", FOLDER), nodes.add(ROOT, b"many", FOLDER)
    for folder, count in ((few, 500), (many, 16_000)):
        for index in range(count):
            nodes.add(folder, b"%d" % index, FILE)
    assert steps(many, 16_000) < 1.5 * steps(few, 500)


def test_children_come_in_order_from_any_place(nodes: Nodes) -> None:
    all_ = [b"%d" % index for index in range(10)]
    for name in all_:
        nodes.add(ROOT, name, FILE)
    listed = list(nodes.children(ROOT))
    assert [child.name for child in listed] == all_
    for index, child in enumerate(listed):
        assert [one.name for one in nodes.children(ROOT, child.order, child.node)] == all_[index + 1 :]
        assert [one.name for one in nodes.children(ROOT, child.order)] == all_[index + 1 :]
    nodes.unname(listed[4].node)
    assert [one.name for one in nodes.children(ROOT, listed[4].order, listed[4].node)] == all_[5:]
    assert nodes.count(ROOT) == 9


def test_a_listing_goes_on_while_names_come_and_go(nodes: Nodes) -> None:
    """Each name that was there all the time comes once."""
    for index in range(6):
        nodes.add(ROOT, b"%d" % index, FILE)
    after, near, found = 0, 0, []
    while True:
        child = next(nodes.children(ROOT, after, near), None)
        if child is None:
            break
        found.append(child.name)
        after, near = child.order, child.node
        if child.name == b"1":
            nodes.unname(child.node)
            nodes.add(ROOT, b"again", FILE)  # takes the slot of the one that went
    assert found == [b"0", b"1", b"2", b"3", b"4", b"5", b"again"]


def test_a_listing_that_loses_its_place_ends_early(nodes: Nodes) -> None:
    first = nodes.add(ROOT, b"0", FILE)
    nodes.add(ROOT, b"1", FILE)
    children = nodes.children(ROOT)
    next(children)
    nodes.unname(first)
    assert list(children) == []


def test_what_a_whole_listing_did_not_name_is_told_apart(nodes: Nodes) -> None:
    old = [nodes.add(ROOT, name, FILE) for name in (b"stays", b"goes")]
    listing = nodes.begin_listing()
    nodes.seen(old[0], listing)
    assert [nodes.was_seen(node, listing) for node in old] == [True, False]
    assert nodes.complete_until(ROOT) == 0
    nodes.complete(ROOT, 10)
    assert nodes.complete_until(ROOT) == 10


def test_names_that_nobody_holds_make_room_and_those_in_use_come_last(region: Region) -> None:
    nodes = Nodes(region, most=50)
    folder = nodes.add(ROOT, b"folder", FOLDER)
    nodes.complete(folder, 10)
    held = nodes.add(folder, b"held", FILE)
    nodes.looked_up(held)
    often = nodes.add(folder, b"often", FILE)
    for index in range(1000):
        nodes.add(folder, b"%d" % index, FILE)
        assert nodes.find(folder, b"often") == often
    assert len(nodes) <= 52
    assert held in nodes
    assert nodes.complete_until(folder) == 0


def test_no_name_of_a_folder_goes_while_that_is_listed(region: Region) -> None:
    nodes = Nodes(region, most=50)
    folder, other = (nodes.add(ROOT, name, FOLDER) for name in (b"folder", b"other"))
    for one in (folder, other):
        nodes.looked_up(one)
    with nodes.keeping(folder), nodes.keeping(folder):
        with nodes.keeping(folder):
            pass
        for index in range(200):
            nodes.add(folder, b"%d" % index, FILE)
            nodes.add(other, b"%d" % index, FILE)
        nodes.complete(folder, 10)
    assert all(nodes.find(folder, b"%d" % index) for index in range(200))
    assert len(nodes) < 300
    assert nodes.complete_until(folder) == 10
    for index in range(1000):
        nodes.add(other, b"new%d" % index, FILE)
    assert len(nodes) <= 53
    assert nodes.complete_until(folder) == 0


def test_the_table_grows_when_the_kernel_holds_all(region: Region) -> None:
    nodes = Nodes(region, most=50)
    for index in range(200):
        nodes.looked_up(nodes.add(ROOT, b"%d" % index, FILE))
    assert len(nodes) == 201


def test_what_was_below_a_folder_that_is_no_more_goes_too(region: Region) -> None:
    nodes = Nodes(region)
    folder = nodes.add(ROOT, b"folder", FOLDER)
    deep = nodes.add(folder, b"deep", FOLDER)
    held = nodes.add(deep, b"held", FILE)
    nodes.looked_up(held)
    for index in range(100):
        nodes.add(deep, b"%d" % index, FILE)
    nodes.unname(folder)
    assert folder not in nodes
    for index in range(20):
        nodes.add(ROOT, b"%d" % index, FILE)
    assert len(nodes) == 22  # the root, these, and the one that is held
    with pytest.raises(StaleError):
        nodes.path(held)


def test_many_names_are_all_found_and_cost_little(nodes: Nodes) -> None:
    count = 20_000
    empty = nodes.region.resident
    for index in range(count):
        nodes.add(ROOT, b"train_%08d.jpg" % index, FILE, b'"%032x"' % index)
    assert (nodes.region.resident - empty) / count < 250
    assert all(nodes.find(ROOT, b"train_%08d.jpg" % index) for index in range(0, count, 7))
    assert nodes.find(ROOT, b"train_%08d.jpg" % count) == 0


def test_numbers_for_users_depend_on_the_path_alone() -> None:
    assert number(1, b"a") == number(1, b"a")
    assert len({number(1, b"a"), number(1, b"b"), number(2, b"a")}) == 3
    assert 0 <= number(2**63 - 1, b"x" * 255) < 2**63


def test_another_process_goes_on_with_the_same_memory(region: Region) -> None:
    node = Nodes(region).add(ROOT, b"a", FILE, b"1")
    adopted = Region.adopt(os.dup(region.descriptor))
    nodes = Nodes(adopted)
    assert (nodes.find(ROOT, b"a"), nodes.version(node), len(nodes)) == (node, b"1", 2)
    adopted.close()


def test_memory_of_another_release_is_refused(region: Region) -> None:
    region.counters[VERSION] = LAYOUT + 1
    with pytest.raises(LayoutError, match=f"has layout {LAYOUT + 1}, but this release reads {LAYOUT}"):
        Region.adopt(region.descriptor)
    other = os.memfd_create("other")
    with pytest.raises(LayoutError, match="no table of nodes"):
        Region.adopt(other)
    os.close(other)


def test_names_and_versions_have_a_length(nodes: Nodes) -> None:
    with pytest.raises(ValueError, match="5000 bytes, but a name or version has at most 4095"):
        nodes.add(ROOT, b"a", FILE, b"v" * 5000)


def test_what_is_moved_is_found_where_it_is_and_not_where_it_was(region: Region) -> None:
    nodes = Nodes(region)
    folder = nodes.add(ROOT, b"folder", FOLDER)
    node = nodes.add(folder, b"file", FILE)
    assert nodes.last_path(node) == b"folder/file"
    nodes.looked_up(node)
    nodes.pin(node)
    nodes.unname(node)
    assert nodes.last_path(node) == b"folder/file"
    with pytest.raises(StaleError):
        nodes.path(node)
    nodes.rename(node, ROOT, b"again")
    assert (nodes.last_path(node), nodes.path(node)) == (b"again", [b"again"])
    nodes.unpin(node)
    nodes.unname(node)  # the kernel holds it, but nobody reads it
    with pytest.raises(StaleError):
        nodes.last_path(node)


def test_a_path_that_is_too_long_to_be_kept_goes_with_its_name(region: Region) -> None:
    """Folders may lie in one another without end."""
    nodes, folder = Nodes(region), ROOT
    for _depth in range(16):
        folder = nodes.add(folder, b"n" * 255, FOLDER)
    node = nodes.add(folder, b"file", FILE)
    nodes.looked_up(node)
    nodes.pin(node)
    nodes.unname(node)
    for table in (nodes, Nodes(region)):
        with pytest.raises(StaleError):
            table.last_path(node)
