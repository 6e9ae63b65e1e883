# SPDX-License-Identifier: Apache-2.0
"""What folders hold: listings, of which whoever waits is given what has come, and who else asks the same waits for the same."""

from __future__ import annotations

import errno
import stat
from functools import partial
from typing import TYPE_CHECKING, Final

import trio

from ...nodes.records import ROOT
from ...operations import Listed
from ...protocol.replies import Attributes, Entry, listed_size
from .. import view
from .bulk import Bulk
from .oddities import Oddities
from .recalls import Listing, Recalls

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...nodes.table import Child, Nodes
    from ...operations import Soon
    from ...sources.base import Listed as Told
    from ...sources.base import Page, Source
    from ..view import Settings
    from ..work import Work
    from .names import Names
    from .remembered import Remembered

# Names that are taken in a row before others have their turn.
_ROW: Final = 64
# To ask for the times of more files than these takes longer than to list their folder.
_FEW: Final = 16
_MOST: Final = 1000
# A folder that others of this mount rename while it is listed is listed anew, so often.
_ATTEMPTS: Final = 3
_HIDDEN: Final = "what no file here can be or be called is left out of listings: rename it at the source to see it"
_SHADOWED: Final = "a file cannot be reached beside a folder of its name: rename one of them at the source"
# What the agent shows of itself in the root; a user's of that name is hidden.
STATS: Final = b".stats"
_DOTS: Final = 2  # places of a listing before those of what is in the folder


class Listings:
    """
    :ivar hidden: names that no file can have, which listings left out
    :ivar shadowed: those of files that cannot be reached, since there is a folder of the same name
    :ivar bulk: to be told of files that are made
    :ivar recalls: of what earlier mounts listed
    """

    def __init__(
        self, nodes: Nodes, names: Names, source: Source, settings: Settings, work: Work, remembered: Remembered | None
    ) -> None:
        """
        :param remembered: what earlier mounts listed
        """
        self._nodes, self._names, self._source, self._settings, self._work = nodes, names, source, settings, work
        self._remembered = remembered
        self.hidden, self.shadowed = Oddities(_HIDDEN), Oddities(_SHADOWED)
        self._listings: dict[int, Listing] = {}
        self._untimed: dict[int, int] = {}
        self.bulk = Bulk(nodes, settings, self._learn)
        self.recalls = Recalls(nodes, work, names, self, remembered)

    def without_times(self, folder: int) -> None:
        """A file in it was stored, and the source did not say when."""
        if len(self._untimed) >= _MOST:
            self._untimed.clear()  # each is asked for then
        self._untimed[folder] = self._untimed.get(folder, 0) + 1

    def page(self, node: int, after: int, room: int, plus: bool) -> Soon[Sequence[Listed]]:
        if not stat.S_ISDIR(self._nodes.known(node).mode):
            raise NotADirectoryError(errno.ENOTDIR, "only folders are listed")
        if self._is_listed(node, after):
            return self._page(node, after, room, plus)
        return self._list(node, after, room, plus)

    def _is_listed(self, node: int, after: int) -> bool:
        """Who is in the middle of a listing goes on with it, even if it holds no more for others."""
        holds = view.all_known(self._nodes, node) and self._untimed.get(node, 0) <= _FEW
        return node not in self._listings and (holds or bool(after and self._nodes.complete_until(node)))

    async def children(self, node: int, after: int) -> list[Child]:
        """Of a folder, some behind that place of its listing, which is the newest when one begins; none at the end."""
        if not after:
            await self._list(node, 0, 0, plus=False, anew=True)
        return self._row(node, after)

    async def _list(self, node: int, after: int, room: int, plus: bool, anew: bool = False) -> Sequence[Listed]:
        """
        :param anew: by the source, whatever earlier mounts listed
        """
        if not anew:
            recall = await self.recalls.begin(node)
            page = await self._grown(recall, node, after, room, plus) if recall else []
            if recall and not page:
                await recall.flight.result()
            if page or self._is_listed(node, after):  # as by a recall that ended before this began
                return page or self._page(node, after, room, plus)
        listing = self._begin_listing(node)
        listing.most = 0
        page = await self._grown(listing, node, after, room, plus)
        if not page:
            await listing.flight.result()
        return page or self._page(node, after, room, plus)

    def _learn(self, node: int, pages: int) -> None:
        if node not in self._listings:
            self._begin_listing(node).most = pages

    def _begin_listing(self, node: int) -> Listing:
        listing = self._listings.get(node)
        if listing is None:
            listing = self._listings[node] = Listing(0, not self._nodes.count(node))
            listing.flight = self._work.begin(partial(self._whole, node, listing))
        return listing

    async def _grown(self, listing: Listing, node: int, after: int, room: int, plus: bool) -> Sequence[Listed]:
        """What has come of it, nothing when it is over."""
        while room and listing.streams and not listing.flight.has_landed:
            page = self._page(node, after, room, plus)
            if page and page[-1].after > _DOTS:
                return page
            await listing.grown.wait()
        return []

    async def _whole(self, node: int, listing: Listing) -> None:
        try:
            for _attempt in range(_ATTEMPTS):
                listing.number = self._nodes.begin_listing()  # what only an earlier attempt saw may be gone
                with self._nodes.keeping(node):
                    if await self._listed(node, listing):
                        return
            raise OSError(errno.EIO, "the folder was renamed again and again while it was listed")
        finally:
            del self._listings[node]
            listing.grow()

    async def _listed(self, node: int, listing: Listing) -> bool:
        """Whether the folder had the same place from the beginning to the end."""
        path, kept, whole, pages_taken = self._names.path(node), self._remembered, False, 0
        began, begin = self._names.changes.begin(), view.now()
        self._untimed.pop(node, None)
        moment, draft = begin, kept.begin(path) if kept else None
        try:
            pages = iter(self._source.list(path))
            while page := await self._names.ask("list", next, pages, None):
                if not await self.take_page(node, path, page, listing, began, moment):
                    return False
                if kept and draft:
                    kept.add(draft, page)
                moment = view.now()  # of the next one
                pages_taken += 1
                if 0 < listing.most < pages_taken:
                    return True  # nobody waits for it
            await self._sweep(node, path, listing.number, began)
            whole = True
        finally:
            self._names.changes.end(began)
            if kept and draft:
                kept.end(draft, whole)
        self.complete(node, begin)
        return True

    def is_asked(self, node: int) -> bool:
        """Whether the source is asked what the folder holds."""
        return node in self._listings

    def complete(self, node: int, begin: int) -> None:
        """All that it held then is known."""
        self._nodes.complete(node, max((begin + int(self._settings.names_hold * view.SECOND)) // view.SECOND, 0))

    async def take_page(self, node: int, path: bytes, page: Page, listing: Listing, began: int, moment: int) -> bool:
        """Whether the folder has the same place still."""
        self.hidden.add(path, page.hidden)
        self.shadowed.add(path, page.shadowed)
        for start in range(0, len(page.listed), _ROW):
            if self._names.changes.since(began, path):
                return False
            for told in page.listed[start : start + _ROW]:
                if node == ROOT and told.name == STATS:
                    self.hidden.add(path, [told.name])
                elif listing.number or not (told.name in listing.absent or self._nodes.find(node, told.name)):
                    self._take_listed(node, path, told, listing.number, began, moment)
            await trio.lowlevel.checkpoint()
        listing.grow()
        return True

    def _take_listed(self, folder: int, path: bytes, told: Told, listing: int, began: int, moment: int) -> None:
        node = self._nodes.find(folder, told.name)
        kept = node and (self._names.is_held(node) or self._is_moved(path, told.name))
        if not kept and not self._is_touched(began, path, told.name):
            node = self._names.take(folder, told.name, told.found, moment, node)
        if node:
            self._nodes.seen(node, listing)

    async def _sweep(self, folder: int, path: bytes, listing: int, began: int) -> None:
        """What was not listed is not there, but for what was made meanwhile."""
        after = 0
        while row := self._row(folder, after):
            for child in row:
                seen = self._nodes.was_seen(child.node, listing) or self._names.is_held(child.node)
                seen = seen or self._is_moved(path, child.name)
                if not seen and not self._is_touched(began, path, child.name):
                    self._nodes.unname(child.node)
            after = row[-1].order
            await trio.lowlevel.checkpoint()

    def _row(self, folder: int, after: int) -> list[Child]:
        row: list[Child] = []
        for child in self._nodes.children(folder, after):
            row.append(child)
            if len(row) == _ROW:
                break
        return row

    def _is_touched(self, began: int, path: bytes, name: bytes) -> bool:
        return self._names.changes.since(began, path + b"/" + name if path else name)

    def _is_moved(self, path: bytes, name: bytes) -> bool:
        return self._names.moving.has(path + b"/" + name if path else name)

    def _page(self, node: int, after: int, room: int, plus: bool) -> list[Listed]:
        """As many as fit."""
        page: list[Listed] = []
        for place, name in ((1, b"."), (2, b"..")):
            if after < place:
                room -= listed_size(name, plus)
                page.append(Listed(name, Entry(0, Attributes(node, stat.S_IFDIR)), place))
        moment = view.now()
        for child in self._nodes.children(node, max(after - _DOTS, 0)):
            room -= listed_size(child.name, plus)
            if room < 0:
                break
            known = self._names.known(child.node)
            if plus and (known.holds > moment or self._names.is_held(child.node)):
                found = self._names.entry(child.node, known)
            else:
                kind = 0 if known.holds == view.UNSURE else known.mode
                found = Entry(0, Attributes(known.number, kind))
            page.append(Listed(child.name, found, child.order + _DOTS))
        return page
