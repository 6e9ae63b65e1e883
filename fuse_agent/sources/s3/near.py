# SPDX-License-Identifier: Apache-2.0
"""What of a bucket is asked in the process that serves a mount: whether a file is the same still, what it holds, a small one that is
stored, one that is removed."""

from __future__ import annotations

import errno
import time
from typing import TYPE_CHECKING, Final

from obstore.exceptions import BaseError

from ...metrics import Request
from ..base import UNTOLD, ChangedError
from ..objects import Keys, Object, Store
from ..rates import OPEN
from .answers import answer_of, is_refusal
from .options import BEHIND, LONGEST_KEY, PATCHES
from .quick import WRITE, Quick, new_mark, plain, whole

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ..base import Data, Tell
    from ..rates import Gates
    from .credentials import Keeper
    from .options import Options, Patience


# What one thread holds in memory to send it.
_SMALL: Final = 1 << 20


class ElsewhereError(OSError):
    """It has to be asked where boto3 is, which also tells why it failed here.

    :ivar mark: by which a write is known again that may have been done here, "" of all else
    """

    def __init__(self, mark: str = "") -> None:
        super().__init__(errno.EAGAIN, "it is asked elsewhere")
        self.mark = mark


class NearStore(Store):
    """One try of what obstore can express; all else is an ElsewhereError."""

    patches, behind, longest = PATCHES, BEHIND, LONGEST_KEY  # elsewhere

    def __init__(
        self, options: Options, keeper: Keeper, patience: Patience, on_request: Tell, gates: Gates = OPEN
    ) -> None:
        self._gates = gates
        self._quick, self._on_request = Quick(options, keeper, patience), on_request
        self._unconditional = False

    def head(self, key: str) -> Object:
        if not plain(key):
            raise ElsewhereError
        began = time.monotonic()
        try:
            found = self._quick.head(key)
        except FileNotFoundError:
            self._on_request(Request("HeadObject", 404, seconds=time.monotonic() - began))
            raise
        except BaseError:
            raise ElsewhereError from None
        self._on_request(Request("HeadObject", 200, seconds=time.monotonic() - began))
        return found

    def get(self, key: str, version: bytes, offset: int, size: int) -> Data:
        if not size:
            return b""
        if not plain(key):
            raise ElsewhereError
        self._gates.read.admit(size)
        began = time.monotonic()
        try:
            data = self._quick.get(key, version, offset, size)
        except (BaseError, FileNotFoundError, ChangedError):
            raise ElsewhereError from None
        self._on_request(Request("GetObject", 200, seconds=time.monotonic() - began, received=len(data)))
        return data

    def list(self, prefix: str, delimiter: str = "", most: int = 0) -> Iterator[Keys]:
        """That there is nothing; what there is, is told elsewhere."""
        if delimiter or most != 1 or not plain(prefix.removesuffix("/")):
            raise ElsewhereError
        began = time.monotonic()
        try:
            there = self._quick.is_any(prefix)
        except (BaseError, FileNotFoundError):
            there = True
        if there:
            raise ElsewhereError
        self._on_request(Request("ListObjectsV2", 200, seconds=time.monotonic() - began))
        yield Keys([], [])

    def put(
        self, key: str, descriptor: int, size: int, metadata: Mapping[str, str], over: bytes | None = None
    ) -> Object:
        """A small one. Its time is not told, which would take another request."""
        if size > _SMALL or not plain(key) or (over is not None and self._unconditional):
            raise ElsewhereError
        mark = "" if over is None else new_mark()
        marked = {**metadata, WRITE: mark} if mark else dict(metadata)
        data = whole(descriptor, size)
        self._gates.write.admit(size)
        began = time.monotonic()
        try:
            version = self._quick.put(key, data, marked, over)
        except (BaseError, FileNotFoundError) as error:
            status, code, _said = answer_of(str(error))
            if over is not None and status == 412:  # of the only try, so it is another's that is there
                self._on_request(Request("PutObject", 412, seconds=time.monotonic() - began))
                raise ChangedError(key.encode()) from None
            self._unconditional |= over is not None and is_refusal(status, code)
            raise ElsewhereError(mark) from None
        self._on_request(Request("PutObject", 200, seconds=time.monotonic() - began, sent=size))
        return Object(key, size, UNTOLD, version, dict(metadata))

    def delete(self, keys: Sequence[str]) -> None:
        """One."""
        (key,) = keys
        if not plain(key):
            raise ElsewhereError
        began = time.monotonic()
        try:
            self._quick.delete(key)
        except FileNotFoundError:
            pass  # as S3 itself does not tell
        except BaseError:
            raise ElsewhereError from None
        self._on_request(Request("DeleteObject", 204, seconds=time.monotonic() - began))

    # Whoever has this asks nothing else of it.

    def copy(self, old: str, new: str, metadata: Mapping[str, str] | None = None) -> None:
        raise NotImplementedError

    def close(self) -> None:
        self._gates.close()
