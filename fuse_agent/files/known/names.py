# SPDX-License-Identifier: Apache-2.0
"""What names mean: from what is known as long as that holds, else from the source.

A node is one version of what its name means; a name that is found to mean another version gets another node, and whoever asks for
the old one by its name is told to look it up again.
"""

from __future__ import annotations

import errno
import stat
import time
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ...metrics import Metrics
from ...nodes.records import ROOT, StaleError, number
from ...operations import Absent
from ...sources.base import LONGEST_NAME, Found, Kind
from .. import view
from .believed import Believed
from .changes import Changes
from .listings import Listings
from .moving import Moving

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from ...nodes.records import Known
    from ...nodes.table import Nodes
    from ...operations import Held, Soon
    from ...protocol.replies import Entry
    from ...sources.base import Source
    from ..view import Settings
    from ..work import Work
    from .remembered import Remembered

    Answer = TypeVar("Answer")

# What we change ourselves while the source is asked is asked for again, so often.
_ATTEMPTS: Final = 3
META: Final = "meta_ops_durations_histogram_seconds"


class Names:
    """
    :ivar changes: to be told of what is changed here, when the source has done it
    :ivar moving: names that are being moved
    :ivar xattrs: as finds tell them
    :ivar listings: what folders hold
    """

    def __init__(
        self, nodes: Nodes, source: Source, settings: Settings, work: Work, is_open: Callable[[int], bool],
        written: Callable[[int], os.stat_result | None], metrics: Metrics | None = None,
        remembered: Remembered | None = None,
    ) -> None:  # fmt: skip
        """
        :param written: what a file is like that the source may not have yet
        :param remembered: what earlier mounts listed
        """
        self._nodes, self._source, self._settings, self._work = nodes, source, settings, work
        self._is_open, self._written, self._metrics = is_open, written, metrics or Metrics()
        self.changes = Changes(remembered.forget) if remembered else Changes()
        self.xattrs = Believed()
        self.moving = Moving(self.changes)
        self.listings = Listings(nodes, self, source, settings, work, remembered)
        if not nodes.known(ROOT).number:
            nodes.set(ROOT, view.known(Found(Kind.FOLDER), ROOT, settings, view.now()))

    def path(self, node: int) -> bytes:
        """
        :raises StaleError: of one that no name means any more
        """
        return b"/".join(self._nodes.path(node))

    def below(self, parent: int, name: bytes) -> bytes:
        _fit(name)
        return b"/".join([*self._nodes.path(parent), name])

    def new(self, parent: int, name: bytes, *, folder: bool = False) -> bytes:
        """Of what is made there: what the source could not have is refused before anything of it is here.

        :raises OSError:
        """
        path = self.below(parent, name)
        self._source.abilities.names.require(path + b"/" if folder else path)
        return path

    def place(self, path: bytes) -> tuple[int, bytes] | None:
        """The folder that holds it and its name there, as far as that is known here."""
        *above, name = path.split(b"/")
        folder = ROOT
        for one in above:
            folder = self._nodes.find(folder, one)
            if not folder:
                return None
        return folder, name

    # --- one name ----------------------------------------------------------------------------

    def lookup(self, parent: int, name: bytes) -> Soon[Entry | Absent]:
        _fit(name)
        return self._by_known(parent, name) or self._lookup(parent, name)

    def _by_known(self, parent: int, name: bytes) -> Entry | Absent | None:
        """As far as it holds."""
        node = self._nodes.find(parent, name)
        moment = view.now()
        if node:
            known, held = self._nodes.known(node), self.is_held(node)
            if held or (known.name_holds > moment and known.holds > moment):
                return self.entry(node, None if held else known)
        elif view.all_known(self._nodes, parent):
            return Absent(self._settings.kernel_names_hold)
        return None

    def entry(self, node: int, known: Known | None = None) -> Entry:
        """For the kernel, which holds the node from now on."""
        self._nodes.looked_up(node)
        return view.entry(node, known or self.known(node), self._settings)

    def believed(self, parent: int, name: bytes) -> int:
        """The node that the name means as long as that holds, 0 when the source has to be asked, as for who has it open."""
        node = self._nodes.find(parent, name)
        holds = node and not self._is_open(node) and self._nodes.known(node).name_holds > view.now()
        return node if holds else 0

    async def _lookup(self, parent: int, name: bytes) -> Entry | Absent:
        if await self.listings.recalls.know(parent) and (known := self._by_known(parent, name)):
            return known
        node = await self.refresh(parent, name)
        return self.entry(node) if node else Absent(self._settings.kernel_names_hold)

    async def refresh(self, parent: int, name: bytes) -> int:
        """The node that the name means by what the source says now, 0 for none."""
        return await self._refresh(parent, name, self._source.find)

    async def refresh_new(self, parent: int, name: bytes) -> int:
        """The same for who is about to make a file: that there is no folder may be known."""
        is_none = view.all_known(self._nodes, parent) and not self._nodes.find(parent, name)
        return await self._refresh(parent, name, self._source.find_new if is_none else self._source.find)

    async def _refresh(self, parent: int, name: bytes, find: Callable[[bytes], Found]) -> int:
        for _attempt in range(_ATTEMPTS):
            path = self.below(parent, name)
            came = self.changes.begin()
            try:
                before = self._nodes.find(parent, name)
                is_file = bool(before) and stat.S_ISREG(self._nodes.known(before).mode)
                asks = self._source.find_file if is_file else find
                # Who asks for less has an answer for nobody else.
                key = path, find == self._source.find
                found, began, moment = await self._work.once(key, partial(self._find, asks, path))
                if not self.changes.since(began, path):  # whoever asked
                    return self._take(parent, name, found, moment)
            finally:
                self.changes.end(came)
        # Others of this mount change it all the time: what they know holds.
        return self._nodes.find(parent, name)

    async def _find(self, find: Callable[[bytes], Found], path: bytes) -> tuple[Found | None, int, int]:
        """With when it was asked, by the count of our changes and by the clock."""
        began, moment = self.changes.begin(), view.now()
        try:
            found = await self.ask("find", find, path)
            if found.shadows:
                self.listings.shadowed.add(b"", [path])
            return found, began, moment
        except FileNotFoundError:
            return None, began, moment
        finally:
            self.changes.end(began)

    async def ask(self, name: str, call: Callable[..., Answer], *args: Any) -> Answer:
        """What the source says, and in which time."""
        began = time.perf_counter()
        try:
            return await self._work.ask(call, *args)
        finally:
            self._metrics.see(META, time.perf_counter() - began, op=name)

    def _take(self, parent: int, name: bytes, found: Found | None, moment: int) -> int:
        node = self._nodes.find(parent, name)
        if node and self.moving and self.moving.has(self.below(parent, name)):
            return node  # what is known of it holds until it has its place
        is_same = found is not None and bool(node) and self._is_same(node, self._nodes.known(node), found)
        if node and self.is_held(node) and not is_same:
            return node  # what is written is stored when it is closed, whatever others stored meanwhile
        self.listings.recalls.told(parent, name, node, found, is_same)
        if found is None:
            if node:
                self._nodes.unname(node)
            return 0
        return self.take(parent, name, found, moment, node)

    def take(self, parent: int, name: bytes, found: Found, moment: int, node: int = 0) -> int:
        """What the source says that the name means: the node that it meant before, or another when it is not that any more."""
        if node:
            before = self._nodes.known(node)
            if self._is_same(node, before, found):
                inode = self._inode(parent, name, found) if found.links != before.links else before.number
                self._nodes.set(node, view.known(found, inode, self._settings, moment))
                self.xattrs.take(node, found.xattrs)
                return node
        inode = self._inode(parent, name, found)
        node = self._nodes.add(parent, name, view.known(found, inode, self._settings, moment), found.version)
        self.xattrs.take(node, found.xattrs)
        return node

    def linked(self, node: int, found: Found) -> None:
        """It has another name from now on."""
        known = self._nodes.known(node)
        self._nodes.set(node, known._replace(links=found.links, number=number(0, found.file), holds=0))

    def _inode(self, parent: int, name: bytes, found: Found) -> int:
        """That of its path, since a source may give a file that is stored another; but all names of one file have the same."""
        if found.links > 1:
            return number(0, found.file)
        return number(self._nodes.known(parent).number, name)

    def _is_same(self, node: int, before: Known, found: Found) -> bool:
        if found.kind is Kind.FOLDER or stat.S_ISDIR(before.mode):
            return found.kind is Kind.FOLDER and stat.S_ISDIR(before.mode)
        if found.kind is not Kind.UNSURE and stat.S_ISLNK(before.mode) != (found.kind is Kind.LINK):
            return False
        return found.version == self._nodes.version(node) and found.size == before.size

    # --- one node ----------------------------------------------------------------------------

    def attributes(self, node: int) -> Soon[Held]:
        known = self._nodes.known(node)
        if known.holds > view.now() or self._is_constant(node, known) or self.is_held(node):
            return self._held(node)
        return self._attributes(node)

    async def _attributes(self, node: int) -> Held:
        try:
            await self.confirm(node)
        except StaleError:
            if not self._is_open(node):
                raise
            # Who has it open asks for what he opened.
        return self._held(node)

    async def confirm(self, node: int) -> None:
        """That it is what its name means by what the source says now.

        :raises StaleError: when its name means something else, or nothing
        """
        parent = self._nodes.parent(node)
        if parent and await self.refresh(parent, self._nodes.name(node)) != node:
            raise StaleError(node)

    def known(self, node: int) -> Known:
        """What users see of it."""
        known, status = self._nodes.known(node), self._written(node)
        if node != ROOT and not self._nodes.parent(node):
            known = known._replace(links=known.links - 1)
        if status is None:
            return known
        return known._replace(size=status.st_size, mtime=status.st_mtime_ns, ctime=status.st_ctime_ns)

    def _held(self, node: int) -> Held:
        return view.held(self.known(node), self._settings)

    def is_held(self, node: int) -> bool:
        """The source may know less of it than we do."""
        return self._written(node) is not None

    def _is_constant(self, node: int, known: Known) -> bool:
        """A folder is as it is where the source keeps nothing of it; what has no name is asked by nobody else."""
        return (stat.S_ISDIR(known.mode) and not self._source.abilities.keeps) or not self._nodes.parent(node)

    def doubt(self, node: int) -> None:
        """The source is asked for it, and for what it holds, before any of that is told again."""
        known = self._nodes.known(node)
        self._nodes.set(node, known._replace(holds=min(known.holds, 0), name_holds=0))
        for folder in (self._nodes.parent(node), node if stat.S_ISDIR(known.mode) else 0):
            if folder:
                self._nodes.complete(folder, 0)

    def replaced(self, path: bytes) -> None:
        """What lies there is, or is about to be, another by nobody's request."""
        self.changes.touch(path)
        if place := self.place(path):
            node = self._nodes.find(*place)
            if node:
                self.doubt(node)
            else:
                self._nodes.complete(place[0], 0)

    def changed(self, *folders: int) -> None:
        """Names in them came or went. Where that is a time of a folder, the source knows it; tar takes one that changes later for a
        folder that is changed meanwhile."""
        if self._source.abilities.folders_change:
            for folder in filter(None, folders):
                self._nodes.set(folder, self._nodes.known(folder)._replace(holds=0))
                self.listings.recalls.changed(folder)


def _fit(name: bytes) -> None:
    if len(name) > LONGEST_NAME:
        raise OSError(errno.ENAMETOOLONG, f"a name has at most {LONGEST_NAME} bytes, but this one {len(name)}")
