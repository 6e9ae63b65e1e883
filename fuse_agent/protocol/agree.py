# SPDX-License-Identifier: Apache-2.0
"""What kernel and agent agree on when a mount begins, and what a mount does without because its kernel cannot."""

from __future__ import annotations

from typing import NamedTuple

from . import layout
from .codes import MAJOR, MINOR, OLDEST_MINOR, Init
from .requests import Request, offered

PAGE = 4096
# Requests that wait for an answer at once, beside those that somebody waits for.
BACKGROUND = 64

# Wanted wherever the kernel has it.
_ALWAYS = (
    Init.ASYNC_READ
    | Init.BIG_WRITES
    | Init.ATOMIC_O_TRUNC
    | Init.DO_READDIRPLUS
    | Init.ASYNC_DIO
    | Init.PARALLEL_DIROPS
    | Init.ABORT_ERROR
    | Init.MAX_PAGES
    | Init.EXPLICIT_INVAL_DATA
    | Init.INIT_EXT
    | Init.HAS_RESEND
)


_SINCE = {
    Init.PASSTHROUGH: "Linux 6.9",
    Init.HAS_RESEND: "Linux 6.9",
    Init.ALLOW_IDMAP: "Linux 6.12",
    Init.EXPLICIT_INVAL_DATA: "Linux 5.2",
}
_LACKED_BY_LIBFUSE = (
    "room that is made and ranges that are zeroed (fallocate)",
    "interrupting who waits for the source",
    "file numbers that stay when others replace a file, and in the next mount",
)


class Wish(NamedTuple):
    read_only: bool = False
    without_open: bool = False  # no request for an open and a close at all, for the whole mount
    passthrough: int = 0  # how deep the stack of file systems below may be; 0 is without
    idmapped: bool = False
    refuses_locks: bool = False  # else they are the kernel's, and hold for all who use this mount
    largest: int = 1 << 20  # bytes of a read or write
    read_ahead: int = 1 << 20


class Agreed(NamedTuple):
    minor: int
    flags: Init
    largest: int
    read_ahead: int
    passthrough: int

    def __contains__(self, flag: object) -> bool:
        return isinstance(flag, Init) and bool(self.flags & flag)


class UnfitError(ValueError):
    """A kernel that is too old to be served."""


def agree(request: Request, wish: Wish) -> Agreed:
    """
    :raises UnfitError:
    """
    major, minor, read_ahead, _flags = request.fixed
    if (major, minor) < (MAJOR, OLDEST_MINOR):
        raise UnfitError(
            f"The kernel speaks version {major}.{minor} of FUSE, but the agent needs {MAJOR}.{OLDEST_MINOR} or newer, "
            "which Linux has since 4.20."
        )
    wanted = _ALWAYS
    if wish.without_open and wish.read_only:
        # An O_TRUNC that comes with an open would be lost where none comes.
        wanted = wanted & ~Init.ATOMIC_O_TRUNC | Init.NO_OPEN_SUPPORT | Init.NO_OPENDIR_SUPPORT
    elif wish.passthrough:
        wanted |= Init.PASSTHROUGH
    if wish.idmapped:
        wanted |= Init.ALLOW_IDMAP
    if wish.refuses_locks:
        wanted |= Init.POSIX_LOCKS | Init.FLOCK_LOCKS
    flags = offered(request) & wanted
    return Agreed(
        minor=min(minor, MINOR),
        flags=flags,
        largest=wish.largest if flags & Init.MAX_PAGES else min(wish.largest, 32 * PAGE),
        read_ahead=min(read_ahead, wish.read_ahead),
        passthrough=wish.passthrough if flags & Init.PASSTHROUGH else 0,
    )


def answer(agreed: Agreed) -> bytes:
    flags = int(agreed.flags)
    return layout.INIT_OUT.pack(
        MAJOR,
        agreed.minor,
        agreed.read_ahead,
        flags & 0xFFFFFFFF,
        BACKGROUND,
        BACKGROUND * 3 // 4,
        agreed.largest,
        1,
        agreed.largest // PAGE,
        0,
        flags >> 32,
        agreed.passthrough,
        0,
    )


def lacking(request: Request, wish: Wish) -> list[str]:
    """What a user would miss since the kernel cannot, in words."""
    has = offered(request)
    return [f"{text} ({_SINCE[flag]})" if flag in _SINCE else text for flag, text in _wanted(wish) if not has & flag]


def by_libfuse(wish: Wish) -> tuple[Agreed, list[str]]:
    """What there is where libfuse answers the mount's first request, and what a user misses by that, in words."""
    lacks = [text for flag, text in _wanted(wish) if flag is not Init.EXPLICIT_INVAL_DATA]
    return Agreed(0, Init(0), wish.largest, wish.read_ahead, 0), [*lacks, *_LACKED_BY_LIBFUSE]


def _wanted(wish: Wish) -> list[tuple[Init, str]]:
    words = {
        Init.PASSTHROUGH: ("reads at the speed of the disk below", wish.passthrough > 0),
        Init.NO_OPEN_SUPPORT: ("opens that need no answer", wish.without_open),
        Init.HAS_RESEND: ("going on without an error when the agent is replaced", True),
        Init.ALLOW_IDMAP: ("volumes with mapped owners", wish.idmapped),
        Init.EXPLICIT_INVAL_DATA: ("telling the kernel which pages are old", True),
    }
    return [(flag, text) for flag, (text, wanted) in words.items() if wanted]
