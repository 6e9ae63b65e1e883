# SPDX-License-Identifier: Apache-2.0
"""Mounts for tests, with the agent's own supervisor; and processes that use them. All are ended with the test, however it went."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Self, TypeVar

from paddleflow_fuse.session.mount import Mounted, abort, mounts, unmount
from paddleflow_fuse.supervisor.status import address

from tests.support import agent_client
from tests.support.agent_client import content
from tests.support.namespaces import LET_GO
from tools import tree

PATIENCE = 60
WORKER = [sys.executable, "-P", "-m", "tests.support.agent_files"]
SMALL = {f"small{place}": 4096 for place in range(8)}
SIZES = {**SMALL, "big": 1 << 20, "slow": 5000, "crash": 10, "hog": 10}
_MARK = "PADDLEFLOW_TEST_AGENT"
Found = TypeVar("Found")


def until(found: Callable[[], Found], what: str) -> Found:
    """What is found, once it is: asked for again and again, within a bound."""
    end = time.monotonic() + PATIENCE
    while not (value := found()):
        assert time.monotonic() < end, f"waited {PATIENCE} s in vain for {what}"
        time.sleep(0.01)
    return value


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _become(user: int) -> list[str]:
    """What makes a command another user's, that may read our Python and this tree wherever they lie."""
    may = "+dac_read_search"
    who = [f"--reuid={user}", f"--regid={user}", "--clear-groups"]
    return ["setpriv", *who, f"--inh-caps={may}", f"--ambient-caps={may}"]


class Client:
    """A process that uses a mount."""

    def __init__(self, *words: str, before: Sequence[str] = ()) -> None:
        """
        :param before: what stands before the command
        """
        self._process = subprocess.Popen(
            [*before, sys.executable, "-P", agent_client.__file__, *words],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def line(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        found: dict[str, Any] = json.loads(self._process.stdout.readline())
        return found

    def send(self) -> dict[str, Any]:
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return self.line()

    def last(self) -> dict[str, Any]:
        """The last that it says, its input over."""
        said, _none = self._process.communicate(timeout=PATIENCE)
        found: dict[str, Any] = json.loads(said.splitlines()[-1])
        return found

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


class Agent:
    """A mount, with what it takes, in a folder of its own."""

    def __init__(self, folder: Path, user: int | None = None) -> None:
        """
        :param user: another than root, who sees a machine whose /dev/fuse is for all, as udev makes it, and mounts where nobody else sees it
        """
        self.folder, self._user = folder, user
        self.point, self.files, self.run = folder / "mnt", folder / "files", folder / "run"
        self.log = folder / "log"
        self._mark = uuid.uuid4().hex
        self._clients: list[Client] = []
        self.environment = {**os.environ, _MARK: self._mark, "PYTHONPATH": f"{tree.ROOT}:{tree.BUILD / 'py'}"}
        self.supervisor: subprocess.Popen[bytes] | None = None
        for made in (self.point, self.files, self.run):
            made.mkdir()
        for name, size in SIZES.items():
            (self.files / name).write_bytes(content(name, size))
        self.configuration: dict[str, Any] = {
            "point": str(self.point),
            "source": "test",
            "run": str(self.run),
            "worker": WORKER,
            "settled": 0.1,
            "files": {"folder": str(self.files), "word": "first"},
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_failed: object) -> None:
        """First of all nobody waits for the mount any more."""
        for mounted in self._mounted():
            with suppress(OSError):
                abort(mounted.device)
        for client in self._clients:
            client.close()
        for pid in self.processes():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if self.supervisor:
            self.supervisor.wait(PATIENCE)
        until(lambda: not self.processes(), "the agent's processes to end")
        if self._user is None:
            while self._mounted():
                unmount(self.point, lazily=True)

    def configure(self, **changed: Any) -> Path:
        self.configuration |= changed
        path = self.folder / "configuration.json"
        path.write_text(json.dumps(self.configuration))
        return path

    def start(
        self, serves: bool = True, launcher: Sequence[str] = (), descriptors: tuple[int, ...] = (), **changed: Any
    ) -> Self:
        """
        :param launcher: what stands before the command
        :param descriptors: that it inherits
        """
        path = self.configure(**changed)
        with self.log.open("ab") as log:
            self.supervisor = subprocess.Popen(
                [*self._alone(), *launcher, sys.executable, "-P", "-m", "paddleflow_fuse.supervisor", str(path), "--json"],
                env=self.environment, stderr=log, stdin=subprocess.DEVNULL, cwd="/", pass_fds=descriptors,
            )  # fmt: skip
        if serves:
            until(self._serves_or_ended, "a worker that serves")
        return self

    def _serves_or_ended(self) -> bool:
        assert self.supervisor is not None
        assert self.supervisor.poll() is None, self.logged()
        return self.serves()

    def ended(self) -> int:
        assert self.supervisor is not None
        return self.supervisor.wait(PATIENCE)

    def kill(self) -> None:
        """Its supervisor alone."""
        assert self.supervisor is not None
        self.supervisor.kill()
        self.supervisor.wait()

    # --- what it says --------------------------------------------------------------------------

    def connect(self) -> socket.socket:
        end = socket.socket(socket.AF_UNIX)
        end.settimeout(PATIENCE)
        try:
            end.connect(str(address(self.run, self.point)))
        except OSError:
            end.close()
            raise
        return end

    def lines(self, do: str, **given: Any) -> list[dict[str, Any]]:
        with self.connect() as end, end.makefile("rw") as file:
            file.write(json.dumps({"do": do, **given}) + "\n")
            file.flush()
            found = []
            for line in file:
                found.append(json.loads(line))
                if found[-1].get("done"):
                    return found
        raise ConnectionError(f"no end of the answer to {do}: {found}")

    def ask(self, do: str, **given: Any) -> dict[str, Any]:
        return self.lines(do, **given)[-1]

    def status(self) -> dict[str, Any]:
        return self.ask("status")

    def serves(self) -> bool:
        try:
            return bool(self.status()["serves"])
        except (OSError, json.JSONDecodeError):
            return False

    def worker(self) -> int:
        """Who serves."""
        return int(until(lambda: (said := self.status())["serves"] and said["worker_pid"], "a worker that serves"))

    def other_worker(self, than: int) -> int:
        return until(lambda: (now := self.worker()) != than and now, "another worker")

    def logged(self) -> str:
        return self.log.read_text()

    def processes(self) -> list[int]:
        mark = f"{_MARK}={self._mark}".encode()
        found = []
        for folder in Path("/proc").iterdir():
            with suppress(OSError):
                if folder.name.isdigit() and mark in (folder / "environ").read_bytes().split(b"\0"):
                    found.append(int(folder.name))
        return found

    def is_mounted(self) -> bool:
        return bool(self._mounted())

    def device(self) -> str:
        return self._mounted()[-1].device

    def _mounted(self) -> list[Mounted]:
        """Where it is seen, which is nowhere once the last of another user's processes has ended."""
        table = Path(f"/proc/{self.supervisor.pid if self.supervisor and self._user else 'self'}/mountinfo")
        try:
            return [one for one in mounts(table) if one.point == str(self.point)]
        except OSError:
            return []

    def _alone(self) -> list[str]:
        if self._user is None:
            return []
        device = self.folder / "fuse"
        os.mknod(device, 0o666 | stat.S_IFCHR, Path("/dev/fuse").stat().st_rdev)
        device.chmod(0o666)
        script = f'{LET_GO}; mount --bind "$0" /dev/fuse && exec "$@"'
        return ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, str(device), *_become(self._user)]

    def _beside(self) -> list[str]:
        if self._user is None or self.supervisor is None:
            return []
        return ["nsenter", f"--mount=/proc/{self.supervisor.pid}/ns/mnt", *_become(self._user)]

    # --- who uses it ---------------------------------------------------------------------------

    def client(self, how: str, *names: str, mode: str = "") -> Client:
        words = [str(self.point / name) for name in names] + [mode] * bool(mode)
        found = Client(how, *words, before=self._beside())
        self._clients.append(found)
        return found

    def read(self, name: str) -> dict[str, Any]:
        return self.client("once", name).last()

    def begun(self, name: str = "slow") -> list[int]:
        """The workers that began to read it."""
        path = self.folder / f"{name}.begun"
        return [int(line) for line in path.read_text().split()] if path.exists() else []

    def go_on(self, name: str = "slow") -> None:
        (self.folder / f"{name}.go").touch()


# Whoever is named gets an agent.
Make = Callable[..., Agent]


@contextmanager
def agents() -> Iterator[Make]:
    """Makes agents. Their folders have short names, since the paths of sockets are short."""
    with ExitStack() as stack:

        def make(user: int | None = None) -> Agent:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pf")))
            agent = Agent(folder, user)
            if user is not None:
                for path in (folder, *folder.rglob("*")):
                    os.chown(path, user, user)
            return stack.enter_context(agent)

        yield make


@contextmanager
def readers(agent: Agent, count: int) -> Iterator[list[Client]]:
    """They read all the time; that none of them sees an error is asked of each at the end."""
    found = [agent.client("read", *SMALL, "big") for _number in range(count)]
    for client in found:
        client.line()
    yield found
    for client in found:
        said = client.last()
        assert said["errors"] == []
        assert said["reads"] > 0
