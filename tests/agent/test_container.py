# SPDX-License-Identifier: Apache-2.0
"""What an agent meets in a container: it is the first process there, to which all are left whose parents end; and its memory has a limit."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from tests.support.agent_mounts import SIZES, Agent, agents, is_alive, until

Make = Callable[..., Agent]
ALONE = ("unshare", "--pid", "--fork", "--kill-child")
CGROUPS = Path("/sys/fs/cgroup")
LIMIT = 200 << 20  # of which an idle mount has less than half


@pytest.fixture
def make() -> Iterator[Make]:
    with agents() as found:
        yield found


# --- the first process --------------------------------------------------------------------------


def status(pid: int) -> dict[str, str]:
    """As this machine sees it; nothing of one that is not there any more."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return {}
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)


def is_gone(pid: int) -> bool:
    return not status(pid)


def first(agent: Agent) -> int:
    """The first process of the namespace in which its supervisor is."""
    (found,) = (pid for pid in agent.processes() if status(pid).get("NSpid", "").split()[1:] == ["1"])
    return found


def orphan(of: int, gate: Path) -> int:
    """A process that was left to the first one of a namespace, and ends when somebody opens the gate."""
    os.mkfifo(gate)
    script = f"(sh -c 'echo $$; exec >/dev/null 2>&1; read none < {gate}' &)"
    done = subprocess.run(
        ["nsenter", f"--pid=/proc/{of}/ns/pid", "sh", "-c", script], capture_output=True, text=True, check=True
    )
    within = done.stdout.strip()

    def found() -> int:
        pids = [int(one.name) for one in Path("/proc").iterdir() if one.name.isdecimal()]
        told = {pid: status(pid) for pid in pids}
        return next((pid for pid in pids if told[pid].get("PPid") == str(of) and ends(told[pid], within)), 0)

    return until(found, "the process to be left to the first")


def ends(told: dict[str, str], within: str) -> bool:
    return told.get("NSpid", "").split()[1:] == [within]


def test_who_is_left_to_it_ends_and_leaves_nothing(make: Make) -> None:
    agent = make().start(launcher=ALONE)
    supervisor = first(agent)
    for turn in range(3):
        gate = agent.folder / f"gate{turn}"
        left = orphan(supervisor, gate)
        gate.write_text("\n")
        until(partial(is_gone, left), "nothing to be left of it")
    assert agent.read("small1") == {"size": SIZES["small1"]}
    assert agent.status()["restarts"] == 0


def test_it_replaces_workers_and_ends_in_good_order_as_elsewhere(make: Make) -> None:
    agent = make().start(launcher=ALONE)
    supervisor = first(agent)
    (worker,) = (pid for pid in agent.processes() if status(pid).get("PPid") == str(supervisor))
    os.kill(worker, signal.SIGKILL)
    until(lambda: not is_alive(worker) and agent.serves(), "another worker")
    assert agent.status()["restarts"] == 1
    assert agent.read("small1") == {"size": SIZES["small1"]}
    os.kill(supervisor, signal.SIGTERM)
    assert agent.ended() == 0
    assert not agent.is_mounted()


# --- memory that has a limit --------------------------------------------------------------------


@contextmanager
def limited() -> Iterator[Path]:
    """A cgroup whose processes have so much memory together; it goes when they have ended."""
    control = CGROUPS / "cgroup.subtree_control"
    second = control.exists() and "memory" in control.read_text().split()
    top, name = (CGROUPS, "memory.max") if second else (CGROUPS / "memory", "memory.limit_in_bytes")
    folder = top / f"paddleflow-test-{uuid.uuid4().hex}"
    try:
        folder.mkdir()
        (folder / name).write_text(str(LIMIT))
    except OSError as error:
        pytest.skip(f"no memory can be limited here: {error}")
    if second:
        (folder / "memory.swap.max").write_text("0")
    else:
        (folder / "memory.swappiness").write_text("0")
    try:
        yield folder
    finally:
        until(lambda: not (folder / "cgroup.procs").read_text(), "the processes of a cgroup to end")
        folder.rmdir()


def test_where_its_memory_is_used_up_again_and_again_everybody_gets_an_error_and_the_log_says_why() -> None:
    with limited() as group, agents() as make:
        agent = make()
        # Nobody's failures but those of memory count; the others are as those of who is killed by a person.
        agent.start(launcher=("sh", "-c", 'echo $$ > "$0/cgroup.procs"; exec "$@"', str(group)), settled=0)
        client = agent.client("once", "hog")
        assert client.last()["errno"] in (errno.ENOTCONN, errno.ECONNABORTED)
        assert agent.ended() == 3
        (line,) = [line for line in agent.logged().splitlines() if "no worker stays alive" in line]
        assert "its memory was used up" in line
        assert f'"told_by": "{group}/memory' in agent.logged()


def test_who_is_killed_by_a_person_is_not_taken_for_one_that_lacked_memory() -> None:
    with limited() as group, agents() as make:
        agent = make()
        agent.start(launcher=("sh", "-c", 'echo $$ > "$0/cgroup.procs"; exec "$@"', str(group)), settled=0)
        for _kill in range(3):
            worker = agent.worker()
            os.kill(worker, signal.SIGKILL)
            agent.other_worker(worker)
        assert agent.status()["failures"] == 0
        assert "memory was used up" not in agent.logged()
