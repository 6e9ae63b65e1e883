# SPDX-License-Identifier: Apache-2.0
"""What the source told last of what users say of files, as long as that is believed: as their other attributes, of which it is a part.

Not in the region: the next worker asks.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ...sources.xattrs import Xattrs

_MOST: Final = 4096


class Believed:
    def __init__(self) -> None:
        self._told: OrderedDict[int, Xattrs] = OrderedDict()

    def get(self, node: int) -> Xattrs | None:
        """None also of one that was told too long ago."""
        return self._told.get(node)

    def take(self, node: int, xattrs: Xattrs | None) -> None:
        """With all else that was told of it; None when these were not."""
        if xattrs is None:
            self._told.pop(node, None)
            return
        self._told[node] = xattrs
        self._told.move_to_end(node)
        if len(self._told) > _MOST:
            self._told.popitem(last=False)
