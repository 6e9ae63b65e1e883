# SPDX-License-Identifier: Apache-2.0
"""The largest object that S3 takes: nothing is made as large as it, and every part of it is read."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.kube_stub import Seen, Step, answer
from tests.support.mounted import Mounted, mounted
from tests.support.places import file
from tests.support.s3_stub import HEAD, KEYS, found, listed, refused, s3_stub

TIB = 1 << 40
SIZE = 5 * TIB


def told(offset: int, size: int) -> bytes:
    """What it holds there: each eight bytes say where they are."""
    first = offset // 8
    count = -(-(offset + size) // 8) - first
    return b"".join((first + index).to_bytes(8, "big") for index in range(count))[offset % 8 :][:size]


def choose(seen: Seen) -> Step:
    if not seen.path.strip("/").endswith("bucket/huge"):
        inside = seen.query.get("prefix") == "" and "list-type" in seen.query
        if "list-type" not in seen.query:
            return refused(404, "NoSuchKey")
        return listed(["huge"] if inside else [], size=SIZE)
    if seen.method == "HEAD":
        return found(SIZE)
    if seen.method == "DELETE":
        return answer(204, b"")
    part = re.fullmatch(r"bytes=(\d+)-(\d+)", seen.header("Range"))
    assert part is not None, "all of it was asked for"
    first, last = int(part[1]), min(int(part[2]), SIZE - 1)
    assert last - first < 64 << 20
    return answer(206, told(first, last + 1 - first), {**HEAD, "Content-Range": f"bytes {first}-{last}/{SIZE}"})


@pytest.fixture(params=[True, False], ids=["disk", "memory"])
def mount(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Mounted]:
    with s3_stub() as stub:
        stub.choose = choose  # type: ignore[method-assign]
        given = {
            "endpoint": stub.options.endpoint,
            "s3ForcePathStyle": True,
            "accessKey": KEYS.key,
            "secretKey": KEYS.secret,
        }
        wanted = {"kind": "s3", "url": "s3://bucket", "properties": given}
        with mounted(tmp_path, wanted, disk=request.param, block=1 << 20, read_ahead=0) as one:
            yield one


def resident(one: Mounted) -> int:
    pages = int(Path(f"/proc/{one.process.pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def test_five_tebibytes_are_read_anywhere_and_take_no_room(mount: Mounted) -> None:
    path = mount.point / "huge"
    assert os.listdir(mount.point) == ["huge"]
    before = resident(mount)
    assert path.stat().st_size == SIZE
    with file(path, os.O_RDONLY) as one:
        for offset in (0, 1, TIB - 3, 3 * TIB, SIZE - 5000):
            assert os.pread(one, 5000, offset) == told(offset, min(5000, SIZE - offset))
        assert os.pread(one, 100, SIZE) == b""
        assert os.lseek(one, 0, os.SEEK_END) == SIZE
        path.unlink()  # what is open is not fetched for that
    assert resident(mount) - before < 64 << 20
    used = sum(one.stat().st_blocks * 512 for one in mount.point.parent.rglob("*") if one.is_file())
    assert used < 16 << 20
