# SPDX-License-Identifier: Apache-2.0
"""A folder of an HDFS cluster.

A file is written under a name of its own, and gets the right one when it is whole: so a name means the old file or the new one at every moment,
and a part of a file can be changed here though HDFS only appends. A version is the time and the size, and the times are milliseconds.
HDFS knows owners by their names, which are nobody's here: whose a file is, is what the mount says.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Final

from hdfs_native import WriteOptions

from ..base import (
    NOTHING,
    Abilities,
    Bounds,
    ChangedError,
    Found,
    Kept,
    Kind,
    Listed,
    Page,
    Source,
    is_name,
    on_empty,
    quiet,
    require_name,
    require_text,
)
from ..rates import OPEN
from ..unfinished import NOWHERE, UNFINISHED
from . import failures
from .calls import PATIENT, Calls

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from hdfs_native import FileStatus

    from ..base import Tell
    from ..rates import Gates
    from ..unfinished import Unfinished
    from .calls import Patience, T, Turn
    from .options import Options

_PAGE: Final = 1000
_PIECE: Final = 8 << 20
_MILLISECOND: Final = 10**6


class HdfsSource(Source):
    abilities = Abilities(keeps=True, renames_at_once=True, folders_change=True, names=Bounds(text=True, without=b":"))

    def __init__(
        self,
        options: Options,
        *,
        gates: Gates = OPEN,
        patience: Patience = PATIENT,
        on_request: Tell = quiet,
        noted: Unfinished = NOWHERE,
    ) -> None:
        """
        :param noted: what who died before left is removed by `end_left`
        """
        self._options = options
        self._gates, self._noted, self._left = gates, noted, noted.left()
        self._calls = Calls(options, patience, on_request)

    def end_left(self) -> None:
        for place in self._left:
            self._noted.forget(place, self._delete)

    def close(self) -> None:
        self._calls.close()
        self._gates.close()

    # --- what is there -----------------------------------------------------------------------

    def find(self, path: bytes) -> Found:
        return self._ask("getFileInfo", path, lambda turn: _found(self._status(turn, self._at(path))))

    def list(self, path: bytes) -> Iterator[Page]:
        place = self._at(path)

        def begin(turn: Turn) -> tuple[Turn, Iterator[FileStatus], Sequence[FileStatus]]:
            entries = turn.client.list_status(place)
            return turn, entries, turn.ask(_some, entries)

        turn, entries, some = self._ask("getListing", path, begin)
        if some and not some[0].isdir and some[0].path == place:
            raise NotADirectoryError(errno.ENOTDIR, "it is no folder", path)
        while True:
            names = [(one.path.rpartition("/")[2].encode(errors="surrogatepass"), one) for one in some]
            listed = [Listed(name, _found(one)) for name, one in names if not name.startswith(UNFINISHED)]
            hidden = tuple(one.name for one in listed if not is_name(one.name))
            yield Page([one for one in listed if is_name(one.name)] if hidden else listed, hidden)
            if len(some) < _PAGE:
                return
            # Only from its beginning could it be asked for again.
            some = self._go_on(turn, entries, path)

    def read(self, path: bytes, version: bytes, offset: int, size: int) -> bytes:
        place = self._at(path)
        self._gates.read.admit(size)

        def act(turn: Turn) -> bytes:
            # What it reads is what stands there now, also when another file gets the name in the middle of it.
            reader = turn.ask(turn.client.read, place)
            if version and version != _version(self._status(turn, place)):
                raise ChangedError(path)
            wanted = min(size, len(reader) - offset)
            return turn.ask(reader.read_range, offset, wanted) if wanted > 0 else b""

        return self._ask("read", path, act)

    def target(self, path: bytes) -> bytes:
        self.find(path)
        raise OSError(errno.EINVAL, "it is no symbolic link", path)

    # --- what is changed ---------------------------------------------------------------------

    def store(self, path: bytes, descriptor: int, size: int, kept: Kept = NOTHING, over: bytes | None = None) -> Found:
        place = self._named(path)

        def write(turn: Turn) -> Found:
            unfinished = tries.begin().decode()
            self._send(turn, unfinished, descriptor, size, kept)
            found = _found(self._status(turn, unfinished))
            if found.size != size:
                raise OSError(errno.EIO, f"the cluster has {found.size} bytes of it, but was sent {size}")
            return found

        def name(turn: Turn) -> None:
            if over:
                there = self._there(turn, place)
                if there is None or _version(there) != over:
                    raise ChangedError(path)
            try:
                turn.ask(turn.client.rename, tries.last.decode(), place, over != b"")
            except FileNotFoundError:
                # Asked again, since an answer was lost, by us or by the client itself: nobody else knows of that name.
                if self._there(turn, place) is None:
                    raise
            except FileExistsError:
                raise ChangedError(path) from None
            except RuntimeError:
                there = self._there(turn, place)
                if there and there.isdir:
                    raise IsADirectoryError(errno.EISDIR, "it is a folder", path) from None
                raise

        with self._noted.making(place.encode(), self._delete) as tries:
            found = self._ask("create", path, write, size)
            self._ask("rename", path, name)
        return found

    def make_folder(self, path: bytes, kept: Kept = NOTHING) -> Found:
        """By another name at first: HDFS makes one that is there already, and says nothing."""
        place = self._named(path)

        def make(turn: Turn) -> None:
            turn.ask(turn.client.mkdirs, tries.begin().decode(), 0o755 if kept.mode is None else kept.mode, False)

        def name(turn: Turn) -> None:
            try:
                turn.ask(turn.client.rename, tries.last.decode(), place, False)
            except FileNotFoundError:
                if self._there(turn, place) is None:
                    raise
            except (FileExistsError, RuntimeError):
                if self._there(turn, place) is None:
                    raise
                raise FileExistsError(errno.EEXIST, "it is there already", path) from None

        with self._noted.making(place.encode(), self._delete) as tries:
            self._ask("mkdirs", path, make)
            self._ask("rename", path, name)
        return self._keep(path, kept._replace(uid=None, gid=None))

    def remove(self, path: bytes) -> None:
        place = self._at(path)

        def act(turn: Turn) -> None:
            there = self._seen(turn, place, path)
            if there and there.isdir:
                raise IsADirectoryError(errno.EISDIR, "it is a folder", path)
            if there:
                turn.ask(turn.client.delete, place, False)

        self._ask("delete", path, act)

    def remove_folder(self, path: bytes) -> None:
        place = self._at(path)

        def act(turn: Turn) -> None:
            there = self._seen(turn, place, path)
            if there and not there.isdir:
                raise NotADirectoryError(errno.ENOTDIR, "it is no folder", path)
            if there:
                turn.ask(turn.client.delete, place, False)

        on_empty(lambda: self._ask("delete", path, act), lambda: self._remove_unfinished(place))

    def rename(self, old: bytes, new: bytes) -> None:
        before, after = self._at(old), self._named(new)
        if after.startswith(f"{before}/"):
            raise OSError(errno.EINVAL, "a folder cannot be moved into itself", new)

        def act(turn: Turn) -> None:
            self._seen(turn, before, old)
            try:
                if before != after:
                    turn.ask(turn.client.rename, before, after, True)
            except FileNotFoundError:
                # It was there; so it is done, if an answer was lost, by us or by the client itself.
                if self._there(turn, before) or not self._there(turn, after):
                    raise
            except RuntimeError:
                number = self._why(turn, before, after)
                if not number:
                    raise
                raise OSError(number, os.strerror(number), new) from None

        on_empty(lambda: self._ask("rename", old, act), lambda: self._remove_unfinished(after))

    def link(self, path: bytes, target: bytes) -> Found:
        raise PermissionError(errno.EPERM, "HDFS has no symbolic links", path, None, target)

    def keep(self, path: bytes, kept: Kept) -> Found:
        if (kept.uid is not None or kept.gid is not None) and not self._options.ignores_owners:
            raise PermissionError(
                errno.EPERM,
                "HDFS knows owners by name, so none can be set by number; ignoreOwnership lets it pass",
                path,
            )
        return self._keep(path, kept)

    # --- below -------------------------------------------------------------------------------

    def _at(self, path: bytes) -> str:
        return f"{self._options.root}/{require_text(path)}" if path else self._options.root or "/"

    def _named(self, path: bytes) -> str:
        """Of what is made there."""
        require_name(path)
        return self._at(path)

    def _ask(self, operation: str, path: bytes, act: Callable[[Turn], T], sent: int = 0) -> T:
        return self._calls.run(operation, path or self._options.root.encode(), act, sent)

    @staticmethod
    def _status(turn: Turn, place: str) -> FileStatus:
        return turn.ask(turn.client.get_file_info, place)

    def _there(self, turn: Turn, place: str) -> FileStatus | None:
        try:
            return self._status(turn, place)
        except FileNotFoundError:
            return None

    def _seen(self, turn: Turn, place: str, path: bytes) -> FileStatus | None:
        """Of what is to be removed, or renamed. None when the try before may have done it."""
        there = self._there(turn, place)
        if there is None and not turn.before:
            raise FileNotFoundError(errno.ENOENT, "it is not there", path)
        return there

    def _why(self, turn: Turn, old: str, new: str) -> int:
        """What is wrong with a rename: of most the cluster says only that it did not."""
        before, after = self._there(turn, old), self._there(turn, new)
        if before is None or after is None:
            return 0
        if before.isdir != after.isdir:
            return errno.EISDIR if after.isdir else errno.ENOTDIR
        return errno.ENOTEMPTY if after.isdir and turn.ask(_some, turn.client.list_status(new)) else 0

    def _send(self, turn: Turn, place: str, descriptor: int, size: int, kept: Kept) -> None:
        options = self._options
        mode = 0o644 if kept.mode is None else kept.mode
        how = WriteOptions(options.block_size, options.copies, mode, True, False)
        writer = turn.ask(turn.client.create, place, how)
        done = 0
        while done < size:
            piece = os.pread(descriptor, min(_PIECE, size - done), done)
            if not piece:
                raise OSError(errno.EIO, f"the staged file has {done} bytes, but should have {size}")
            self._gates.write.admit(len(piece))
            turn.ask(writer.write, piece)
            done += len(piece)
        if size:
            with suppress(NotImplementedError):  # of files in parts with parity
                turn.ask(writer.hsync)
        turn.ask(writer.close)
        self._set(turn, place, kept._replace(mode=None))

    def _keep(self, path: bytes, kept: Kept) -> Found:
        place = self._at(path)

        def act(turn: Turn) -> Found:
            self._set(turn, place, kept)
            return _found(self._status(turn, place))

        return self._ask("setAttributes", path, act)

    @staticmethod
    def _set(turn: Turn, place: str, kept: Kept) -> None:
        if kept.mode is not None:
            turn.ask(turn.client.set_permission, place, kept.mode)
        if kept.mtime_ns is not None:
            moment = max(kept.mtime_ns // _MILLISECOND, 0)
            turn.ask(turn.client.set_times, place, moment, moment)

    def _go_on(self, turn: Turn, entries: Iterator[FileStatus], path: bytes) -> Sequence[FileStatus]:
        try:
            return turn.ask(_some, entries)
        except failures.RAISED as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            raise failures.of(error).told("getListing", path, self._options.place, 1) from None

    def _remove_unfinished(self, place: str) -> bool:
        """Whether the folder had nothing else."""

        def act(turn: Turn) -> list[bytes]:
            return [one.path.encode() for one in turn.ask(_some, turn.client.list_status(place))]

        return self._noted.forget_all(self._ask("getListing", place.encode(), act), self._delete)

    def _delete(self, place: bytes) -> None:
        self._ask("delete", place, lambda turn: turn.ask(turn.client.delete, place.decode(), False))


def _some(entries: Iterator[FileStatus]) -> Sequence[FileStatus]:
    return list(islice(entries, _PAGE))


def _version(status: FileStatus) -> bytes:
    return b"%x-%x" % (status.modification_time, status.length)


def _found(status: FileStatus) -> Found:
    kind = Kind.FOLDER if status.isdir else Kind.FILE
    version = b"" if status.isdir else _version(status)
    return Found(kind, status.length, status.modification_time * _MILLISECOND, version, status.permission & 0o7777)
