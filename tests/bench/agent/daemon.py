# SPDX-License-Identifier: Apache-2.0
"""A process that serves a mount, with all that it started: from the mount to the unmount, and what it costs meanwhile."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from paddleflow_fuse.session.mount import MountError, abort, mounts, unmount

READY = 60.0  # seconds
_TICKS = os.sysconf("SC_CLK_TCK")
# In /proc/<pid>/stat, behind the name: the parent, and what it and its children that ended used of a processor.
_PARENT, _USED = 1, slice(11, 15)


class TroubleError(Exception):
    """Somebody cannot be measured, and why."""


class Daemon:
    def __init__(self, words: Sequence[str], environment: Mapping[str, str], point: Path, log: Path) -> None:
        """
        :raises TroubleError:
        """
        self.point, self._log = point, log
        with log.open("wb") as lines:
            self._process = subprocess.Popen(
                words, env=environment, cwd=log.parent, stdin=subprocess.DEVNULL, stdout=lines, stderr=lines
            )
        try:
            self._wait()
        except TroubleError:
            self.end()
            raise

    def _wait(self) -> None:
        deadline = time.monotonic() + READY
        while not self._mounted():
            if self._process.poll() is not None:
                raise TroubleError(f"it ended with status {self._process.returncode}: {self.said()}")
            if time.monotonic() > deadline:
                raise TroubleError(f"it had not mounted after {READY:g} s: {self.said()}")
            time.sleep(0.02)  # it announces nothing to whoever started it
        # Mounted is not served yet; a child of ours that waits for it can be left behind.
        try:
            subprocess.run(["stat", str(self.point)], stdout=subprocess.DEVNULL, check=True, timeout=READY)
        except (subprocess.SubprocessError, OSError) as error:
            raise TroubleError(f"its mount does not answer: {error}") from None

    def _mounted(self) -> list[str]:
        return [one.device for one in mounts() if one.point == str(self.point)]

    def said(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")[-600:].strip()

    @property
    def pid(self) -> int:
        return self._process.pid

    def processes(self) -> list[int]:
        parents: dict[int, list[int]] = {}
        for folder in Path("/proc").iterdir():
            if folder.name.isdecimal():
                with suppress(OSError):  # it has just ended
                    parents.setdefault(int(_numbers(folder)[_PARENT]), []).append(int(folder.name))
        found = [self._process.pid]
        for one in found:
            found += parents.get(one, [])
        return found

    def cpu(self) -> float:
        """Seconds."""
        used = 0
        for one in self.processes():
            with suppress(OSError):
                used += sum(map(int, _numbers(Path("/proc", str(one)))[_USED]))
        return used / _TICKS

    def memory(self) -> float:
        """MB, what several have in common counted once."""
        total = 0
        for one in self.processes():
            with suppress(OSError):
                share = re.search(r"(?m)^Pss: +(\d+)", Path("/proc", str(one), "smaps_rollup").read_text())
                total += int(share[1]) if share else 0
        return total / 1024

    def end(self) -> None:
        """Whatever became of it. What it has not stored, it stores first.

        :raises TroubleError: when it had to be killed
        """
        if self._mounted():
            try:
                unmount(self.point)
            except MountError:
                unmount(self.point, lazily=True)
        try:
            self._process.wait(READY)
        except subprocess.TimeoutExpired:
            self.kill()
            raise TroubleError(f"it had not ended {READY:g} s after it was unmounted: {self.said()}") from None

    def kill(self) -> None:
        """It answers no more; whoever waits for it gets an error."""
        for device in self._mounted():
            with suppress(OSError, MountError):
                abort(device)
                unmount(self.point, lazily=True)
        for one in reversed(self.processes()):
            with suppress(ProcessLookupError):
                os.kill(one, 9)
        self._process.wait()


def _numbers(process: Path) -> list[str]:
    return (process / "stat").read_text().rpartition(")")[2].split()
