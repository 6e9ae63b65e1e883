# SPDX-License-Identifier: Apache-2.0
"""A folder of an SFTP server.

The protocol tells times in whole seconds, and nothing else by which contents differ. So a version is the time and the size, and what others
write within one second and of the same size is not told from what was there. We write so only where a user chose the time, or writes more
than once a second for a minute: else what has the size of the file that it replaces gets a later time.
Links on the way are followed by the server, as far as it lets its user go.
"""

from __future__ import annotations

import asyncio
import errno
import os
import stat
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final, cast

import asyncssh

from ..base import (
    NOTHING,
    Abilities,
    ChangedError,
    Found,
    Kept,
    Kind,
    Listed,
    Page,
    Room,
    Source,
    is_name,
    on_empty,
    quiet,
    require_name,
)
from ..rates import OPEN
from ..unfinished import NOWHERE, UNFINISHED
from . import failures, reasons
from .connections import PATIENT, Connections
from .options import FixedLogin

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from ..base import Tell
    from ..rates import Gate, Gates
    from ..unfinished import Unfinished
    from .connections import Patience, T, Turn
    from .options import Logins, Options

    Why = Callable[[asyncssh.SFTPClient], Awaitable[int]]

_PAGE: Final = 1000
_PIECE: Final = 8 << 20
_SECOND: Final = 10**9
_RECENT: Final = 60  # seconds; an older time is one that a user chose, and how far ahead of the clock we go
_LATEST: Final = (1 << 32) - 1  # seconds that the protocol can say
_LONGEST_TARGET: Final = 4095
_NEW: Final = asyncssh.FXF_WRITE | asyncssh.FXF_CREAT | asyncssh.FXF_TRUNC
_KINDS: Final = {stat.S_IFREG: Kind.FILE, stat.S_IFDIR: Kind.FOLDER, stat.S_IFLNK: Kind.LINK}


class SftpSource(Source):
    abilities = Abilities(keeps=True, links=True, folders_change=True)

    def __init__(
        self,
        options: Options,
        logins: Logins | None = None,
        *,
        gates: Gates = OPEN,
        patience: Patience = PATIENT,
        on_request: Tell = quiet,
        noted: Unfinished = NOWHERE,
    ) -> None:
        """
        :param logins: without them that of the options
        :param noted: what who died before left is removed by `end_left`
        """
        self._root, self._insists = options.root, not options.ignores_owners
        self._gates, self._noted, self._left = gates, noted, noted.left()
        self._server = Connections(options, logins or FixedLogin(options.login), patience, on_request)

    def end_left(self) -> None:
        for place in self._left:
            self._noted.forget(place, self._delete)

    def close(self) -> None:
        self._server.close()
        self._gates.close()

    # --- what is there -----------------------------------------------------------------------

    def find(self, path: bytes) -> Found:
        async def act(turn: Turn) -> Found:
            if not path:  # it may be a link itself
                return _found(await turn.client.stat(self._root or b"/"))
            return _found(await turn.client.lstat(self._at(path)))

        return self._server.run("lstat", path or self._root, act)

    def list(self, path: bytes) -> Iterator[Page]:
        place = self._at(path)

        async def act(turn: Turn) -> tuple[list[Listed], tuple[bytes, ...]]:
            """All of it: what is begun again on another connection may have another order."""
            listed: list[Listed] = []
            hidden: list[bytes] = []
            async for one in turn.client.scandir(place):
                turn.goes_on()
                name = one.filename if isinstance(one.filename, bytes) else one.filename.encode()
                if name in (b".", b"..") or name.startswith(UNFINISHED):
                    continue
                if not is_name(name):
                    hidden.append(name)
                    continue
                try:
                    listed.append(Listed(name, _listed(one.attrs)))
                except FileNotFoundError:
                    hidden.append(name)
            return listed, tuple(hidden)

        listed, hidden = self._ask("readdir", path, act, lambda client: reasons.of_listing(client, place))
        for start in range(0, len(listed) or 1, _PAGE):
            yield Page(listed[start : start + _PAGE], hidden if not start else ())

    def read(self, path: bytes, version: bytes, offset: int, size: int) -> bytes:
        async def act(turn: Turn) -> bytes:
            # What one request can bring is asked for together with the attributes; they come after it, so that they are none of before.
            once = size <= turn.client.limits.max_read_len
            file = await turn.client.open(
                self._at(path), asyncssh.FXF_READ, encoding=None, block_size=0 if once else -1
            )
            try:
                if once:
                    read, told = await asyncio.gather(file.read(size, offset), file.stat())
                else:
                    read, told = await file.read(size, offset), await file.stat()
            finally:
                self._server.aside(file.close())
            if version not in (b"", _version(told)):
                raise ChangedError(path)
            data = cast("bytes", read)  # it has no encoding
            if len(data) < min(size, (told.size or 0) - offset):
                raise asyncssh.SFTPConnectionLost("it sent less than there is")
            return data

        self._gates.read.admit(size)
        return self._server.run("read", path, act) if size else b""

    def target(self, path: bytes) -> bytes:
        async def act(turn: Turn) -> bytes:
            return await turn.client.readlink(self._at(path))

        return self._server.run("readlink", path, act)

    # --- what is changed ---------------------------------------------------------------------

    def store(self, path: bytes, descriptor: int, size: int, kept: Kept = NOTHING, over: bytes | None = None) -> Found:
        place = self._at(path)
        require_name(path)

        async def write(turn: Turn) -> Found:
            private = asyncssh.SFTPAttrs(permissions=0o600)
            async with turn.client.open(tries.begin(), _NEW, private, encoding=None) as file:
                await _send(turn, file, descriptor, size, self._gates.write)
                there, now = await asyncio.gather(_there(turn.client, place), file.stat())
                return await _finish(file, size, kept, there, now)

        async def name(turn: Turn) -> None:
            if turn.before and not await reasons.kind(turn.client, tries.last):
                return  # the try before had done it
            if over is not None:
                there = await _there(turn.client, place)
                removed = (
                    there is None and turn.before > 0
                )  # as the try before may have done, where nothing can be replaced at once
                if over != (_version(there) if there else b"") and not removed:
                    raise ChangedError(path)
            try:
                await (turn.client.rename if over == b"" else _replace(turn.client))(tries.last, place)
            except asyncssh.SFTPFailure:
                if over == b"" and await reasons.kind(turn.client, place):
                    raise ChangedError(path) from None
                raise

        with self._noted.making(place, self._delete) as tries:
            found = self._ask("write", path, write, lambda client: reasons.of_writing(client, place), size)
            self._ask("rename", path, name, lambda client: reasons.of_renaming(client, tries.last, place))
        return found

    def make_folder(self, path: bytes, kept: Kept = NOTHING) -> Found:
        place = self._at(path)
        require_name(path)

        async def act(turn: Turn) -> None:
            await turn.client.mkdir(place, asyncssh.SFTPAttrs(permissions=0o755))

        self._ask("mkdir", path, act, lambda client: reasons.of_making(client, place))
        return self._keep(path, kept, insists=False)

    def remove(self, path: bytes) -> None:
        place = self._at(path)

        async def act(turn: Turn) -> None:
            with suppress(*([asyncssh.SFTPNoSuchFile] if turn.before else [])):
                await turn.client.remove(place)

        self._ask("remove", path, act, lambda client: reasons.of_removing(client, place))

    def remove_folder(self, path: bytes) -> None:
        place = self._at(path)

        async def act(turn: Turn) -> None:
            with suppress(*([asyncssh.SFTPNoSuchFile] if turn.before else [])):
                await turn.client.rmdir(place)

        on_empty(
            lambda: self._ask("rmdir", path, act, lambda client: reasons.of_removing_folder(client, place)),
            lambda: self._remove_unfinished(place),
        )

    def rename(self, old: bytes, new: bytes) -> None:
        before, after = self._at(old), self._at(new)
        require_name(new)

        async def act(turn: Turn) -> None:
            try:
                await _replace(turn.client)(before, after)
            except asyncssh.SFTPNoSuchFile:
                # The try before may have done it.
                if (
                    not turn.before
                    or await reasons.kind(turn.client, before)
                    or not await reasons.kind(turn.client, after)
                ):
                    raise

        on_empty(
            lambda: self._ask("rename", old, act, lambda client: reasons.of_renaming(client, before, after)),
            lambda: self._remove_unfinished(after),
        )

    def link(self, path: bytes, target: bytes) -> Found:
        place = self._at(path)
        require_name(path)
        if len(target) > _LONGEST_TARGET:
            raise OSError(
                errno.ENAMETOOLONG,
                f"its target has {len(target)} bytes, but at most {_LONGEST_TARGET} can be kept",
                path,
            )

        async def act(turn: Turn) -> None:
            try:
                await turn.client.symlink(target, place)
            except asyncssh.SFTPError:
                if not turn.before or await _leads(turn.client, place) != target:
                    raise

        self._ask("symlink", path, act, lambda client: reasons.of_making(client, place))
        return self.find(path)

    def keep(self, path: bytes, kept: Kept) -> Found:
        return self._keep(path, kept, self._insists)

    # --- below -------------------------------------------------------------------------------

    def space(self) -> Room | None:
        """By an extension of OpenSSH's server."""

        async def act(turn: Turn) -> Room | None:
            try:
                told = await turn.client.statvfs(self._root or b"/")
            except asyncssh.SFTPOpUnsupported:
                return None
            block = told.frsize
            return Room(told.blocks * block, told.bavail * block, told.files, told.favail)

        return self._server.run("statvfs", self._root, act)

    def _at(self, path: bytes) -> bytes:
        return self._root + b"/" + path if path else self._root or b"/"

    def _ask(self, operation: str, path: bytes, act: Callable[[Turn], Awaitable[T]], why: Why, sent: int = 0) -> T:
        async def explained(turn: Turn) -> T:
            try:
                return await act(turn)
            except asyncssh.SFTPError as error:
                number = await why(turn.client) if failures.is_answer(error) else 0
                if not number:
                    raise
                raise OSError(number, os.strerror(number), path) from error

        return self._server.run(operation, path, explained, sent)

    def _keep(self, path: bytes, kept: Kept, insists: bool) -> Found:
        place = self._at(path)

        async def act(turn: Turn) -> Found:
            now = await turn.client.lstat(place)
            link = stat.S_ISLNK(now.permissions or 0)

            async def put(attributes: asyncssh.SFTPAttrs) -> None:
                try:
                    await turn.client.setstat(place, attributes, follow_symlinks=False)
                except asyncssh.SFTPOpUnsupported:
                    if link:
                        raise
                    await turn.client.setstat(place, attributes)

            await _keep(put, now, kept._replace(mode=None) if link else kept, insists)
            return _found(await turn.client.lstat(place))

        return self._server.run("setstat", path, act)

    def _remove_unfinished(self, place: bytes) -> bool:
        """Whether the folder had nothing else."""

        async def act(turn: Turn) -> list[bytes]:
            names = [one.filename async for one in turn.client.scandir(place)]
            return [name if isinstance(name, bytes) else name.encode() for name in names]

        names = [name for name in self._server.run("readdir", place, act) if name not in (b".", b"..")]
        return self._noted.forget_all([place + b"/" + name for name in names], self._delete)

    def _delete(self, place: bytes) -> None:
        async def act(turn: Turn) -> None:
            await turn.client.remove(place)

        self._server.run("remove", place, act)


def _version(attributes: asyncssh.SFTPAttrs) -> bytes:
    return b"%x-%x" % (attributes.mtime or 0, attributes.size or 0)


def _found(attributes: asyncssh.SFTPAttrs) -> Found:
    """
    :raises FileNotFoundError: of what no mount can show
    """
    if attributes.permissions is None:
        raise OSError(
            errno.EIO, "the server does not tell of it whether it is a file; take another server, as OpenSSH's"
        )
    kind = _KINDS.get(stat.S_IFMT(attributes.permissions))
    if kind is None:
        raise FileNotFoundError(errno.ENOENT, "neither a file nor a folder nor a link")
    return Found(
        kind,
        0 if kind is Kind.FOLDER else attributes.size or 0,
        (attributes.mtime or 0) * _SECOND,
        _version(attributes) if kind is Kind.FILE else b"",
        stat.S_IMODE(attributes.permissions),
        attributes.uid,
        attributes.gid,
    )


def _listed(attributes: asyncssh.SFTPAttrs) -> Found:
    return Found(Kind.UNSURE) if attributes.permissions is None else _found(attributes)


async def _there(client: asyncssh.SFTPClient, place: bytes) -> asyncssh.SFTPAttrs | None:
    try:
        return await client.lstat(place)
    except asyncssh.SFTPNoSuchFile:
        return None


async def _leads(client: asyncssh.SFTPClient, place: bytes) -> bytes:
    try:
        return await client.readlink(place)
    except asyncssh.SFTPError:
        return b""


async def _send(turn: Turn, file: asyncssh.SFTPClientFile, descriptor: int, size: int, gate: Gate) -> None:
    done = 0
    while done < size:
        piece = await asyncio.to_thread(os.pread, descriptor, min(_PIECE, size - done), done)
        if not piece:
            raise OSError(errno.EIO, f"the staged file has {done} bytes, but should have {size}")
        for part in gate.parts(len(piece)):
            await asyncio.to_thread(gate.admit_part, part)
            turn.goes_on()
        await file.write(piece, done)
        turn.goes_on()
        done += len(piece)


async def _finish(
    file: asyncssh.SFTPClientFile, size: int, kept: Kept, there: asyncssh.SFTPAttrs | None, now: asyncssh.SFTPAttrs
) -> Found:
    """Gives it its attributes, and has it brought to the disk where the server can."""
    own = kept.mtime_ns is not None and abs(kept.mtime_ns / _SECOND - time.time()) >= _RECENT
    seconds = now.mtime or 0 if kept.mtime_ns is None else kept.mtime_ns // _SECOND
    if there is not None and there.size == size and not own and 0 <= (there.mtime or 0) - seconds < _RECENT:
        seconds = (there.mtime or 0) + 1
    mode = 0o644 if kept.mode is None else kept.mode
    await _keep(file.setstat, now, kept._replace(mode=mode, mtime_ns=seconds * _SECOND), insists=False)

    async def sync() -> None:
        with suppress(asyncssh.SFTPOpUnsupported):
            await file.fsync()

    _synced, told = await asyncio.gather(sync(), file.stat())
    found = _found(told)
    if found.size != size:
        raise OSError(
            errno.EIO, f"the server has {found.size} bytes of it, but was sent {size}; see whether its disk is well"
        )
    return found


async def _keep(
    put: Callable[[asyncssh.SFTPAttrs], Awaitable[None]], now: asyncssh.SFTPAttrs, kept: Kept, insists: bool
) -> None:
    """
    :param insists: that it gets this owner; else it stays its maker's where the server's user may not give files away
    """
    owner = (now.uid if kept.uid is None else kept.uid, now.gid if kept.gid is None else kept.gid)
    if owner != (now.uid, now.gid):
        try:
            await put(asyncssh.SFTPAttrs(uid=owner[0], gid=owner[1]))
        except asyncssh.SFTPPermissionDenied as error:
            if insists:
                raise PermissionError(
                    errno.EPERM,
                    f"the server's user may not give it away ({error.reason}); let user be root, or set ignoreOwnership",
                ) from None
    attributes = asyncssh.SFTPAttrs(permissions=kept.mode)  # after the owner, whose change takes bits away
    if kept.mtime_ns is not None:
        attributes.atime = attributes.mtime = _seconds(kept.mtime_ns // _SECOND)
    if kept.mode is not None or kept.mtime_ns is not None:
        await put(attributes)


def _seconds(moment: int) -> int:
    return min(max(moment, 0), _LATEST)


def _replace(client: asyncssh.SFTPClient) -> Callable[[bytes, bytes], Awaitable[None]]:
    """Renames at once, where the server can."""

    async def replace(old: bytes, new: bytes) -> None:
        try:
            await client.posix_rename(old, new)
        except asyncssh.SFTPOpUnsupported:
            number = await reasons.of_renaming(client, old, new)
            if number:
                raise OSError(number, os.strerror(number), new) from None
            there = 0 if old == new else await reasons.kind(client, new)
            if there:
                await (client.rmdir if there == stat.S_IFDIR else client.remove)(new)
            await client.rename(old, new)

    return replace
