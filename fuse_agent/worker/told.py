# SPDX-License-Identifier: Apache-2.0
"""What a worker tells of itself: its status, and what it counts."""

from __future__ import annotations

import json
import os
import resource
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..cache.claim import beside
from ..control import PROGRAM
from ..metrics import Metrics, Sample, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..cache.disk import Disk
    from ..cache.memory import Memory
    from ..files.system import FileSystem
    from .service import Given

# Of a list, characters: a message has its bounds.
_ROOM: Final = 12 << 10
_PIECE: Final = 16 << 10
_LONGEST: Final = 1000  # of why a store lets nobody in; a path may be in it


class Told:
    def __init__(self, given: Given, disk: Disk | None, memory: Memory, metrics: Metrics, folder: Path) -> None:
        """
        :param folder: of the cache
        """
        self._given, self._disk, self._memory, self._metrics = given, disk, memory, metrics
        self._folder, self._began = folder, time.monotonic()
        self.files: FileSystem | None = None

    def status(self) -> dict[str, Any]:
        files, spin = self._of_files(), self._given.session.spin
        hits, misses = (self._metrics.total(f"blockcache_{name}") for name in ("hits", "miss"))
        return {
            "program": PROGRAM,
            "lacks": sorted(self._metrics.lacks),
            "refused": self._metrics.refused[:_LONGEST],
            "files": {**files, **{name: few(files[name]) for name in ("hidden", "shadowed", "staged", "conflicts")}},
            "disk": self._disk.status() if self._disk else {},
            "folder": str(self._folder),
            "left_behind": few([str(one) for one in beside(self._folder)]),
            "memory": {"budget": self._memory.budget, "used": self._memory.used, "evictions": self._memory.evictions},
            "reads": {
                "hits": hits,
                "misses": misses,
                "hit_bytes": self._metrics.total("blockcache_hit_bytes"),
                "miss_bytes": self._metrics.total("blockcache_miss_bytes"),
            },
            "spin": {"seconds": round(spin.looked, 6), "caught": spin.caught, "missed": spin.missed},
            "resident": _resident(),
            "seconds": round(time.monotonic() - self._began, 3),
        }

    def text(self) -> str:
        return text(self.samples(), {"mp": str(self._given.configuration.get("mount", ""))})

    def pieces(self) -> Iterator[str]:
        """Of the same, in which no line is cut."""
        lines, size = [], 0
        for line in self.text().splitlines(keepends=True):
            lines.append(line)
            size += len(json.dumps(line))
            if size > _PIECE:
                yield "".join(lines)
                lines, size = [], 0
        yield "".join(lines)

    def samples(self) -> list[Sample]:
        status, used = self._of_files(), resource.getrusage(resource.RUSAGE_SELF)
        spin = self._given.session.spin
        plain = {
            "uptime": time.monotonic() - self._began,
            "mount_recoveries_total": self._given.restarts,
            "spin_seconds_total": spin.looked,
            "cpu_usage": used.ru_utime + used.ru_stime,
            "memory": _resident(),
            "memory_budget_bytes": self._memory.budget,
            "memory_used_bytes": self._memory.used,
            "staging_bytes": status["staged_bytes"],
            "dirty_bytes": status["dirty_bytes"],
            "dirty_handles": status["unsaved"],
            "upload_failures_total": status["upload_failures"],
            "nodes": status["nodes"],
            "hidden_names": status["hidden_names"],
            "shadowed_names": status["shadowed_names"],
            "conflicts": len(status["conflicts"]),
            "fuse_requests_waiting": self._given.session.waiting,
        }
        samples = [Sample(name, value) for name, value in plain.items()]
        samples += [
            Sample("spins_total", count, (("result", name),))
            for name, count in (("caught", spin.caught), ("missed", spin.missed))
        ]
        samples += [Sample("queue_length", count, (("queue", name),)) for name, count in status["waiting"].items()]
        samples += _of_tier("memory", self._memory.used, self._memory.evictions)
        if self._disk:
            disk = self._disk.status()
            samples += _of_tier("disk", disk["bytes"], disk["evictions"])
            samples.append(Sample("blockcache_drops", disk["drops"]))
        return [*self._metrics.samples(), *samples]

    def _of_files(self) -> dict[str, Any]:
        assert self.files is not None
        return self.files.status()


def few(listed: Sequence[Any]) -> list[Any]:
    """As many of them as a message has room for."""
    found: list[Any] = []
    room = _ROOM
    for one in listed:
        room -= len(json.dumps(one))
        if room < 0:
            break
        found.append(one)
    return found


def _of_tier(tier: str, used: float, evictions: float) -> list[Sample]:
    labels = (("tier", tier),)
    return [Sample("cache_used_bytes", used, labels), Sample("blockcache_evicts", evictions, labels)]


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
