# SPDX-License-Identifier: Apache-2.0
"""The file system as a worker serves it: made from what was configured, and asked what is not an operation of the kernel."""

from __future__ import annotations

import logging
import os
import resource
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from functools import partial
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import trio
from paddleflow_core.model import mount as model
from paddleflow_core.model.stores import HELD

from .. import cgroup
from .. import configuration as configured
from ..cache.claim import STAGING, Claim, claim
from ..cache.disk import Disk
from ..cache.errors import ForeignError, HeldError
from ..cache.memory import Memory
from ..cache.room import Limits
from ..cache.store import little_waits
from ..files.known.remembered import Remembered
from ..files.read.warm import paths_of
from ..files.stats import WithStats
from ..files.system import Parts
from ..files.written.headroom import Headroom
from ..files.written.staging import Staging
from ..logs import SILENT, facts
from ..metrics import Metrics
from ..nodes.table import Nodes
from ..opens import Opens
from ..session.spin import Spin
from ..sources.make import Wanted, make
from .service import Given, RefusedError, Unsaved
from .told import Told, few

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping

    from ..configuration import Configuration
    from ..files.system import FileSystem
    from ..files.view import Settings
    from ..sources.base import Source

_LOG = logging.getLogger(__name__)
_OWNER: Final = "owner"
_RUN: Final = "/run/paddleflow/fuse"
_MARKS: Final = "lacking"
# Of a disk, where nothing else is said.
_SHARE: Final = 2
# Where a file system tells no number of files that it can hold.
_FILES: Final = 10_000_000
_MEMORY_SHARE: Final = 4
_EVERY: Final = 1.0  # seconds between two lines that tell how far it is
_NAMED: Final = 3  # files in such a line
_SOON: Final = 2.0  # seconds after which who waits for a mount is told for what


class _Made(NamedTuple):
    """Of one mount."""

    settings: Settings
    source: Source
    owned: Claim
    cleans: bool  # at the end
    disk: Disk | None
    staging: Staging | None
    headroom: Headroom | None
    remembered: Remembered | None
    memory: Memory
    metrics: Metrics
    spin: float


class Served:
    def __init__(self, files: FileSystem, told: Told) -> None:
        self.operations = files
        self._files, self._told = files, told
        self.is_over = False

    def unsaved(self) -> Unsaved:
        left = self._files.unsaved()
        return Unsaved(len(left), tuple(path.decode(errors="backslashreplace") for path in left))

    async def save(self, _seconds: float) -> None:
        await self._files.save()

    def over(self) -> None:
        self.is_over = True

    def status(self) -> dict[str, Any]:
        return self._told.status()

    async def command(self, name: str, given: Mapping[str, Any]) -> AsyncGenerator[dict[str, Any], None]:
        if name == "warmup":
            warm = self._files.warm(given.get("kind", "data") == "data", int(given.get("at_once", 100)))
            async for line in warm.run(paths_of(given["paths"])):
                yield {name: few(value) if isinstance(value, list) else value for name, value in line.items()}
        elif name == "save":
            async with aclosing(self._save(bool(given.get("progress")))) as lines:
                async for line in lines:
                    yield line
        elif name == "resolve":
            for path in paths_of(given["paths"]):
                yield {"resolved": await self._files.resolve(path, given["take"] == "ours")}
        elif name == "clear":
            cleared, lacking = await self._files.clear(paths_of(given.get("paths", [])))
            yield {"cleared": cleared, "lacking": few(lacking)}
        elif name == "metrics":
            for piece in self._told.pieces():
                yield {"text": piece}
        else:
            raise LookupError(f"There is no command {name}; there are warmup, save, resolve, clear and metrics.")

    async def _save(self, progress: bool) -> AsyncGenerator[dict[str, Any], None]:
        """
        :param progress: whether to tell how much is left, while it takes
        """
        over, failed = trio.Event(), list[bytes]()

        async def save() -> None:
            failed.extend(await self._files.store_all())
            over.set()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(save)
            while not over.is_set():
                with trio.move_on_after(_EVERY):
                    await over.wait()
                if progress and not over.is_set():
                    status = self._files.status()
                    names = [path.decode(errors="backslashreplace") for path in self._files.unsaved()[:_NAMED]]
                    yield {"left": status["unsaved"], "bytes": status["dirty_bytes"], "names": few(names)}
        yield {"unsaved": few([path.decode(errors="backslashreplace") for path in failed]), "count": len(failed)}


def _make(given: Given) -> _Made:
    """
    :raises RefusedError:
    """
    told, metrics = given.configuration, Metrics()
    try:
        wanted = configured.read(told["url"], told["options"])
        settings = configured.settings(wanted, told["uid"], told["gid"], told["mounted_ns"])
        root = Path(wanted.mount["data-cache-path"].rstrip("/") or model.defaults()["data-cache-path"])
        folder = root / configured.folder(wanted) / configured.tag(wanted)
        journal = str(folder / "uploads")
        rates = configured.rates(wanted, str(folder / "rates"), told.get("run", _RUN))
        place = Wanted(wanted.url, wanted.properties, wanted.place["subPath"], told.get("secrets"), journal, rates)
        source = make(place, metrics.request)
        if not given.kept:  # at the mount, and not again when a worker is replaced while the source is away
            with _telling_who_waits(wanted.url):
                source.find(b"")
        source.opened()
        owned = _owned(given, folder, wanted)
        disk, limits = None, _limits(folder, wanted)
        if wanted.mount["data-cache-path"].rstrip("/") and settings.block:
            disk = Disk(owned, limits, int(model.seconds(wanted.mount["data-cache-expire"])))
        staging = None
        if not settings.read_only:
            staging = Staging(folder / STAGING, owned.renew, marks=Path(told.get("run", _RUN), _MARKS))
    except (OSError, HeldError, ForeignError, configured.OptionsError) as error:
        raise RefusedError(str(error)) from error
    memory = Memory(_memory(model.size(wanted.mount["memory-cache-size"])))
    headroom = Headroom(staging.folder, limits.bytes, disk) if staging else None
    remembered = None
    if wanted.mount["meta-cache-driver"] == "disk":
        remembered = Remembered(folder, settings.names_hold, changes=staging is not None, free=limits.free_share)
    return _Made(
        settings, source, owned, wanted.mount["clean-cache"], disk, staging, headroom, remembered, memory, metrics,
        model.seconds(wanted.mount["spin"]),
    )  # fmt: skip


@asynccontextmanager
async def begin(given: Given) -> AsyncIterator[Served]:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    made = await trio.to_thread.run_sync(_make, given)
    session, disk = given.session, made.disk
    session.spin = Spin(made.spin)
    is_well = lasts = False
    try:
        async with trio.open_nursery() as nursery:
            parts = Parts(
                Nodes(given.region),
                Opens(given.region, session.unbind),
                made.source,
                made.memory,
                disk,
                made.staging,
                session.bind if session.agreed.passthrough else None,
                made.metrics,
                session.doubt,
                made.headroom,
                made.remembered,
            )
            told = Told(given, disk, made.memory, made.metrics, made.owned.folder)
            files = told.files = WithStats(nursery, parts, made.settings, told.text)
            session.observe, session.results = made.metrics.operation, files.results
            served = Served(files, told)
            yield served
            nursery.cancel_scope.cancel()
        files.close(served.is_over)
        is_well, lasts = True, served.is_over  # else clients wait for the worker after this one
    finally:
        if made.remembered is not None:
            made.remembered.close(is_well, lasts and little_waits())
        if disk is not None:
            disk.close(lasts)
    if made.cleans and served.is_over:
        await trio.to_thread.run_sync(_clean, made, given.busy)


@contextmanager
def _telling_who_waits(url: str) -> Iterator[None]:
    """In a thread, which waits itself."""
    text = f"{SILENT}: it is asked for about a minute, and then it is said what is wrong"
    timer = Timer(_SOON, _LOG.warning, [text], {"extra": facts(url=url)})
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _clean(made: _Made, busy: Callable[[], None]) -> None:
    """As ``clean-cache`` says: what was cached is worth nothing to anybody any more."""
    owned = made.owned
    try:
        gone = owned.clear(busy)
    except OSError as error:
        _LOG.error("the cache could not be removed; remove it by paddleflow-fuse clean-cache", extra=facts(why=error))
        return
    if not gone:
        _LOG.warning("of the cache what is stored nowhere else stays", extra=facts(folder=owned.folder))


def _owned(given: Given, folder: Path, wanted: Configuration) -> Claim:
    """Of the cache folder, which stays ours while workers come and go."""
    owned = None
    if _OWNER in given.kept:
        with suppress(ForeignError, FileNotFoundError):  # somebody removed it, and another one is made
            owned = Claim.adopt(folder, given.kept[_OWNER])
    if owned is None:
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        told = given.configuration
        shown = {name: value for name, value in told["options"].items() if name not in HELD}
        owned = claim(folder, {"mount": told["mount"], "url": wanted.url, "options": shown})
        given.keep(_OWNER, owned.descriptor)
    owned.renewed = partial(given.keep, _OWNER)
    return owned


def _limits(folder: Path, wanted: Configuration) -> Limits:
    disk = os.statvfs(folder)
    quota = model.size(wanted.mount["data-cache-quota"]) or disk.f_blocks * disk.f_frsize // _SHARE
    files = model.size(wanted.mount["data-cache-files"]) or disk.f_files // _SHARE or _FILES
    return Limits(quota, files, model.seconds(wanted.mount["free-space-ratio"]))


def _memory(wanted: int) -> int:
    """No more than a part of what the container or unit may have."""
    limit = cgroup.limit()
    if limit is None or limit // _MEMORY_SHARE >= wanted:
        return wanted
    _LOG.info(
        "the memory tier is smaller than was asked for, by the container's or unit's limit", extra=facts(limit=limit)
    )
    return limit // _MEMORY_SHARE
