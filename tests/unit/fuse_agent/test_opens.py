# SPDX-License-Identifier: Apache-2.0
"""In which way a node is opened, against the rules by which the kernel refuses."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeVar

import hypothesis
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from paddleflow_fuse.nodes.region import Region
from paddleflow_fuse.opens import Below, ClosedError, Handle, Mode, Opens, OtherwiseOpenError, decide

from tests.support.mortal import KilledError, Life, mortal

NODE = 5 << 32 | 7
Result = TypeVar("Result")


class Kernel:
    """What it remembers of files below, and refuses of opens (fs/fuse/iomode.c)."""

    def __init__(self) -> None:
        self.files: set[int] = set()
        self.last = 0
        self.open: dict[int, list[tuple[int, Mode, int]]] = {}  # by node: handle, mode, file below

    def bind(self) -> int:
        self.last += 1  # never one that was there before
        self.files.add(self.last)
        return self.last

    def unbind(self, number: int) -> bool:
        there = number in self.files
        self.files.discard(number)
        return there

    def opened(self, handle: Handle) -> None:
        there = self.open.setdefault(handle.node, [])
        if handle.mode is Mode.PASSTHROUGH:
            assert handle.backing in self.files, "EIO: there is no such file below"
            assert all(backing == handle.backing for _number, _mode, backing in there), (
                "EIO: another way, or another file"
            )
        else:
            assert all(mode is Mode.CACHED for _number, mode, _backing in there), (
                "EIO: the inode is open in passthrough"
            )
        there.append((handle.number, handle.mode, handle.backing))

    def released(self, handle: Handle) -> None:
        self.open[handle.node] = [one for one in self.open[handle.node] if one[0] != handle.number]


@pytest.fixture
def kernel() -> Kernel:
    return Kernel()


@pytest.fixture
def opens(region: Region, kernel: Kernel) -> Opens:
    return Opens(region, kernel.unbind)


def never() -> int:
    raise AssertionError("a second file below is refused by the kernel")


@pytest.mark.parametrize(
    ("now", "staged", "writes", "whole", "then"),
    [
        (Mode.CLOSED, False, False, True, Mode.PASSTHROUGH),
        (Mode.CLOSED, False, False, False, Mode.CACHED),
        (Mode.CLOSED, False, True, True, Mode.PASSTHROUGH),
        (Mode.CLOSED, False, True, False, Mode.CACHED),
        # It became whole meanwhile, but somebody reads it through the kernel's pages still.
        (Mode.CACHED, False, False, True, Mode.CACHED),
        (Mode.CACHED, False, True, True, Mode.CACHED),
        (Mode.PASSTHROUGH, False, False, True, Mode.PASSTHROUGH),
        # What is read is what is written, also by others.
        (Mode.PASSTHROUGH, True, False, False, Mode.PASSTHROUGH),
        (Mode.PASSTHROUGH, True, True, False, Mode.PASSTHROUGH),
    ],
)
def test_a_node_is_open_in_one_way_at_a_time(now: Mode, staged: bool, writes: bool, whole: bool, then: Mode) -> None:
    assert decide(now, staged, writes, whole) is then


def test_a_version_that_is_read_is_not_written_to() -> None:
    with pytest.raises(OtherwiseOpenError):
        decide(Mode.PASSTHROUGH, staged=False, writes=True, whole=True)


def test_all_who_read_share_one_file_below(opens: Opens, kernel: Kernel) -> None:
    first = opens.open(NODE, 1, bind=kernel.bind)
    second = opens.open(NODE, 2, bind=never)
    assert (first.mode, first.backing, second.backing) == (Mode.PASSTHROUGH, 1, 1)
    assert first.number != second.number
    opens.close(first.number)
    assert kernel.files == {1}
    opens.close(second.number)
    assert kernel.files == set()
    assert (opens.mode(NODE), len(opens)) == (Mode.CLOSED, 0)
    assert opens.open(NODE, 3, bind=kernel.bind).backing == 2


def test_what_is_open_cached_stays_so_until_all_have_closed_it(opens: Opens, kernel: Kernel) -> None:
    first = opens.open(NODE, 1)
    second = opens.open(NODE, 2, bind=never)  # whole by now
    assert (first.mode, second.mode, second.backing) == (Mode.CACHED, Mode.CACHED, 0)
    opens.close(first.number)
    opens.close(second.number)
    assert opens.open(NODE, 3, bind=kernel.bind).mode is Mode.PASSTHROUGH


def test_who_reads_what_is_written_is_given_the_same_stage(opens: Opens, kernel: Kernel) -> None:
    writer = opens.open(NODE, 1, writes=True, stage=9, bind=kernel.bind)
    reader = opens.open(NODE, 2, bind=never)
    assert (writer.stage, reader.stage, opens.stage(NODE), opens.writers(NODE)) == (9, 9, 9, 1)
    opens.close(writer.number)
    assert (opens.writers(NODE), opens.mode(NODE)) == (0, Mode.PASSTHROUGH)


def test_who_writes_what_others_read_is_sent_to_another_node(opens: Opens, kernel: Kernel) -> None:
    opens.open(NODE, 1, bind=kernel.bind)
    with pytest.raises(OtherwiseOpenError):
        opens.open(NODE, 2, writes=True, stage=9, bind=never)
    with pytest.raises(OtherwiseOpenError):
        opens.open(NODE, 3, stage=9, bind=never)  # nor does he read what another file has
    assert (opens.writers(NODE), len(opens), opens.stage(NODE)) == (0, 1, 0)


def test_who_reads_what_is_written_from_now_on_has_the_stage_open(region: Region, opens: Opens, kernel: Kernel) -> None:
    readers = [opens.open(NODE, request, bind=kernel.bind) for request in (1, 2)]
    other = opens.open(NODE + 1, 3, bind=kernel.bind)
    opens.share(NODE, 9)
    writer = opens.open(NODE, 4, writes=True, stage=9, bind=never)
    assert (writer.mode, writer.backing, opens.stage(NODE)) == (Mode.PASSTHROUGH, readers[0].backing, 9)
    opens.close(writer.number)
    after = Opens(region, kernel.unbind)
    assert [after.get(one.number).stage for one in (*readers, other)] == [9, 9, 0]
    assert (after.stage(NODE), after.writers(NODE)) == (9, 0)


def test_how_much_else_is_open_is_nothing_to_who_shares(
    region: Region, kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[int] = []

    class Cells:
        def __getitem__(self, cell: int) -> int:
            looked.append(cell)
            return cells[cell]

        def __setitem__(self, cell: int, value: int) -> None:
            looked.append(cell)
            cells[cell] = value

    cells = region.handles
    monkeypatch.setattr(region, "handles", Cells())
    opens = Opens(region, kernel.unbind)
    for request in range(1, 200):
        opens.open(NODE + request, request, bind=kernel.bind)
    opens.open(NODE, 200, bind=kernel.bind)
    looked.clear()
    opens.share(NODE, 9)
    assert len(looked) < 10


def test_what_lies_below_is_written_to_where_it_is_known_to_lie_below_no_other_node(
    region: Region, opens: Opens, kernel: Kernel
) -> None:
    kept, again, another = Below(b"one", object()), Below(b"one", object()), Below(b"another", object())
    assert not opens.is_alone_on(NODE, kept), "nobody has it open"
    handle = opens.open(NODE, 1, bind=kernel.bind, below=kept)
    assert opens.is_alone_on(NODE, kept)
    assert not opens.is_alone_on(NODE, again), "it was fetched again meanwhile"
    opens.open(NODE + 1, 2, bind=kernel.bind, below=another)
    opens.open(NODE + 2, 3, below=again)  # by its pages
    assert opens.is_alone_on(NODE, kept)
    second = opens.open(NODE + 3, 4, bind=kernel.bind, below=again)
    assert not opens.is_alone_on(NODE, kept)
    opens.close(second.number)
    assert opens.is_alone_on(NODE, kept)
    assert not Opens(region, kernel.unbind).is_alone_on(NODE, kept), "another worker opened it"
    opens.close(handle.number)
    assert not opens.is_alone_on(NODE, kept)


def test_what_a_worker_before_opened_may_be_anything(region: Region, kernel: Kernel) -> None:
    Opens(region, kernel.unbind).open(NODE, 1, bind=kernel.bind, below=Below(b"one", object()))
    after, kept = Opens(region, kernel.unbind), Below(b"two", object())
    after.open(NODE + 1, 2, bind=kernel.bind, below=kept)
    assert not after.is_alone_on(NODE + 1, kept)


def test_a_handle_is_closed_once(opens: Opens) -> None:
    handle = opens.open(NODE, 1)
    assert opens.close(handle.number) == handle
    assert opens.close(handle.number) is None
    again = opens.open(NODE, 2)
    assert again.number != handle.number  # in the same place
    assert opens.close(handle.number) is None
    assert opens.get(again.number) == again
    with pytest.raises(ClosedError):
        opens.get(99)


def test_a_request_that_comes_again_is_given_what_it_was_given(region: Region, opens: Opens, kernel: Kernel) -> None:
    handle = opens.open(NODE, 1, bind=kernel.bind)
    after = Opens(region, kernel.unbind)
    assert after.open(NODE, 1, bind=never) == handle
    assert len(after) == 1
    after.close(handle.number)
    assert after.open(NODE, 1, bind=kernel.bind) != handle  # the kernel counts its requests from anew some day


def test_who_takes_over_knows_what_is_open_and_gives_back_what_nobody_has(region: Region, kernel: Kernel) -> None:
    before = Opens(region, kernel.unbind)
    read = before.open(NODE, 1, bind=kernel.bind)
    written = before.open(NODE + 1, 2, writes=True, stage=4, bind=kernel.bind)
    closed = before.open(NODE + 2, 3, bind=kernel.bind)
    kernel.bind()  # the worker died before it told anybody
    after = Opens(region, kernel.unbind)
    assert set(after.nodes()) == {NODE, NODE + 1, NODE + 2}
    assert (after.get(read.number), after.get(written.number)) == (read, written)
    assert (after.stage(NODE + 1), after.writers(NODE + 1), after.mode(NODE)) == (4, 1, Mode.PASSTHROUGH)
    after.close(closed.number)
    after.reclaim()
    assert kernel.files == {read.backing, written.backing}


def test_who_takes_over_uses_places_again_and_knows_who_writes(region: Region, kernel: Kernel) -> None:
    before = Opens(region, kernel.unbind)
    closed = before.open(NODE, 1)
    before.open(NODE + 1, 2)  # reads, before somebody writes
    before.open(NODE + 1, 3, writes=True, stage=4)
    before.close(closed.number)
    after = Opens(region, kernel.unbind)
    assert after.stage(NODE + 1) == 4
    again = after.open(NODE, 5)
    assert again.number & 0xFFFFFFFF == closed.number & 0xFFFFFFFF
    assert again.number != closed.number


class Mount(RuleBasedStateMachine):
    """Anybody opens and closes anything, files become whole, and workers die anywhere: the kernel, which asks the next one again,
    never finds a reason for EIO, and keeps no file below for nobody. Memory that is mapped still when its descriptor is closed is as
    one more who has it open: the kernel tells of that close later."""

    def __init__(self) -> None:
        super().__init__()
        self.kernel = Kernel()
        self.life = Life()
        self.region = Region.create()
        self.opens = Opens(mortal(self.region, self.life), self._unbind)
        self.handles: list[Handle] = []
        self.stages: dict[int, int] = {}  # by node, while it is open
        self.whole: set[int] = set()
        self.request = 0

    def teardown(self) -> None:
        self.region.close()

    def _unbind(self, number: int) -> bool:
        self.life.write()  # between what it writes and this it may die as well
        return self.kernel.unbind(number)

    def _open(self, node: int, writes: bool, shares: bool) -> Handle:
        stage = self.request if writes else 0
        if shares and writes and self.opens.mode(node) is Mode.PASSTHROUGH and not self.opens.stage(node):
            self.opens.share(node, stage)
        bind = self.kernel.bind if node in self.whole else None
        return self.opens.open(node, self.request, writes=writes, stage=stage, bind=bind)

    def _until_done(self, act: Callable[[], Result]) -> Result:
        """By this worker, else by the next."""
        try:
            return act()
        except KilledError:
            self.is_taken_over()
            return act()

    @rule(node=st.integers(1, 3), writes=st.booleans(), shares=st.booleans(), life=st.integers(-1, 8))
    def open(self, node: int, writes: bool, shares: bool, life: int) -> None:
        self.request += 1
        self.life.doom(life)
        try:
            handle = self._until_done(lambda: self._open(node, writes, shares))
        except OtherwiseOpenError:
            assert writes
            assert not shares
            assert self.opens.mode(node) is Mode.PASSTHROUGH
            assert not self.opens.stage(node)
            return
        finally:
            self.life.spare()
        self.kernel.opened(handle)
        if not self.stages.get(node):
            self.stages[node] = self.request if writes else 0
        if handle.mode is Mode.PASSTHROUGH:  # all of them, whoever was killed over it
            self.handles = [one._replace(stage=self.stages[node]) if one.node == node else one for one in self.handles]
        self.handles.append(handle)
        assert handle.stage == self.stages[node]

    @precondition(lambda self: self.handles)
    @rule(data=st.data(), life=st.integers(-1, 4))
    def close(self, data: st.DataObject, life: int) -> None:
        handle = self.handles.pop(data.draw(st.integers(0, len(self.handles) - 1)))
        self.kernel.released(handle)
        before = self.stages[handle.node]
        self.life.doom(life)
        self._until_done(lambda: self.opens.close(handle.number))
        self.life.spare()
        if all(one.node != handle.node for one in self.handles):
            del self.stages[handle.node]
            return
        # Who was killed before he noted it leaves the next one to know of the stage for as long as anybody has the node open.
        assert self.opens.stage(handle.node) in (before, self.stages[handle.node])
        self.stages[handle.node] = self.opens.stage(handle.node)

    @rule(node=st.integers(1, 3))
    def becomes_whole(self, node: int) -> None:
        self.whole.add(node)

    @rule(node=st.integers(1, 3))
    def is_evicted(self, node: int) -> None:
        self.whole.discard(node)

    @rule()
    def is_taken_over(self) -> None:
        self.life.spare()
        before, self.region = self.region, Region.adopt(os.dup(self.region.descriptor))
        before.close()
        self.opens = Opens(mortal(self.region, self.life), self._unbind)
        self.opens.reclaim()
        for node in self.stages:  # what nobody has any more who writes to it, nobody has to know of
            self.stages[node] = next((one.stage for one in self.handles if one.node == node and one.stage), 0)

    @invariant()
    def what_is_open_is_known(self) -> None:
        assert len(self.opens) == len(self.handles)
        for handle in self.handles:
            assert self.opens.get(handle.number) == handle
            assert self.opens.stage(handle.node) == self.stages[handle.node]
            assert self.opens.writers(handle.node) == sum(one.writes for one in self.handles if one.node == handle.node)

    @invariant()
    def no_file_below_is_held_for_nobody(self) -> None:
        assert self.kernel.files == {handle.backing for handle in self.handles if handle.backing}


Mount.TestCase.settings = hypothesis.settings(max_examples=80, stateful_step_count=40, deadline=None)
test_mount = Mount.TestCase
