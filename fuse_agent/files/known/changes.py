# SPDX-License-Identifier: Apache-2.0
"""What we changed ourselves while somebody was asking the source: what he is told may be older than that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_LEAST: Final = 10_000


class Changes:
    def __init__(self, told: Callable[..., None] = lambda *_paths: None) -> None:
        """
        :param told: of each change, whoever asks meanwhile
        """
        self._told = told
        self._count = 0
        self._askers: dict[int, int] = {}  # by when they began
        self._touched: dict[bytes, int] = {}
        self._most = _LEAST

    def begin(self) -> int:
        """Somebody asks now."""
        self._askers[self._count] = self._askers.get(self._count, 0) + 1
        return self._count

    def end(self, began: int) -> None:
        left = self._askers[began] - 1
        if left:
            self._askers[began] = left
            return
        del self._askers[began]
        if not self._askers:
            self._touched.clear()

    def touch(self, *paths: bytes) -> None:
        """They, and what is below them, are other than they were."""
        self._told(*paths)
        if not self._askers:
            return
        self._count += 1
        self._touched.update(dict.fromkeys(paths, self._count))
        if len(self._touched) > self._most:  # somebody asks all the time, but nobody for so long
            oldest = min(self._askers)
            self._touched = {path: count for path, count in self._touched.items() if count > oldest}
            self._most = max(2 * len(self._touched), _LEAST)

    def since(self, began: int, path: bytes) -> bool:
        """Whether what somebody who began then was told of the path may be old."""
        if not self._touched:
            return False
        while self._touched.get(path, 0) <= began:
            if not path:
                return False
            path = path.rpartition(b"/")[0]
        return True
