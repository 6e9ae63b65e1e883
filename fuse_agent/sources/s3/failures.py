# SPDX-License-Identifier: Apache-2.0
"""Why a request failed, whichever client sent it: whether it is worth another try, and what a user is told."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from botocore import exceptions as boto
from botocore.parsers import ResponseParserError
from obstore.exceptions import BaseError

from ..base import ChangedError, RefusedError
from .answers import answer_of, is_refusal

if TYPE_CHECKING:
    from collections.abc import Mapping

# Other keys may be there already, which a session that began with these has not seen.
STALE: Final = (
    "ExpiredToken", "ExpiredTokenException", "InvalidAccessKeyId", "InvalidToken", "SignatureDoesNotMatch",
    "TokenRefreshRequired",
)  # fmt: skip
_BUSY: Final = ("RequestTimeout", "OperationAborted", "SlowDown", "ConditionalRequestConflict")
_QUOTA: Final = ("XMinioAdminBucketQuotaExceeded", "QuotaExceeded", "BucketQuotaExceeded")
_ARCHIVED: Final = "InvalidObjectState"
_UNTRUSTED: Final = "UntrustedCertificate"  # our own word
_NUMBERS: Final[Mapping[str, int]] = {
    _ARCHIVED: errno.EIO,
    "NoSuchBucket": errno.EIO,  # not that the file is gone
    "EntityTooLarge": errno.EFBIG,
    "KeyTooLongError": errno.ENAMETOOLONG,
    "MetadataTooLarge": errno.E2BIG,
    "XMinioInvalidObjectName": errno.EINVAL,
    "XMinioInvalidResourceName": errno.EINVAL,
    "InvalidURI": errno.EINVAL,
    **dict.fromkeys(_QUOTA, errno.EDQUOT),
    **dict.fromkeys(("XMinioStorageFull", "InsufficientStorage"), errno.ENOSPC),
    **dict.fromkeys(STALE, errno.EACCES),
}
_BY_STATUS: Final[Mapping[int, int]] = {
    401: errno.EACCES,
    403: errno.EACCES,
    404: errno.ENOENT,
    416: errno.ERANGE,
    507: errno.ENOSPC,
}
_REMEDIES: Final[Mapping[str, str]] = {
    "RequestTimeTooSkewed": "set this machine's clock, which differs too much from the store's",
    "NoSuchBucket": "create the bucket, or correct the file system's url",
    "NoSuchUpload": "store the file again",
    "SignatureDoesNotMatch": "correct secretKey, and region",
    "InvalidAccessKeyId": "correct accessKey",
    **dict.fromkeys(
        ("ExpiredToken", "ExpiredTokenException", "InvalidToken", "TokenRefreshRequired"), "renew the keys"
    ),
    _ARCHIVED: "restore it from the archive first",
    "KeyTooLongError": "take a shorter name",
    "MetadataTooLarge": "give it fewer or shorter extended attributes",
    _UNTRUSTED: "have its certificate signed by one whom this machine trusts, or set insecureSkipVerify",
    "EntityTooLarge": "take a store that takes objects of this size",
    **dict.fromkeys(_QUOTA, "remove something, or raise the bucket's quota"),
}
_BY_NUMBER: Final[Mapping[int, str]] = {
    errno.EACCES: "let these keys do this to the bucket",
    errno.ENOENT: "see whether it was removed",
    errno.ENOSPC: "remove something, or give the store more room",
    errno.EINVAL: "take another name",
    errno.ETIMEDOUT: "see whether the endpoint is right and can be reached from here",
}


class Failure(NamedTuple):
    status: int = 0  # of HTTP; 0 without an answer
    code: str = ""  # S3's own word
    said: str = ""
    wait: float | None = None  # seconds that the store asks for; None when it did not, or its client does not say
    again: bool = False  # worth another try
    unreached: bool = False  # there was no connection


class GarbledError(Exception):
    """An answer that is not what was asked for."""


# What the clients raise; obstore's for what is not there is Python's own.
RAISED = (BaseError, FileNotFoundError, boto.BotoCoreError, boto.ClientError, ResponseParserError, GarbledError)


def of(error: Exception) -> Failure:
    if isinstance(error, boto.ClientError):
        return _answered(error.response)
    if isinstance(error, (GarbledError, ResponseParserError)):
        return Failure(200, said=_line(str(error)), again=True)
    if isinstance(error, boto.BotoCoreError):
        return _unanswered(error)
    return _of_obstore(str(error))


def number(failure: Failure) -> int:
    if failure.code in _NUMBERS:
        return _NUMBERS[failure.code]
    if failure.unreached:
        return errno.ETIMEDOUT
    return _BY_STATUS.get(failure.status, errno.EIO)


def error(failure: Failure, operation: str, bucket: str, key: str, tries: int) -> OSError:
    """What is told of it."""
    # What was expected there may also be gone.
    gone = failure.code == "NoSuchKey" and operation in ("PutObject", "CompleteMultipartUpload", "UploadPartCopy")
    if gone or failure.status == 412:
        return ChangedError(key.encode())
    found = number(failure)
    answer = " ".join(str(part) for part in (failure.status or "no answer", failure.code) if part)
    said = f": {failure.said}" if failure.said else ""
    often = f" after {tries} tries" if tries > 1 else ""
    remedy = _REMEDIES.get(failure.code) or _BY_NUMBER.get(found, "see whether the store is well, and try again")
    text = f"{operation} of {key!r} in bucket {bucket!r} failed{often} with {answer}{said}; {remedy}"
    return (RefusedError if is_refusal(failure.status, failure.code) else OSError)(found, text)


def _again(status: int, code: str) -> bool:
    full = number(Failure(status, code)) in (errno.EDQUOT, errno.ENOSPC)
    return status in (408, 429) or (status >= 500 and status not in (501, 505) and not full) or code in _BUSY


def _answered(response: Mapping[str, Any]) -> Failure:
    meta, told = response.get("ResponseMetadata", {}), response.get("Error", {})
    status, code = int(meta.get("HTTPStatusCode", 0)), str(told.get("Code", ""))
    code = "" if code.isdecimal() else code  # what botocore makes of an answer without a body
    after = str(meta.get("HTTPHeaders", {}).get("retry-after", ""))
    wait = float(after) if after.isdecimal() else None
    return Failure(status, code, _line(str(told.get("Message", "")) if code else ""), wait, _again(status, code))


def _unanswered(error: boto.BotoCoreError) -> Failure:
    # What its text has of the request is the address, in which there is no secret.
    unreached = isinstance(error, (boto.EndpointConnectionError, boto.ConnectTimeoutError, boto.ProxyConnectionError))
    lost = isinstance(
        error, (boto.HTTPClientError, boto.ConnectionError, boto.IncompleteReadError, boto.ResponseStreamingError)
    )
    untrusted = isinstance(error, boto.SSLError)
    code = _UNTRUSTED if untrusted else ""
    return Failure(0, code, _line(str(error)), again=lost and not untrusted, unreached=unreached)


def _of_obstore(text: str) -> Failure:
    """What has no status in it is tried again by the other client, whose errors have fields."""
    status, code, said = answer_of(text)
    if not status:
        return Failure(said=_line(text), again=True)
    return Failure(status, code, _line(said), None, _again(status, code))


def _line(text: str) -> str:
    line = " ".join(text.partition("\n\n")[0].split())
    return line if len(line) <= 200 else f"{line[:197]}..."
