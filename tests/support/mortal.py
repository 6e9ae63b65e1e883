# SPDX-License-Identifier: Apache-2.0
"""Memory whose writer is killed after so many writes: whatever lies there then is what the next one finds."""

from __future__ import annotations

from typing import Any

from paddleflow_fuse.nodes.region import Region


class KilledError(Exception):
    """In the place of the process."""


class Life:
    """How many writes a writer has left; none is counted before it is doomed."""

    def __init__(self) -> None:
        self.left = -1

    def doom(self, writes: int) -> None:
        self.left = writes

    def spare(self) -> None:
        self.left = -1

    def write(self) -> None:
        if self.left == 0:
            raise KilledError
        self.left -= 1


class _View:
    def __init__(self, view: memoryview, life: Life) -> None:
        self._view, self._life = view, life

    def __getitem__(self, place: Any) -> Any:
        return self._view[place]

    def __len__(self) -> int:
        return len(self._view)

    def __setitem__(self, place: Any, value: Any) -> None:
        self._life.write()
        self._view[place] = value


def mortal(region: Region, life: Life) -> Region:
    for name in ("counters", "free_units", "buckets", "handles", "words", "longs", "results", "arena", "arena_words"):
        setattr(region, name, _View(getattr(region, name), life))
    return region
