# SPDX-License-Identifier: Apache-2.0
"""What of a staged file is here: a byte for each of its pieces, in memory and in a file that outlives who is killed.

Written, and not mapped: on a full disk that copies what is written over, as Btrfs, who writes to a mapping is killed.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


class Present:
    """
    :ivar pieces: not to be changed but by ``note``
    """

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        self.pieces = bytearray(os.pread(self._descriptor, os.fstat(self._descriptor).st_size, 0))

    def note(self, first: int, values: bytes) -> None:
        """
        :raises OSError: it is known here, and by nobody after this process
        """
        end = first + len(values)
        if self.pieces[first:end] != values:
            self.pieces[first:end] = values
            self._write(first, values)

    def _write(self, first: int, values: bytes) -> None:
        os.pwrite(self._descriptor, values, first)

    def close(self) -> None:
        os.close(self._descriptor)
