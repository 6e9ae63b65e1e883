# SPDX-License-Identifier: Apache-2.0
"""Pages of a listing as bytes that can lie on a disk, and how old what was listed is. No input or output."""

from __future__ import annotations

import json
import zlib
from typing import Final, NamedTuple

from ...sources.base import Found, Kind, Listed, Page

# Bytes as text of the same length, whatever they are.
_BYTES: Final = "latin-1"
_SUM: Final = 4
_LEVEL: Final = 1  # of compression: the least


class DamagedError(ValueError):
    """It is not what was packed, or not of that place."""


class Moment(NamedTuple):
    """Of two clocks: people may set the first; the second is of one run of the machine, and goes on while that sleeps."""

    wall: float
    boot: str
    ns: int


def age(asked: Moment, now: Moment) -> int | None:
    """In nanoseconds, the most that it may be; None of what would be of the future."""
    spans = [int((now.wall - asked.wall) * 10**9)]
    if asked.boot == now.boot:
        spans.append(now.ns - asked.ns)
    return max(spans) if min(spans) >= 0 else None


def pack(page: Page, label: bytes) -> bytes:
    """
    :param label: of its place, without which it is not taken for what it is
    """
    rows = [(name.decode(_BYTES), found.kind.value, *_plain(found)) for name, found in page.listed]
    told = (rows, *([name.decode(_BYTES) for name in names] for names in (page.hidden, page.shadowed)))
    body = zlib.compress(json.dumps(told, separators=(",", ":")).encode("ascii"), _LEVEL)
    return _sum(body, label) + body


def unpack(data: bytes, label: bytes) -> Page:
    """
    :raises DamagedError:
    """
    body = data[_SUM:]
    if _sum(body, label) != data[:_SUM]:
        raise DamagedError("a part of a listing is not what was written")
    rows, hidden, shadowed = json.loads(zlib.decompress(body))
    listed = [Listed(name.encode(_BYTES), _found(kind, *rest)) for name, kind, *rest in rows]
    return Page(listed, tuple(map(_bytes, hidden)), tuple(map(_bytes, shadowed)))


def _plain(found: Found) -> tuple[int | str | None, ...]:
    return (
        found.size, found.mtime_ns, found.version.decode(_BYTES), found.mode, found.uid, found.gid, int(found.shadows),
        found.links, found.file.decode(_BYTES),
    )  # fmt: skip


def _found(
    kind: str, size: int, mtime: int, version: str, mode: int | None, uid: int | None, gid: int | None, shadows: int,
    links: int, file: str,
) -> Found:  # fmt: skip
    return Found(Kind(kind), size, mtime, _bytes(version), mode, uid, gid, bool(shadows), links, _bytes(file))


def _bytes(text: str) -> bytes:
    return text.encode(_BYTES)


def _sum(body: bytes, label: bytes) -> bytes:
    return zlib.crc32(body, zlib.crc32(label)).to_bytes(_SUM, "little")
