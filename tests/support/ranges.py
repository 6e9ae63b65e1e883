# SPDX-License-Identifier: Apache-2.0
"""What Python has no call for."""

from __future__ import annotations

import ctypes
import os
from typing import Final

KEEP, PUNCH, COLLAPSE, ZERO, INSERT = 0x01, 0x02, 0x08, 0x10, 0x20
_LIBC: Final = ctypes.CDLL(None, use_errno=True)
_LIBC.fallocate.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)


def fallocate(one: int, mode: int, offset: int, size: int) -> None:
    if _LIBC.fallocate(one, mode, offset, size):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
