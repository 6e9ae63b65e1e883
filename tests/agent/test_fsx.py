# SPDX-License-Identifier: Apache-2.0
"""Operations at random, on a mount and on a plain folder: both hold the same."""

from __future__ import annotations

import errno
import itertools
import mmap
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import hypothesis
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from tests.conftest import EXTENDED
from tests.support.mounted import mounted
from tests.support.places import KINDS, opened, python
from tests.support.ranges import KEEP, PUNCH, ZERO, fallocate

PIECE = 128 << 10
# Edges of what is fetched, mapped and sent as one lie in between.
OFFSETS = st.one_of(
    st.integers(0, 3 * PIECE), st.sampled_from([0, 1, 4095, 4096, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE, 1 << 20])
)
SIZES = st.one_of(st.integers(1, 9000), st.sampled_from([1, 4096, PIECE, PIECE + 1, 2 * PIECE]))
SEEDS = st.integers(0, 250)
FILES = st.sampled_from(["a", "b"])
FLAGS = st.sampled_from([os.O_RDWR, os.O_RDWR | os.O_APPEND, os.O_RDWR | os.O_TRUNC, os.O_RDONLY])
COUNT = itertools.count()


def settings(examples: int, steps: int) -> hypothesis.settings:
    return hypothesis.settings(
        max_examples=examples * (12 if EXTENDED else 1), stateful_step_count=steps * (2 if EXTENDED else 1),
        suppress_health_check=list(hypothesis.HealthCheck),
    )  # fmt: skip


def data(seed: int, size: int) -> bytes:
    """Never the same in two places."""
    return bytes((seed + index) % 251 for index in range(251)) * (size // 251 + 1)


class Pair(NamedTuple):
    """One handle of each, which are used alike."""

    name: str
    flags: int
    ours: int
    theirs: int

    @property
    def writes(self) -> bool:
        return self.flags & os.O_ACCMODE == os.O_RDWR


class Contents(RuleBasedStateMachine):
    """Of two files, by several handles at a time."""

    root: Path
    makes_room = True

    def __init__(self) -> None:
        super().__init__()
        self.ours = self.root / str(next(COUNT))
        self.theirs = Path(tempfile.mkdtemp())
        self.ours.mkdir()
        self.handles: list[Pair] = []
        for name in ("a", "b"):
            for folder in (self.ours, self.theirs):
                (folder / name).touch()

    def teardown(self) -> None:
        try:
            for pair in self.handles:
                os.close(pair.ours)
                os.close(pair.theirs)
            self.handles = []
            assert sorted(os.listdir(self.ours)) == sorted(os.listdir(self.theirs))
            for name in os.listdir(self.theirs):
                self.compare(name)
        finally:
            for pair in self.handles:
                os.close(pair.ours)
            shutil.rmtree(self.theirs)
        shutil.rmtree(self.ours)

    def compare(self, name: str) -> None:
        expected = (self.theirs / name).read_bytes()
        assert (self.ours / name).stat().st_size == len(expected)
        assert (self.ours / name).read_bytes() == expected

    def pick(self, drawn: st.DataObject, writes: bool) -> Pair | None:
        fit = [pair for pair in self.handles if pair.writes or not writes]
        return fit[drawn.draw(st.integers(0, len(fit) - 1))] if fit else None

    @rule(name=FILES, flags=FLAGS)
    @precondition(lambda self: len(self.handles) < 5)
    def open(self, name: str, flags: int) -> None:
        if (self.theirs / name).exists():
            self.handles.append(Pair(name, flags, os.open(self.ours / name, flags), os.open(self.theirs / name, flags)))

    @rule(name=FILES)
    def make(self, name: str) -> None:
        if not (self.theirs / name).exists() and len(self.handles) < 5:
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL
            self.handles.append(Pair(name, flags, os.open(self.ours / name, flags), os.open(self.theirs / name, flags)))

    @rule(drawn=st.data())
    @precondition(lambda self: self.handles)
    def close(self, drawn: st.DataObject) -> None:
        pair = self.handles.pop(drawn.draw(st.integers(0, len(self.handles) - 1)))
        os.close(pair.ours)
        os.close(pair.theirs)

    @rule(drawn=st.data(), offset=OFFSETS, size=SIZES, seed=SEEDS)
    def write(self, drawn: st.DataObject, offset: int, size: int, seed: int) -> None:
        if pair := self.pick(drawn, writes=True):
            written = data(seed, size)[:size]
            assert os.pwrite(pair.ours, written, offset) == os.pwrite(pair.theirs, written, offset) == size

    @rule(drawn=st.data(), offset=OFFSETS, size=SIZES)
    def read(self, drawn: st.DataObject, offset: int, size: int) -> None:
        if pair := self.pick(drawn, writes=False):
            assert os.pread(pair.ours, size, offset) == os.pread(pair.theirs, size, offset)
            assert os.fstat(pair.ours).st_size == os.fstat(pair.theirs).st_size

    @rule(drawn=st.data(), size=OFFSETS)
    def truncate(self, drawn: st.DataObject, size: int) -> None:
        if pair := self.pick(drawn, writes=True):
            os.ftruncate(pair.ours, size)
            os.ftruncate(pair.theirs, size)

    @rule(name=FILES, size=OFFSETS)
    def truncate_by_name(self, name: str, size: int) -> None:
        if (self.theirs / name).exists():
            os.truncate(self.ours / name, size)
            os.truncate(self.theirs / name, size)

    @rule(drawn=st.data(), offset=OFFSETS, size=SIZES, seed=SEEDS)
    def write_to_memory(self, drawn: st.DataObject, offset: int, size: int, seed: int) -> None:
        pair = self.pick(drawn, writes=True)
        if pair is None or not (whole := os.fstat(pair.theirs).st_size):
            return
        start = offset % whole
        written = data(seed, size)[: min(size, whole - start)]
        for one in (pair.ours, pair.theirs):
            with mmap.mmap(one, whole) as memory:
                memory[start : start + len(written)] = written

    @rule(drawn=st.data())
    def read_as_memory(self, drawn: st.DataObject) -> None:
        pair = self.pick(drawn, writes=False)
        if pair is None or not os.fstat(pair.theirs).st_size:
            return
        ours, theirs = (mmap.mmap(one, 0, prot=mmap.PROT_READ) for one in (pair.ours, pair.theirs))
        with ours, theirs:
            assert ours[:] == theirs[:]

    @rule(drawn=st.data(), offset=OFFSETS, size=SIZES, mode=st.sampled_from([0, KEEP, PUNCH | KEEP, ZERO, ZERO | KEEP]))
    def make_room(self, drawn: st.DataObject, offset: int, size: int, mode: int) -> None:
        if self.makes_room and (pair := self.pick(drawn, writes=True)):
            for one in (pair.ours, pair.theirs):
                fallocate(one, mode, offset, size)

    @rule(drawn=st.data(), at=OFFSETS, to=OFFSETS, size=SIZES)
    def copy(self, drawn: st.DataObject, at: int, to: int, size: int) -> None:
        giver, taker = self.pick(drawn, writes=False), self.pick(drawn, writes=True)
        if giver is None or taker is None or taker.flags & os.O_APPEND:
            return
        if giver.name == taker.name and abs(at - to) < size:
            return
        done = []
        for one, other in ((giver.ours, taker.ours), (giver.theirs, taker.theirs)):
            done.append(0)
            while done[-1] < size and (
                moved := os.copy_file_range(one, other, size - done[-1], at + done[-1], to + done[-1])
            ):
                done[-1] += moved
        assert done[0] == done[1]

    @rule(drawn=st.data(), offset=OFFSETS)
    def seek_data(self, drawn: st.DataObject, offset: int) -> None:
        """Ours may tell more as data than there is."""
        if pair := self.pick(drawn, writes=False):
            found = []
            for one in (pair.ours, pair.theirs):
                try:
                    found.append(os.lseek(one, offset, os.SEEK_DATA))
                except OSError as error:
                    assert error.errno == errno.ENXIO, error  # noqa: PT017 (beyond the end, or in the last hole)
                    found.append(1 << 62)
            assert found[0] <= found[1]
            assert found[0] < 1 << 62 or offset >= os.fstat(pair.ours).st_size or found[1] == 1 << 62

    @rule(drawn=st.data())
    def sync(self, drawn: st.DataObject) -> None:
        if pair := self.pick(drawn, writes=False):
            os.fsync(pair.ours)

    @rule(old=FILES, new=FILES)
    def rename(self, old: str, new: str) -> None:
        if (self.theirs / old).exists():
            (self.ours / old).rename(self.ours / new)
            (self.theirs / old).rename(self.theirs / new)

    @rule(name=FILES)
    def unlink(self, name: str) -> None:
        if (self.theirs / name).exists():
            (self.ours / name).unlink()
            (self.theirs / name).unlink()

    @rule(name=FILES)
    def read_by_another_handle(self, name: str) -> None:
        if (self.theirs / name).exists():
            self.compare(name)


class ContentsOfAnotherProcess(Contents):
    @rule(name=FILES)
    def read_by_another_process(self, name: str) -> None:
        if (self.theirs / name).exists():
            code = "import sys, zlib; data = open(sys.argv[1], 'rb').read(); print(len(data), zlib.crc32(data))"
            assert python(code, self.ours / name) == python(code, self.theirs / name)


PATHS = [f"{first}{rest}" for first in "xy" for rest in ("", "/x", "/y", "/x/x")]
PLACES = st.sampled_from(PATHS)


def tree(root: Path) -> dict[str, bytes | str | None]:
    found: dict[str, bytes | str | None] = {}
    for folder, folders, files in os.walk(root):
        for name in [*folders, *files]:
            path = Path(folder, name)
            key = str(path.relative_to(root))
            if path.is_symlink():
                found[key] = os.readlink(path)
            else:
                found[key] = None if path.is_dir() else path.read_bytes()
    return found


class Names(RuleBasedStateMachine):
    """Files, folders and links that are made, moved and removed; each refusal is the same in both."""

    root: Path

    def __init__(self) -> None:
        super().__init__()
        self.name = str(next(COUNT))
        self.ours = self.root / self.name
        self.theirs = Path(tempfile.mkdtemp())
        self.ours.mkdir()
        self.written: dict[str, tuple[int, int]] = {}

    def teardown(self) -> None:
        try:
            for pair in self.written.values():
                for one in pair:
                    os.close(one)
            assert tree(self.ours) == tree(self.theirs)
        finally:
            self.end()

    def end(self) -> None:
        shutil.rmtree(self.theirs)
        shutil.rmtree(self.ours)

    def both(self, act: Callable[[Path], object]) -> None:
        said = []
        for root in (self.ours, self.theirs):
            try:
                act(root)
            except OSError as error:
                said.append(error.errno)
            else:
                said.append(None)
        assert said[0] == said[1], [os.strerror(one or 0) for one in said]

    @rule(path=PLACES)
    def mkdir(self, path: str) -> None:
        self.both(lambda root: os.mkdir(root / path))

    @rule(path=PLACES, seed=SEEDS)
    def write(self, path: str, seed: int) -> None:
        self.both(lambda root: (root / path).write_bytes(data(seed, 300)))

    @rule(path=PLACES, seed=SEEDS)
    def append(self, path: str, seed: int) -> None:
        def act(root: Path) -> None:
            one = os.open(root / path, os.O_WRONLY | os.O_APPEND)
            try:
                os.write(one, data(seed, 50))
            finally:
                os.close(one)

        self.both(act)

    @rule(path=PLACES, slot=st.sampled_from("12"))
    def begin_to_write(self, path: str, slot: str) -> None:
        if slot in self.written:
            return
        opened: list[int] = []
        self.both(lambda root: opened.append(os.open(root / path, os.O_WRONLY | os.O_CREAT)))
        if opened:
            self.written[slot] = (opened[0], opened[1])

    @rule(slot=st.sampled_from("12"), seed=SEEDS)
    def write_on(self, slot: str, seed: int) -> None:
        for one in self.written.get(slot, ()):
            os.write(one, data(seed, 100))

    @rule(slot=st.sampled_from("12"))
    def end_to_write(self, slot: str) -> None:
        for one in self.written.pop(slot, ()):
            os.close(one)

    @rule(old=PLACES, new=PLACES)
    def rename(self, old: str, new: str) -> None:
        self.both(lambda root: os.rename(root / old, root / new))

    @rule(path=PLACES)
    def unlink(self, path: str) -> None:
        self.both(lambda root: os.unlink(root / path))

    @rule(path=PLACES)
    def rmdir(self, path: str) -> None:
        self.both(lambda root: os.rmdir(root / path))

    @rule(path=PLACES, leads_to=PLACES)
    def link(self, path: str, leads_to: str) -> None:
        self.both(lambda root: os.symlink(leads_to, root / path))

    @rule(path=PLACES)
    def exclusive(self, path: str) -> None:
        self.both(lambda root: os.close(os.open(root / path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)))

    @rule()
    def list(self) -> None:
        assert tree(self.ours) == tree(self.theirs)


class NamesAfterwards(Names):
    """They are kept, and compared once more with a new mount of the same source."""

    kept: list[tuple[str, Path]]

    def end(self) -> None:
        self.kept.append((self.name, self.theirs))


MOUNTS = [name for name, kind in KINDS.items() if kind.source]


@pytest.fixture(scope="module", params=MOUNTS)
def root(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with ExitStack() as stack:
        yield stack.enter_context(opened(request.param, tmp_path_factory.mktemp("fsx")))[0]


def test_contents(request: pytest.FixtureRequest, root: Path) -> None:
    makes_room = "fallocate" not in KINDS[request.node.callspec.params["root"]].lacks
    machine = type("machine", (Contents,), {"root": root, "makes_room": makes_room})
    run_state_machine_as_test(machine, settings=settings(20, 40))


def test_contents_as_another_process_reads_them(request: pytest.FixtureRequest, root: Path) -> None:
    makes_room = "fallocate" not in KINDS[request.node.callspec.params["root"]].lacks
    machine = type("machine", (ContentsOfAnotherProcess,), {"root": root, "makes_room": makes_room})
    run_state_machine_as_test(machine, settings=settings(3, 30))


def test_names(root: Path) -> None:
    machine = type("machine", (Names,), {"root": root})
    run_state_machine_as_test(machine, settings=settings(25, 40))


@pytest.mark.parametrize("passthrough", [1, 0])
def test_names_are_the_same_for_the_next_mount(tmp_path: Path, passthrough: int) -> None:
    for name in ("root", "first", "second"):
        (tmp_path / name).mkdir()
    source = {"kind": "local", "root": str(tmp_path / "root")}
    kept: list[tuple[str, Path]] = []
    with mounted(tmp_path / "first", source, passthrough=passthrough) as mount:
        machine = type("machine", (NamesAfterwards,), {"root": mount.point, "kept": kept})
        run_state_machine_as_test(machine, settings=settings(10, 40))
    with mounted(tmp_path / "second", source, passthrough=passthrough) as mount:
        for name, theirs in kept:
            assert tree(mount.point / name) == tree(theirs)
            shutil.rmtree(theirs)
    assert kept
