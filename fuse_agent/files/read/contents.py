# SPDX-License-Identifier: Apache-2.0
"""What all files of a mount hold. A content is that of one version, under a key of its own, so that nothing that was kept is ever of
another."""

from __future__ import annotations

import errno
import resource
import time
from collections import OrderedDict
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from ...cache.disk import key
from ...cache.errors import FullError, UsedError
from ...cache.memory import BLOCK
from ...nodes.records import StaleError
from ...sources.base import ChangedError
from .ahead import Range
from .content import SMALL, Content
from .prefetched import Prefetched

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from ...cache.disk import Disk
    from ...cache.file import File
    from ...cache.memory import Memory
    from ...metrics import Metrics
    from ...nodes.records import Known
    from ...nodes.table import Nodes
    from ...sources.base import Source
    from ..known.names import Names
    from ..view import Settings
    from ..work import Work

    Loaded = TypeVar("Loaded")
# Contents are kept when nobody has them open any more: who opens a file again soon is spared half of what an open costs. At least and at
# most so many, those of open files included; a descriptor each, of which others need some, too.
_LEAST, _MOST, _SHARE = 256, 8192, 4
# Of which so many are looked at at a time whether they are open.
_LOOKS: Final = 8
LARGEST: Final = 8 << 20
# Of a larger one memory keeps what was read last: what the disk tier has to know of each piece would be too much.
_LARGEST_KEPT: Final = 256 << 30
_SECONDS: Final = "blockcache_write_hist_seconds"
_HITS: Final = ("blockcache_hits", "blockcache_hit_bytes")
_MISSES: Final = ("blockcache_miss", "blockcache_miss_bytes")


class _Put(NamedTuple):
    """What came of taking something into the cache.

    :ivar file: where the disk has it; None when it took nothing, and memory is what there is
    :ivar tier: "" when that took nothing, too
    """

    file: File | None
    tier: str
    seconds: float


class Contents:
    """
    :ivar largest: bytes of one request to the source
    :ivar ahead: bytes that are fetched before a reader asks, at most
    :ivar buffer: what was read at once lies here until the next read
    """

    def __init__(
        self, nodes: Nodes, names: Names, source: Source, work: Work, settings: Settings, memory: Memory,
        disk: Disk | None, is_open: Callable[[int], bool],
        metrics: Metrics,
    ) -> None:  # fmt: skip
        self._nodes, self._names, self._source, self._settings = nodes, names, source, settings
        self.work, self.memory, self._disk = work, memory, disk
        self.largest, self.ahead = min(settings.block or LARGEST, LARGEST), settings.read_ahead
        self.buffer = memoryview(bytearray(settings.largest_read))
        self._contents: OrderedDict[int, Content] = OrderedDict()
        self._size = 0  # of what all of these hold
        self._most = min(_MOST, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // _SHARE)
        self._is_open, self.metrics, self.prefetched = is_open, metrics, Prefetched(metrics)
        # Times and bytes, by whether it was there and whether a disk keeps it.
        self._counted = {
            (hit, tier == "disk"): (metrics.counter(times, tier=tier), metrics.counter(read, tier=tier))
            for hit, times, read in ((True, *_HITS), (False, *_MISSES))
            for tier in ("disk", "memory")
        }

    def read(self, content: Content, asked: Range, hit: bool) -> None:
        hit, content.late = hit and not content.late, False
        self._count(content, hit, asked.size)
        self.prefetched.read(content.digest, asked)

    def opened(self, content: Content, missed: bool, by_kernel: bool) -> None:
        """
        :param missed: it was fetched for that
        :param by_kernel: nobody will say what of it is read
        """
        if by_kernel:
            self._count(content, not missed, content.size if missed else 0)
            self.prefetched.read(content.digest, Range(0, content.size))
        else:
            content.late = content.late or missed

    def _count(self, content: Content, hit: bool, size: int) -> None:
        times, read = self._counted[hit, content.file is not None]
        times.value += 1
        read.value += size

    def of(self, node: int) -> Content:
        content = self._contents.get(node)
        if content is None:
            content = self._contents[node] = self._find(node)
            self._size += content.size
            self._trim()
        return content

    def keep(self, node: int) -> None:
        """Of what lost its name to who had it open before this worker came, what the disk has is not to go: it is nowhere else."""
        with suppress(StaleError):
            self.of(node)

    def leave(self, node: int, handle: int) -> None:
        """Nobody reads it by that handle any more."""
        content = self._contents.get(node)
        if content is not None:
            content.leave(handle)
            self._contents.move_to_end(node)
            self._trim()

    def rest(self) -> None:
        """What nobody has open is not held, so that it may go from the disk."""
        for node in [node for node in self._contents if not self._is_open(node)]:
            self.drop(node)

    async def spare(self, node: int) -> None:
        """Its name is about to go: who has it open is to read on, as far as there is room to keep it."""
        content = self._contents.get(node)
        if content is not None and self._is_open(node) and self._has_room(content):
            await content.fetch_all()

    def _has_room(self, content: Content) -> bool:
        """For all of it: else it would be fetched and pushed out."""
        if content.file is not None:
            return not content.file.big
        return content.size <= max(self.memory.budget, SMALL)

    def moved(self, node: int, version: bytes) -> None:
        """The same content has another version now."""
        if node in self._contents:
            self._contents[node].version = version

    def drop(self, node: int) -> None:
        """What it holds is another's from now on."""
        content = self._contents.pop(node, None)
        if content is None:
            return
        self._size -= content.size
        if content.file:
            content.file.close()
            content.file = None  # who reads it still must not meet whatever has its descriptor next

    def give(self, content: Content, path: Path) -> None:
        """Its cached file lies there from now on, and is written to.

        :raises UsedError: when that may be read by another node, too
        """
        if self._disk is None or content.file is None:
            raise UsedError
        self._disk.give(content.digest, content.file, path)
        self.drop(content.node)

    def adopt(self, digest: bytes, path: Path, descriptor: int, goes_on: Callable[[], object]) -> None:
        """In a thread. A file that lies there holds just that, and is kept where there is room for it."""
        if self._disk is not None and self._settings.block:
            with suppress(FullError):
                self._disk.adopt(digest, path, descriptor, goes_on)

    def forget(self, node: int) -> bool:
        """What is kept of it; whether anything may have been. Who has it open reads on."""
        digest = self.digest(node)
        self.prefetched.gone(digest)
        if self._disk is None:
            return False
        self._disk.drop(digest)
        if not self._is_open(node):
            self.drop(node)
        return True

    def clear(self) -> None:
        """All that is kept."""
        self.memory.clear()
        if self._disk is not None:
            self._disk.clear()

    def close(self) -> None:
        for node in list(self._contents):
            self.drop(node)

    async def fetch(self, content: Content, one: Range, of_now: bool) -> None:
        def load(path: bytes) -> _Put:
            return self._load(path, content, one, of_now)

        self._loaded(content, one, await self._there(content, load))

    def fetch_ahead(self, nodes: Iterable[int]) -> None:
        """All of these, which are small, before anybody wants them."""
        begun = []
        for node in nodes:
            is_new = node not in self._contents
            content = self.of(node)
            if content.begin_ahead():
                if not is_new:
                    content.path = self._path(content)
                begun.append(content)
        self.work.rows.add(begun, self._load_ahead, self._loaded_ahead)

    def _load_ahead(self, content: Content) -> _Put | None:
        """In a thread. What is wrong is told to who asks for it."""
        try:
            return self._load(content.path, content, Range(0, content.size), of_now=True)
        except OSError:
            return None

    def _loaded_ahead(self, content: Content, put: _Put | None) -> None:
        if put:
            self._loaded(content, Range(0, content.size), put)
        content.end_ahead()

    def _loaded(self, content: Content, one: Range, put: _Put) -> None:
        self._kept_by(content, put.file)
        if put.tier:
            self.metrics.count("blockcache_writes", tier=put.tier)
            self.metrics.count("blockcache_write_bytes", one.size, tier=put.tier)
            self.metrics.see(_SECONDS, put.seconds, tier=put.tier)

    async def direct(self, content: Content, asked: Range) -> bytes | memoryview:
        return await self._there(content, lambda path: self._get(path, content.version, asked, False))

    async def _there(self, content: Content, load: Callable[[bytes], Loaded]) -> Loaded:
        """From where it is, also when it is moved meanwhile."""
        path = self._path(content)
        try:
            return await self.work.fetch(load, path)
        except ChangedError:
            await self._names.moving.settled(path)
            now = self._path(content)
            if now == path:
                self._names.doubt(content.node)  # however long it was to be believed, as where an open asks nobody
                raise
        return await self.work.fetch(load, now)

    def _path(self, content: Content) -> bytes:
        """Others may have replaced it: who has it open reads on where the source keeps versions.

        :raises StaleError: when it has neither a name any more nor a version
        """
        try:
            content.path = self._names.path(content.node)
        except StaleError:
            if not content.version or not content.path:
                raise
        return content.path

    async def compare(self, content: Content, part: Range, waits: bool = True) -> bool:
        """With its checksums, what of a part the disk has; False when nobody holds the content any more.

        :param waits: whether somebody does
        """
        file = content.file
        if file is None:
            return self._contents.get(content.node) is content
        if file.doubts(*part):
            await (self.work.ask if waits else self.work.look_behind)(_compare, file, part)
        if file is content.file and file.doubts(*part):  # it is damaged, or was pushed out
            file.close()
            content.file = self._open(content.digest, content.size)
        return self._contents.get(content.node) is content

    def _kept_by(self, content: Content, file: File | None) -> None:
        """
        :param file: it is one user's more, whoever has it by now
        """
        before = file
        if file is not content.file and content is self._contents.get(content.node):  # it was not dropped meanwhile
            before, content.file = content.file, file
        if before is not None:
            before.close()

    def _load(self, path: bytes, content: Content, one: Range, of_now: bool) -> _Put:
        """In a thread."""
        data = self._get(path, content.version, one, of_now)
        began = time.perf_counter()
        file = self._put_on_disk(content, one, data)
        tier = "disk" if file else "memory" if self._put_in_memory(content, one, data) else ""
        return _Put(file, tier, time.perf_counter() - began)

    def _put_on_disk(self, content: Content, one: Range, data: bytes | memoryview) -> File | None:
        file = content.file
        try:
            if file is not None and file.use():
                try:
                    file.fill(one.offset, data)
                except BaseException:
                    file.close()
                    raise
                return file
            if self._disk is not None and self._settings.block and one.size == content.size:
                return self._disk.put(content.digest, data)
        except FullError:
            pass  # it said so in the log, where a person has to do something
        return None

    def _put_in_memory(self, content: Content, one: Range, data: bytes | memoryview) -> bool:
        """Whole blocks; whether any of it was taken. What was meant for the disk need not begin where one does."""
        first = -(-one.offset // BLOCK)
        end = one.end if one.end == content.size else one.end // BLOCK * BLOCK
        if first * BLOCK >= end:
            return False
        return self.memory.put(content.digest, first, memoryview(data)[first * BLOCK - one.offset : end - one.offset])

    def _get(self, path: bytes, version: bytes, one: Range, of_now: bool) -> bytes | memoryview:
        """
        :param of_now: who asks is told that it was replaced, or removed
        """
        try:
            data = self._source.read(path, version, *one)
        except (FileNotFoundError, ChangedError):  # its name says so to who asks for that; who has it open had it
            if of_now or not version:
                raise ChangedError(path) from None
            data = self._get_replaced(path, version, one)
        if len(data) != one.size:
            raise OSError(
                errno.EIO, f"the source gave {len(data)} bytes at {one.offset}, but the file has {one.size} there", path
            )
        return data

    def _get_replaced(self, path: bytes, version: bytes, one: Range) -> bytes | memoryview:
        try:
            return self._source.read_replaced(path, version, *one)
        except FileNotFoundError:
            raise ChangedError(path) from None

    def _find(self, node: int) -> Content:
        known, version, path = self._nodes.known(node), self._nodes.version(node), self._nodes.last_path(node)
        digest = self._digest(known, version, path)
        content = Content(self, node, version, known.size, digest)
        content.file = self._open(digest, known.size)
        content.path = path
        return content

    def digest(self, node: int) -> bytes:
        """By which what it holds is kept."""
        return self._digest(self._nodes.known(node), self._nodes.version(node), self._names.path(node))

    def _digest(self, known: Known, version: bytes, path: bytes) -> bytes:
        return key(self._settings.identity, path, version or b"%x" % known.mtime, known.size)

    def _open(self, digest: bytes, size: int) -> File | None:
        """A small one is put there whole when it was fetched, which is much less work than to fill it."""
        if self._disk is None or not self._settings.block or size > _LARGEST_KEPT:
            return None
        try:
            return self._disk.get(digest, size) if size <= SMALL else self._disk.begin(digest, size)
        except FullError:
            return None

    def _trim(self) -> None:
        """Those that were left longest ago go first; one that is open comes behind all others, and is looked at again in its turn."""
        for _look in range(_LOOKS):
            count = len(self._contents)
            if count <= _LEAST or (count <= self._most and self._disk and self._disk.may_stay_open(count, self._size)):
                return
            node = next(iter(self._contents))
            if self._is_open(node):
                self._contents.move_to_end(node)
            else:
                self.drop(node)


def _compare(file: File, part: Range) -> None:
    """In a thread."""
    if file.use():
        try:
            file.compare(*part)
        finally:
            file.close()
