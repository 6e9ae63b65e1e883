# SPDX-License-Identifier: Apache-2.0
"""Who opens the files of a folder in the order of its listing will want the next ones too."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ...nodes.table import Nodes

# Files in a row before any is fetched ahead, and how many are at most.
_RUN: Final = 2
MOST: Final = 64
# Readers that share a folder's files among them each leave some out.
_GAP: Final = 8
# Folders that are remembered.
_FOLDERS: Final = 256


class _Walk:
    __slots__ = ("fetched", "order", "run")

    def __init__(self) -> None:
        self.order = self.run = self.fetched = 0


class Neighbours:
    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._walks: OrderedDict[int, _Walk] = OrderedDict()

    def after(self, node: int, missed: bool) -> list[int]:
        """The files that are worth fetching when this one is opened, which were not named before.

        :param missed: whether it had to be fetched itself
        """
        folder = self._nodes.parent(node)
        if not folder or (not missed and folder not in self._walks):
            return []
        walk = self._walk(folder)
        order = self._nodes.order(node)
        if not missed and order > walk.fetched:
            return []  # it was here all the time
        if 0 < order - walk.order <= _GAP + max(walk.fetched - walk.order, 0):
            walk.run += 1
        elif order != walk.order:
            walk.run, walk.fetched = 0, order
        walk.order = order
        if walk.run < _RUN:
            return []
        wanted = min(2 * walk.run, MOST)
        # In rows, so that not every open looks for one more.
        if walk.fetched - order > wanted // 2:
            return []
        found = []
        for child in self._nodes.children(folder, max(order, walk.fetched), node):
            found.append(child.node)
            walk.fetched = child.order
            if len(found) == wanted:
                break
        return found

    def _walk(self, folder: int) -> _Walk:
        walk = self._walks.get(folder)
        if walk is None:
            walk = self._walks[folder] = _Walk()
            if len(self._walks) > _FOLDERS:
                self._walks.popitem(last=False)
        else:
            self._walks.move_to_end(folder)
        return walk
