# SPDX-License-Identifier: Apache-2.0
"""Whether the kernel ends processes because their memory is used up. Nobody is told by whom a process was killed; but the kernel counts whom it killed
for that, in each cgroup."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Final

from ..cgroup import files

_COUNT: Final = "oom_kill"


class Shortage:
    """What the kernel killed for memory where this process, and whoever it starts, belongs to.

    :ivar told_by: the file that tells it, "" where none does
    """

    def __init__(self, proc: Path = Path("/proc"), cgroups: Path = Path("/sys/fs/cgroup")) -> None:
        # Where nothing is limited the whole machine's tells.
        places = (*files("memory.oom_control", "memory.events", proc, cgroups), proc / "vmstat")
        found = next((one for one in places if _killed(one) is not None), None)
        self.told_by = str(found or "")
        self._before = 0
        self.begin()

    def begin(self) -> None:
        """Those from now on count."""
        self._before = self._killed()

    def has_killed(self) -> bool:
        return self._killed() > self._before

    def _killed(self) -> int:
        return _killed(Path(self.told_by)) or 0 if self.told_by else 0


def _killed(place: Path) -> int | None:
    """None where nothing tells."""
    with suppress(OSError):
        for line in place.read_text(encoding="ascii").splitlines():
            name, _blank, value = line.partition(" ")
            if name == _COUNT:
                return int(value)
    return None
