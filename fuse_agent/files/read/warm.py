# SPDX-License-Identifier: Apache-2.0
"""Fetches before anybody asks: names and attributes, or all that files hold."""

from __future__ import annotations

import errno
import logging
import os
import stat
from typing import TYPE_CHECKING, Final

import trio

from ...nodes.records import ROOT
from ...sources.base import is_name

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Sequence
    from typing import Any

    from ...nodes.table import Nodes
    from ..known.names import Names
    from .contents import Contents

_LOG = logging.getLogger(__name__)
_EVERY: Final = 1.0  # seconds between two lines that tell how far it is
# Failures that are named; all are counted.
_NAMED: Final = 20


class Warm:
    """One warming: paths from the root of the mount, each with all below it where it is a folder."""

    def __init__(self, nodes: Nodes, names: Names, contents: Contents, data: bool, at_once: int) -> None:
        """
        :param data: what files hold, not their names and attributes alone
        :param at_once: files that are fetched at a time
        """
        self._nodes, self._names, self._contents, self._data = nodes, names, contents, data
        self._room = trio.Semaphore(at_once)
        self.files = self.folders = self.size = self.failed = 0
        self._failures: list[str] = []

    def told(self) -> dict[str, Any]:
        return {
            "files": self.files, "folders": self.folders, "bytes": self.size, "failed": self.failed,
            "failures": list(self._failures),
        }  # fmt: skip

    async def run(self, paths: Iterable[bytes]) -> AsyncIterator[dict[str, Any]]:
        """Tells how far it is, and last what came of it."""
        over = trio.Event()
        async with trio.open_nursery() as nursery:

            async def work() -> None:
                async with trio.open_nursery() as below:
                    for path in paths:
                        await self._path(below, path)
                over.set()

            nursery.start_soon(work)
            while not over.is_set():
                with trio.move_on_after(_EVERY):
                    await over.wait()
                yield self.told()

    async def _path(self, nursery: trio.Nursery, path: bytes) -> None:
        try:
            await self._node(nursery, await self.resolve(path), path)
        except OSError as error:
            self._fail(path, error)

    async def resolve(self, path: bytes) -> int:
        """
        :raises OSError:
        """
        node = ROOT
        for name in filter(None, path.split(b"/")):
            if not is_name(name):
                raise OSError(errno.EINVAL, f"{name!r} is no name of a file")
            node = await self._names.refresh(node, name)
            if not node:
                raise FileNotFoundError(errno.ENOENT, "it is not there (paths are from the root of the mount)", path)
        return node

    async def lacking(self, paths: Iterable[bytes]) -> list[str]:
        """Why these lead nowhere, of those that do."""
        found = []
        for path in paths:
            try:
                await self.resolve(path)
            except OSError as error:
                found.append(_why(path, error))
        return found

    async def _node(self, nursery: trio.Nursery, node: int, path: bytes) -> None:
        known = self._nodes.known(node)
        if stat.S_ISDIR(known.mode):
            await self._folder(nursery, node, path)
        elif stat.S_ISREG(known.mode):
            await self._room.acquire()
            nursery.start_soon(self._file, node, path)

    async def _folder(self, nursery: trio.Nursery, node: int, path: bytes) -> None:
        after = 0
        while row := await self._names.listings.children(node, after):
            for child in row:
                await self._path_of(nursery, child.node, path + b"/" + child.name)
            after = row[-1].order
        self.folders += 1

    async def _path_of(self, nursery: trio.Nursery, node: int, path: bytes) -> None:
        try:
            await self._node(nursery, node, path)
        except OSError as error:
            self._fail(path, error)

    async def _file(self, node: int, path: bytes) -> None:
        try:
            content = self._contents.of(node)
            if self._data:
                await content.fetch_all()
                self.size += content.size
            self.files += 1
        except OSError as error:
            self._fail(path, error)
        finally:
            self._room.release()

    def _fail(self, path: bytes, error: OSError) -> None:
        self.failed += 1
        _LOG.warning("could not be fetched path=%r reason=%r", path, str(error))
        if len(self._failures) < _NAMED:
            self._failures.append(_why(path, error))


def _why(path: bytes, error: OSError) -> str:
    return f"{path.decode(errors='backslashreplace')}: {error.strerror or error}"


def paths_of(text: Sequence[str]) -> list[bytes]:
    """As lines of a file give them; empty ones are none."""
    return [os.fsencode(line.strip()) for line in text if line.strip()]
