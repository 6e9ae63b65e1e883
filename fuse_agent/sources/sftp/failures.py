# SPDX-License-Identifier: Apache-2.0
"""Why a request failed: whether it is worth another try, and what a user is told."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Final

import asyncssh

from ..failed import Failure, line

if TYPE_CHECKING:
    from collections.abc import Mapping

_LOST: Final = (
    asyncssh.ConnectionLost, asyncssh.SFTPConnectionLost, asyncssh.SFTPNoConnection, ConnectionError, TimeoutError,
)  # fmt: skip
# Of version 3 of the protocol, which most servers speak, only the first five exist; all else is a failure without a reason.
_NUMBERS: Final[Mapping[type[asyncssh.SFTPError], int]] = {
    asyncssh.SFTPNoSuchFile: errno.ENOENT,
    asyncssh.SFTPPermissionDenied: errno.EACCES,
    asyncssh.SFTPOpUnsupported: errno.EOPNOTSUPP,
    asyncssh.SFTPBadMessage: errno.EINVAL,
    asyncssh.SFTPFailure: errno.EIO,
    asyncssh.SFTPNoSuchPath: errno.ENOENT,
    asyncssh.SFTPFileAlreadyExists: errno.EEXIST,
    asyncssh.SFTPWriteProtect: errno.EROFS,
    asyncssh.SFTPNoSpaceOnFilesystem: errno.ENOSPC,
    asyncssh.SFTPQuotaExceeded: errno.EDQUOT,
    asyncssh.SFTPDirNotEmpty: errno.ENOTEMPTY,
    asyncssh.SFTPNotADirectory: errno.ENOTDIR,
    asyncssh.SFTPInvalidFilename: errno.EINVAL,
    asyncssh.SFTPLinkLoop: errno.ELOOP,
    asyncssh.SFTPFileIsADirectory: errno.EISDIR,
}
_REMEDIES: Final[Mapping[int, str]] = {
    errno.EACCES: "let the server's user do this",
    errno.ENOENT: "see whether it was removed",
    errno.EINVAL: "take another name",
    errno.ENAMETOOLONG: "take a shorter name",
    errno.ENOSPC: "remove something, or give the server more room",
    errno.EDQUOT: "remove something, or raise the quota of the server's user",
    errno.EOPNOTSUPP: "take a server that can do this, as OpenSSH's",
}
# As HTTP would say it, so that one metric counts the requests of all sources.
_STATUS: Final[Mapping[int, int]] = {
    errno.ENOENT: 404,
    errno.EACCES: 403,
    errno.EPERM: 403,
    errno.ESTALE: 412,
    errno.EOPNOTSUPP: 501,
}


class UnreachedError(Exception):
    """There is no connection, and the next try may make one."""


class UnwelcomeError(Exception):
    """There is no connection, and the next try will not make one either."""


# What is raised by whoever asks a server; every other error is our own.
RAISED = (asyncssh.Error, ConnectionError, TimeoutError, UnreachedError, UnwelcomeError)


def of(error: Exception) -> Failure:
    if isinstance(error, UnreachedError):
        remedy = "see whether the address is right and can be reached from here"
        return Failure(errno.ETIMEDOUT, str(error), remedy, again=True)
    if isinstance(error, UnwelcomeError):
        return Failure(errno.EACCES, str(error), "correct the properties of the file system, or the server", 401)
    if isinstance(error, _LOST):
        said = "it did not answer in time" if isinstance(error, TimeoutError) else "the connection was lost"
        return Failure(errno.EIO, said, "see whether the server is well, and try again", again=True)
    if isinstance(error, asyncssh.SFTPError):
        return answered(_NUMBERS.get(type(error), errno.EIO), line(error.reason))
    return Failure(errno.EIO, line(str(error)), "see whether the server is well, and try again", again=True)


def answered(number: int, said: str) -> Failure:
    remedy = _REMEDIES.get(number, "see the server's log for the reason, which it does not tell")
    return Failure(number, said, remedy, _STATUS.get(number, 500))


def is_answer(error: BaseException) -> bool:
    """The server refused it, and the connection can be used on."""
    return isinstance(error, asyncssh.SFTPError) and not isinstance(error, _LOST)


def of_connecting(error: Exception) -> Exception:
    """What is raised in the place of what no connection came of."""
    if isinstance(error, asyncssh.HostKeyNotVerifiable):
        return UnwelcomeError("its host key is none of those of hostKey: it may be another server than you believe")
    if isinstance(error, asyncssh.PermissionDenied):
        return UnwelcomeError("it does not let the user in with this password or privateKey")
    if isinstance(error, (asyncssh.KeyExchangeFailed, asyncssh.ProtocolNotSupported, asyncssh.IllegalUserName)):
        return UnwelcomeError(line(str(error)))
    if isinstance(error, asyncssh.ChannelOpenError):
        return UnwelcomeError(f"it has no SFTP for this user: {line(error.reason)}")
    if isinstance(error, TimeoutError):
        return UnreachedError("it did not answer in time")
    return UnreachedError(line(str(error)) or type(error).__name__)
