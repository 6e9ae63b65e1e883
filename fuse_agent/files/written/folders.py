# SPDX-License-Identifier: Apache-2.0
"""Cache folders of whoever mounted before, and what was written there and is stored nowhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ...cache.claim import OWNER, STAGING, owner_of
from .notes import read_note

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Left(NamedTuple):
    """A file that was written and is stored nowhere else.

    :ivar path: what it becomes, b"" of what nobody wants any more or whose note cannot be read
    :ivar base: of what was there before so much may be needed too, of which not all need be here
    :ivar problem: why the next mount could not store it, "" when it could
    """

    file: Path
    path: bytes
    size: int
    base: int = 0
    problem: str = ""

    @property
    def name(self) -> str:
        """For a person."""
        return self.path.decode(errors="backslashreplace") or str(self.file)


def caches(root: Path) -> Iterator[tuple[Path, str, list[str]]]:
    """Each folder of a cache, what was mounted with it, and the names of what was written and is stored nowhere else."""
    for folder in folders(root):
        yield folder, str(owner_of(folder).get("mount", "")), [one.name for one in left(folder)]


def folders(root: Path) -> Iterator[Path]:
    """Each cache, where that is one or the folder of all."""
    if owner_of(root):
        yield root
    for owner in sorted(root.glob(f"*/*/{OWNER}")):
        if owner_of(owner.parent):
            yield owner.parent


def left(folder: Path) -> Iterator[Left]:
    staging = folder / STAGING
    if not staging.is_dir():
        return
    for file in sorted(staging.iterdir(), key=lambda one: (len(one.name), one.name)):
        if file.name.isdecimal():
            yield _left(staging, file)


def _left(staging: Path, file: Path) -> Left:
    size = file.stat().st_size
    try:
        note = read_note(staging, int(file.name))
    except (OSError, ValueError, TypeError, KeyError) as error:
        return Left(file, b"", size, 0, f"its note cannot be read ({error}), so nobody knows what it was to become")
    problem = "a newer version overtook it: mount it and say what becomes of it by paddleflow-fuse resolve"
    return Left(file, note.path, size, note.base, problem if note.overtaken else "")
