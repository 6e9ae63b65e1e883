# SPDX-License-Identifier: Apache-2.0
"""boto3's client of one bucket. It does what obstore (`quick`) does not: listings, deletions, uploads in parts, odd keys, and what is
tried again. Parts are sent equally fast by both."""

from __future__ import annotations

from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, cast

import boto3.session
import botocore.session
import urllib3
from botocore.config import Config
from botocore.credentials import Credentials as BotoCredentials
from botocore.credentials import ReadOnlyCredentials

from .failures import GarbledError

if TYPE_CHECKING:
    from .credentials import Keeper
    from .options import Options, Patience


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
    return over(botocore_session=session).client(
        "s3", endpoint_url=options.endpoint, region_name=options.region, verify=options.verify, config=config
    )
