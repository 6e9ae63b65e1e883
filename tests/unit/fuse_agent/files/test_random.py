# SPDX-License-Identifier: Apache-2.0
"""Random operations, as a kernel asks for them: one mount is like a disk, whoever is killed and whatever answer is lost; and two mounts of
one bucket never make a file of two."""

from __future__ import annotations

import errno
import os
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import trio
from paddleflow_fuse.cache.disk import Disk
from paddleflow_fuse.files.view import Settings
from paddleflow_fuse.files.written.stage import Stage
from paddleflow_fuse.nodes.records import ROOT
from paddleflow_fuse.nodes.region import Region
from paddleflow_fuse.operations import Changes
from paddleflow_fuse.sources.base import NOTHING, Found, Kept
from paddleflow_fuse.sources.memory import MemoryStore
from paddleflow_fuse.sources.objects import ObjectSource, Options

from tests.conftest import EXTENDED
from tests.support.asked_files import ASKED, HELD, Kernel, Opened, asked, put
from tests.support.caches import opened as opened_cache

SEEDS = 200 if EXTENDED else 10
TURNS = 150
FILES = [b"a", b"b", b"d/a", b"d/b", b"e/a"]
FOLDERS = [b"d", b"e"]
WAYS = [HELD, ASKED, HELD._replace(relaxed=True), HELD._replace(conflict_fails=True)]
# Of a file of which a byte is changed without fetching all of it.
SIZE, STEP = (2 << 20) + 5000, 1 << 20
EXPECTED = (errno.ESTALE, errno.ENOENT, errno.EEXIST, errno.ENOTEMPTY)


class Lossy(ObjectSource):
    """
    :ivar loses: what is stored fails now and then, before it is done or after
    """

    def __init__(self, dice: random.Random) -> None:
        self.store_ = MemoryStore()
        super().__init__(self.store_, "", Options(persist=dice.random() < 0.3))
        self._dice, self.loses = dice, False

    def store(self, path: bytes, descriptor: int, size: int, kept: Kept = NOTHING, over: bytes | None = None) -> Found:
        luck = self._dice.random() if self.loses else 1.0
        if luck < 0.15:
            raise OSError(errno.EIO, "it is away", path)
        found = super().store(path, descriptor, size, kept, over)
        if luck < 0.3:
            raise OSError(errno.EIO, "the answer is lost", path)
        return found

    def files(self) -> dict[bytes, bytes]:
        keys = [one.key for page in self.store_.list("") for one in page.objects if not one.key.endswith("/")]
        return {key.encode(): bytes(self.store_.get(key, b"", 0, SIZE)) for key in keys}


async def again(call: Callable[[], Awaitable[Any]]) -> Any:
    """What it answers, or its errno. Who is told that a node is gone looks the name up again, once."""
    for turn in range(2):
        try:
            return await call()
        except OSError as error:
            if error.errno != errno.ESTALE or turn:
                return error.errno
    return None


@pytest.fixture
def stages(monkeypatch: pytest.MonkeyPatch) -> set[Stage]:
    """Those that are open, which a process that is killed closes."""
    open_: set[Stage] = set()
    init, close = Stage.__init__, Stage.close

    def begun(stage: Stage, *given: Any) -> None:
        init(stage, *given)
        open_.add(stage)

    def closed(stage: Stage) -> None:
        if stage in open_:
            open_.remove(stage)
            close(stage)

    monkeypatch.setattr(Stage, "__init__", begun)
    monkeypatch.setattr(Stage, "close", closed)
    return open_


class File:
    def __init__(self) -> None:
        self.data = b""


class Model:
    """A disk, and the mount that is to be like it."""

    def __init__(self, dice: random.Random, source: Lossy) -> None:
        self.dice, self.source, self.kernel = dice, source, Kernel()
        self.files: dict[bytes, File] = {}
        self.folders: set[bytes] = set()
        self.opened: list[tuple[Opened, File]] = []
        self.held: list[Opened] = []
        self.step = 0

    def _missing(self, path: bytes) -> int:
        folder = path.rpartition(b"/")[0]
        return errno.ENOENT if path not in self.files or (folder and folder not in self.folders) else 0

    def _below(self, folder: bytes) -> list[bytes]:
        return [path for path in self.files if path.startswith(folder + b"/")]

    async def turn(self) -> None:
        self.step += 1
        path, other = self.dice.sample(FILES, 2)
        acts: list[Callable[[bytes, bytes], Awaitable[None]]] = [
            *[self.open, self.write] * 3, *[self.close, self.sync, self.read, self.hold, self.let_go] * 2,
            self.set_size, self.unlink, self.mkdir, self.rmdir, self.rename, self.rename_folder,
        ]  # fmt: skip
        await self.dice.choice(acts)(path, other)

    async def open(self, path: bytes, _other: bytes) -> None:
        how = self.dice.choice([0, os.O_TRUNC, os.O_EXCL])
        folder, is_there = path.rpartition(b"/")[0], path in self.files

        async def call() -> None:
            opened = await self.kernel.open(path, os.O_WRONLY | os.O_CREAT | how)
            file = self.files.setdefault(path, File())
            if how == os.O_TRUNC or not is_there:
                # Of an empty one nobody could tell whose it is.
                await self.kernel.write(opened, b"%d." % self.step)
                file.data = b"%d." % self.step
            self.opened.append((opened, file))

        expected = errno.EEXIST if is_there and how == os.O_EXCL else None
        assert await again(call) == (errno.ENOENT if folder and folder not in self.folders else expected)

    async def write(self, _path: bytes, _other: bytes) -> None:
        if self.opened:
            opened, file = self.dice.choice(self.opened)
            data, place = b"%d." % self.step, self.dice.choice([len(file.data), 0])
            await self.kernel.write(opened, data, place)
            file.data = file.data[:place] + data + file.data[place + len(data) :]

    async def sync(self, _path: bytes, _other: bytes) -> None:
        if self.opened:
            opened = self.dice.choice(self.opened)[0]
            assert await again(lambda: self.kernel.ask("fsync", *opened, False)) in (
                None,
                errno.EIO * self.source.loses,
            )

    async def close(self, _path: bytes, _other: bytes) -> None:
        if self.opened:
            opened = self.opened.pop(self.dice.randrange(len(self.opened)))[0]
            assert await again(lambda: self.kernel.close(opened)) in (None, errno.EIO * self.source.loses)

    async def read(self, path: bytes, _other: bytes) -> None:
        expected = self._missing(path) or self.files[path].data

        async def call() -> bytes:
            opened = await self.kernel.open(path, os.O_RDONLY)
            data = await self.kernel.read(opened, 0, SIZE)
            await self.kernel.close(opened)
            return data

        assert await again(call) == expected

    async def hold(self, path: bytes, _other: bytes) -> None:
        """Who reads it while others write it."""
        if not self._missing(path):
            opened = await again(lambda: self.kernel.open(path, os.O_RDONLY))
            assert isinstance(opened, tuple), opened
            self.held.append(opened)

    async def let_go(self, _path: bytes, _other: bytes) -> None:
        if self.held:
            await self.kernel.close(self.held.pop(self.dice.randrange(len(self.held))))

    async def set_size(self, path: bytes, _other: bytes) -> None:
        if not self._missing(path):
            file, size = self.files[path], self.dice.randrange(1, len(self.files[path].data) + 3)

            async def call() -> None:
                await self.kernel.ask("setattr", await self.kernel.node(path), Changes(size=size))

            assert await again(call) in (None, errno.EIO * self.source.loses)
            file.data = file.data[:size].ljust(size, b"\0")

    async def unlink(self, path: bytes, _other: bytes) -> None:
        expected = self._missing(path) or None
        assert await again(lambda: self.kernel.unlink(path)) == expected
        self.files.pop(path, None)

    async def mkdir(self, _path: bytes, _other: bytes) -> None:
        folder = self.dice.choice(FOLDERS)
        made = await again(lambda: self.kernel.ask("mkdir", ROOT, folder, 0o755))
        assert (made == errno.EEXIST) == (folder in self.folders), made
        self.folders.add(folder)

    async def rmdir(self, _path: bytes, _other: bytes) -> None:
        folder = self.dice.choice(FOLDERS)
        is_full = errno.ENOTEMPTY if self._below(folder) else None
        expected = is_full if folder in self.folders else errno.ENOENT
        assert await again(lambda: self.kernel.ask("rmdir", ROOT, folder)) == expected
        if not expected:
            self.folders.remove(folder)

    async def rename(self, path: bytes, other: bytes) -> None:
        folder = other.rpartition(b"/")[0]
        missing = self._missing(path) or (errno.ENOENT if folder and folder not in self.folders else None)
        assert await again(lambda: self.kernel.rename(path, other)) == missing
        if not missing:
            self.files[other] = self.files.pop(path)

    async def rename_folder(self, _path: bytes, _other: bytes) -> None:
        old, new = self.dice.sample(FOLDERS, 2)
        is_full = errno.ENOTEMPTY if self._below(new) else None
        expected = is_full if old in self.folders else errno.ENOENT
        assert await again(lambda: self.kernel.rename(old, new)) == expected
        if not expected:
            self.files |= {new + path[len(old) :]: self.files.pop(path) for path in self._below(old)}
            self.folders = self.folders - {old} | {new}

    async def end(self) -> None:
        """The source has all of it."""
        self.source.loses = False
        for opened in [*self.held, *(opened for opened, _file in self.opened)]:
            await self.kernel.close(opened)
        assert self.kernel.below == {}
        assert await self.kernel.ask.files.store_all() == []
        assert self.source.files() == {path: file.data for path, file in self.files.items()}
        assert self.kernel.ask.files.status()["conflicts"] == []


@asynccontextmanager
async def cached(folder: Path, wanted: bool) -> AsyncIterator[Disk | None]:
    if not wanted:
        yield None
        return
    with opened_cache(folder / "cache") as disk:
        yield disk


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("how", ["", "loses answers", "is killed"])
@pytest.mark.parametrize("by_kernel", [False, True])
def test_one_mount_is_like_a_disk(
    region: Region, tmp_path: Path, stages: set[Stage], by_kernel: bool, how: str, seed: int
) -> None:
    """
    :param by_kernel: it reads and writes by itself what lies on a disk here
    """
    dice = random.Random(seed)
    source = Lossy(dice)
    model, settings = Model(dice, source), dice.choice(WAYS)
    source.loses = how == "loses answers"

    async def test() -> None:
        while model.step < TURNS:
            for stage in list(stages):
                stage.close()
            async with cached(tmp_path, by_kernel) as disk, asked(
                region, tmp_path / "staging", source, settings, disk, model.kernel if by_kernel else None
            ) as ask:  # fmt: skip
                model.kernel.ask = ask
                while model.step < TURNS:
                    await model.turn()
                    if how == "is killed" and model.step < TURNS and dice.random() < 0.04:
                        break
                else:
                    await model.end()

    trio.run(test)


def whole(data: bytes, what: object) -> None:
    """But for the first byte it was written by one, and at once."""
    assert data[1:] == data[1:2] * (len(data) - 1), f"{what} is of {set(data[1:])!r}"


class Two:
    """Mounts of one bucket, and who writes to it without."""

    def __init__(self, dice: random.Random, source: Lossy, kernels: list[Kernel]) -> None:
        self.dice, self.source, self.kernels = dice, source, kernels
        self.opened: list[tuple[Kernel, Opened, bool]] = []
        self._written: Iterator[bytes] = (bytes([number % 200 + 33]) for number in range(10_000))

    async def turn(self) -> None:
        kernel, path = self.dice.choice(self.kernels), self.dice.choice(FILES)
        acts = [self.write, self.change] * 3 + [self.open, self.rename] + [self.read, self.close] * 2
        with suppress_expected():
            await self.dice.choice([*acts, self.rename_folder, self.unlink, self.replace])(kernel, path)
        for name, data in self.source.files().items():
            whole(data, name)

    async def write(self, kernel: Kernel, path: bytes) -> None:
        opened = await kernel.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        self.opened.append((kernel, opened, False))
        data = next(self._written) * SIZE
        for offset in range(0, SIZE, STEP):
            await kernel.write(opened, data[offset : offset + STEP], offset)

    async def change(self, kernel: Kernel, path: bytes) -> None:
        opened = await kernel.open(path, os.O_RDWR)
        self.opened.append((kernel, opened, False))
        await kernel.write(opened, b"!")

    async def open(self, kernel: Kernel, path: bytes) -> None:
        self.opened.append((kernel, await kernel.open(path, os.O_RDONLY), True))

    async def read(self, _kernel: Kernel, _path: bytes) -> None:
        """Pieces of what is written by nobody here."""
        read = [one for one in self.opened if all(other[2] for other in self.opened if other[1][0] == one[1][0])]
        if read:
            kernel, opened, _reads = self.dice.choice(read)
            offsets = self.dice.sample(range(0, SIZE, STEP), 2)
            pieces = [(await kernel.read(opened, offset, 4096))[offset == 0 :] for offset in offsets]
            whole(b"!" + b"".join(pieces), "what was read")

    async def close(self, _kernel: Kernel, _path: bytes) -> None:
        if self.opened:
            kernel, opened, _reads = self.opened.pop(self.dice.randrange(len(self.opened)))
            await kernel.close(opened)

    async def rename(self, kernel: Kernel, path: bytes) -> None:
        await kernel.rename(path, self.dice.choice([one for one in FILES if one != path]))

    async def rename_folder(self, kernel: Kernel, _path: bytes) -> None:
        old, new = self.dice.sample(FOLDERS, 2)
        await kernel.rename(old, new)
        await kernel.ask("mkdir", ROOT, old, 0o755)

    async def unlink(self, kernel: Kernel, path: bytes) -> None:
        await kernel.unlink(path)

    async def replace(self, _kernel: Kernel, path: bytes) -> None:
        put(self.source, path, next(self._written) * SIZE)


class suppress_expected(suppress):  # noqa: N801 (as what it extends)
    """What may be told to who meets another."""

    def __init__(self) -> None:
        super().__init__(OSError)

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> bool:
        if isinstance(error, OSError):
            assert error.errno in EXPECTED, error
        return bool(super().__exit__(kind, error, traceback))


@asynccontextmanager
async def both(regions: list[Region], folder: Path, source: Lossy, settings: Settings) -> AsyncIterator[list[Kernel]]:
    async with (
        asked(regions[0], folder / "1", source, settings) as one,
        asked(regions[1], folder / "2", source, settings) as two,
    ):
        kernels = [Kernel(), Kernel()]
        kernels[0].ask, kernels[1].ask = one, two
        yield kernels


@pytest.mark.parametrize("seed", range(SEEDS))
def test_two_mounts_never_make_a_file_of_two(region: Region, tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    source, other = Lossy(dice), Region.create()
    for folder in FOLDERS:
        source.make_folder(folder)

    async def test() -> None:
        async with both([region, other], tmp_path, source, dice.choice(WAYS)) as kernels:
            two = Two(dice, source, kernels)
            for _turn in range(80):
                await two.turn()
            while two.opened:
                with suppress_expected():
                    await two.close(kernels[0], b"")
            for name, data in source.files().items():
                whole(data, name)

    trio.run(test)
    other.close()
