# SPDX-License-Identifier: Apache-2.0
"""Who uses a mount, from what the kernel shows of each process: a path of the mount itself is never looked at."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from ..session.mount import lines, mounts

if TYPE_CHECKING:
    from collections.abc import Iterator

_PROC: Final = Path("/proc")
_MOUNT: Final = re.compile(r"^mnt_id:\s*(\d+)$", re.MULTILINE)


class Holder(NamedTuple):
    pid: int
    name: str
    how: str  # what of it: an open file, a mapped one, or where it stands

    def __str__(self) -> str:
        return f"{self.pid} {self.name} ({self.how})"


def holders(device: str, proc: Path = _PROC) -> list[Holder]:
    """Also those that see the mount somewhere else, as processes of containers do. Without the rights of root, only those of the same user."""
    found = []
    for folder in sorted(proc.iterdir(), key=lambda folder: folder.name.zfill(10)):
        if folder.name.isdigit():
            with suppress(OSError):  # it has just ended, or is somebody else's
                how = next(_ways(folder, device), "")
                if how:
                    found.append(Holder(int(folder.name), (folder / "comm").read_text().strip(), how))
    return found


def _ways(folder: Path, device: str) -> Iterator[str]:
    table = folder / "mountinfo"
    ids = {line.split(" ", 1)[0] for line in lines(table) if line.split(" ", 3)[2] == device}
    if not ids:
        return
    for file in (folder / "fdinfo").iterdir():
        with suppress(OSError):
            where = _MOUNT.search(file.read_text(errors="replace"))
            if where and where[1] in ids:
                yield f"has {(folder / 'fd' / file.name).readlink()} open"
    points = [one.point for one in mounts(table) if one.device == device]
    for name in ("cwd", "root"):
        stands = str((folder / name).readlink())
        if any(stands == point or stands.startswith(f"{point}/") for point in points):
            yield f"stands in {stands}"
    major, minor = (int(part) for part in device.split(":"))
    for line in filter(None, lines(folder / "maps")):
        words = line.split(maxsplit=5)
        if words[3] == f"{major:02x}:{minor:02x}":
            yield f"maps {words[5] if len(words) > 5 else 'a file'}"
