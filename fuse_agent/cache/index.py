# SPDX-License-Identifier: Apache-2.0
"""The entries as they are kept in SQLite: pages of the columns, and checksums of those that have more than one piece.

What changed is written by a thread of its own, in batches; nobody waits for it. Who is killed before finds files that the index does
not know, and the other way round; who starts after that counts anew.
"""

from __future__ import annotations

import errno
import logging
import os
import sqlite3
import threading
from array import array
from contextlib import closing
from typing import TYPE_CHECKING, Final

from .entries import PAGE, DamagedError, Entries

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_LOG = logging.getLogger(__name__)
_LAYOUT: Final = 1
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS pages (number INTEGER PRIMARY KEY, body BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS sums (entry INTEGER PRIMARY KEY, body BLOB NOT NULL);
"""
# Seconds and changes until a batch is written, pages of one transaction, seconds until a failed one is tried again.
_PAUSE, _BATCH, _PAGES, _AGAIN = 0.5, 500, 64, 5.0
_FILES: Final = ("index", "index-wal", "index-shm", "index-journal")


class Index:
    """
    :ivar entries: as they were kept
    :ivar anew: whether there was no index that could be read
    :ivar failed: whether what was written last could not be
    """

    def __init__(
        self,
        folder: Path,
        most: int,
        distrust: bool,
        lock: threading.Lock,
        trouble: Callable[[OSError], None],
        check: bool = False,
    ) -> None:
        """
        :param most: entries that are expected
        :param distrust: what is there was not written since the machine last started
        :param lock: that guards the entries
        :param trouble: is told what went wrong with writing, once for each try
        :param check: all of it, which takes longer
        :raises OSError:
        """
        self._path, self._lock, self._trouble = folder / _FILES[0], lock, trouble
        self.anew = self.failed = False
        try:
            self.entries = self._load_or_make(most, distrust, check)
        except sqlite3.DatabaseError as error:
            raise OSError(errno.EIO, f"the index cannot be read: {error}", str(self._path)) from error
        self._status = self._path.stat()
        self._pages: set[int] = set()
        self._sums: dict[int, bytes] = {}
        self._changes = 0
        self._changed, self._full, self._ended = threading.Event(), threading.Event(), threading.Event()
        if distrust:  # before anybody is told that this run of the machine has begun
            self._pages.update(range(-(-len(self.entries.flags) // PAGE)))
            with closing(_connect(self._path)) as connection:
                self._commit_all(connection)
        self._thread = threading.Thread(target=self._run, name="cache index", daemon=True)
        self._thread.start()

    def stands(self) -> bool:
        """Whether it was not removed meanwhile; SQLite would go on writing where nobody finds it."""
        try:
            return os.path.samestat(self._path.stat(), self._status)
        except OSError:
            return False

    def mark(self, entry: int, sums: array[int] | None = None) -> None:
        """An entry changed. The lock is held.

        :param sums: its checksums, of one with more than one piece
        """
        self._pages.add(entry // PAGE)
        if sums is not None:
            self._sums[entry] = sums.tobytes()
        self._changes += 1
        if self._changes == 1:
            self._changed.set()
        elif self._changes == _BATCH:
            self._full.set()

    def sums(self, entry: int) -> list[int]:
        """Of an entry with more than one piece; none when they are not known. It reads the disk."""
        with self._lock:
            body = self._sums.get(entry)
        if body is None:
            try:
                with closing(_connect(self._path)) as connection:
                    row = connection.execute("SELECT body FROM sums WHERE entry = ?", (entry,)).fetchone()
            except sqlite3.DatabaseError:
                row = None
            body = row[0] if row else b""
        return list(array("I", body))

    def close(self) -> bool:
        """Whether all is written."""
        self._ended.set()
        self._changed.set()
        self._full.set()
        self._thread.join()
        return not self._pages and not self.failed

    def _load_or_make(self, most: int, distrust: bool, check: bool) -> Entries:
        try:
            return self._load(most, distrust, check)
        except (sqlite3.DatabaseError, DamagedError) as error:
            if isinstance(error, sqlite3.OperationalError):
                raise
            _LOG.warning("The index %s is damaged (%s); it is made anew from the files.", self._path, error)
        remove(self._path.parent)
        return self._load(most, distrust, check)

    def _load(self, most: int, distrust: bool, check: bool) -> Entries:
        with closing(_connect(self._path)) as connection:
            (layout,) = connection.execute("PRAGMA user_version").fetchone()
            if layout not in (0, _LAYOUT):
                raise DamagedError(f"it has layout {layout}, but this release reads {_LAYOUT}")
            if check:
                _check(connection)
            self.anew = layout == 0
            connection.executescript(_SCHEMA)
            connection.execute(f"PRAGMA user_version = {_LAYOUT}")
            entries = Entries(most)
            entries.load(connection.execute("SELECT number, body FROM pages ORDER BY number"), distrust)
        return entries

    def _run(self) -> None:
        while not self._ended.is_set() or self._pages:
            try:
                with closing(_connect(self._path)) as connection:
                    self._write(connection)
                    _waits_no_more(connection)
            except sqlite3.DatabaseError as error:
                self.failed = True
                self._trouble(OSError(errno.EIO, f"the index cannot be written: {error}", str(self._path)))
                if self._ended.wait(_AGAIN):
                    break

    def _write(self, connection: sqlite3.Connection) -> None:
        """Batch after batch."""
        while not self._ended.is_set() or self._pages:
            self._changed.wait()
            self._full.wait(_PAUSE)
            if self._ended.is_set():
                _waits_no_more(connection)
            self._commit_all(connection)
            self.failed = False

    def _commit_all(self, connection: sqlite3.Connection) -> None:
        with self._lock:
            self._changed.clear()
            self._full.clear()
            self._changes = 0
            numbers = sorted(self._pages)
        for start in range(0, len(numbers), _PAGES):
            self._commit(connection, numbers[start : start + _PAGES])

    def _commit(self, connection: sqlite3.Connection, numbers: list[int]) -> None:
        bodies: list[tuple[int, bytes]] = []
        sums: dict[int, bytes] = {}
        for number in numbers:
            with self._lock:  # not for all at once, since others wait for it
                self._pages.discard(number)
                bodies.append((number, self.entries.page(number)))
        with self._lock:
            sums, self._sums = self._sums, sums
        try:
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany("REPLACE INTO pages VALUES (?, ?)", [row for row in bodies if row[1]])
            connection.executemany("DELETE FROM pages WHERE number = ?", [row[:1] for row in bodies if not row[1]])
            connection.executemany("REPLACE INTO sums VALUES (?, ?)", list(sums.items()))
            connection.execute("COMMIT")
        except sqlite3.DatabaseError:
            with self._lock:
                self._pages.update(numbers)
                self._sums = {**sums, **self._sums}
                self._changed.set()
            raise


def examine(folder: Path) -> str:
    """What is wrong with an index that nobody has open, "" for nothing."""
    path = folder / _FILES[0]
    if not path.is_file():
        return "there is none"
    try:
        with closing(_connect(path)) as connection:
            _check(connection)
            Entries(0).load(connection.execute("SELECT number, body FROM pages ORDER BY number"), distrust=False)
    except (sqlite3.DatabaseError, DamagedError) as error:
        return str(error)
    return ""


def remove(folder: Path) -> None:
    """It is made anew from the files by the next who uses them."""
    for name in _FILES:
        (folder / name).unlink(missing_ok=True)


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=10, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
    except BaseException:
        connection.close()
        raise
    return connection


def _waits_no_more(connection: sqlite3.Connection) -> None:
    """At the end: what is to be on the disk then is brought there with all else, and others may write so much that this would take long."""
    connection.execute("PRAGMA synchronous = OFF")


def _check(connection: sqlite3.Connection) -> None:
    (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if found != "ok":
        raise DamagedError(found)
