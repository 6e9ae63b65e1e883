# SPDX-License-Identifier: Apache-2.0
"""What a bucket is opened with, and where it comes from. It may change while the bucket is in use."""

from __future__ import annotations

import errno
import json
import logging
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

_LOG = logging.getLogger(__name__)


class Credentials(NamedTuple):
    key: str
    secret: str
    token: str = ""
    expires: float | None = None  # seconds since 1970; None when it is not known, or never

    def __repr__(self) -> str:
        return f"Credentials(key={self.key!r})"  # the rest is nobody's to read


class Provider(Protocol):
    def credentials(self) -> Credentials:
        """Asked before every request where what it gave has no end, so that must be cheap.

        :raises OSError: when there are none
        """


class Fixed:
    def __init__(self, credentials: Credentials) -> None:
        self._credentials = credentials

    def credentials(self) -> Credentials:
        return self._credentials


class FileCredentials:
    """A file of JSON with accessKey, secretKey and perhaps sessionToken, which is read again whenever it was changed."""

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._lock = threading.Lock()
        self._seen: tuple[int, int, int] | None = None
        self._read: Credentials | None = None

    def credentials(self) -> Credentials:
        with self._lock:
            try:
                status = self._path.stat()
                seen = (status.st_ino, status.st_mtime_ns, status.st_size)
                if seen != self._seen:
                    self._read = _parse(self._path.read_bytes(), self._path)
                    self._seen = seen
            except OSError as error:
                if self._read is None:
                    raise
                _LOG.warning("%s: the keys that were read before are used", error)
            assert self._read is not None
            return self._read


class Keeper:
    """Asks a provider no more often than needed: when half of the time is over that was left when it was asked last."""

    def __init__(self, provider: Provider, clock: Callable[[], float] = time.time) -> None:
        self._provider, self._clock = provider, clock
        self._lock = threading.Lock()
        self._kept: Credentials | None = None
        self._again = 0.0

    def current(self) -> Credentials:
        with self._lock:
            if self._kept and self._kept.expires is not None and self._clock() < self._again:
                return self._kept
            return self._ask()

    def renewed(self, refused: Credentials) -> bool:
        """Whether there are others now than those that were refused."""
        with self._lock:
            return self._ask()[:3] != refused[:3]

    def _ask(self) -> Credentials:
        now = self._clock()
        try:
            self._kept = self._provider.credentials()
        except OSError as error:
            if self._kept is None or self._kept.expires is None or self._kept.expires <= now:
                # Whatever is missing, it is no file of the bucket.
                raise PermissionError(errno.EACCES, f"there are no keys for the bucket: {error}") from error
            _LOG.warning("%s: the keys in use are good for %.0f s more", error, self._kept.expires - now)
        if self._kept.expires is not None:
            self._again = now + (self._kept.expires - now) / 2
        return self._kept


def _parse(text: bytes, path: Path) -> Credentials:
    """
    :raises PermissionError: never with what the file holds
    """
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise PermissionError(errno.EACCES, "it is no JSON object with accessKey and secretKey", str(path))
    values = [found.get(name, "") for name in ("accessKey", "secretKey", "sessionToken")]
    if not all(isinstance(value, str) for value in values) or not values[0] or not values[1]:
        raise PermissionError(errno.EACCES, "accessKey and secretKey must be in it, as text", str(path))
    return Credentials(*values)
