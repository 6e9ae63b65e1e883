# SPDX-License-Identifier: Apache-2.0
"""Keys that a store lends for a while, to who shows his own: AWS's STS, which MinIO and others speak too, and BOS's."""

from __future__ import annotations

import errno
import hashlib
import hmac
import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlsplit

import boto3.session
import urllib3
from botocore import UNSIGNED
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from . import failures
from .credentials import Credentials

if TYPE_CHECKING:
    from collections.abc import Callable

    from .credentials import Provider
    from .options import Lent

_SESSION: Final = "paddleflow-fuse"
_PATIENCE: Final = 20.0
_VALID: Final = 1800  # seconds of a signature of BOS


def lent(asked: Lent, own: Provider) -> Provider:
    return BosLent(asked, own) if asked.bos else StsLent(asked, own)


class StsLent:
    def __init__(self, asked: Lent, own: Provider) -> None:
        """
        :param own: with which it is asked, but for who shows a token
        """
        self._asked, self._own = asked, own
        self._make: Any = boto3.session.Session  # it has no annotations

    def credentials(self) -> Credentials:
        asked = self._asked
        given: dict[str, Any] = {"DurationSeconds": asked.seconds}
        if asked.role:
            given |= {"RoleArn": asked.role, "RoleSessionName": _SESSION}
            given |= {"Policy": asked.policy} if asked.policy else {}
        try:
            if asked.token_file:
                given["WebIdentityToken"] = Path(asked.token_file).read_text(encoding="utf-8").strip()
                answer = self._client(None).assume_role_with_web_identity(**given)
            elif asked.role:
                answer = self._client(self._own.credentials()).assume_role(**given)
            else:
                answer = self._client(self._own.credentials()).get_session_token(**given)
        except (BotoCoreError, ClientError) as error:
            failure = failures.of(error)
            said = " ".join(str(part) for part in (failure.status or "no answer", failure.code, failure.said) if part)
            raise PermissionError(
                errno.EACCES,
                f"{asked.endpoint} lends no keys ({said}); let these keys take on {asked.role or 'a session'}",
            ) from None
        found = answer["Credentials"]
        return Credentials(
            found["AccessKeyId"], found["SecretAccessKey"], found["SessionToken"], found["Expiration"].timestamp()
        )

    def _client(self, own: Credentials | None) -> Any:
        configure: Any = Config
        config = configure(
            connect_timeout=_PATIENCE, read_timeout=_PATIENCE, signature_version=UNSIGNED if own is None else None
        )
        keys = (own.key, own.secret, own.token or None) if own else (None, None, None)
        names = ("aws_access_key_id", "aws_secret_access_key", "aws_session_token")
        return self._make().client(
            "sts", endpoint_url=self._asked.endpoint, region_name=self._asked.region, verify=self._asked.verify,
            config=config, **dict(zip(names, keys, strict=True)),
        )  # fmt: skip


class BosLent:
    """BOS has an interface of its own."""

    def __init__(self, asked: Lent, own: Provider, clock: Callable[[], float] = time.time) -> None:
        self._asked, self._own, self._clock = asked, own, clock
        self._pool = urllib3.PoolManager(
            timeout=_PATIENCE, retries=False, cert_reqs="CERT_REQUIRED" if asked.verify else "CERT_NONE"
        )

    def credentials(self) -> Credentials:
        asked, own = self._asked, self._own.credentials()
        address = f"{asked.endpoint}/v1/sessionToken"
        query = f"durationSeconds={asked.seconds}"
        headers = {"Host": urlsplit(address).netloc, "Content-Type": "application/json"}
        headers["Authorization"] = bce_signature("POST", address, query, headers, own, self._clock())
        try:
            answer = self._pool.request("POST", f"{address}?{query}", body=asked.policy.encode(), headers=headers)
            found = json.loads(answer.data)
            if answer.status != 200:
                told = f"{answer.status} {found.get('code', '')} {found.get('message', '')}".strip()
                raise PermissionError(
                    errno.EACCES, f"{address} lends no keys ({told}); correct accessKey and secretKey"
                )
            ends = datetime.fromisoformat(found["expiration"]).timestamp()
            return Credentials(found["accessKeyId"], found["secretAccessKey"], found["sessionToken"], ends)
        except (urllib3.exceptions.HTTPError, ValueError, KeyError, TypeError) as error:
            raise PermissionError(
                errno.EACCES, f"{address} lends no keys ({type(error).__name__}); see whether stsEndpoint is right"
            ) from None


def bce_signature(method: str, address: str, query: str, headers: dict[str, str], own: Credentials, now: float) -> str:
    """Of a request, as Baidu's authentication of version 1 wants it."""
    moment = datetime.fromtimestamp(int(now), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    prefix = f"bce-auth-v1/{own.key}/{moment}/{_VALID}"
    signing = hmac.new(own.secret.encode(), prefix.encode(), hashlib.sha256).hexdigest()
    signed = sorted((name.lower(), quote(value.strip(), safe="")) for name, value in headers.items())
    lines = [method, urlsplit(address).path, query, "\n".join(f"{name}:{value}" for name, value in signed)]
    signature = hmac.new(signing.encode(), "\n".join(lines).encode(), hashlib.sha256).hexdigest()
    return f"{prefix}/{';'.join(name for name, _value in signed)}/{signature}"
