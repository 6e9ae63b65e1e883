# SPDX-License-Identifier: Apache-2.0
"""M: what a mount of ours costs in memory: idle, and for each of a million names of one folder."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Final

from tests.bench.agent.daemon import Daemon
from tests.bench.agent.loads import Note, worker
from tests.bench.agent.peers import OURS, Contender
from tests.bench.agent.stand import PATIENCE, Measured, Stand, Trial

IDLE, NAMES = "idle, MB", "names of one folder"
# What the kernel keeps of each: an inode of FUSE and an entry of a folder.
_SLABS: Final = ("fuse_inode", "dentry")


def memory(stand: Stand, one: Contender, _seconds: float) -> list[Note]:
    with stand.mounted(one) as trial:
        assert trial.daemon is not None
        serves, holds = worker(trial), trial.daemon.pid
        rest = sum(map(_share, trial.daemon.processes())) - _share(serves) - _share(holds)
        idle = {"worker": _share(serves), "supervisor": _share(holds), "helpers": rest}
    return [Note(IDLE, Measured({"done": 1, "seconds": 1.0}, 0.0, 0.0), None, idle), _names(stand)]


def _names(stand: Stand) -> Note:
    """In a folder of this machine, since no store is filled with a million objects in a minute."""
    folder = stand.folder / "names"
    source, point = folder / "source", folder / "mount"
    for path in (source, point, folder / "cache"):
        path.mkdir(parents=True)
    try:
        for number in range(stand.sizes.names):
            os.close(os.open(source / f"{number:07d}", os.O_WRONLY | os.O_CREAT))
        words = [*OURS, "--run", str(folder / "run"), "mount", f"local:/{source}", str(point)]
        options = ("free-space-ratio=0.1", f"data-cache-path={folder}/cache", "attr-timeout=600", "entry-timeout=600")
        words += [word for option in options for word in ("-o", option)]
        daemon = Daemon(words, stand.environment(), point, folder / "log")
        try:
            trial = Trial(point, daemon)
            before = _slabs()
            walked = trial.run("walk", folder=str(point), patience=2 * PATIENCE)
            count = walked.found["done"]
            told = {"names": count, "table": _table(worker(trial)) / count, "kernel": (_slabs() - before) / count}
        finally:
            daemon.end()
    finally:
        shutil.rmtree(folder)
    return Note(NAMES, walked, None, told)


def _share(process: int) -> float:
    """MB, what it has in common with others counted in part."""
    told = re.search(r"(?m)^Pss: +(\d+)", Path("/proc", str(process), "smaps_rollup").read_text(encoding="ascii"))
    return int(told[1]) / 1024 if told else 0.0


def _table(process: int) -> int:
    """Bytes of the memory that holds the nodes."""
    for file in Path("/proc", str(process), "fd").iterdir():
        if "memfd:paddleflow-nodes" in os.readlink(file):  # noqa: PTH115 (it is no path)
            return file.stat().st_blocks * 512
    raise FileNotFoundError(f"process {process} has no table of nodes")


def _slabs() -> int:
    total = 0
    for line in Path("/proc/slabinfo").read_text(encoding="ascii").splitlines():
        name, *numbers = line.split()
        if name in _SLABS:
            total += int(numbers[0]) * int(numbers[2])
    return total
