# SPDX-License-Identifier: Apache-2.0
"""What was written and overtaken by a newer version: it stays where it is until a person says what becomes of it."""

from __future__ import annotations

import errno
import logging
from typing import TYPE_CHECKING, Any

from ..read.ahead import Range

if TYPE_CHECKING:
    from .stage import Stage
    from .staging import Staging
    from .storing import Storing

_LOG = logging.getLogger(__name__)


class Overtaken:
    def __init__(self, staging: Staging, storing: Storing) -> None:
        self._staging, self._storing = staging, storing
        self._notes: dict[int, tuple[bytes, int]] = {}  # of each its path, and bytes that nobody has any more

    def add(self, stage: Stage, why: str = "was overtaken by a newer version") -> None:
        """Nobody has it open any more."""
        stage.say_if_it_can(overtaken=True, waits=True)
        missing = sum(one.size for one in stage.missing(Range(0, stage.note.base)))
        self._notes[stage.number] = (stage.note.path, missing)
        _LOG.error(
            "what was written %s, and is left alone path=%r file=%s; see paddleflow-fuse resolve staged=%d",
            why, stage.note.path, self._staging.folder / str(stage.number), stage.number,
        )  # fmt: skip
        stage.close()

    def status(self) -> list[dict[str, Any]]:
        return [
            {
                "path": path.decode(errors="backslashreplace"),
                "file": str(self._staging.folder / str(number)),
                "missing": missing,
            }
            for number, (path, missing) in sorted(self._notes.items())
        ]

    async def resolve(self, path: bytes, ours: bool) -> int:
        """How many files that were.

        :param ours: they replace what is there; else they are removed
        """
        numbers = [number for number, (one, _missing) in sorted(self._notes.items()) if one == path]
        for number in numbers:
            if ours and self._notes[number][1]:
                raise OSError(
                    errno.ESTALE, f"{self._notes[number][1]} bytes of the version that it was begun from are gone: take what"
                    f" was written from {self._staging.folder / str(number)}, and resolve it with theirs", path,
                )  # fmt: skip
            stage = self._staging.open(number)
            try:
                if ours:
                    await self._storing.store(stage, path, None, _nothing)
            except BaseException:
                stage.close()
                raise
            stage.remove()
            del self._notes[number]
        return len(numbers)


async def _nothing(_missing: list[Range]) -> None:
    """All of it is here."""
