# SPDX-License-Identifier: Apache-2.0
"""A small disk with a file system of its own, which can be filled."""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_MIB: Final = 1 << 20
_LIBC = ctypes.CDLL(None, use_errno=True)
_REPAIRED: Final = 1  # what e2fsck says of it


class SmallDisk:
    """
    :ivar root: where it is mounted
    """

    def __init__(self, root: Path, image: Path) -> None:
        self.root, self._image = root, image
        self._ballast = root / "ballast"

    @property
    def free(self) -> int:
        status = os.statvfs(self.root)
        return status.f_bavail * status.f_frsize

    def fill(self, left: int) -> None:
        """With somebody else's data, until so many bytes are free."""
        with self._ballast.open("ab") as file:
            size = file.tell()
            os.posix_fallocate(file.fileno(), size, max(self.free - left, 1))

    def empty(self) -> None:
        self._ballast.unlink()

    def sync(self) -> None:
        """Within this process: who starts another one closes there what is open here, and so has it stored."""
        folder = os.open(self.root, os.O_RDONLY)
        try:
            assert not _LIBC.syncfs(folder)
        finally:
            os.close(folder)

    def spoil(self) -> None:
        """As the kernel does with a file system in which it found an error: nothing is written there any more, also by who has files open."""
        number = self.root.stat().st_dev
        device = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}").resolve().name
        Path("/sys/fs/ext4", device, "trigger_fs_error").write_text("planted by a test")

    def repair(self) -> None:
        """Nobody uses it."""
        subprocess.run(["umount", self.root], check=True)
        found = subprocess.run(["e2fsck", "-fy", self._image], check=False, capture_output=True, text=True)
        assert found.returncode in (0, _REPAIRED), found.stdout
        subprocess.run(["mount", "-o", "loop", self._image, self.root], check=True)


@contextmanager
def small_disk(folder: Path, mebibytes: int) -> Iterator[SmallDisk]:
    """An ext4 in a file, all of which anybody may use."""
    image, root = folder / "disk.img", folder / "disk"
    root.mkdir()
    with image.open("wb") as file:
        file.truncate(mebibytes * _MIB)
    subprocess.run(["mkfs.ext4", "-q", "-m", "0", "-e", "remount-ro", image], check=True)
    subprocess.run(["mount", "-o", "loop", image, root], check=True)
    try:
        yield SmallDisk(root, image)
    finally:
        subprocess.run(["umount", "--lazy", root], check=True)
        image.unlink()
