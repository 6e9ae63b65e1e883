# SPDX-License-Identifier: Apache-2.0
"""Operations at random on what a user mounts, while workers are killed and mounts made anew, beside a plain folder: both hold the
same, and so does what another machine finds that mounts the same source."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule, run_state_machine_as_test
from paddleflow_fuse.cli.ask import last
from paddleflow_fuse.cli.mount import write

from tests.agent.test_fsx import FILES, OFFSETS, SEEDS, SIZES, Contents, Names, data, settings, tree
from tests.conftest import EXTENDED
from tests.support.agent_command import Command, command
from tests.support.agent_mounts import until
from tests.support.minio import Minio
from tests.support.places import file
from tests.support.sshd import ROOT, sshd

# Nothing is believed, as for who wants to see at once what others closed.
QUICK = {
    "attr-timeout": "0", "entry-timeout": "0", "meta-cache-expire": "0", "entry-cache-expire": "0", "path-cache-expire": "0",
}  # fmt: skip
IN_BACKGROUND = (
    "import sys, pathlib, paddleflow_fuse.cli.mount as it; it.in_background(*map(pathlib.Path, sys.argv[1:]), False)"
)


class Machine:
    """The mount that is tried, and another one of the same source, which only reads."""

    def __init__(self, agent: Command, other: Command, given: dict[str, Any]) -> None:
        self.agent, self.other, self._given = agent, other, given
        self._killed = 0
        self.mount()
        other.mount(
            given["url"], options={**given.get("options", {}), **QUICK, "ro": "true"}, secrets=given.get("secrets")
        )

    def mount(self) -> None:
        """As the command does it; but who is killed soon after it began to serve has not failed by that."""
        secrets = self.agent.folder / "secrets.json"
        secrets.touch(mode=0o600)
        secrets.write_text(json.dumps(self._given.get("secrets", {})), encoding="utf-8")
        options = {
            **self._given.get("options", {}),
            **QUICK,
            "data-cache-path": str(self.agent.cache),
            "free-space-ratio": "0.1",
        }
        path = write(self.agent.run, self._given["url"], self.agent.point, options, secrets)
        path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | {"settled": 0}), encoding="utf-8")
        subprocess.run([sys.executable, "-c", IN_BACKGROUND, path, self.agent.log], check=True, timeout=60)

    def worker(self) -> int:
        """Who serves."""
        said = self.status()
        return int(said["worker_pid"]) if said["serves"] and said["worker_pid"] != self._killed else 0

    def status(self) -> dict[str, Any]:
        return last(self.agent.run, self.agent.point, "status")

    def kill(self) -> None:
        """Whoever asks something next waits for another one."""
        self._killed = until(self.worker, "a worker")
        os.kill(self._killed, signal.SIGKILL)

    def mount_anew(self) -> None:
        self.agent("umount", str(self.agent.point))
        self.mount()


class Killed(Contents):
    """What is open stays open, whoever serves it."""

    machine: ClassVar[Machine]
    is_mounted_anew = False

    @rule()
    def kill(self) -> None:
        self.machine.kill()

    @rule(drawn=st.data(), offset=OFFSETS, size=SIZES, seed=SEEDS)
    def kill_within_a_write(self, drawn: st.DataObject, offset: int, size: int, seed: int) -> None:
        if pair := self.pick(drawn, writes=True):
            written = data(seed, size)[:size]
            self._within(lambda: os.pwrite(pair.ours, written, offset))
            os.pwrite(pair.theirs, written, offset)

    @rule(drawn=st.data())
    @precondition(lambda self: self.handles)
    def kill_within_a_close(self, drawn: st.DataObject) -> None:
        pair = self.handles.pop(drawn.draw(st.integers(0, len(self.handles) - 1)))
        os.close(pair.theirs)
        self._within(lambda: os.close(pair.ours))

    @rule(old=FILES, new=FILES)
    def kill_within_a_rename(self, old: str, new: str) -> None:
        if (self.theirs / old).exists():
            (self.theirs / old).rename(self.theirs / new)
            self._within(lambda: (self.ours / old).rename(self.ours / new))

    @rule(name=FILES)
    @precondition(lambda self: not any(pair.writes for pair in self.handles))
    def read_by_another_machine(self, name: str) -> None:
        path = self.machine.other.point / self.ours.name / name
        if (self.theirs / name).exists():
            assert path.read_bytes() == (self.theirs / name).read_bytes()
        else:
            assert not path.exists()

    @rule()
    @precondition(lambda self: not self.handles and not self.is_mounted_anew)
    def mount_anew(self) -> None:
        """Once, since it takes long."""
        self.is_mounted_anew = True
        self.machine.mount_anew()

    def _within(self, act: Callable[[], object]) -> None:
        """The worker reads the request, or does not, and dies."""
        failed: list[BaseException] = []

        def work() -> None:
            try:
                act()
            except BaseException as error:  # noqa: BLE001 (it is raised by who waits)
                failed.append(error)

        until(self.machine.worker, "a worker")
        thread = threading.Thread(target=work)
        thread.start()
        self.machine.kill()
        thread.join(60)
        assert not thread.is_alive(), "nobody answers"
        if failed:
            raise failed[0]


class KilledNames(Names):
    """What was asked when a worker died is done once, whoever did it."""

    machine: ClassVar[Machine]
    is_mounted_anew = False

    @rule()
    def kill(self) -> None:
        self.machine.kill()

    @rule()
    @precondition(lambda self: not self.written)
    def list_on_another_machine(self) -> None:
        assert tree(self.machine.other.point / self.ours.name) == tree(self.theirs)

    @rule()
    @precondition(lambda self: not self.written and not self.is_mounted_anew)
    def mount_anew(self) -> None:
        self.is_mounted_anew = True
        self.machine.mount_anew()


@contextmanager
def local(folder: Path, _request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    root = folder / "root"
    root.mkdir()
    yield {"url": f"local:/{root}"}


@contextmanager
def s3(_folder: Path, request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    server: Minio = request.getfixturevalue("server")
    bucket = server.bucket()
    assert bucket.credentials is not None
    yield {
        "url": f"s3://{bucket.bucket}",
        "options": {"endpoint": server.url, "s3ForcePathStyle": "true", "persistAttributes": "true", "region": "us-east-1"},
        "secrets": {"accessKey": bucket.credentials.key, "secretKey": bucket.credentials.secret},
    }  # fmt: skip


@contextmanager
def sftp(_folder: Path, _request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    with sshd() as server:
        options = server.options()
        yield {
            "url": f"sftp://127.0.0.1:{server.port}{options.root.decode()}",
            "options": {"user": ROOT, "hostKey": server.host_key},
            "secrets": {"privateKey": server.key},
        }


SOURCES = {"local": local, "s3": s3, **({"sftp": sftp} if EXTENDED else {})}


@pytest.fixture(scope="module", params=list(SOURCES))
def machine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    folder = tmp_path_factory.mktemp("fsx")
    with ExitStack() as stack:
        given = stack.enter_context(SOURCES[request.param](folder, request))
        for name in ("first", "second"):
            (folder / name).mkdir()
        agents = [stack.enter_context(command(folder / name)) for name in ("first", "second")]
        one = Machine(agents[0], agents[1], given)
        yield one
        said = agents[0].said() + agents[1].said()
        for defect in ("defect of the agent", "never awaited", "Traceback"):
            assert defect not in said, said[-3000:]


def test_who_reads_sees_what_is_written_whoever_serves(machine: Machine) -> None:
    """He opened what is cached, which the kernel reads by itself, before somebody wrote to it."""
    path = machine.agent.point / "log"
    path.write_bytes(b"one ")
    until(lambda: machine.status()["worker"]["files"]["staged_bytes"] == 0, "it to be stored")
    assert path.read_bytes() == b"one "
    with file(path, os.O_RDONLY) as reader:
        with file(path, os.O_WRONLY | os.O_APPEND) as writer:
            os.write(writer, b"two ")
            assert os.read(reader, 100) == b"one two "
            machine.kill()
            os.write(writer, b"three ")
            assert os.read(reader, 100) == b"three "
            os.fsync(writer)
            assert (machine.other.point / "log").read_bytes() == b"one two three "
        machine.kill()
        assert path.read_bytes() == b"one two three "
        with file(path, os.O_WRONLY | os.O_APPEND) as writer:
            os.write(writer, b"four")
        assert os.read(reader, 100) == b"four"
    assert (machine.other.point / "log").read_bytes() == path.read_bytes() == b"one two three four"
    path.unlink()


def test_contents(machine: Machine) -> None:
    made = type("made", (Killed,), {"root": machine.agent.point, "machine": machine})
    run_state_machine_as_test(made, settings=settings(2, 20))


def test_names(machine: Machine) -> None:
    made = type("made", (KilledNames,), {"root": machine.agent.point, "machine": machine})
    run_state_machine_as_test(made, settings=settings(2, 25))
