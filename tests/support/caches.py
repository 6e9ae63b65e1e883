# SPDX-License-Identifier: Apache-2.0
"""Folders of the agent's cache: opened and closed, used by processes that are killed, and damaged."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any

from paddleflow_fuse.cache.claim import Claim, claim
from paddleflow_fuse.cache.disk import Disk, key
from paddleflow_fuse.cache.room import Limits

ROOMY = Limits(1 << 28, 10_000, 0.0)
WHO = {"mount": "/mnt/data"}
PATIENCE = 60.0
_HERE, _EXCHANGE = -100, 2


def key_of(name: str, size: int) -> bytes:
    return key("fs-root-data", name.encode(), b'"etag"', size)


def content(name: str, size: int) -> bytes:
    """Of a file, and of no other."""
    return (blake2b(name.encode()).digest() * (size // 64 + 1))[:size]


class Opened:
    """A disk tier and its claim."""

    def __init__(self, folder: Path, limits: Limits = ROOMY, **options: Any) -> None:
        self.claim: Claim = claim(folder, WHO)
        self.disk = Disk(self.claim, limits, **{"interval": 0.02, **options})

    def close(self) -> None:
        self.disk.close()
        self.claim.release()


@contextmanager
def opened(folder: Path, limits: Limits = ROOMY, **options: Any) -> Iterator[Disk]:
    """Settled."""
    one = Opened(folder, limits, **options)
    try:
        assert one.disk.settled.wait(PATIENCE), one.disk.off
        yield one.disk
    finally:
        one.close()


def keep(disk: Disk, name: str, size: int) -> bytes:
    """Its key, when it is whole."""
    disk.put(key_of(name, size), content(name, size)).close()
    return key_of(name, size)


def is_right(disk: Disk, name: str, size: int) -> bool:
    """Whether it is there and whole; what of it is there is as it was written."""
    file = disk.get(key_of(name, size), size)
    if file is None:
        return False
    try:
        wanted = content(name, size)
        for offset in range(0, size, 1 << 16):
            found = file.read(offset, 1 << 16)
            assert found is None or bytes(found) == wanted[offset : offset + (1 << 16)], f"{name} at {offset}"
        if file.whole:
            assert os.pread(file.descriptor, size + 1, 0) == wanted, name
        return file.whole
    finally:
        file.close()


def compared(disk: Disk, name: str, size: int) -> bool:
    """With its checksums; whether any of it was right."""
    file = disk.get(key_of(name, size), size)
    if file is None:
        return False
    try:
        file.compare(0, size)
        lacks = sum(length for _start, length in file.missing(0, size))
        return file.whole or bool(file.entry and file.verified and lacks < size)
    finally:
        file.close()


def killed(work: Callable[[Callable[[], None]], None]) -> None:
    """Does it in a process of its own, which is killed when it says so or has done it."""

    def die() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    child = os.fork()
    if not child:
        try:
            work(die)
            die()
        except BaseException:  # noqa: BLE001 (it must not go on as a second pytest)
            traceback.print_exc()
        os._exit(1)
    _pid, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), f"the process ended by itself: {status}"


def taken(folder: Path) -> tuple[int, int]:
    """Bytes and files that lie there, as the file system says."""
    files = [path for part in ("objects", "filling") for path in (folder / part).rglob("*") if path.is_file()]
    return sum(path.stat().st_blocks * 512 for path in files), len(files)


def removed(folder: Path) -> None:
    """By hand, with all that is in it, also while somebody makes files there."""
    gone = folder.with_name(f"{folder.name}-removed")
    folder.rename(gone)

    def goes() -> bool:
        shutil.rmtree(gone, ignore_errors=True)
        return not gone.exists()

    assert eventually(goes)


def exchanged(one: Path, other: Path) -> None:
    """In one step."""
    names = (_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE)
    assert not ctypes.CDLL(None).renameat2(*names)


def eventually(condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True
