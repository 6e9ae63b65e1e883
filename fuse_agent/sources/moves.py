# SPDX-License-Identifier: Apache-2.0
"""What a rename of a folder has to move, in a file: keys with their versions, whole or not at all."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_STEP: Final = 1 << 20
_END: Final = b'"end"\n'


def write(descriptor: int, keys: Mapping[str, bytes]) -> None:
    """It is on the disk when this returns."""
    os.ftruncate(descriptor, 0)
    place = 0
    lines: list[bytes] = []
    for key, version in keys.items():
        lines.append(json.dumps([key, version.hex()]).encode() + b"\n")
        if len(lines) == 1000:
            place += _put(descriptor, b"".join(lines), place)
            lines.clear()
    _put(descriptor, b"".join([*lines, _END]), place)
    os.fsync(descriptor)


def read(descriptor: int) -> dict[str, bytes] | None:
    """None when it was cut off before it was whole: nothing of it was begun."""
    pieces, place = [], 0
    while piece := os.pread(descriptor, _STEP, place):
        pieces.append(piece)
        place += len(piece)
    *lines, rest = b"".join(pieces).split(b"\n")
    if rest or not lines or lines.pop() + b"\n" != _END:
        return None
    return {key: bytes.fromhex(version) for key, version in map(json.loads, lines)}


def clear(descriptor: int) -> None:
    os.ftruncate(descriptor, 0)


def _put(descriptor: int, data: bytes, place: int) -> int:
    done = 0
    while done < len(data):
        done += os.pwrite(descriptor, data[done:], place + done)
    return done
