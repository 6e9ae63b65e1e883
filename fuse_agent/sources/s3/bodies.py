# SPDX-License-Identifier: Apache-2.0
"""What is sent of an open file, as clients read it."""

from __future__ import annotations

import io
import os
import re
from typing import Any, Final

# What a signature says of what is sent.
_SHA256: Final = re.compile(rb"[0-9a-f]{64}")


class Slice(io.RawIOBase):
    """A part of an open file, which others may read elsewhere at the same time."""

    def __init__(self, descriptor: int, offset: int, size: int) -> None:
        super().__init__()
        self._descriptor, self._offset, self._size, self._place = descriptor, offset, size, 0

    def __len__(self) -> int:
        return self._size

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: self._size}[whence]
        self._place = max(0, start + offset)
        return self._place

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer)[: max(0, self._size - self._place)]
        done = os.preadv(self._descriptor, [view], self._offset + self._place) if view else 0
        self._place += done
        return done


class Copy(io.BytesIO):
    """Of a part, in memory.

    :ivar sum: its SHA-256, once it was signed, and where signatures are of what is sent
    """

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self._size, self.sum = len(data), ""

    def __len__(self) -> int:
        return self._size

    def again(self) -> Copy:
        """From its begin."""
        self.seek(0)
        return self

    def signed(self, sum_: bytes) -> None:
        """
        :param sum_: other words where the signature is not of it
        """
        if _SHA256.fullmatch(sum_):
            self.sum = sum_.decode()
