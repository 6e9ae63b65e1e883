# SPDX-License-Identifier: Apache-2.0
"""Ranges of files that are made room for, zeroed, looked for and copied without passing through who asks."""

from __future__ import annotations

import errno
import os
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Final

from ..opens import Mode
from .read.ahead import Range
from .read.contents import LARGEST
from .written.stage import ALLOCATED, ZEROED, Stage

if TYPE_CHECKING:
    from ..cache.file import File
    from ..opens import Opens
    from ..operations import Soon
    from .known.names import Names
    from .read.contents import Contents
    from .work import Work
    from .written.writing import Writing

# Bytes of one answer to who copies, who asks again for the rest: an interrupt is heard in between.
_MOST: Final = 64 << 20
_Place = tuple[int, int]  # a handle, and an offset


class Ranges:
    def __init__(self, opens: Opens, names: Names, contents: Contents, work: Work, writing: Writing | None) -> None:
        """
        :param writing: None on a mount that is read-only
        """
        self._opens, self._names, self._contents = opens, names, contents
        self._work, self._writing = work, writing

    async def allocate(self, handle: int, mode: int, offset: int, size: int) -> None:
        if mode & ~(ALLOCATED | ZEROED):
            raise OSError(errno.EOPNOTSUPP, f"fallocate with mode {mode:#x} is not done here")
        writing, node, stage = self._written(handle)
        async with stage.lock:
            if mode & ZEROED:
                edges = stage.missing(stage.based(offset, size), edges_only=True)
                await writing.fill(node, stage, edges)
            await self._work.change(stage.allocate, mode, offset, size)

    def seek(self, handle: int, offset: int, whence: int) -> Soon[int]:
        """Holes are told where the kernel writes a file by itself. Else it may hold pages that somebody wrote to memory and that
        we do not have yet, so that a hole of ours may be none: all is data, as of a file that nobody writes."""
        one = self._opens.get(handle)
        size = self._names.known(one.node).size
        if offset >= size:
            raise OSError(errno.ENXIO, f"{offset} is beyond the end of the file, which has {size} bytes")
        stage = self._stage(one.node)
        if stage is not None and one.mode is Mode.PASSTHROUGH:
            return self._work.ask(os.lseek, stage.descriptor, offset, whence)
        return offset if whence == os.SEEK_DATA else size

    async def copy(self, source: _Place, target: _Place, size: int) -> int:
        """Fewer when not all is at hand, 0 at the end."""
        writing, taker, stage = self._written(target[0])
        giver = self._opens.get(source[0]).node
        while (other := writing.of(giver)) is not None:
            async with AsyncExitStack() as locks:
                for one in sorted({other, stage}, key=lambda one: one.number):
                    await locks.enter_async_context(one.lock)
                if writing.of(giver) is other:
                    return await self._copy_staged(giver, other, source[1], (taker, stage, target[1]), size)
        return await self._copy_clean(giver, source[1], (taker, stage, target[1]), size)

    async def _copy_staged(self, giver: int, other: Stage, at: int, target: tuple[int, Stage, int], size: int) -> int:
        """The locks of both are held."""
        writing, (taker, stage, to) = self._writing, target
        wanted = Range(at, min(size, _MOST, other.status().st_size - at))
        if wanted.size <= 0 or writing is None:
            return 0
        if other.missing(wanted):
            wanted = Range(at, min(wanted.size, LARGEST))
            await writing.fill(giver, other, other.missing(wanted))
        await writing.fill(taker, stage, stage.missing(Range(to, wanted.size), edges_only=True))
        return await self._work.change(stage.copy, other.descriptor, at, to, wanted.size)

    async def _copy_clean(self, giver: int, at: int, target: tuple[int, Stage, int], size: int) -> int:
        writing, (taker, stage, to) = self._writing, target
        content = self._contents.of(giver)
        file = content.file
        wanted = Range(at, min(size, _MOST, content.size - at))
        if wanted.size <= 0 or writing is None:
            return 0
        if file is not None and content.whole and not content.is_doubtful:
            async with stage.lock:
                await writing.fill(taker, stage, stage.missing(Range(to, wanted.size), edges_only=True))
                done = await self._work.change(_from_cache, file, stage, at, to, wanted.size)
            if done is not None:
                return done
        data = await content.whole_range(Range(at, min(wanted.size, LARGEST)), ahead=True)
        return await writing.write(taker, stage, to, data)

    def _written(self, handle: int) -> tuple[Writing, int, Stage]:
        one = self._opens.get(handle)
        stage = self._stage(one.node)
        if self._writing is None or stage is None or not one.writes:
            raise OSError(errno.EBADF, "it is not open for writing")
        return self._writing, one.node, stage

    def _stage(self, node: int) -> Stage | None:
        return self._writing.of(node) if self._writing else None


def _from_cache(source: File, stage: Stage, at: int, to: int, size: int) -> int | None:
    """In a thread. None when the file was given up meanwhile."""
    if not source.use():
        return None
    try:
        return stage.copy(source.descriptor, at, to, size)
    finally:
        source.close()
