# SPDX-License-Identifier: Apache-2.0
"""What a folder holds, in the order in which it came to be known: a list through the records of its children. All by slot, and within
a mark, since each change writes several places."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .records import CHILDREN, FIRST, LAST, LAST_ORDER, NEXT, NOBODY, ORDER, PARENT, PREVIOUS, WORDS

if TYPE_CHECKING:
    from .region import Region


class Children:
    def __init__(self, region: Region) -> None:
        self._words = region.words

    def enter(self, slot: int, folder: int) -> None:
        """The last of that folder's."""
        words, base, above = self._words, slot * WORDS, folder * WORDS
        last = words[above + LAST]
        words[base + PARENT], words[base + PREVIOUS], words[base + NEXT] = folder, last, 0
        words[above + LAST_ORDER] += 1
        words[base + ORDER] = words[above + LAST_ORDER]
        words[last * WORDS + NEXT if last else above + FIRST] = slot
        words[above + LAST] = slot
        words[above + CHILDREN] += 1

    def leave(self, slot: int) -> None:
        words, base = self._words, slot * WORDS
        above = words[base + PARENT] * WORDS
        before, after = words[base + PREVIOUS], words[base + NEXT]
        words[before * WORDS + NEXT if before else above + FIRST] = after
        words[after * WORDS + PREVIOUS if after else above + LAST] = before
        words[above + CHILDREN] -= 1
        words[base + PARENT] = NOBODY

    def take_place(self, slot: int, folder: int, left: int) -> None:
        """In the place of one that has just left."""
        words, base, old, above = self._words, slot * WORDS, left * WORDS, folder * WORDS
        previous, following = words[old + PREVIOUS], words[old + NEXT]
        words[base + PARENT], words[base + PREVIOUS], words[base + NEXT] = folder, previous, following
        words[base + ORDER] = words[old + ORDER]
        words[previous * WORDS + NEXT if previous else above + FIRST] = slot
        words[following * WORDS + PREVIOUS if following else above + LAST] = slot
        words[above + CHILDREN] += 1
