# SPDX-License-Identifier: Apache-2.0
"""What the kernel asks most: in one step from what is known of a node to the bytes of the answer."""

from __future__ import annotations

from stat import S_ISDIR
from typing import TYPE_CHECKING

from ..nodes.records import ROOT
from ..protocol import layout, replies
from ..sources.base import LONGEST_NAME
from . import view
from .known.listings import STATS

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..nodes.records import Known
    from ..nodes.table import Nodes
    from .view import Settings


class Glance:
    """Answers what holds, where the source may not know less of it than we do, and nothing else."""

    def __init__(self, nodes: Nodes, settings: Settings, is_held: Callable[[int], bool]) -> None:
        self._nodes, self._is_held = nodes, is_held
        self._hold = rest, rest_ns = replies.span(settings.kernel_attributes_hold)
        names, names_ns = replies.span(settings.kernel_names_hold)
        self._holds = names, rest, names_ns, rest_ns
        self._absence = replies.absent(settings.kernel_names_hold)

    def entry(self, parent: int, name: bytes) -> bytes | None:
        """Of what a name means, or that it means nothing. The kernel holds the node from now on."""
        node = self._nodes.find(parent, name)
        if not node:
            return self._absent(parent, name)
        known, moment = self._nodes.known(node), view.now()
        if known.holds <= moment or known.name_holds <= moment or known.links != 1 or self._is_held(node):
            return None
        self._nodes.looked_up(node)
        return layout.ENTRY.pack(node, 0, *self._holds, *_numbers(known))

    def _absent(self, folder: int, name: bytes) -> bytes | None:
        if not view.all_known(self._nodes, folder):
            return None
        is_odd = not 0 < len(name) <= LONGEST_NAME or (folder == ROOT and name == STATS)
        return None if is_odd else self._absence

    def attributes(self, node: int) -> bytes | None:
        known = self._nodes.known(node)
        if known.holds <= view.now() or known.links != 1 or self._is_held(node):
            return None
        if not self._nodes.parent(node):  # the root, or what has a name less by now
            return None
        return layout.ATTR_OUT.pack(*self._hold, *_numbers(known))


def _numbers(known: Known) -> tuple[int, ...]:
    mode, uid, gid, size, number, mtime, ctime, atime, _holds, _name_holds, links = known
    return replies.numbers(
        number, mode, view.FOLDER_SIZE if S_ISDIR(mode) else size, links, uid, gid, atime, mtime, ctime
    )
