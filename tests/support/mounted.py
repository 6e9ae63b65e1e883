# SPDX-License-Identifier: Apache-2.0
"""Mounts for tests, each served by a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from paddleflow_fuse.session.mount import abort, mounts, unmount


class Mounted(NamedTuple):
    point: Path
    staging: Path
    log: Path
    process: subprocess.Popen[str]

    def end(self) -> None:
        """As a user does; whoever still uses the mount gets an error."""
        there = [one for one in mounts() if one.point == str(self.point)]
        if there:
            unmount(self.point, lazily=True)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            if there:
                abort(there[0].device)
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"it did not end when it was unmounted: {self.log.read_text()[-2000:]}") from None
        assert "defect of the agent" not in self.log.read_text()


@contextmanager
def mounted(
    folder: Path, source: dict[str, Any], *, passthrough: int = 1, disk: bool = True, **settings: Any
) -> Iterator[Mounted]:
    """
    :param disk: whether what is read is kept on one, not in memory alone
    :param folder: an empty one, for all that belongs to the mount
    :param source: ``kind`` memory (``persist``) or local (``root``)
    """
    point, staging, log = folder / "mount", folder / "staging", folder / "log"
    point.mkdir()
    wanted = {
        "point": str(point),
        "staging": str(staging),
        "source": source,
        "settings": settings,
        "passthrough": passthrough,
        "disk": str(folder / "cache") if disk else "",
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
            assert process.stdout.readline() == "ready\n", log.read_text()
            yield one
        finally:
            one.end()
