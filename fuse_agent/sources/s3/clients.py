# SPDX-License-Identifier: Apache-2.0
"""boto3's client of one bucket. It does what obstore (`quick`) does not: listings, deletions, uploads in parts, odd keys, and what is
tried again. Parts are sent equally fast by both."""

from __future__ import annotations

from base64 import b64decode, b64encode
from datetime import datetime
from email.utils import parsedate_to_datetime
from hashlib import md5
from typing import TYPE_CHECKING, Any, Final, cast

import boto3.session
import botocore.session
import urllib3
from botocore.config import Config
from botocore.credentials import Credentials as BotoCredentials
from botocore.credentials import ReadOnlyCredentials

from .bodies import Copy
from .failures import GarbledError

if TYPE_CHECKING:
    from .credentials import Keeper
    from .options import Objects, Options, Patience


# Operations that read or write what objects hold.
_CONTENT: Final = frozenset((
    "HeadObject", "GetObject", "PutObject", "CopyObject", "CreateMultipartUpload", "UploadPart", "UploadPartCopy",
))  # fmt: skip


class _Kept(BotoCredentials):
    """Asked by boto3 for each request that it signs."""

    def __init__(self, keeper: Keeper) -> None:
        begin: Any = super().__init__  # it has no annotations
        begin("", "")
        self._keeper = keeper

    def get_frozen_credentials(self) -> ReadOnlyCredentials:
        now = self._keeper.current()
        return ReadOnlyCredentials(now.key, now.secret, now.token or None)


class _Resolver:
    """What boto3 asks for them, in the place of all that it would look through."""

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper

    def load_credentials(self) -> _Kept:
        return _Kept(self._keeper)


def _time(text: str) -> datetime:
    """As S3 writes it in XML, or in a header."""
    try:
        return datetime.fromisoformat(text) if text[:1].isdecimal() else parsedate_to_datetime(text)
    except ValueError:
        raise GarbledError(f"{text!r} is no time") from None


def boto(options: Options, keeper: Keeper, patience: Patience, connections: int) -> Any:
    if not options.verify:  # asked for, and else told at every connection
        urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
    make: Any = botocore.session.Session  # they have no annotations
    session, over = make(), cast("Any", boto3.session.Session)
    session.register_component("credential_provider", _Resolver(keeper))
    # Else more than half of what a listing costs is finding out what form its times have.
    session.get_component("response_parser_factory").set_parser_defaults(timestamp_parser=_time)
    configure: Any = Config
    config = configure(
        s3={"addressing_style": "path" if options.path_style else "virtual"},
        retries={"total_max_attempts": 1},  # ours are counted
        connect_timeout=patience.connect,
        read_timeout=patience.silence,
        max_pool_connections=connections,
        # What is beyond S3's first years is not everywhere.
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
        signature_version="s3v4",
    )
    client = over(botocore_session=session).client(
        "s3", endpoint_url=options.endpoint, region_name=options.region, verify=options.verify, config=config
    )
    said = _said(options.objects)

    def say(params: dict[str, Any], model: Any, **_rest: Any) -> None:
        if model.name in _CONTENT or said.get("RequestPayer"):
            params.update({name: value for name, value in said.items() if name in model.input_shape.members})

    client.meta.events.register("before-send.s3.UploadPart", _signed)
    if said:
        client.meta.events.register_first("before-parameter-build.s3", say)
    return client


def _signed(request: Any, **_rest: Any) -> None:
    """What a signature says of what is sent is taken from it, and not summed up twice."""
    if isinstance(request.body, Copy):
        request.body.signed(bytes(request.headers.get("X-Amz-Content-SHA256", b"")))


def _said(objects: Objects) -> dict[str, str]:
    """What goes along wherever the operation has a word for it."""
    digest = md5(b64decode(objects.customer_key), usedforsecurity=False).digest()
    key = {
        "SSECustomerAlgorithm": "AES256",
        "SSECustomerKey": objects.customer_key,
        "SSECustomerKeyMD5": b64encode(digest).decode(),
    }
    said = {
        "SSE-S3": {"ServerSideEncryption": "AES256"},
        "SSE-KMS": {"ServerSideEncryption": "aws:kms", **({"SSEKMSKeyId": objects.kms_key} if objects.kms_key else {})},
        "SSE-C": {**key, **{f"CopySource{name}": value for name, value in key.items()}},
    }.get(objects.encryption, {})
    said |= {"RequestPayer": "requester"} if objects.requester_pays else {}
    said |= {"ChecksumAlgorithm": "SHA256"} if objects.checksums else {}
    return said | ({"StorageClass": objects.storage_class} if objects.storage_class else {})
