# SPDX-License-Identifier: Apache-2.0
"""Mounts for tests, each served by a process of its own."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from paddleflow_fuse.session.mount import abort, mounts, unmount


class Mounted(NamedTuple):
    point: Path
    staging: Path
    log: Path
    process: subprocess.Popen[str]

    def kill(self) -> None:
        """As the kernel does where memory is short."""
        self.process.kill()
        self.process.wait()

    def end(self) -> None:
        """As a user does; whoever still uses the mount gets an error."""
        there = [one for one in mounts() if one.point == str(self.point)]
        if there:
            unmount(self.point, lazily=True)
        if self._is_held_elsewhere():
            self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            if there:
                abort(there[0].device)
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"it did not end when it was unmounted: {self.said()[-2000:]}") from None
        said = self.said()
        for defect in ("defect of the agent", "never awaited", "Traceback"):
            assert defect not in said, said[-2000:]
        assert self.process.returncode in (0, -signal.SIGKILL, -signal.SIGTERM)

    def _is_held_elsewhere(self) -> bool:
        """Whoever made a mount namespace of his own meanwhile, as another test may, has a copy of the mount, which lives on in it."""
        for table in Path("/proc").glob("[0-9]*/mountinfo"):
            with suppress(OSError):
                if f" {self.point} " in table.read_text(encoding="utf-8", errors="surrogateescape"):
                    return True
        return False

    def said(self) -> str:
        return self.log.read_text(encoding="utf-8")


@contextmanager
def mounted(
    folder: Path, source: dict[str, Any], *, passthrough: int = 1, disk: bool = True, staging: Path | None = None,
    faults: Path | None = None, session: str = "direct", refuses_locks: bool = False, **settings: Any,
) -> Iterator[Mounted]:  # fmt: skip
    """
    :param disk: whether what is read is kept on one, not in memory alone
    :param folder: an empty one, for all that belongs to the mount
    :param source: ``kind`` memory (``persist``) or local (``root``)
    :param staging: of a mount before this one
    :param faults: where it is said what the source fails at
    """
    point, log = folder / "mount", folder / "log"
    staging = staging or folder / "staging"
    point.mkdir()
    wanted = {
        "point": str(point),
        "staging": str(staging),
        "source": source,
        "settings": settings,
        "passthrough": passthrough,
        "refuses_locks": refuses_locks,
        "disk": str(folder / "cache") if disk else "",
        "faults": str(faults) if faults else "",
        "session": session,
    }
    with log.open("w", encoding="utf-8") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.mounted_server", json.dumps(wanted)],
            stdout=subprocess.PIPE, stderr=errors, text=True,
        )  # fmt: skip
    assert process.stdout is not None
    with process.stdout:
        one = Mounted(point, staging, log, process)
        try:
            assert process.stdout.readline() == "ready\n", one.said()
            yield one
        finally:
            one.end()
