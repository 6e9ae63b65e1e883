# SPDX-License-Identifier: Apache-2.0
"""Compares all that lies in a folder of the cache, which nobody uses, with what is known of it."""

from __future__ import annotations

import os
import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

from . import index as indexes
from .claim import OURS, OWNER, Claim, borrowed
from .entries import SUMMED, WHOLE
from .pieces import MapError, bounds, checksums, count
from .store import OBJECTS, Store, cost, filling_name, key_of, names_in, object_name, read_map

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Tell = Callable[["Progress"], None]


class Finding(NamedTuple):
    """
    :ivar name: of a file, in the folder
    :ivar mended: whether it is no more
    """

    name: str
    what: str
    mended: bool = False


class Progress(NamedTuple):
    done: int
    of: int
    bytes: int


def fsck(
    folder: Path, repair: bool = False, *, quick: bool = False, tell: Tell = lambda _progress: None
) -> list[Finding]:
    """It reads all that is there.

    :param repair: remove what is damaged; it is read again from where it came
    :param quick: sizes alone are compared, and no content is read
    :param tell: is told how far it is
    :raises HeldError:
    :raises ForeignError:
    """
    with borrowed(folder, "checked") as held:
        problem = indexes.examine(folder)
        if not problem:
            return _Check(held, repair, quick, tell).run()
        if repair:
            indexes.remove(folder)
        advice = "the next who uses the cache makes it anew, and then its files can be checked"
        return [Finding("index", f"{problem}; {advice}", repair)]


class _Check:
    def __init__(self, held: Claim, repair: bool, quick: bool, tell: Tell) -> None:
        self._repair, self._quick, self._tell, self._held = repair, quick, tell, held
        self._store = Store(held.root)
        self._store.make()
        self._lock = threading.Lock()
        self._found: list[Finding] = []

    def run(self) -> list[Finding]:
        for name in sorted(set(names_in(self._held.root)) - {*OURS, OWNER}):
            self._found.append(Finding(name, "it is not of the cache, and is left alone"))
        self._index = indexes.Index(self._held.folder, 0, False, self._lock, self._trouble)
        self._entries = self._index.entries
        try:
            self._all()
        finally:
            self._index.close()
        return self._found

    def _all(self) -> None:
        entries, filling, read = self._entries.live(), self._store.filling(), 0
        for number, entry in enumerate(entries):
            read += self._entries.order.cost[entry]
            self._whole(entry)
            self._tell(Progress(number + 1, len(entries) + len(filling), read))
        self._unknown()
        for number, (_used, key) in enumerate(filling):
            self._filling(key)
            self._tell(Progress(len(entries) + number + 1, len(entries) + len(filling), read))

    def _find(self, name: str, what: str) -> None:
        """What is removed where that was asked."""
        self._found.append(Finding(name, what, self._repair))

    def _whole(self, entry: int) -> None:
        key = self._entries.key(entry)
        name = object_name(key)
        try:
            descriptor = self._store.open_object(key)
        except OSError as error:
            what = f"it cannot be read: {error.strerror}"
        else:
            with ExitStack() as closing:
                closing.callback(os.close, descriptor)
                size = os.fstat(descriptor).st_size
                what = self._compare(entry, descriptor, size)
                if not what and not self._quick and not self._entries.flags[entry] & SUMMED:
                    self._found.append(Finding(name, "its checksums are not known, so it was not compared"))
        if what:
            self._find(name, what)
            if self._repair:
                self._store.remove(key, whole=True)
                with self._lock:
                    self._entries.remove(entry)
                    self._index.mark(entry)

    def _compare(self, entry: int, descriptor: int, size: int) -> str:
        if cost(size) != self._entries.order.cost[entry]:
            return f"it has {size} bytes, which is not what was written"
        if self._quick or not self._entries.flags[entry] & SUMMED:
            return ""
        sums = [self._entries.sums[entry]] if count(size) == 1 else self._index.sums(entry)
        return _compare(descriptor, size, sums if size else [])

    def _unknown(self) -> None:
        for first in range(256):
            for name in self._store.objects(first):
                key = key_of(name)
                path = f"{OBJECTS}/{first:02x}/{name}"
                if key is None or key[0] != first:
                    self._found.append(Finding(path, "it is not of the cache, and is left alone"))
                elif not self._known(key):
                    self._find(path, "the index does not know it")
                    if self._repair:
                        self._store.unlink(path)

    def _known(self, key: bytes) -> bool:
        entry = self._entries.find(key)
        return bool(entry and self._entries.flags[entry] & WHOLE)

    def _filling(self, key: bytes) -> None:
        with ExitStack() as closing:
            try:
                file, notes = self._store.open_filling(key)
                closing.callback(os.close, file)
                closing.callback(os.close, notes)
                pieces = read_map(notes, ())
                sums = {} if self._quick else {piece: pieces.sums[piece] for piece in pieces.doubtful}
                what = "" if os.fstat(file).st_size == pieces.size else "it has another size than its map says"
            except (MapError, OSError) as error:
                what, sums = str(error), {}
            what = what or next((bad for piece in sums if (bad := _piece(file, piece, pieces.size, sums[piece]))), "")
        if what:
            self._find(filling_name(key), what)
            if self._repair:
                self._store.remove(key, whole=False)

    def _trouble(self, error: OSError) -> None:
        self._found.append(Finding("index", f"it could not be repaired: {error}"))


def _compare(descriptor: int, size: int, sums: list[int]) -> str:
    if len(sums) != count(size):
        return f"it has {size} bytes, which is not what was written"
    return next((bad for piece, known in enumerate(sums) if (bad := _piece(descriptor, piece, size, known))), "")


def _piece(descriptor: int, piece: int, size: int, known: int) -> str:
    offset, length = bounds(piece, size)
    try:
        data = os.pread(descriptor, length, offset)
    except OSError as error:
        return f"it cannot be read at {offset}: {error.strerror}"
    return "" if checksums(memoryview(data)) == [known] else f"at {offset} is not what was written"
