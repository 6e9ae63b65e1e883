# SPDX-License-Identifier: Apache-2.0
"""Names that are being moved: until it is known here where they are, the source may have moved them, or some of what is below them."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import trio

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .changes import Changes


class Moving:
    def __init__(self, changes: Changes) -> None:
        self._changes = changes
        self._paths: dict[trio.Event, tuple[bytes, ...]] = {}

    def __bool__(self) -> bool:
        return bool(self._paths)

    @contextlib.contextmanager
    def of(self, *paths: bytes) -> Iterator[None]:
        done = trio.Event()
        self._paths[done] = paths
        self._changes.touch(*paths)
        try:
            yield
        finally:
            self._changes.touch(*paths)
            del self._paths[done]
            done.set()

    async def settled(self, path: bytes) -> None:
        while (done := self._with(path)) is not None:
            await done.wait()

    def has(self, path: bytes) -> bool:
        return self._with(path) is not None

    def _with(self, path: bytes) -> trio.Event | None:
        for done, paths in self._paths.items():
            if any(path == one or path.startswith(one + b"/") for one in paths):
                return done
        return None
