# SPDX-License-Identifier: Apache-2.0
"""A mount that is served by pyfuse3: it is held as every other, but ends with its worker."""

from __future__ import annotations

import errno
import os
import signal
from pathlib import Path

import pytest
from paddleflow_fuse.session.mount import abort, unmount

from tests.support.agent_command import command
from tests.support.agent_mounts import SIZES, Agent, Make, is_alive, until
from tests.support.agent_systemd import systemd
from tests.support.places import file
from tests.support.source_suite import failing

LOST = "no other can go on with the mount"


@pytest.fixture
def make(make: Make) -> Make:
    def agent(user: int | None = None) -> Agent:
        made = make(user)
        made.configure(session="pyfuse3")
        return made

    return agent


def patched(agent: Agent, code: str) -> Agent:
    """Its processes begin with that."""
    folder = agent.folder / "site"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(code)
    agent.environment["PYTHONPATH"] += f":{folder}"
    return agent


def test_it_says_what_serves_and_what_is_lacking(make: Make) -> None:
    agent = make().start()
    said = agent.status()
    assert (said["serves"], said["mount"]["session"], said["mount"]["has"]) == (True, "pyfuse3", [])
    for word in ("speed of the disk", "agent is replaced", "interrupting", "numbers"):
        assert any(word in text for text in said["mount"]["lacks"]), word
    assert agent.read("big") == {"size": SIZES["big"]}
    assert sorted(os.listdir(agent.point)) == sorted(SIZES)
    assert Path(f"/sys/class/bdi/{agent.device()}/read_ahead_kb").read_text().strip() == "1024"


def test_a_worker_that_is_killed_ends_the_mount_at_once_and_another_can_be_made(make: Make) -> None:
    agent = make().start()
    waiting = agent.client("once", "slow")
    until(agent.begun, "the read to begin")
    os.kill(agent.worker(), signal.SIGKILL)
    assert waiting.last()["errno"] in (errno.ENOTCONN, errno.ECONNABORTED)
    assert agent.ended() == 3
    assert agent.logged().count(LOST) == 1
    assert agent.processes() == []
    assert agent.is_mounted(), "what is written below it would be lost"
    assert agent.read("small1") == {"errno": errno.ENOTCONN}
    agent.start()
    assert agent.read("small1") == {"size": SIZES["small1"]}


def test_a_worker_that_is_stuck_ends_the_mount(make: Make) -> None:
    agent = make().start(patience=1)
    os.kill(agent.worker(), signal.SIGSTOP)
    assert agent.ended() == 3
    assert "gives no sign of life" in agent.logged()


def test_a_worker_that_dies_before_it_serves_is_replaced(make: Make) -> None:
    agent = make()
    trouble = agent.folder / "trouble"
    trouble.touch()
    agent.start(serves=False, failures=1000)
    until(lambda: "the worker ended" in agent.logged(), "a worker to fail")
    trouble.unlink()
    agent.worker()
    assert agent.read("small1") == {"size": SIZES["small1"]}


@pytest.mark.parametrize("what", ["upgrade", "upgrade-supervisor"])
def test_it_is_not_handed_over_and_says_so(make: Make, what: str) -> None:
    agent = make().start()
    worker = agent.worker()
    assert "cannot be handed over; unmount it" in agent.ask(what)["error"]
    assert agent.worker() == worker
    assert agent.read("small1") == {"size": SIZES["small1"]}


@pytest.mark.parametrize("used", [False, True])
def test_a_signal_ends_it_in_good_order(make: Make, used: bool) -> None:
    agent = make().start()
    if used:
        agent.client("hold", "small1", mode="read").line()
    assert agent.supervisor is not None
    agent.supervisor.terminate()
    assert agent.ended() == 0
    assert not agent.is_mounted()
    assert agent.processes() == []
    assert LOST not in agent.logged()


def test_a_worker_that_is_killed_while_all_is_stored_is_not_waited_for(make: Make) -> None:
    agent = make()
    agent.configuration["files"]["saves"] = "never"
    agent.start()
    held = agent.client("hold", "small5", mode="write")
    held.line()
    held.send()
    worker = agent.worker()
    agent.ask("stop")
    os.kill(worker, signal.SIGKILL)
    assert agent.ended() == 4
    assert "the worker ended while it stored" in agent.logged()
    assert not agent.is_mounted()
    assert agent.processes() == []


@pytest.mark.parametrize(("how", "status"), [("unmounted", 0), ("aborted", 3)])
def test_a_mount_that_others_end_is_the_end_of_its_agent(make: Make, how: str, status: int) -> None:
    agent = make().start()
    slow = agent.client("once", "slow")
    until(agent.begun, "the read to begin")
    if how == "unmounted":
        unmount(agent.point, lazily=True)
        agent.go_on()
        assert slow.last() == {"size": SIZES["slow"]}
    else:
        abort(agent.device())
        assert slow.last()["errno"] in (errno.ENOTCONN, errno.ECONNABORTED)
    assert agent.ended() == status
    assert agent.processes() == []


def test_what_takes_longer_than_it_may_is_an_error(make: Make) -> None:
    agent = make().start(longest=0.2)
    assert agent.read("slow") == {"errno": errno.EIO}
    agent.go_on()
    assert agent.read("slow") == {"size": SIZES["slow"]}


def test_a_supervisor_that_is_killed_takes_the_mount_with_it(make: Make) -> None:
    agent = make().start(grace=1)
    worker = agent.worker()
    agent.kill()
    until(lambda: not is_alive(worker), "the worker to end")
    assert agent.read("small1") == {"errno": errno.ENOTCONN}
    agent.start()
    assert agent.read("small1") == {"size": SIZES["small1"]}


def test_a_mount_that_was_kept_is_made_anew_since_nobody_can_go_on_with_it(make: Make) -> None:
    agent = make()
    with systemd(agent) as keeper:
        worker = agent.worker()
        os.kill(worker, signal.SIGSTOP)  # it is not waited for
        agent.kill()
        keeper.start_again(agent)
        assert "nobody else can go on" in agent.logged()
        assert not is_alive(worker)
        assert agent.read("small1") == {"size": SIZES["small1"]}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")
def test_without_root_it_is_mounted_by_fusermount(make: Make) -> None:
    agent = make(user=65534)
    agent.start(allow_other=False)
    assert agent.status()["mount"]["session"] == "pyfuse3"
    assert agent.read("big") == {"size": SIZES["big"]}
    assert agent.supervisor is not None
    agent.supervisor.terminate()
    assert agent.ended() == 0


def test_what_was_not_stored_when_it_ended_the_next_mount_stores_whoever_serves_that(tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    with command(tmp_path) as agent:
        agent.mount(f"local:/{tmp_path / 'source'}", session="pyfuse3")
        before = agent.status()
        assert before["mount"]["session"] == "pyfuse3"
        (agent.point / "first").write_bytes(b"first")
        with file(agent.point / "last", os.O_WRONLY | os.O_CREAT) as one:
            os.write(one, b"content")
            os.kill(before["worker_pid"], signal.SIGKILL)
            until(lambda: not is_alive(before["pid"]), "the supervisor to end")
            with failing(errno.ENOTCONN):
                os.close(one)
        agent.mount(f"local:/{tmp_path / 'source'}")
        assert agent.status()["mount"]["session"] == "direct"
        assert (agent.point / "last").read_bytes() == b"content"
        until((tmp_path / "source" / "last").exists, "it to be stored")
        assert (tmp_path / "source" / "last").read_bytes() == b"content"
        assert (agent.point / "first").read_bytes() == b"first"


# --- which one serves ---------------------------------------------------------------------------

OLD = "import paddleflow_fuse.protocol.codes as codes\ncodes.OLDEST_MINOR = 99\n"


def test_a_kernel_that_is_too_old_is_served_by_it_and_that_is_said(make: Make) -> None:
    agent = patched(make(), OLD).start(session="auto")
    assert agent.status()["mount"]["session"] == "pyfuse3"
    assert agent.read("small1") == {"size": SIZES["small1"]}
    (line,) = [line for line in agent.logged().splitlines() if "is served by pyfuse3" in line]
    assert "the agent needs 7.99 or newer" in line


def test_a_kernel_that_is_too_old_for_the_session_that_is_asked_for_mounts_nothing(make: Make) -> None:
    agent = patched(make(), OLD).start(serves=False, session="direct")
    assert agent.ended() == 1
    assert "the agent needs 7.99 or newer" in agent.logged()
    assert not agent.is_mounted()


@pytest.mark.parametrize("session", ["pyfuse3", "auto"])
def test_where_it_is_not_installed_nothing_is_mounted_and_it_is_said_what_to_do(make: Make, session: str) -> None:
    agent = patched(make(), f"{OLD}import sys\nsys.modules['pyfuse3'] = None\n").start(serves=False, session=session)
    assert agent.ended() == 1
    assert "pip install pyfuse3" in agent.logged()
    assert ("7.99" in agent.logged()) == (session == "auto")
    assert not agent.is_mounted()


def test_what_it_cannot_keep_to_is_refused(make: Make) -> None:
    agent = make().start(serves=False, refuses_locks=True)
    assert agent.ended() == 1
    assert "cannot refuse locks" in agent.logged()
    assert not agent.is_mounted()


def test_where_its_library_is_missing_nothing_is_served_and_it_is_said_what_to_do(make: Make) -> None:
    agent = make()
    (agent.folder / "site").mkdir()
    (agent.folder / "site" / "pyfuse3.py").write_text(
        "raise ImportError('libfuse3.so.3: cannot open shared object file')\n"
    )
    agent.environment["PYTHONPATH"] = f"{agent.folder / 'site'}:{agent.environment['PYTHONPATH']}"
    agent.start(serves=False)
    assert agent.ended() == 1
    assert "libfuse3.so.3: cannot open" in agent.logged()
    assert not agent.is_mounted()
