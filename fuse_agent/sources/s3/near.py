# SPDX-License-Identifier: Apache-2.0
"""What of a bucket is asked in the process that serves a mount: to read a file, and to see whether it is the same still."""

from __future__ import annotations

import errno
import time
from typing import TYPE_CHECKING

from obstore.exceptions import BaseError

from ...metrics import Request
from ..base import ChangedError
from ..objects import Object, Store
from ..rates import OPEN
from .quick import Quick, plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ..base import Data, Tell
    from ..objects import Keys
    from ..rates import Gate
    from .credentials import Keeper
    from .options import Options, Patience


class ElsewhereError(OSError):
    """It has to be asked where boto3 is, which also tells why it failed here."""

    def __init__(self) -> None:
        super().__init__(errno.EAGAIN, "it is asked elsewhere")


class NearStore(Store):
    """One try of what obstore can express; all else is an ElsewhereError."""

    def __init__(
        self, options: Options, keeper: Keeper, patience: Patience, on_request: Tell, gate: Gate = OPEN.read
    ) -> None:
        self._gate = gate
        self._quick, self._on_request = Quick(options, keeper, patience), on_request

    def head(self, key: str) -> Object:
        if not plain(key):
            raise ElsewhereError
        began = time.monotonic()
        try:
            found = self._quick.head(key)
        except (BaseError, FileNotFoundError):
            raise ElsewhereError from None
        self._on_request(Request("HeadObject", 200, seconds=time.monotonic() - began))
        return found

    def get(self, key: str, version: bytes, offset: int, size: int) -> Data:
        if not size:
            return b""
        if not plain(key):
            raise ElsewhereError
        self._gate.admit(size)
        began = time.monotonic()
        try:
            data = self._quick.get(key, version, offset, size)
        except (BaseError, FileNotFoundError, ChangedError):
            raise ElsewhereError from None
        self._on_request(Request("GetObject", 200, seconds=time.monotonic() - began, received=len(data)))
        return data

    # Whoever has this asks nothing else of it.

    def list(self, prefix: str, delimiter: str = "", most: int = 0) -> Iterator[Keys]:
        raise NotImplementedError

    def put(
        self, key: str, descriptor: int, size: int, metadata: Mapping[str, str], over: bytes | None = None
    ) -> Object:
        raise NotImplementedError

    def copy(self, old: str, new: str, metadata: Mapping[str, str] | None = None) -> None:
        raise NotImplementedError

    def delete(self, keys: Sequence[str]) -> None:
        raise NotImplementedError

    def close(self) -> None:
        self._gate.close()
