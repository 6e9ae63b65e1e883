# SPDX-License-Identifier: Apache-2.0
"""The exporter as a service of a machine, by a real runit. tests/agent/test_role.py has the role do it."""

from __future__ import annotations

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from paddleflow_fuse.declared.services import EXPORTER, Runit

from tests.support.agent_mounts import is_alive, until
from tests.support.ports import held_port
from tools import tree

PATIENCE = 20.0


class Bare:
    """A machine with nothing but runit's scripts."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.services = folder, Runit(folder, folder / "log")
        (folder / "supervised").mkdir()
        for name, text in (
            ("finish", "sleep 0.3"),
            ("log-run", f'exec svlogd "{folder}/log/$(basename "$(dirname "$PWD")")"'),
        ):
            self.script(name, text)

    def script(self, name: str, text: str) -> None:
        path = self.folder / "supervised" / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def words(self, port: int) -> list[str]:
        """By which it is started from now on."""
        words = [sys.executable, "-P", "-m", "paddleflow_fuse.cli.__main__", "--run", str(self.folder), "exporter"]
        words += ["--listen", f"127.0.0.1:{port}"]
        self.script("exporter-run", f"exec 2>&1\nexport PYTHONPATH={tree.ROOT / 'build/py'}\nexec {shlex.join(words)}")
        return words

    def bring(self, wanted: list[str], *, check: bool = False) -> tuple[list[str], list[str]]:
        """What was done, and what could not be."""
        task = {
            "base": str(self.folder), "config": str(self.folder / "etc"), "run": str(self.folder), "log": str(self.folder / "log"),
            "supervisor": "runit", "patience": PATIENCE, "check": check, "force": False, "parameters": {}, "mounts": [], "release": "",
            "exporter": wanted,
        }  # fmt: skip
        words = [sys.executable, "-m", "paddleflow_fuse.declared", "up"]
        done = subprocess.run(words, input=json.dumps(task), capture_output=True, text=True, timeout=60, check=True)
        said = json.loads(done.stdout)
        return said["did"], said["problems"]


@pytest.fixture
def bare() -> Iterator[Bare]:
    with TemporaryDirectory(prefix="pf") as folder:
        one = Bare(Path(folder))
        try:
            yield one
        finally:
            one.services.stop(EXPORTER, PATIENCE)


def shown(port: int) -> int:
    """The status of its answer, 0 of nobody's."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
            return int(answer.status)
    except urllib.error.URLError:
        return 0


@pytest.fixture
def ports() -> Iterator[tuple[int, int]]:
    with held_port() as one, held_port() as other:
        yield one, other


def test_it_is_started_kept_moved_and_stopped(ports: tuple[int, int], bare: Bare) -> None:
    first, second = ports
    words = bare.words(first)
    assert bare.bring(words, check=True) == ([f"would start the exporter at 127.0.0.1:{first}"], [])
    assert bare.services.process(EXPORTER) == 0
    assert bare.bring(words) == ([f"started the exporter at 127.0.0.1:{first}"], [])
    assert shown(first) == 200
    assert bare.bring(words) == ([], [])

    killed = bare.services.process(EXPORTER)
    os.kill(killed, signal.SIGKILL)
    until(lambda: bare.services.process(EXPORTER) not in (0, killed) and shown(first) == 200, "another exporter")

    words = bare.words(second)
    assert bare.bring(words) == ([f"started the exporter at 127.0.0.1:{second}"], [])
    assert shown(second) == 200
    assert shown(first) == 0
    assert bare.bring([], check=True) == (["would stop the exporter"], [])
    assert shown(second) == 200
    assert bare.bring([]) == (["stopped the exporter"], [])
    assert bare.bring([]) == ([], [])
    assert shown(second) == 0


def test_who_has_the_address_is_not_taken_for_it(bare: Bare) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        done, problems = bare.bring(bare.words(port))
    assert done == []
    (problem,) = problems
    assert f"The exporter does not listen at 127.0.0.1:{port}" in problem
    assert "One such service serves all agents of a machine" in problem


def test_what_does_not_stop_in_its_time_is_stopped_by_force(ports: tuple[int, int], bare: Bare) -> None:
    bare.bring(bare.words(ports[0]))
    bare.script("exporter-run", "trap '' TERM\nexec sleep 600")
    os.kill(bare.services.process(EXPORTER), signal.SIGKILL)
    until(lambda: _command(bare.services.process(EXPORTER)) == b"sleep", "who hears nothing")
    process = bare.services.process(EXPORTER)
    bare.services.stop(EXPORTER, 1)
    assert not is_alive(process)


def _command(process: int) -> bytes:
    return Path(f"/proc/{process}/cmdline").read_bytes().partition(b"\0")[0] if process else b""
