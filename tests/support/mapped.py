# SPDX-License-Identifier: Apache-2.0
"""Files that are written as memory."""

from __future__ import annotations

import ctypes
import mmap
import os
from pathlib import Path
from typing import Final

_SYNC: Final = 4


class Memory:
    """As most programs map a file: the handle is closed at once. Python's own mapping keeps a copy of it."""

    def __init__(self, path: Path, size: int) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._libc.mmap.restype = ctypes.c_void_p
        self._libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
        self._libc.munmap.argtypes = self._libc.msync.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        self._size = size
        one = os.open(path, os.O_RDWR)
        try:
            self._at = self._libc.mmap(None, size, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED, one, 0)
        finally:
            os.close(one)

    def write(self, offset: int, data: bytes) -> None:
        ctypes.memmove(self._at + offset, data, len(data))

    def sync(self) -> None:
        assert not self._libc.msync(self._at, self._size, _SYNC)

    def end(self) -> None:
        assert not self._libc.munmap(self._at, self._size, 0)
