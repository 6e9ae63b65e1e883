# SPDX-License-Identifier: Apache-2.0
"""The command `paddleflow-fuse`, as a user runs it, with everything that it writes in one folder."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from paddleflow_fuse.cli.ask import last
from paddleflow_fuse.session.mount import MountError, abort, mounts, unmount
from paddleflow_fuse.sources.s3.options import Options

from tests.support.agent_mounts import is_alive
from tests.support.granted import until


class Command:
    """
    :ivar point: an empty folder to mount on
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.point, self.run, self.cache, self.log = (folder / name for name in ("mount", "run", "cache", "log"))
        self.point.mkdir()

    def __call__(self, *words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(self._words(*words), capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == code, done.stdout + done.stderr + self.said()
        return done

    def _words(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "paddleflow_fuse.cli.__main__", "--run", str(self.run), *words]

    @contextmanager
    def begin(self, *words: str) -> Iterator[subprocess.Popen[str]]:
        """What goes on while a test does something else, and ends before that does."""
        with subprocess.Popen(self._words(*words), stderr=subprocess.PIPE, text=True) as process:
            try:
                yield process
            finally:
                process.kill()

    def mount(
        self,
        url: str,
        *,
        options: Mapping[str, str] | None = None,
        secrets: Mapping[str, object] | None = None,
        code: int = 0,
        **more: str,
    ) -> str:
        """What it said, when what its cache holds is counted: till then nothing is taken in."""
        given = {"data-cache-path": str(self.cache), "free-space-ratio": "0.1", **(options or {}), **more}
        words = ["mount", url, str(self.point), "-d", "--log", str(self.log)]
        for name, value in given.items():
            words += ["-o", f"{name}={value}"]
        if secrets is not None:
            file = self.folder / "secrets.json"
            file.touch(mode=0o600)
            file.write_text(json.dumps(secrets), encoding="utf-8")
            words += ["--secrets", str(file)]
        said = self(*words, code=code).stderr
        if not code:
            until("the cache is counted", self._is_settled)
        return said

    def mount_bucket(
        self,
        bucket: Options,
        *,
        options: Mapping[str, str] | None = None,
        secrets: Mapping[str, object] | None = None,
        code: int = 0,
    ) -> str:
        """
        :param secrets: in place of the bucket's own
        """
        keys, given = bucket.credentials, {"endpoint": bucket.endpoint, "s3ForcePathStyle": "true", **(options or {})}
        if secrets is None and keys is not None:
            secrets = {"accessKey": keys.key, "secretKey": keys.secret}
        return self.mount(f"s3://{bucket.bucket}", options=given, secrets=secrets, code=code)

    def _is_settled(self) -> bool:
        worker = last(self.run, self.point, "status")["worker"]
        return not isinstance(worker, dict) or not worker.get("disk") or bool(worker["disk"]["settled"])

    def status(self) -> Any:
        return json.loads(self("status", "--json", str(self.point)).stdout)

    def kill(self) -> None:
        """As when the machine dies."""
        status = self.status()
        processes = [status["pid"], status["worker_pid"]]
        for process in processes:
            os.kill(process, signal.SIGKILL)
        until("they are gone", lambda: not any(is_alive(process) for process in processes))
        with suppress(OSError):  # their last threads may hold the connection for a moment longer: so long this waits
            os.statvfs(self.point)
        unmount(self.point, lazily=True)

    def said(self) -> str:
        return self.log.read_text(encoding="utf-8") if self.log.exists() else ""

    def end(self) -> None:
        """Whatever became of it."""
        there = [one for one in mounts() if one.point == str(self.point)]
        for one in there:
            try:
                self("umount", str(self.point))
            except (AssertionError, subprocess.TimeoutExpired):
                with suppress(OSError):  # what went wrong is told, and not that it is gone already
                    abort(one.device)
                    unmount(self.point, lazily=True)
                raise
        for one in [one for one in mounts() if one.point == str(self.point)]:
            raise MountError(0, f"{one.point} is mounted still: {self.said()}")


@contextmanager
def command(folder: Path) -> Iterator[Command]:
    one = Command(folder)
    try:
        yield one
    finally:
        one.end()
