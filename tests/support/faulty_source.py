# SPDX-License-Identifier: Apache-2.0
"""A source that fails or waits on demand, of another process: both look into one folder.

A file there with the name of a call says what that call does: ``error ENOSPC``, ``short`` (of data, and of listings: they break off),
``wait before`` or ``wait after`` (what was asked is answered by what was there before, or after). With a word more it does so only for
paths in which that word is.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from paddleflow_fuse.sources.base import NOTHING, Data, Found, Kept, Page, Part, Room, Source

Answer = TypeVar("Answer")
_GATE = ".gate"


class Faults:
    """What a test says."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder

    def say(self, call: str, what: str) -> None:
        unfinished = self.folder / f"{call}.new"
        unfinished.write_text(what, encoding="utf-8")
        unfinished.rename(self.folder / call)

    def mend(self, call: str) -> None:
        (self.folder / call).unlink()

    @contextmanager
    def said(self, call: str, what: str) -> Iterator[None]:
        self.say(call, what)
        try:
            yield
        finally:
            self.mend(call)

    @contextmanager
    def waiting(self, call: str, what: str = "wait before") -> Iterator[Callable[[], None]]:
        """Whoever makes the call from now on waits until the end of this. What is given returns when somebody does."""
        gate = self.folder / f"{call}{_GATE}"
        os.mkfifo(gate)
        self.say(call, what)
        opened: list[int] = []

        def somebody_waits() -> None:
            end = time.monotonic() + 30
            while True:
                try:
                    opened.append(os.open(gate, os.O_WRONLY | os.O_NONBLOCK))
                except OSError as error:
                    assert error.errno == errno.ENXIO, error  # noqa: PT017 (nobody reads it yet)
                    assert time.monotonic() < end, f"nobody calls {call}"
                    time.sleep(0.01)
                else:
                    return

        try:
            yield somebody_waits
        finally:
            self.mend(call)
            # Those who are about to wait find no gate; those who wait are let go.
            if not opened:
                opened.append(os.open(gate, os.O_RDWR))
            gate.unlink()
            for one in opened:
                os.close(one)


class FaultySource(Source):
    def __init__(self, source: Source, folder: Path) -> None:
        self._source, self._folder = source, folder
        self.abilities = source.abilities

    def find(self, path: bytes) -> Found:
        return self._do("find", path, lambda: self._source.find(path))

    def list(self, path: bytes) -> Iterator[Page]:
        rule = self._rule("list", path)
        self._before(rule, "list", path)
        for page in self._source.list(path):
            if rule[:1] == ["short"]:
                yield Page(page.listed[: len(page.listed) // 2])
                raise OSError(errno.ECONNRESET, "the listing broke off", path)
            yield page

    def read(self, path: bytes, version: bytes, offset: int, size: int) -> Data:
        data = self._do("read", path, lambda: self._source.read(path, version, offset, size))
        return data[: len(data) // 2] if self._rule("read", path)[:1] == ["short"] else data

    def store(self, path: bytes, descriptor: int, size: int, kept: Kept = NOTHING, over: bytes | None = None) -> Found:
        return self._do("store", path, lambda: self._source.store(path, descriptor, size, kept, over))

    def patch(
        self, path: bytes, descriptor: int, parts: Sequence[Part], version: bytes, kept: Kept = NOTHING,
        over: bytes | None = None,
    ) -> Found:  # fmt: skip
        return self._do("store", path, lambda: self._source.patch(path, descriptor, parts, version, kept, over))

    def rename_folder(self, old: bytes, new: bytes, steps: int) -> None:
        self._do("rename", old, lambda: self._source.rename_folder(old, new, steps))

    def make_folder(self, path: bytes, kept: Kept = NOTHING) -> Found:
        return self._do("make_folder", path, lambda: self._source.make_folder(path, kept))

    def remove(self, path: bytes) -> None:
        self._do("remove", path, lambda: self._source.remove(path))

    def remove_folder(self, path: bytes) -> None:
        self._do("remove_folder", path, lambda: self._source.remove_folder(path))

    def rename(self, old: bytes, new: bytes) -> None:
        self._do("rename", old, lambda: self._source.rename(old, new))

    def link(self, path: bytes, target: bytes) -> Found:
        return self._do("link", path, lambda: self._source.link(path, target))

    def add_name(self, path: bytes, new: bytes) -> Found:
        return self._do("add_name", path, lambda: self._source.add_name(path, new))

    def target(self, path: bytes) -> bytes:
        return self._do("target", path, lambda: self._source.target(path))

    def keep(self, path: bytes, kept: Kept) -> Found:
        return self._do("keep", path, lambda: self._source.keep(path, kept))

    def sync(self, path: bytes) -> None:
        self._do("sync", path, lambda: self._source.sync(path))

    def xattrs(self, path: bytes) -> Mapping[bytes, bytes]:
        return self._do("xattrs", path, lambda: self._source.xattrs(path))

    def space(self) -> Room | None:
        return self._do("space", b"", self._source.space)

    def close(self) -> None:
        self._source.close()

    def _do(self, call: str, path: bytes, act: Callable[[], Answer]) -> Answer:
        rule = self._rule(call, path)
        self._before(rule, call, path)
        try:
            return act()
        finally:
            if rule[:2] == ["wait", "after"]:
                self._wait(call)

    def _rule(self, call: str, path: bytes) -> Any:
        try:
            words = (self._folder / call).read_text(encoding="utf-8").split()
        except FileNotFoundError:
            return []
        own = words[(1 if words[0] == "short" else 2) :]
        return words if not own or own[0].encode() in path else []

    def _before(self, rule: Any, call: str, path: bytes) -> None:
        if rule[:1] == ["error"]:
            code = getattr(errno, rule[1])
            raise OSError(code, "as was said", path)
        if rule[:2] == ["wait", "before"]:
            self._wait(call)

    def _wait(self, call: str) -> None:
        try:
            with (self._folder / f"{call}{_GATE}").open("rb") as gate:
                gate.read()
        except FileNotFoundError:
            return
