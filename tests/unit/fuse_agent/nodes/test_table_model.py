# SPDX-License-Identifier: Apache-2.0
"""The table against a dictionary, with writers that are killed anywhere."""

from __future__ import annotations

import contextlib
import os
import stat
from collections import Counter

import hypothesis
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from paddleflow_fuse.nodes import region as layout
from paddleflow_fuse.nodes.records import ROOT, Known, StaleError
from paddleflow_fuse.nodes.region import Region
from paddleflow_fuse.nodes.table import Nodes

from tests.support.mortal import KilledError, Life, mortal

FILE, FOLDER = Known(stat.S_IFREG | 0o644, size=1), Known(stat.S_IFDIR | 0o755)
NAMES = st.sampled_from([b"a", b"b", b"c" * 16, b"d" * 17, b"e" * 255])
VERSIONS = st.sampled_from([b"", b"1", b"2" * 40])


class Tree(RuleBasedStateMachine):
    """Folders and files are added, renamed, removed, held and forgotten; now and then the writer dies in the middle of it."""

    def __init__(self) -> None:
        super().__init__()
        self.life = Life()
        self.region = Region.create()
        self.nodes = Nodes(mortal(self.region, self.life))
        self.lookups: Counter[int] = Counter()
        self.tree: dict[tuple[int, bytes], int] = {}
        self.versions: dict[int, bytes] = {}
        self.kinds: dict[int, Known] = {ROOT: FOLDER}
        self.before: set[int] = set()

    def teardown(self) -> None:
        self.region.close()

    def folders(self) -> list[int]:
        return [ROOT, *sorted(node for node in self.kinds if self.is_reached(node) and self.kinds[node] is FOLDER)]

    def is_reached(self, node: int) -> bool:
        return node in self.tree.values()

    def _unname(self, node: int) -> None:
        self.tree = {place: one for place, one in self.tree.items() if one != node}
        if not self.lookups[node]:
            for (folder, _name), child in list(self.tree.items()):
                if folder == node:
                    self._unname(child)

    @rule(data=st.data(), name=NAMES, kind=st.sampled_from([FILE, FOLDER]), version=VERSIONS, holds=st.booleans())
    def add(self, data: st.DataObject, name: bytes, kind: Known, version: bytes, holds: bool) -> None:
        folder = data.draw(st.sampled_from(self.folders()))
        node = self.nodes.add(folder, name, kind, version)
        assert node not in self.before, "a number was given twice"
        self.before.add(node)
        if before := self.tree.get((folder, name)):
            self._unname(before)
        self.tree[folder, name] = node
        self.kinds[node], self.versions[node] = kind, b"" if kind is FOLDER else version
        if holds:
            self.nodes.looked_up(node)
            self.lookups[node] += 1

    @rule(data=st.data(), name=NAMES)
    def rename(self, data: st.DataObject, name: bytes) -> None:
        files = sorted(node for node in self.tree.values() if self.kinds[node] is FILE)
        if not files:
            return
        node, folder = data.draw(st.sampled_from(files)), data.draw(st.sampled_from(self.folders()))
        self.nodes.rename(node, folder, name)
        if self.tree.get((folder, name)) != node:
            if before := self.tree.get((folder, name)):
                self._unname(before)
            self.tree = {place: one for place, one in self.tree.items() if one != node}
            self.tree[folder, name] = node

    @rule(data=st.data())
    def unname(self, data: st.DataObject) -> None:
        if self.tree:
            node = data.draw(st.sampled_from(sorted(self.tree.values())))
            self.nodes.unname(node)
            self._unname(node)

    @rule(data=st.data(), version=VERSIONS)
    def change(self, data: st.DataObject, version: bytes) -> None:
        files = sorted(node for node in self.tree.values() if self.kinds[node] is FILE)
        if files:
            node = data.draw(st.sampled_from(files))
            self.nodes.set_version(node, version)
            self.versions[node] = version

    @rule(data=st.data())
    def forget(self, data: st.DataObject) -> None:
        if held := sorted(node for node, times in self.lookups.items() if times):
            node = data.draw(st.sampled_from(held))
            self.nodes.forget(node, 1)
            self.lookups[node] -= 1
            if not self.is_reached(node):
                for (folder, _name), child in list(self.tree.items()):
                    if folder == node:
                        self._unname(child)

    @rule(data=st.data(), writes=st.integers(0, 40))
    def killed(self, data: st.DataObject, writes: int) -> None:
        """In the middle of an add, a rename or a removal, of which either all or nothing is found, or the name is gone."""
        folder = data.draw(st.sampled_from(self.folders()))
        name = data.draw(NAMES)
        there = self.tree.get((folder, name), 0)
        self.life.doom(writes)
        renamed = 0
        files = sorted(node for node in self.tree.values() if self.kinds[node] is FILE)
        act = data.draw(st.sampled_from(["add", "unname", "rename"]))
        try:
            if act == "add":
                self.nodes.add(folder, name, FILE, b"3")
            elif act == "unname" and there:
                self.nodes.unname(there)
            elif act == "rename" and files:
                renamed = data.draw(st.sampled_from(files))
                self.nodes.rename(renamed, folder, name)
        except KilledError:
            pass
        self.life.spare()
        before, self.region = self.region, Region.adopt(os.dup(self.region.descriptor))
        before.close()
        self.nodes = Nodes(mortal(self.region, self.life))
        found = self.nodes.find(folder, name)
        if renamed and renamed != there and self.nodes.parent(renamed) != self._place(renamed):
            self.tree = {place: one for place, one in self.tree.items() if one != renamed}
        if found != there:
            if there:
                self._unname(there)
            if found:
                self.tree = {place: one for place, one in self.tree.items() if one != found}
                self.tree[folder, name] = found
                self.kinds.setdefault(found, FILE)
                if found not in self.versions:
                    self.versions[found] = b"3"
                    self.before.add(found)

    def _place(self, node: int) -> int:
        return next((folder for (folder, _name), one in self.tree.items() if one == node), 0)

    @invariant()
    def every_name_means_its_node(self) -> None:
        for (folder, name), node in self.tree.items():
            assert self.nodes.find(folder, name) == node
            assert (self.nodes.name(node), self.nodes.parent(node)) == (name, folder)
            assert self.nodes.version(node) == self.versions[node]

    @invariant()
    def folders_list_what_they_hold(self) -> None:
        for folder in self.folders():
            listed = list(self.nodes.children(folder))
            assert len(listed) == len({child.name for child in listed}) == self.nodes.count(folder)
            assert {child.name: child.node for child in listed} == {
                name: node for (above, name), node in self.tree.items() if above == folder
            }
            assert [child.order for child in listed] == sorted(child.order for child in listed)

    @invariant()
    def who_is_held_is_there(self) -> None:
        assert all(node in self.nodes for node, times in self.lookups.items() if times)

    @invariant()
    def nothing_lies_over_another(self) -> None:
        """Nor is anything lost: what is used and what is free is all that was ever given out."""
        counters, nodes = self.region.counters, self.nodes
        slots = range(
            1, counters[layout.TOP]
        )  # those that are free hold nothing; those that go little by little still do
        used = sorted(piece for slot in slots for piece in nodes._records.texts(slot))
        ends = [place + -(-length // layout.UNIT) for place, length in used]
        assert all(end <= place for end, (place, _length) in zip(ends, used[1:], strict=False))
        assert sum(-(-length // layout.UNIT) for _place, length in used) == counters[layout.UNITS]


Tree.TestCase.settings = hypothesis.settings(max_examples=60, stateful_step_count=40, deadline=None)
test_tree = Tree.TestCase


@pytest.mark.parametrize("writes", range(0, 120, 7))
def test_a_writer_killed_while_it_adds_leaves_a_table_that_works(writes: int) -> None:
    """With a hundred names there, so that buckets are split on the way."""
    life = Life()
    nodes = Nodes(mortal(Region.create(), life))
    there = {b"%d" % index: nodes.add(ROOT, b"%d" % index, FILE, b"v%d" % index) for index in range(1030)}
    life.doom(writes)
    with contextlib.suppress(KilledError):
        for index in range(10):
            there[b"more %d" % index] = 0
            there[b"more %d" % index] = nodes.add(ROOT, b"more %d" % index, FILE)
    assert life.left == 0
    again = Nodes(Region.adopt(os.dup(nodes.region.descriptor)))
    for name, node in there.items():
        assert node in (again.find(ROOT, name), 0)
    assert again.add(ROOT, b"after", FILE) not in there.values()
    for region in (nodes.region, again.region):
        region.close()


@pytest.mark.parametrize("writes", range(12))
def test_a_writer_killed_before_the_first_name_has_begun_nothing(region: Region, writes: int) -> None:
    before, life = Region.adopt(os.dup(region.descriptor)), Life()
    life.doom(writes)
    with contextlib.suppress(KilledError):
        Nodes(mortal(before, life))
    before.close()
    nodes = Nodes(region)
    assert (len(nodes), nodes.path(ROOT), list(nodes.children(ROOT))) == (1, [], [])
    assert nodes.find(ROOT, b"a") == 0
    assert nodes.find(ROOT, b"a") != nodes.add(ROOT, b"a", FILE)


@pytest.mark.parametrize("writes", range(0, 30, 2))
@pytest.mark.parametrize("how", ["unname", "add", "rename"])
def test_a_writer_killed_while_it_takes_a_name_leaves_the_path_or_none(writes: int, how: str) -> None:
    """Of what is open."""
    life = Life()
    nodes = Nodes(mortal(Region.create(), life))
    folder = nodes.add(ROOT, b"folder", FOLDER)
    node, other = nodes.add(folder, b"file", FILE), nodes.add(folder, b"other", FILE)
    nodes.looked_up(node)
    nodes.pin(node)
    life.doom(writes)
    with contextlib.suppress(KilledError):
        if how == "unname":
            nodes.unname(node)
        elif how == "add":
            nodes.add(folder, b"file", FILE)
        else:
            nodes.rename(other, folder, b"file")
    again = Nodes(Region.adopt(os.dup(nodes.region.descriptor)))
    found = set()
    with contextlib.suppress(StaleError):
        found.add(again.last_path(node))
    assert found <= {b"folder/file"}
    assert node in again
    if life.left:
        assert found
    for region in (nodes.region, again.region):
        region.close()
