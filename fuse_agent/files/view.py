# SPDX-License-Identifier: Apache-2.0
"""How what a source tells of a path looks to users, and for how long it is believed. No input or output."""

from __future__ import annotations

import errno
import stat
import time
from typing import TYPE_CHECKING, Final, NamedTuple

from ..nodes.records import Known
from ..operations import Held
from ..protocol.replies import Attributes, Entry, Space
from ..sources.base import UNTOLD, Kind

if TYPE_CHECKING:
    from ..nodes.table import Nodes
    from ..operations import Caller, Changes
    from ..sources.base import Found, Room

SECOND: Final = 10**9
# Of attributes that a listing could not tell: they never held.
UNSURE: Final = -1
_TYPES: Final = {Kind.FILE: stat.S_IFREG, Kind.FOLDER: stat.S_IFDIR, Kind.LINK: stat.S_IFLNK, Kind.UNSURE: stat.S_IFREG}
# Bytes of a file, in which the kernel and every disk count.
LARGEST: Final = (1 << 63) - 1
_BLOCK: Final = 4096
FOLDER_SIZE: Final = 4096


class Settings(NamedTuple):
    """Times are in seconds."""

    uid: int = 0
    gid: int = 0
    folder_mode: int = 0o755
    file_mode: int = 0o644
    attributes_hold: float = 5.0  # within the agent
    names_hold: float = 5.0
    kernel_attributes_hold: float = 1.0
    kernel_names_hold: float = 1.0
    relaxed: bool = False  # an open believes what is known, and asks nobody
    read_only: bool = False
    without_open: bool = False  # nobody is told of opens and closes
    ignores_owners: bool = False  # a chmod or chown that the source cannot keep succeeds all the same
    capacity: int = 1 << 50  # what statfs tells, in bytes
    mounted_ns: int = 0  # the time of a folder that has none
    conflict_fails: bool = False  # who writes replaces no other version than the one that he began from
    identity: str = ""  # of the file system, whoever mounts it
    block: int = 8 << 20  # the most that one request reads of a source; 0 keeps nothing
    read_ahead: int = 200 << 20
    largest_read: int = 1 << 20  # of one request of the kernel
    xattrs: bool = False  # attributes beside those of POSIX are kept where the source can


def now() -> int:
    """Of the boot clock, in nanoseconds."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def known(found: Found, number: int, settings: Settings, moment: int) -> Known:
    """
    :param number: what users see as its inode
    :param moment: when the source told it
    """
    mode = found.mode
    if mode is None:
        mode = {Kind.FOLDER: settings.folder_mode, Kind.LINK: 0o777}.get(found.kind, settings.file_mode)
    if found.mtime_ns == UNTOLD:
        changed, holds = time.time_ns(), 0
    else:
        changed = found.mtime_ns or settings.mounted_ns
        holds = moment + int(_hold(found.links, settings.attributes_hold) * SECOND)
    return Known(
        mode=_TYPES[found.kind] | mode,
        uid=settings.uid if found.uid is None else found.uid,
        gid=settings.gid if found.gid is None else found.gid,
        size=found.size,
        number=number,
        mtime=changed,
        ctime=changed,
        atime=changed,
        holds=UNSURE if found.kind is Kind.UNSURE else holds,
        name_holds=moment + int(settings.names_hold * SECOND),
        links=found.links,
    )


def _hold(links: int, seconds: float) -> float:
    """What has several names may be another by another one of them at any time: nothing that is known of it holds."""
    return seconds if links <= 1 else 0.0


def all_known(nodes: Nodes, folder: int) -> bool:
    """Whether every name of it is, as long as that holds."""
    return nodes.complete_until(folder) * SECOND > now()


def owner(caller: Caller, above: Known) -> tuple[int, int]:
    """User and group of what is made in a folder."""
    return caller.uid, above.gid if above.mode & stat.S_ISGID else caller.gid


def attributes(one: Known) -> Attributes:
    size = FOLDER_SIZE if stat.S_ISDIR(one.mode) else one.size
    return Attributes(one.number, one.mode, size, one.links, one.uid, one.gid, one.atime, one.mtime, one.ctime)


def entry(node: int, one: Known, settings: Settings) -> Entry:
    hold = _hold(one.links, settings.kernel_attributes_hold)
    return Entry(node, attributes(one), settings.kernel_names_hold, hold)


def held(one: Known, settings: Settings) -> Held:
    return Held(attributes(one), _hold(one.links, settings.kernel_attributes_hold))


def without_privileges(mode: int) -> int:
    """What is left of it when another writes. A group that may not execute is lent nothing by its bit."""
    return stat.S_IMODE(mode) & ~(stat.S_ISUID | (stat.S_ISGID if mode & stat.S_IXGRP else 0))


def kept(one: Known, changes: Changes, keeps: bool, settings: Settings) -> Changes:
    """What of the changes of an owner and mode there is to keep.

    :param keeps: whether the source does
    :raises PermissionError: of what it cannot keep
    """
    mode = changes.mode
    if mode is not None:
        mode = stat.S_IMODE(mode)
    elif changes.drop_privileges:
        mode = without_privileges(one.mode)
    wanted = changes._replace(
        mode=None if mode == stat.S_IMODE(one.mode) else mode,
        uid=None if changes.uid == one.uid else changes.uid,
        gid=None if changes.gid == one.gid else changes.gid,
    )
    if keeps or (wanted.mode, wanted.uid, wanted.gid) == (None, None, None):
        return wanted
    if not settings.ignores_owners:
        raise PermissionError(
            errno.EPERM,
            "this file system keeps no owners and modes; persistAttributes would keep, ignoreOwnership drop them",
        )
    return wanted._replace(mode=None, uid=None, gid=None)


def space(settings: Settings, used: int, files: int) -> Space:
    """Of a source that has room without end: what was promised, without what is known to be there."""
    blocks = settings.capacity // _BLOCK
    return Space(_BLOCK, blocks, max(blocks - -(-used // _BLOCK), 0), 1 << 32, max((1 << 32) - files, 0))


def room(settings: Settings, told: Room) -> Space:
    """Of one that tells it: no more than was promised."""
    blocks = min(settings.capacity, told.size) // _BLOCK
    return Space(_BLOCK, blocks, min(told.free // _BLOCK, blocks), told.files, min(told.files_free, told.files))
