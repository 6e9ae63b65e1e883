# SPDX-License-Identifier: Apache-2.0
"""Most of what a server refuses it calls a failure, without a reason. So what is there is looked at after it."""

from __future__ import annotations

import errno
import stat
from typing import Final

import asyncssh

# A file system that has no more blocks than this has no room: the last ones are often nobody's.
_NO_ROOM: Final = 16


async def kind(client: asyncssh.SFTPClient, place: bytes) -> int:
    """The type in its mode, 0 of what is not there."""
    try:
        attributes = await client.lstat(place)
    except asyncssh.SFTPNoSuchFile:
        return 0
    return stat.S_IFMT(attributes.permissions or 0)


async def of_making(client: asyncssh.SFTPClient, place: bytes) -> int:
    return errno.EEXIST if await kind(client, place) else 0


async def of_listing(client: asyncssh.SFTPClient, place: bytes) -> int:
    there = await kind(client, place)
    return errno.ENOTDIR if there and there != stat.S_IFDIR else 0


async def of_removing(client: asyncssh.SFTPClient, place: bytes) -> int:
    return errno.EISDIR if await kind(client, place) == stat.S_IFDIR else 0


async def of_removing_folder(client: asyncssh.SFTPClient, place: bytes) -> int:
    if await of_listing(client, place):
        return errno.ENOTDIR
    return errno.ENOTEMPTY if await _holds_something(client, place) else 0


async def of_renaming(client: asyncssh.SFTPClient, old: bytes, new: bytes) -> int:
    before, after = await kind(client, old), await kind(client, new)
    if not before:
        return errno.ENOENT
    if before == stat.S_IFDIR and new.startswith(old + b"/"):
        return errno.EINVAL
    if not after:
        return 0
    if stat.S_IFDIR not in (before, after):
        return 0
    if after != stat.S_IFDIR:
        return errno.ENOTDIR
    if before != stat.S_IFDIR:
        return errno.EISDIR
    return errno.ENOTEMPTY if await _holds_something(client, new) else 0


async def of_writing(client: asyncssh.SFTPClient, place: bytes) -> int:
    try:
        space = await client.statvfs(place.rpartition(b"/")[0] or b"/")
    except asyncssh.SFTPError:
        return 0
    return errno.ENOSPC if space.bavail <= _NO_ROOM or not space.favail else 0


async def _holds_something(client: asyncssh.SFTPClient, place: bytes) -> bool:
    try:
        async for one in client.scandir(place):
            if one.filename not in (b".", b".."):
                return True
    except asyncssh.SFTPNoSuchFile:
        pass
    return False
