# SPDX-License-Identifier: Apache-2.0
"""Folders that earlier mounts listed: what they held is taken from there, as from the source, for as long as it is believed."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import trio

from ...nodes.records import StaleError
from ...sources.base import parent as folder_of
from .remembered import LostError

if TYPE_CHECKING:
    from ...nodes.table import Nodes
    from ...sources.base import Found
    from ..work import Flight, Work
    from .listings import Listings
    from .names import Names
    from .remembered import Remembered, Row

# Names of a folder up to which who looks for one waits for all.
_FEW: Final = 20_000


class Listing:
    """Of a folder, on its way. Where no name was known before, readers are given what came so far; else they would be given what
    is there no more.

    :ivar names: how many there will be, where an earlier mount listed it
    :ivar most: pages after which it is given up, unless somebody has come who waits for it; 0 for none
    """

    def __init__(self, number: int, streams: bool, names: int = 0) -> None:
        self.number, self.streams, self.names, self.most = number, streams, names, 0
        self.absent: set[bytes] = set()  # of an earlier one, what the source meanwhile said to be gone
        self.grown = trio.Event()
        self.flight: Flight

    def grow(self) -> None:
        self.grown.set()
        self.grown = trio.Event()


class Recalls:
    def __init__(
        self, nodes: Nodes, work: Work, names: Names, listings: Listings, remembered: Remembered | None
    ) -> None:
        self._nodes, self._work, self._remembered = nodes, work, remembered
        self._names, self._listings = names, listings
        self._recalls: dict[int, Listing] = {}

    async def know(self, folder: int) -> bool:
        """Whether all names of the folder are known now. Where those are many, they come in the background, and the source is asked for
        one meanwhile."""
        if self._remembered is None:
            return False
        recall = self._recalls.get(folder)
        if recall is None and not self._nodes.count(folder):
            recall = await self.begin(folder)
        if recall is not None and recall.names <= _FEW:
            await recall.flight.result()
        return bool(self._nodes.complete_until(folder))

    async def begin(self, node: int) -> Listing | None:
        """None where nobody listed it before, or that is not believed any more, or something newer is known or asked for."""
        if self._remembered is None or self._is_newer(node):
            return None
        if node not in self._recalls:
            row = await self._work.ask(self._remembered.find, self._names.path(node))
            if row is None or self._is_newer(node):
                return None
            if node not in self._recalls:
                recall = self._recalls[node] = Listing(0, not self._nodes.count(node), row.names)
                recall.flight = self._work.begin(partial(self._recall, self._remembered, node, recall, row))
        return self._recalls[node]

    def _is_newer(self, node: int) -> bool:
        return self._listings.is_asked(node) or bool(self._nodes.complete_until(node))

    async def _recall(self, remembered: Remembered, node: int, recall: Listing, row: Row) -> bool:
        with self._nodes.keeping(node):
            return await self._recalled(remembered, node, recall, row)

    async def _recalled(self, remembered: Remembered, node: int, recall: Listing, row: Row) -> bool:
        """Whether all of it is known now. What is known already is newer."""
        names, listings = self._names, self._listings
        began = names.changes.begin()
        try:
            for number in range(row.pages):
                page = await self._work.ask(remembered.page, row, number)
                if listings.is_asked(node) or not await listings.take_page(
                    node, row.path, page, recall, began, row.moment
                ):
                    return False
            if names.path(node) != row.path or listings.is_asked(node):
                return False
        except (LostError, StaleError):
            return False
        finally:
            names.changes.end(began)
            del self._recalls[node]
            recall.grow()
        listings.complete(node, row.moment)
        return True

    # --- what makes them old -----------------------------------------------------------------

    def told(self, folder: int, name: bytes, node: int, found: Found | None, is_same: bool) -> None:
        """By the source of one name.

        :param node: what it meant before
        :param is_same: whether that is what was found
        """
        if self._remembered is None:
            return
        if found is None and (recall := self._recalls.get(folder)):
            recall.absent.add(name)
        is_new = found is not None and not node and self._nodes.complete_until(folder)
        if is_new or (node and not is_same):
            self._remembered.void(self._names.path(folder))

    def changed(self, folder: int) -> None:
        """Its time is another, which stands with its name."""
        if self._remembered and self._nodes.parent(folder):
            self._remembered.void(folder_of(self._names.path(folder)))
