# SPDX-License-Identifier: Apache-2.0
"""A worker of the agent with a file system for tests: it shows the files of a folder, which its clients do not know of, and some of them misbehave
by name. What the kernel was told lies in the region, so that a worker goes on where another was killed."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import stat
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import trio
from paddleflow_fuse.nodes.records import ROOT, Known, number
from paddleflow_fuse.nodes.table import Nodes
from paddleflow_fuse.opens import Mode, Opens
from paddleflow_fuse.operations import Absent, Caller, Changes, Held, Listed, Operations
from paddleflow_fuse.protocol import replies
from paddleflow_fuse.protocol.codes import Init, Open
from paddleflow_fuse.protocol.replies import Attributes, Entry, Handle
from paddleflow_fuse.worker.serve import main
from paddleflow_fuse.worker.service import Given, Unsaved

PATIENCE = 120
_HOARD = 1 << 20


class Files(Operations):
    def __init__(self, given: Given) -> None:
        self.folder = Path(given.configuration["folder"])
        self.hold = given.configuration.get("hold", 60.0)
        self.nodes = Nodes(given.region)
        self.opens = Opens(given.region, given.session.unbind)
        self.opens.reclaim()
        self.session = given.session
        self.dirty: set[bytes] = set()
        self.answered = 0
        self._hoarded: list[bytes] = []

    # --- names ---------------------------------------------------------------------------------

    def lookup(self, _caller: Caller, parent: int, name: bytes) -> Entry | Absent:
        self.answered += 1
        if name == b"poison":
            os.kill(os.getpid(), signal.SIGKILL)
        if not self._below(name).is_file():
            return Absent(0)
        node = self.nodes.find(parent, name) or self.nodes.add(parent, name, Known(stat.S_IFREG | 0o644), b"1")
        self.nodes.looked_up(node)
        return Entry(node, self._attributes(node), self.hold, self.hold)

    def forget(self, nodes: Sequence[tuple[int, int]]) -> None:
        for node, times in nodes:
            self.nodes.forget(node, times)

    def getattr(self, _caller: Caller, node: int, _handle: int | None) -> Held:
        return Held(self._attributes(node), self.hold)

    def setattr(self, _caller: Caller, node: int, _changes: Changes) -> Held:
        return Held(self._attributes(node), self.hold)

    def opendir(self, _caller: Caller, _node: int) -> Handle:
        return Handle(0)

    def releasedir(self, _caller: Caller, _node: int, _handle: int) -> None:
        pass

    def readdir(self, caller: Caller, node: int, _handle: int, after: int, room: int, plus: bool) -> Sequence[Listed]:
        found: list[Listed] = []
        for place, path in enumerate(sorted(self.folder.iterdir()), start=1):
            if place > after:
                name = os.fsencode(path.name)
                room -= replies.listed_size(name, plus)
                if room < 0:
                    break
                entry = self.lookup(caller, node, name)
                if isinstance(entry, Entry):
                    found.append(Listed(name, entry, place))
        return found

    # --- contents ------------------------------------------------------------------------------

    def open(self, caller: Caller, node: int, flags: int) -> Handle:
        path = self._below(self.nodes.name(node))
        whole = path.name.startswith("big") and Init.PASSTHROUGH in self.session.agreed
        bind = (lambda: self._bind(path)) if whole else None
        opened = self.opens.open(node, caller.number, writes=flags & os.O_ACCMODE != os.O_RDONLY, bind=bind)
        if opened.mode is Mode.PASSTHROUGH:
            return Handle(opened.number, Open.PASSTHROUGH, opened.backing)
        return Handle(opened.number, Open.DIRECT_IO)

    def read(
        self, _caller: Caller, node: int, handle: int, offset: int, size: int
    ) -> bytes | Coroutine[Any, Any, bytes]:
        path = self._below(self.nodes.name(node))
        self.opens.get(handle)
        if path.name == "crash":
            os.kill(os.getpid(), signal.SIGKILL)
        while path.name == "hog":
            self._hoarded.append(b"x" * _HOARD)
        if path.name.startswith("slow"):
            return self._slow(path, offset, size)
        return self._read(path, offset, size)

    def write(self, _caller: Caller, node: int, _handle: int, offset: int, data: memoryview, _flags: int) -> int:
        name = self.nodes.name(node)
        with self._below(name).open("r+b") as file:
            file.seek(offset)
            file.write(data)
        self.dirty.add(name)
        return len(data)

    def release(self, _caller: Caller, node: int, handle: int) -> None:
        closed = self.opens.close(handle)
        if closed and closed.writes:
            self.dirty.discard(self.nodes.name(node))

    async def _slow(self, path: Path, offset: int, size: int) -> bytes:
        """Tells that it was begun, and by which worker, and waits until it may go on."""
        if not offset:
            with (self.folder.parent / f"{path.name}.begun").open("a") as file:
                file.write(f"{os.getpid()}\n")
        with trio.fail_after(PATIENCE):
            # A file of another process: nothing announces it.
            async for _time in _ticks():
                if (self.folder.parent / f"{path.name}.go").exists():
                    break
        return self._read(path, offset, size)

    def _read(self, path: Path, offset: int, size: int) -> bytes:
        with path.open("rb") as file:
            return os.pread(file.fileno(), size, offset)

    def _bind(self, path: Path) -> int:
        with path.open("rb") as file:
            return self.session.bind(file.fileno())

    def _below(self, name: bytes) -> Path:
        return self.folder / os.fsdecode(name)

    def _attributes(self, node: int) -> Attributes:
        if node == ROOT:
            return Attributes(1, stat.S_IFDIR | 0o755)
        name = self.nodes.name(node)
        try:
            size = self._below(name).stat().st_size
        except FileNotFoundError:
            raise OSError(errno.ESTALE, "it was removed") from None
        return Attributes(number(ROOT, name), stat.S_IFREG | 0o666, size)


async def _ticks() -> AsyncIterator[None]:
    while True:
        yield
        await trio.sleep(0.01)


class Service:
    def __init__(self, operations: Files, given: Given) -> None:
        self.operations = operations
        self._word = given.configuration.get("word", "")
        self._saves = given.configuration.get("saves", True)
        self._options = given.configuration.get("options", {})
        self._owner = given.kept["owner"]

    def over(self) -> None:
        pass

    def unsaved(self) -> Unsaved:
        dirty = self.operations.dirty
        return Unsaved(len(dirty), tuple(os.fsdecode(name) for name in dirty))

    async def save(self, seconds: float) -> None:
        if self._saves == "never":
            await trio.sleep(seconds + PATIENCE)
        if self._saves:
            self.operations.dirty.clear()

    def status(self) -> dict[str, Any]:
        owner = os.fstat(self._owner)
        return {
            "word": self._word,
            "options": self._options,
            "answered": self.operations.answered,
            "open": len(self.operations.opens),
            "owner": f"{owner.st_dev}:{owner.st_ino}",
        }

    async def command(self, name: str, given: Mapping[str, Any]) -> AsyncGenerator[dict[str, Any], None]:
        if name == "count":
            for step in range(given["to"]):
                yield {"step": step}
        elif name == "wait":
            yield {"waits": True}
            try:
                await trio.sleep_forever()
            finally:
                (self.operations.folder.parent / "left").touch()
        elif name == "spoil":
            raise ZeroDivisionError
        else:
            raise LookupError(f"there is no command {name}")


@asynccontextmanager
async def begin(given: Given) -> AsyncIterator[Service]:
    trouble = Path(given.configuration["folder"]).parent / "trouble"
    if trouble.exists():
        raise OSError("there is trouble")
    kept = dict(given.kept)
    if "owner" not in kept:
        # As a cache's owner does: whoever else wants it is refused for as long as anybody has this descriptor.
        kept["owner"] = os.open(trouble.with_name("owner"), os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(kept["owner"], fcntl.LOCK_EX | fcntl.LOCK_NB)
        given.keep("owner", kept["owner"])
    yield Service(Files(given), given._replace(kept=kept))


if __name__ == "__main__":
    sys.exit(main(begin))
