# SPDX-License-Identifier: Apache-2.0
"""The role fuse_agent on this machine, from the built collection, with everything that it makes below one folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from paddleflow_fuse.session.mount import abort, mounts, unmount

from tests.support import plays
from tests.support.agent_mounts import until
from tests.support.plays import Play
from tools import collection, tree

PLAYBOOK = "paddleflow.core.fuse_agent"
FILES = 5000  # that an agent may have open
PYTHON = str(Path(sys.base_prefix, "bin/python3"))


class Machine:
    """
    :ivar declared: what is mounted there, as `fuse_agent_mounts`
    """

    def __init__(self, folder: Path, collections: Path) -> None:
        self.folder, self._collections = folder, collections
        self.declared: list[dict[str, Any]] = []
        self.variables: dict[str, Any] = {
            "fuse_agent_dir": str(folder / "opt/fuse"),
            "fuse_agent_etc_dir": str(folder / "etc"),
            "fuse_agent_run_dir": str(folder / "run/fuse"),
            "fuse_agent_log_dir": str(folder / "log/fuse"),
            "fuse_agent_bin_dir": str(folder / "bin"),
            "fuse_agent_sbin_dir": str(folder / "sbin"),
            "fuse_agent_python": PYTHON,
            "fuse_agent_supervisor": "runit",
            "fuse_agent_patience": 30,
            "fuse_agent_nofile": FILES,
        }
        for name in (
            "bin",
            "sbin",
            "cache",
            "home",
            "home/.ansible/tmp",
            "etc/modules-load.d",
            "etc/modprobe.d",
            "etc/tmpfiles.d",
        ):
            (folder / name).mkdir(parents=True)
        (folder / "etc/fuse.conf").write_text("# mount_max = 1000\n")

    def mount(self, name: str, url: str, options: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        cache = {"data-cache-path": str(self.folder / "cache" / name), "free-space-ratio": "0.1"}
        entry = {
            "name": name,
            "url": url,
            "mount_point": str(self.point(name)),
            "options": {**cache, **(options or {})},
        }
        return {**entry, **more}

    def point(self, name: str) -> Path:
        return self.folder / "mnt" / name

    def play(self, *arguments: str, **variables: Any) -> Play:
        """Secrets are read from a file, as those of a user are."""
        given = self.folder / "home/variables.json"
        given.touch(mode=0o600)
        given.write_text(json.dumps({**self.variables, "fuse_agent_mounts": self.declared, **variables}))
        return plays.run(
            PLAYBOOK, {}, "-e", f"@{given}", *arguments, log=None,
            ANSIBLE_COLLECTIONS_PATH=str(self._collections), HOME=str(self.folder / "home"),
            ANSIBLE_HOME=str(self.folder / "home/ansible"), **plays.IN_PROCESS,
        )  # fmt: skip

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.folder / "bin/paddleflow-fuse"), *words], capture_output=True, text=True, check=False
        )

    def status(self, name: str) -> Any:
        return json.loads(self.command("status", "--json", str(self.point(name))).stdout)

    def serving(self, name: str) -> int:
        """The supervisor of what is mounted and served, 0 of what is not."""
        done = self.command("status", "--json", str(self.point(name)))
        said = json.loads(done.stdout) if done.returncode == 0 else {}
        return int(said["pid"]) if said.get("serves") else 0

    def log(self, name: str) -> str:
        return (self.folder / "log/fuse" / name / "current").read_text(encoding="utf-8")

    def says(self, play: Play) -> str:
        """What was done, or refused."""
        return play.output.rpartition("TASK [paddleflow.core.fuse_agent : Bring what")[2]

    def files(self) -> set[str]:
        """All but its user's own."""
        found = (path.relative_to(self.folder) for path in self.folder.rglob("*"))
        return {str(path) for path in found if path.parts[0] != "home"}

    def mounted(self) -> list[str]:
        return [one.point for one in mounts() if one.point.startswith(f"{self.folder}/")]

    def mount_and_agent(self, name: str) -> tuple[str, int]:
        """Which mount it is: its number alone may be given again."""
        lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
        number = next(line.split()[0] for line in lines if line.split()[4] == str(self.point(name)))
        return number, self.status(name)["pid"]

    def processes(self) -> list[int]:
        """Of services, agents and their logs."""
        pids = [int(one.name) for one in Path("/proc").iterdir() if one.name.isdigit()]
        return [pid for pid in pids if str(self.folder).encode() in plays.command_line(pid) and pid != os.getpid()]

    def end(self) -> None:
        """However the tests went: nobody waits for a mount any more, and nothing of it runs."""
        for one in [one for one in mounts() if one.point.startswith(f"{self.folder}/")]:
            abort(one.device)
            unmount(Path(one.point), lazily=True)
        for folder in (self.folder / "opt/fuse/services").glob("*"):
            for words in (["-w", "10", "force-stop"], ["exit"]):
                subprocess.run(["sv", *words, str(folder)], capture_output=True, check=False)
        until(lambda: not self.processes(), "the agents' processes to end")


@contextmanager
def machine(collections: Path) -> Iterator[Machine]:
    """In a folder with a short name, since the paths of sockets are short."""
    with TemporaryDirectory(prefix="pf") as folder:
        one = Machine(Path(folder), collections)
        try:
            yield one
        finally:
            one.end()


def installed(folder: Path) -> Path:
    """The collection as a user has it: a path of collections."""
    tarball = collection.build(folder / "built")
    collection.install(tarball, folder / "collections")
    return folder / "collections"


def other_wheel(folder: Path) -> Path:
    """The next release: the same code, and a line more."""
    stage = folder / "stage"
    tree.copy(tree.files(), stage)
    file = stage / "fuse_agent/__init__.py"
    file.write_text(file.read_text(encoding="utf-8") + "\nNEXT = True\n", encoding="utf-8")
    return collection.build_wheel(stage, folder / "wheel")
