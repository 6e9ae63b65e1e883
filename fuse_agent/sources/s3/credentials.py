# SPDX-License-Identifier: Apache-2.0
"""What a bucket is opened with, and where it comes from. It may change while the bucket is in use."""

from __future__ import annotations

import errno
import json
import logging
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_LOG = logging.getLogger(__name__)


# Of the time for which keys are good, after so much of it others are asked for: there is long to try again.
SHARE: Final = 0.2
# Seconds for which who gives none, or still those that were refused, is not asked again.
_PAUSE: Final = 5.0


class Credentials(NamedTuple):
    key: str
    secret: str
    token: str = ""
    expires: float | None = None  # seconds since 1970; None when it is not known, or never
    holds: float | None = (
        None  # seconds for which they are not asked for again; None where the end says that, or nothing
    )

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
        self._fails = False

    def credentials(self) -> Credentials:
        with self._lock:
            try:
                status = self._path.stat()
                seen = (status.st_ino, status.st_mtime_ns, status.st_size)
                if seen != self._seen:
                    self._read = _parse(self._path.read_bytes(), self._path)
                    self._seen = seen
                self._fails = False
            except OSError as error:
                if self._read is None:
                    raise
                if not self._fails:
                    _LOG.warning("%s: the keys that were read before are used", error)
                self._fails = True
            assert self._read is not None
            return self._read


class Keeper:
    """Asks a provider no more often than needed, and tells once when it has none."""

    def __init__(self, provider: Provider, clock: Callable[[], float] = time.time) -> None:
        self._provider, self._clock = provider, clock
        self._lock = threading.Lock()
        self._kept: Credentials | None = None
        self._again = self._renewed = 0.0
        self._fault = ""

    def current(self) -> Credentials:
        with self._lock:
            now = self._clock()
            if now < self._again and (self._kept or self._fault):
                return self._good(now)
            return self._ask(now)

    def renewed(self, refused: Credentials) -> bool:
        """Whether there are others now than those that were refused."""
        with self._lock:
            now = self._clock()
            if self._kept and self._kept[:3] == refused[:3] and now >= self._renewed + _PAUSE:
                self._renewed = now
                self._ask(now)
            return self._good(now)[:3] != refused[:3]

    def _ask(self, now: float) -> Credentials:
        try:
            self._kept = self._provider.credentials()
        except OSError as error:
            self._failed(str(error), now)
        else:
            if self._fault:
                _LOG.info("there are keys for the bucket again")
            self._fault = ""
            self._again = now + _hold(self._kept, now)
        return self._good(now)

    def _failed(self, why: str, now: float) -> None:
        if not self._fault:
            kept = self._kept
            left = None if kept is None or kept.expires is None else max(kept.expires - now, 0)
            if kept is not None and left != 0:
                rest = "the keys in use are good " + (
                    "until they are refused" if left is None else f"for {left:.0f} s more"
                )
            else:
                rest = "the bucket cannot be used until there are some"
            _LOG.warning("%s: %s", why, rest)
        self._fault, self._again = why, now + _PAUSE

    def _good(self, now: float) -> Credentials:
        """
        :raises PermissionError: of those that have ended, since whatever is missing is no file of the bucket
        """
        kept = self._kept
        if kept is None or (self._fault and kept.expires is not None and kept.expires <= now):
            raise PermissionError(errno.EACCES, f"there are no keys for the bucket: {self._fault}")
        return kept


def _hold(given: Credentials, now: float) -> float:
    if given.holds is not None:
        return given.holds
    return 0.0 if given.expires is None else max((given.expires - now) * SHARE, 0.0)


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
    return of_values(found, f"{path}")


def of_values(found: Mapping[str, Any], where: str) -> Credentials:
    """
    :param where: they were found
    :raises PermissionError: never with what they are
    """
    values = [found.get(name, "") for name in ("accessKey", "secretKey", "sessionToken")]
    if not all(isinstance(value, str) for value in values) or not values[0] or not values[1]:
        raise PermissionError(errno.EACCES, "accessKey and secretKey must be in it, as text", where)
    return Credentials(*values)
