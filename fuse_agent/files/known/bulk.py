# SPDX-License-Identifier: Apache-2.0
"""Folders in which one file after another is made: what they hold is known, so that nobody is asked before each.

That is for who makes a file that must not be there: another's that is there all the same is met when the file is stored, which is
done over none. It is so in bulk alone: who makes a lock now and then asks each time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .. import view

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...nodes.table import Nodes
    from ..view import Settings

# Files that are made in a folder before it counts, and those for which a page of its listing is worth it.
LEAST: Final = 4
_PAGE: Final = 32
_MOST: Final = 1000


class Bulk:
    def __init__(self, nodes: Nodes, settings: Settings, learn: Callable[[int, int], None]) -> None:
        """
        :param learn: has a folder listed in the background, if that takes no more than so many pages
        """
        self._nodes, self._hold, self._learn = nodes, int(settings.names_hold * view.SECOND), learn
        self._made: dict[int, tuple[int, int]] = {}  # since when, and how many
        self._contested: set[int] = set()

    def is_free(self, folder: int, name: bytes) -> bool:
        """Whether a name is believed to be nobody's."""
        if not view.all_known(self._nodes, folder) or folder in self._contested:
            return False
        since, count = self._made.get(folder, (0, 0))
        return count >= LEAST and view.now() < since + self._hold and not self._nodes.find(folder, name)

    def made(self, folder: int) -> None:
        moment = view.now()
        since, count = self._made.get(folder, (0, 0))
        if moment >= since + self._hold:
            if len(self._made) >= _MOST:
                self._made.clear()
            since, count = moment, 0
        count += 1
        self._made[folder] = since, count
        is_known = view.all_known(self._nodes, folder)
        if self._hold and not is_known and folder not in self._contested and _is_power(count):
            self._learn(folder, max(count // _PAGE, 1))

    def contested(self, folder: int) -> None:
        """Others made a file there that was believed to be nobody's: from now on it is asked before each."""
        if len(self._contested) >= _MOST:
            self._contested.clear()
        self._contested.add(folder)
        self._nodes.complete(folder, 0)


def _is_power(count: int) -> bool:
    """Of LEAST: so that all tries together take little beside what is asked otherwise."""
    while count > LEAST and count % LEAST == 0:
        count //= LEAST
    return count == LEAST
