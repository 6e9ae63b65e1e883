# SPDX-License-Identifier: Apache-2.0
"""What is noted beside a file that is written, for whoever starts after a crash.

Words of this folder:

- version: by which the source tells one content of a file from another; b"" of what it does not have.
- before: the version that is written to. Once the source has what is staged, that is the version before.
- base: so many of its bytes the staged file still means where nothing was written; they are fetched when they are wanted.
- over: the version that may be replaced when it is stored. It is the one before where conflicts fail, or where the file is to be the first of
  its name; else None, which is any.
- stored: what the staged file was like when the source took it. As long as it is like that, there is nothing to store.
"""

from __future__ import annotations

import json
import os
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

    from ...sources.xattrs import Changed

_BLOCK: Final = 4096
NO_XATTRS: Final[Changed] = MappingProxyType({})


class Stored(NamedTuple):
    """What a file was like when the source took it."""

    size: int
    mtime_ns: int
    ctime_ns: int
    sum: int  # of its content, 0 for a large one


class Note(NamedTuple):
    """What whoever comes after this process has to know of it.

    :ivar path: what it becomes
    :ivar before: the version that it replaces, b"" for none
    :ivar stored: what the source has of it
    :ivar kept: whether somebody set an owner, a mode or a time that the source does not have
    :ivar poisoned: the errno of a write that failed: what is here is not what was written
    :ivar unfinished: what was there before is still being copied, so that nothing was written yet
    :ivar base: how many bytes of that one it still holds where nothing was written
    """

    path: bytes
    before: bytes = b""
    base: int = 0
    mode: int | None = None
    uid: int | None = None
    gid: int | None = None
    waits: bool = False  # closed by all, and the source would not take it yet
    stored: Stored | None = None
    kept: bool = False
    poisoned: int = 0
    alone: bool = False  # it is to be the first of its name
    overtaken: bool = False  # the source has a newer one, so that nobody stores it unasked
    unfinished: bool = False
    boot: str = ""  # of the machine, for as long as its disk need not have what is here
    xattrs: Changed = NO_XATTRS  # those that it has, and those that were removed


def note_path(folder: Path, number: int) -> Path:
    return folder / f"{number}.json"


def write_note(folder: Path, number: int, note: Note) -> None:
    """Complete, or as it was before."""
    path = note_path(folder, number)
    xattrs = {name.hex(): None if value is None else value.hex() for name, value in note.xattrs.items()}
    document = note._asdict() | {"path": note.path.hex(), "before": note.before.hex(), "xattrs": xattrs}
    for name in ("xattrs", "unfinished", "boot"):  # which an older release does not know
        if not document[name]:
            del document[name]
    text = json.dumps(document).encode("ascii").ljust(_BLOCK)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if len(text) == _BLOCK and os.fstat(descriptor).st_size <= _BLOCK:
            # One block is written as a whole or not at all, whoever is killed, and has its room on a disk that is full by now.
            os.pwrite(descriptor, text, 0)
            return
    finally:
        os.close(descriptor)
    unfinished = path.with_suffix(".new")
    try:
        unfinished.write_bytes(text)
        unfinished.rename(path)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise


def sync(path: Path) -> None:
    """It is there also when the machine has died."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_note(folder: Path, number: int) -> Note:
    document = json.loads(note_path(folder, number).read_text(encoding="ascii"))
    stored = document.get("stored")
    xattrs = {
        bytes.fromhex(name): None if value is None else bytes.fromhex(value)
        for name, value in document.get("xattrs", {}).items()
    }
    path, before = (bytes.fromhex(document[name]) for name in ("path", "before"))
    values = {"path": path, "before": before, "stored": Stored(*stored) if stored else None, "xattrs": xattrs}
    return Note(**document | values)
