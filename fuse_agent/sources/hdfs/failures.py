# SPDX-License-Identifier: Apache-2.0
"""Why a request failed: whether it is worth another try, and what a user is told.

The client tells its errors as texts: those of the cluster with the name of Java's exception, all others with a word of its own.
"""

from __future__ import annotations

import errno
import re
from typing import TYPE_CHECKING, Final

from ..failed import Failure, line

if TYPE_CHECKING:
    from collections.abc import Mapping

_NUMBERS: Final[Mapping[str, int]] = {
    "AccessControlException": errno.EACCES,
    "AuthorizationException": errno.EACCES,
    "SaslException": errno.EACCES,
    "InvalidToken": errno.EACCES,
    "SASLError": errno.EACCES,
    "GSSAPIError": errno.EACCES,
    "NoSASLMechanism": errno.EACCES,
    "FileNotFoundException": errno.ENOENT,
    "FileAlreadyExistsException": errno.EEXIST,
    "ParentNotDirectoryException": errno.ENOTDIR,
    "PathIsNotDirectoryException": errno.ENOTDIR,
    "PathIsNotEmptyDirectoryException": errno.ENOTEMPTY,
    "InvalidPathException": errno.EINVAL,
    "InvalidPath": errno.EINVAL,
    "PathComponentTooLongException": errno.ENAMETOOLONG,
    "MaxDirectoryItemsExceededException": errno.ENOSPC,
    "NSQuotaExceededException": errno.EDQUOT,
    "DSQuotaExceededException": errno.EDQUOT,
    "QuotaByStorageTypeExceededException": errno.EDQUOT,
    "SnapshotAccessControlException": errno.EROFS,
    "UnsupportedOperationException": errno.EOPNOTSUPP,
    "UnsupportedFeature": errno.EOPNOTSUPP,
}
# What may be otherwise a moment later.
_AGAIN: Final = (
    "StandbyException", "ObserverRetryOnActiveException", "RetriableException", "SafeModeException", "NotReplicatedYetException",
    "IOError", "DataTransferError", "ChecksumError", "OperationFailed", "BlocksNotFound", "InvalidRPCResponse",
)  # fmt: skip
_REMEDIES: Final[Mapping[int, str]] = {
    errno.EACCES: "let this user do this, or give another",
    errno.ENOENT: "see whether it was removed",
    errno.EINVAL: "take another name: HDFS has none with a colon",
    errno.ENAMETOOLONG: "take a shorter name",
    errno.ENOSPC: "remove something, or give the cluster more room",
    errno.EDQUOT: "remove something, or raise the folder's quota",
    errno.ETIMEDOUT: "see whether the address is right and can be reached from here",
}
# As HTTP would say it, so that one metric counts the requests of all sources.
_STATUS: Final[Mapping[int, int]] = {
    errno.ENOENT: 404, errno.EACCES: 403, errno.EPERM: 403, errno.EEXIST: 409, errno.ESTALE: 412,
}  # fmt: skip
# All that the client says when a cluster hangs up on who comes without a ticket.
_UNASKED: Final = "see whether the cluster is well, and whether it wants Kerberos: then give principal and keyTabData"
# By whoever gives tickets, or who takes them. What data nodes refuse is none of it: they want no tickets.
_LOGIN: Final = ("GSSAPIError", "SaslException")
_TICKET: Final = "see whether the KDC can be reached from here, and whether principal and keyTabData are what it knows"
_UNREACHED: Final = re.compile("Connection refused|lookup address|timed out|No route|unreachable", re.IGNORECASE)


class SilentError(Exception):
    """It did not answer in time."""


# What the client raises, and we for it.
RAISED = (OSError, RuntimeError, NotImplementedError, SilentError)


def of(error: Exception) -> Failure:
    if isinstance(error, SilentError):
        return Failure(
            errno.EIO, "it did not answer in time", "see whether the cluster is well, and try again", again=True
        )
    word, text = _words(error)
    said = _line(text) or word
    if word in _AGAIN:
        unreached = word == "IOError" and _UNREACHED.search(said)
        told = _told(errno.ETIMEDOUT if unreached else errno.EIO, said, 0 if word == "IOError" else 503, again=True)
        return told._replace(remedy=_UNASKED) if "listener disconnected" in said else told
    number = _NUMBERS.get(word, errno.EIO)
    if "could only be written to 0 of the" in text:
        number = errno.ENOSPC  # or no data node is there at all
    told = _told(number, said, status(number))._replace(login=word in _LOGIN)
    return told._replace(remedy=_TICKET) if word == "GSSAPIError" else told


def status(number: int) -> int:
    return _STATUS.get(number, 500)


def _told(number: int, said: str, code: int, again: bool = False) -> Failure:
    remedy = _REMEDIES.get(number, "see whether the cluster is well, and try again")
    return Failure(number, said, remedy, code, again)


def _words(error: Exception) -> tuple[str, str]:
    """Of the kind of error, and what was said."""
    text = str(error)
    if isinstance(error, FileNotFoundError):
        return "FileNotFoundException", text
    if isinstance(error, FileExistsError):
        return "FileAlreadyExistsException", text
    if isinstance(error, IsADirectoryError):
        return "FileNotFoundException", text
    if isinstance(error, NotImplementedError):
        return "UnsupportedFeature", text
    if isinstance(error, OSError):
        return "IOError", text
    remote = re.match(r'(?:Fatal)?RPCError\("([\w.$]+)", "(.*)"\)', text, re.DOTALL)
    if remote:
        return re.split(r"[.$]", remote[1])[-1], remote[2].replace("\\n", "\n").replace('\\"', '"')
    own = re.match(r"(\w+)", text)
    return (own[1] if own else ""), text


def _line(text: str) -> str:
    """Without the places in Java's code."""
    return line(text.partition("\n")[0].partition("\\n\\tat")[0])
