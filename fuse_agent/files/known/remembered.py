# SPDX-License-Identifier: Apache-2.0
"""Listings that outlive a mount, in one file of SQLite beside the cache: each with the moment at which the source was asked for it.

A thread of its own writes them, and nobody waits for it. What was changed here is forgotten by that thread too; so a mount that may
change anything believes what lies there only after an end at which all of that was written, and after the machine died nobody does.
"""

from __future__ import annotations

import logging
import os
import queue
import sqlite3
import threading
import time
from contextlib import ExitStack, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ...boot import boot_id
from ...sources.base import parent
from .. import view
from .packed import DamagedError, Moment, age, pack, unpack

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from ...sources.base import Page

_LOG = logging.getLogger(__name__)
NAMES, WELL = "names", "names-well"  # the file, and the mark of a good end
_LASTS: Final = "on the disk"
_LAYOUT: Final = 1
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS run (boot TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS folders (
    id INTEGER PRIMARY KEY AUTOINCREMENT, path BLOB NOT NULL, whole INTEGER NOT NULL, wall REAL NOT NULL, boot TEXT NOT NULL,
    ns INTEGER NOT NULL, pages INTEGER NOT NULL, names INTEGER NOT NULL, size INTEGER NOT NULL
);
CREATE UNIQUE INDEX IF NOT EXISTS paths ON folders (path) WHERE whole;
CREATE INDEX IF NOT EXISTS walls ON folders (wall);
CREATE TABLE IF NOT EXISTS pages (folder INTEGER NOT NULL, number INTEGER NOT NULL, body BLOB NOT NULL, PRIMARY KEY (folder, number));
"""
_FILES: Final = tuple(NAMES + end for end in ("", "-wal", "-shm", "-journal"))
# Bytes of all listings, pages of one that wait for the thread, and changes of ours that do.
_LARGEST, _MOST_PAGES, _MOST_GONE = 512 << 20, 256, 10_000
_BLOCK: Final = 4096


class LostError(Exception):
    """It is not there any more: ask the source."""


class Row(NamedTuple):
    """
    :ivar moment: at which the source was asked, in nanoseconds of the boot clock as it goes now
    """

    id: int
    path: bytes
    ns: int
    pages: int
    names: int
    moment: int


class Draft:
    """A listing on its way.

    :ivar void: it is not to be kept
    """

    def __init__(self, path: bytes, asked: Moment) -> None:
        self.path, self.asked = path, asked
        self.void = False
        self.waiting = 0
        self.id: int | None = None
        self.pages = self.names = self.size = 0


class Remembered:
    """
    :ivar off: why nothing is kept, "" when it is
    :ivar folders: of which a listing is kept
    """

    def __init__(
        self, folder: Path, hold: float, *, changes: bool, free: float = 0.0, clock: Callable[[], Moment] | None = None,
        largest: int = _LARGEST,
    ) -> None:  # fmt: skip
        """
        :param folder: nobody else has it
        :param hold: seconds for which a listing is believed
        :param changes: whether this mount may change what it lists
        :param free: share of the disk that is left free
        """
        self._folder, self._path = folder, folder / NAMES
        self._hold, self._changes, self._free, self._largest = hold, changes, free, largest
        self._clock = clock or partial(_now, boot_id())
        self.off = ""
        self.folders = self._size = 0
        self._lock = threading.Lock()  # of what the loop says, and so held for moments only
        self._drafts: set[Draft] = set()
        self._gone: dict[tuple[bytes, bool], None] = {}  # what the file may have still, and whether all below it is
        self._reading = threading.Lock()
        self._closing = ExitStack()
        self._writer: sqlite3.Connection
        self._reader: sqlite3.Connection | None = None
        self._tasks: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        try:
            self._open()
        except (sqlite3.Error, OSError) as error:
            self._fail(error)
        self._thread = threading.Thread(target=self._run, name="remembered listings", daemon=True)
        self._thread.start()

    # --- what is listed: said by the loop ----------------------------------------------------

    def begin(self, path: bytes) -> Draft:
        """Before the source is asked."""
        draft = Draft(path, self._clock())
        with self._lock:
            draft.void = bool(self.off)
            if not draft.void:
                self._drafts.add(draft)
        return draft

    def add(self, draft: Draft, page: Page) -> None:
        if draft.waiting >= _MOST_PAGES:
            draft.void = True  # its disk does not keep up
        if not (draft.void or self.off):
            draft.waiting += 1
            self._tasks.put(partial(self._add, draft, page))

    def end(self, draft: Draft, whole: bool) -> None:
        with self._lock:
            draft.void = draft.void or not whole
        self._tasks.put(partial(self._end, draft))

    def forget(self, *paths: bytes) -> None:
        """They, and all below them, are other than they were: neither what they held nor that they are there is known."""
        for path in paths:
            self._forget((path, True), (parent(path), False))

    def void(self, folder: bytes) -> None:
        """What it held is known to be old."""
        self._forget((folder, False))

    def _forget(self, *gone: tuple[bytes, bool]) -> None:
        with self._lock:
            for draft in self._drafts:
                draft.void = draft.void or any(_covers(one, draft.path) for one in gone)
            if self.off or not (self.folders or self._drafts):
                return
            is_first = not self._gone
            self._gone.update(dict.fromkeys(gone))
            if len(self._gone) > _MOST_GONE:
                self._gone = {(b"", True): None}
        if is_first:
            self._tasks.put(self._clear)

    # --- what was listed: asked by threads ---------------------------------------------------

    def find(self, path: bytes) -> Row | None:
        """A listing that is believed still."""
        query = "SELECT id, boot, wall, ns, pages, names FROM folders WHERE path = ? AND whole"
        for number, boot, wall, ns, pages, names in self._read(path, query, path) if self.folders else ():
            span = age(Moment(wall, boot, ns), self._clock())
            if span is not None and span < self._hold * view.SECOND:
                return Row(number, path, ns, pages, names, view.now() - span)
        return None

    def page(self, row: Row, number: int) -> Page:
        """
        :raises LostError:
        """
        found = self._read(row.path, "SELECT body FROM pages WHERE folder = ? AND number = ?", row.id, number)
        if not found:
            raise LostError
        try:
            return unpack(found[0][0], _label(row.path, row.ns, number))
        except DamagedError as error:
            _LOG.warning(
                "a listing that was kept is damaged, and the source is asked instead path=%r reason=%s", row.path, error
            )
            self.void(row.path)
            raise LostError from None

    def _read(self, folder: bytes, query: str, *given: object) -> list[tuple[Any, ...]]:
        with self._lock:
            if self.off or any(_covers(one, folder) for one in self._gone):
                return []
        with self._reading:
            if self._reader is None:
                return []
            try:
                return self._reader.execute(query, given).fetchall()
            except sqlite3.Error as error:
                failure = error
        self._fail(failure)
        return []

    # --- beside ------------------------------------------------------------------------------

    def status(self) -> dict[str, Any]:
        return {"file": str(self._path), "off": self.off, "folders": self.folders, "bytes": self._size}

    def close(self, well: bool, lasts: bool = True) -> None:
        """
        :param well: nothing is changed here any more, and all that was is known
        :param lasts: all is on the disk then; else it is believed by who begins before the machine dies
        """
        self._tasks.put(None)
        self._thread.join()
        with self._reading, suppress(sqlite3.Error):
            self._reader = None
            self._closing.close()  # which also brings what is written into the one file
        if well and not self.off:
            try:
                if lasts:
                    _sync(self._path)
                (self._folder / WELL).write_text(_LASTS if lasts else self._clock().boot, encoding="ascii")
                if lasts:
                    _sync(self._folder / WELL)
                    _sync(self._folder)
            except OSError as error:
                _LOG.warning("the listings in %s are not kept for the next mount: %s", self._path, error)
        self.off = self.off or "It was closed."

    # --- the thread --------------------------------------------------------------------------

    def _run(self) -> None:
        while (task := self._tasks.get()) is not None:
            if not self.off:
                try:
                    task()
                except (sqlite3.Error, OSError) as error:
                    self._fail(error)

    def _add(self, draft: Draft, page: Page) -> None:
        draft.waiting -= 1
        if draft.void or not self._begun(draft):
            return
        body = pack(page, _label(draft.path, draft.asked.ns, draft.pages))
        self._writer.execute("INSERT INTO pages VALUES (?, ?, ?)", (draft.id, draft.pages, body))
        draft.pages += 1
        draft.names += len(page.listed)
        draft.size += len(body)
        draft.void = draft.void or draft.size > self._largest

    def _begun(self, draft: Draft) -> bool:
        """Whether there is room for it."""
        if draft.id is None:
            status = os.statvfs(self._folder)
            if status.f_bavail < status.f_blocks * self._free:
                draft.void = True
                return False
            row = (draft.path, *draft.asked)
            insert = "INSERT INTO folders VALUES (NULL, ?, 0, ?, ?, ?, 0, 0, 0)"
            draft.id = self._writer.execute(insert, row).lastrowid
        return True

    def _end(self, draft: Draft) -> None:
        if draft.void or not self._begun(draft):
            self._remove([draft.id] if draft.id else [])
        else:
            self._remove(self._ids("path = ?", draft.path))
            keep = "UPDATE folders SET whole = 1, pages = ?, names = ?, size = ? WHERE id = ?"
            self._writer.execute(keep, (draft.pages, draft.names, draft.size, draft.id))
            self.folders += 1
            self._size += draft.size
            self._make_room()
        with self._lock:
            self._drafts.discard(draft)

    def _clear(self) -> None:
        with self._lock:
            gone = list(self._gone)
        ids: set[int] = set()
        for path, below in gone:
            ids.update(self._ids("path = ?", path))
            if below:
                ids.update(self._ids("path > ? AND path < ?", path + b"/", path + b"0") if path else self._ids("1"))
        self._remove(ids)
        with self._lock:
            for one in gone:
                self._gone.pop(one, None)
            if self._gone:
                self._tasks.put(self._clear)

    def _make_room(self) -> None:
        """What is believed no more goes, then what was listed longest ago."""
        self._remove(self._ids("wall <= ?", self._clock().wall - self._hold))
        while self._size > self._largest:
            self._remove(self._ids("1 ORDER BY wall LIMIT 1"))

    def _ids(self, condition: str, *given: object) -> list[int]:
        return [one for (one,) in self._writer.execute(f"SELECT id FROM folders WHERE whole AND {condition}", given)]

    def _remove(self, ids: Iterable[int]) -> None:
        for one in ids:
            self._writer.execute("BEGIN")
            self._writer.execute("DELETE FROM pages WHERE folder = ?", (one,))
            rows = self._writer.execute("DELETE FROM folders WHERE id = ? RETURNING whole, size", (one,)).fetchall()
            self._writer.execute("COMMIT")
            for whole, size in rows:
                self.folders -= whole
                self._size -= size

    # --- the file ----------------------------------------------------------------------------

    def _open(self) -> None:
        well = self._folder / WELL
        mark = well.read_text(encoding="ascii", errors="replace") if well.exists() else ""
        believed = mark in (_LASTS, self._clock().boot)
        if mark:
            well.unlink()
        if mark == _LASTS:  # on the disk, too: who finds it believes all that lies there
            _sync(self._folder)
        try:
            self._load(believed)
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise
            _LOG.warning("the listings that were kept in %s are removed, and made anew: %s", self._path, error)
            self._anew()
        self._reader = self._connect()

    def _load(self, believed: bool) -> None:
        self._begin()
        (layout,) = self._writer.execute("PRAGMA user_version").fetchone()
        if layout not in (0, _LAYOUT):
            raise sqlite3.DatabaseError(f"they have layout {layout}, but this release reads {_LAYOUT}")
        row = self._writer.execute("SELECT boot FROM run").fetchone() if layout else None
        if row is None or not (believed or (not self._changes and row[0] == self._clock().boot)):
            self._anew()
            return
        self._writer.execute("UPDATE run SET boot = ?", (self._clock().boot,))
        self._remove([one for (one,) in self._writer.execute("SELECT id FROM folders WHERE NOT whole").fetchall()])
        query = "SELECT COUNT(*), COALESCE(SUM(size), 0) FROM folders"
        self.folders, self._size = self._writer.execute(query).fetchone()
        self._make_room()

    def _anew(self) -> None:
        self._closing.close()
        remove(self._folder)
        self._begin()
        self._writer.executescript(_SCHEMA)
        self._writer.execute("INSERT INTO run VALUES (?)", (self._clock().boot,))
        self._writer.execute(f"PRAGMA user_version = {_LAYOUT}")

    def _begin(self) -> None:
        self._writer = self._connect()
        # What a process wrote that is killed is there; what a machine wrote that dies is not believed.
        for pragma in ("journal_mode = WAL", "synchronous = OFF", f"max_page_count = {2 * _LARGEST // _BLOCK}"):
            self._writer.execute(f"PRAGMA {pragma}")

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, timeout=10, isolation_level=None, check_same_thread=False)
        self._closing.callback(connection.close)
        return connection

    def _fail(self, error: Exception) -> None:
        """No user's trouble. What lies there is not believed by any other mount, since it has no mark of a good end."""
        with self._lock:
            if self.off:
                return
            self.off = str(error)
            self.folders = self._size = 0
            self._gone.clear()
            self._drafts.clear()
        _LOG.error("no listings are kept in %s until it is mounted anew: %s", self._path, error)
        with suppress(OSError):
            remove(self._folder)


def remove(folder: Path) -> None:
    for name in (WELL, *_FILES):
        (folder / name).unlink(missing_ok=True)


def examine(folder: Path) -> str:
    """What is wrong with what the next mount would believe, and nobody has open; "" for nothing."""
    path = folder / NAMES
    if not (path.is_file() and (folder / WELL).exists()):
        return ""
    connection = sqlite3.connect(path, timeout=10, isolation_level=None)
    try:
        (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if found != "ok":
            return str(found)
        query = "SELECT path, ns, number, body FROM folders JOIN pages ON folder = id WHERE whole"
        for place, ns, number, body in connection.execute(query):
            unpack(body, _label(place, ns, number))
    except (sqlite3.DatabaseError, DamagedError) as error:
        return str(error)
    finally:
        connection.close()
    return ""


def _now(boot: str) -> Moment:
    return Moment(time.time(), boot, view.now())


def _covers(gone: tuple[bytes, bool], path: bytes) -> bool:
    one, below = gone
    return one == path or (below and (not one or path.startswith(one + b"/")))


def _label(path: bytes, ns: int, number: int) -> bytes:
    return b"%d %d %s" % (ns, number, path)


def _sync(path: Path) -> None:
    """It is on the disk then."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
