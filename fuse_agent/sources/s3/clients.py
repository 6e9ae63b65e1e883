# SPDX-License-Identifier: Apache-2.0
"""The two clients of one bucket.

obstore, called from threads, holds the interpreter for a tenth of the time that boto3 does, and reads, stores, copies and finds small
objects 2 to 6 times as fast (on a local MinIO). But it takes a key for a path: it drops a slash at the end, refuses empty parts, dots
and control characters, hides such keys from its listings, and its errors and uploads in parts keep to themselves what we need (S3's code,
the upload's id). So it gets the first try at what it can express, and boto3 does all else: listings, deletions, uploads in parts, odd
keys, and what is tried again. Parts are sent equally fast by both.
"""

from __future__ import annotations

import re
import threading
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, cast

import boto3.session
import botocore.session
import urllib3
from botocore.config import Config
from botocore.credentials import Credentials as BotoCredentials
from botocore.credentials import ReadOnlyCredentials
from obstore import store

from .failures import GarbledError

if TYPE_CHECKING:
    from .attempts import Patience
    from .credentials import Credentials, Keeper
    from .options import Options

_ODD = re.compile(r"(^|/)(\.{0,2})(/|$)|[\x00-\x1f\x7f]")


def plain(key: str) -> bool:
    """Whether obstore takes the key for what it is."""
    return not _ODD.search(key)


class Clients:
    """
    :ivar boto: shared by all threads
    """

    def __init__(self, options: Options, keeper: Keeper, patience: Patience, connections: int) -> None:
        self._options, self._keeper, self._patience = options, keeper, patience
        self._lock = threading.Lock()
        self._made: tuple[Credentials, store.S3Store] | None = None
        self.boto: Any = _boto(options, keeper, patience, connections)

    def obstore(self) -> store.S3Store:
        """With the keys of now."""
        now = self._keeper.current()
        made = self._made
        if made and made[0][:3] == now[:3]:
            return made[1]
        with self._lock:
            if not self._made or self._made[0][:3] != now[:3]:
                self._made = (now, _obstore(self._options, now, self._patience))
            return self._made[1]

    def close(self) -> None:
        self.boto.close()


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


def _boto(options: Options, keeper: Keeper, patience: Patience, connections: int) -> Any:
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


def _obstore(options: Options, now: Credentials, patience: Patience) -> store.S3Store:
    def provide() -> Any:
        # Keys that are given as such are mixed with a token that the environment happens to have.
        return {
            "access_key_id": now.key,
            "secret_access_key": now.secret,
            "token": now.token or None,
            "expires_at": None,
        }

    return store.S3Store(
        options.bucket,
        endpoint=options.place(),
        region=options.region,
        virtual_hosted_style_request=not options.path_style,
        credential_provider=provide,
        client_options={
            "allow_http": True,  # the endpoint says whether
            "allow_invalid_certificates": not options.verify,
            "connect_timeout": timedelta(seconds=patience.connect),
            "read_timeout": timedelta(seconds=patience.silence),
            "timeout": timedelta(seconds=patience.total),
        },
        retry_config={"max_retries": 0, "retry_timeout": timedelta(seconds=patience.total)},
    )
