# SPDX-License-Identifier: Apache-2.0
"""Where the kernel tells of the memory that a process and those beside it may have: in files of its cgroup, by version 1 of cgroups or by 2."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


def files(
    first: str, second: str, proc: Path = Path("/proc"), cgroups: Path = Path("/sys/fs/cgroup")
) -> Iterator[Path]:
    """Of its own group, then of those around it. They need not be there: a container may see no more than its own, which is at the top then.

    :param first: the file's name by version 1
    :param second: by 2
    """
    with suppress(OSError):
        for line in (proc / "self/cgroup").read_text(encoding="utf-8").splitlines():
            number, controllers, path = line.split(":", 2)
            if "memory" in controllers.split(","):
                top, name = cgroups / "memory", first
            elif number == "0":
                top, name = cgroups, second
            else:
                continue
            group = PurePosixPath(path.lstrip("/"))
            yield from (top / one / name for one in (group, *group.parents))


def limit(proc: Path = Path("/proc"), cgroups: Path = Path("/sys/fs/cgroup")) -> int | None:
    """Bytes; none where there is no bound."""
    found = []
    for place in files("memory.limit_in_bytes", "memory.max", proc, cgroups):
        with suppress(OSError):
            text = place.read_text(encoding="ascii").strip()
            found += [int(text)] if text.isdecimal() else []
    return min(found, default=None)
