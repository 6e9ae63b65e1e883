# SPDX-License-Identifier: Apache-2.0
"""How a mount begins, is asked and told, and ends."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import socket
from pathlib import Path

import pytest
from paddleflow_fuse.session.mount import abort, unmount

from tests.support.agent_client import content
from tests.support.agent_mounts import SIZES, Make, is_alive, until

# Kilobytes; a quarter of it is measured, of which Python itself is half.
MOST = 20_000


def test_a_mount_says_how_it_is(make: Make) -> None:
    agent = make().start()
    said = agent.status()
    assert said["mount"]["point"] == str(agent.point)
    assert said["mount"]["device"] == agent.device()
    assert (said["serves"], said["restarts"], said["failures"], said["ends"]) == (True, 0, 0, False)
    assert said["worker"]["word"] == "first"
    assert Path(f"/sys/class/bdi/{agent.device()}/read_ahead_kb").read_text().strip() == "1024"


def test_the_supervisor_is_small_and_knows_little(make: Make) -> None:
    agent = make().start()
    supervisor = agent.status()["pid"]
    found = re.search(r"^Pss:\s+(\d+) kB$", Path(f"/proc/{supervisor}/smaps_rollup").read_text(), re.MULTILINE)
    assert found is not None
    assert int(found[1]) < MOST
    mapped = Path(f"/proc/{supervisor}/maps").read_text()
    assert "_ssl" not in mapped
    assert "sqlite" not in mapped


def test_nothing_secret_is_seen_from_outside(make: Make) -> None:
    agent = make()
    agent.configuration["files"]["word"] = "hush-hush"
    agent.start()
    status = agent.status()
    assert status["worker"]["word"] == "hush-hush"
    for pid in (status["pid"], status["worker_pid"]):
        for name in ("cmdline", "environ"):
            assert b"hush-hush" not in Path(f"/proc/{pid}/{name}").read_bytes()
    assert "hush-hush" not in agent.logged()
    assert oct((agent.run / next(agent.run.iterdir())).stat().st_mode & 0o777) == "0o600"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_it_in_good_order(make: Make, number: signal.Signals) -> None:
    agent = make().start()
    assert agent.read("small1") == {"size": SIZES["small1"]}
    assert agent.supervisor is not None
    agent.supervisor.send_signal(number)
    assert agent.ended() == 0
    assert not agent.is_mounted()
    assert agent.processes() == []
    assert list(agent.run.iterdir()) == []


def test_who_uses_it_is_named_and_it_ends_all_the_same(make: Make) -> None:
    agent = make().start()
    held = agent.client("hold", "small1", mode="read")
    held.line()
    assert agent.ask("stop")["done"]
    assert agent.ended() == 0
    assert not agent.is_mounted()
    assert f"{held.pid} python" in agent.logged()
    assert held.send() == {"errno": errno.ENOTCONN}


def test_what_was_not_stored_is_named(make: Make) -> None:
    agent = make()
    agent.configuration["files"]["saves"] = False
    agent.start()
    held = agent.client("hold", "small5", mode="write")
    held.line()
    held.send()
    assert agent.ask("stop")["done"]
    assert agent.ended() == 4
    (line,) = [json.loads(line) for line in agent.logged().splitlines() if "not stored" in line]
    assert (line["count"], line["names"]) == (1, "small5")


def test_what_is_stored_at_the_end_is_no_loss(make: Make) -> None:
    agent = make().start()
    held = agent.client("hold", "small5", mode="write")
    held.line()
    held.send()
    assert agent.ask("stop")["done"]
    assert agent.ended() == 0


def test_nobody_waits_for_a_worker_that_does_not_store(make: Make) -> None:
    agent = make()
    agent.configuration["files"]["saves"] = "never"
    agent.start(grace=0.5)
    held = agent.client("hold", "small5", mode="write")
    held.line()
    held.send()
    assert agent.ask("stop")["done"]
    assert agent.ended() == 4
    assert not agent.is_mounted()
    assert '"names": "small5"' in agent.logged()


def test_a_stuck_worker_holds_up_no_end(make: Make) -> None:
    agent = make().start(grace=0.5)
    os.kill(agent.worker(), signal.SIGSTOP)
    client = agent.client("once", "small1")
    assert agent.supervisor is not None
    agent.supervisor.terminate()
    assert agent.ended() == 0
    assert not agent.is_mounted()
    assert "errno" in client.last() or client.has_ended
    assert agent.processes() == []


def test_where_no_worker_stays_alive_everybody_gets_an_error(make: Make) -> None:
    agent = make().start(settled=60)
    client = agent.client("once", "crash")
    assert client.last()["errno"] in (errno.ENOTCONN, errno.ECONNABORTED)
    assert agent.ended() == 3
    assert agent.read("small1") == {"errno": errno.ENOTCONN}
    assert '"failures": 5' in agent.logged()
    # It stays in its place, so that nobody writes below it; the next one takes its place.
    assert agent.is_mounted()
    agent.start(settled=0)
    assert agent.read("small1") == {"size": SIZES["small1"]}


def test_a_worker_that_cannot_begin_is_no_mount(make: Make) -> None:
    agent = make()
    (agent.folder / "trouble").touch()
    agent.start(serves=False)
    assert agent.ended() == 3
    assert "there is trouble" in agent.logged()


def test_no_such_worker_is_no_mount(make: Make) -> None:
    agent = make().start(serves=False, worker=["/nowhere/worker"])
    assert agent.ended() == 3
    assert "no worker can be started" in agent.logged()


@pytest.mark.parametrize(("how", "status"), [("unmounted", 0), ("aborted", 3)])
def test_a_mount_that_others_end_is_over(make: Make, how: str, status: int) -> None:
    agent = make().start()
    if how == "unmounted":
        unmount(agent.point)
    else:
        abort(agent.device())
    assert agent.ended() == status
    assert f'"how": "{how}"' in agent.logged()
    assert agent.processes() == []


def test_without_passthrough_it_begins_all_the_same(make: Make) -> None:
    agent = make().start(passthrough=0)
    assert agent.read("big") == {"size": SIZES["big"]}
    worker = agent.worker()
    os.kill(worker, signal.SIGKILL)
    agent.other_worker(worker)
    assert agent.read("big") == {"size": SIZES["big"]}


def test_a_second_agent_is_refused_and_the_first_goes_on(make: Make) -> None:
    agent = make().start()
    first = agent.supervisor
    assert first is not None
    assert agent.start(serves=False).ended() == 1
    assert "Another agent serves" in agent.logged()
    agent.supervisor = first
    assert agent.read("small1") == {"size": SIZES["small1"]}


def test_a_worker_that_reads_is_asked_through(make: Make) -> None:
    agent = make().start()
    assert agent.lines("count", to=3) == [{"step": 0}, {"step": 1}, {"step": 2}, {"done": True}]
    assert agent.ask("dance") == {"error": "there is no command dance", "done": True}
    assert "defect" in agent.ask("spoil")["error"]
    assert agent.status()["restarts"] == 0


def test_who_leaves_ends_what_it_asked_for(make: Make) -> None:
    agent = make().start()
    with agent.connect() as end, end.makefile("rw") as file:
        file.write('{"do": "wait"}\n')
        file.flush()
        assert json.loads(file.readline()) == {"waits": True}
    until((agent.folder / "left").exists, "the command to be ended")


def test_who_asks_no_more_may_wait_for_the_answer(make: Make) -> None:
    agent = make().start()
    with agent.connect() as end, end.makefile("r") as file:
        end.send(b'{"do": "count", "to": 1}\n')
        end.shutdown(socket.SHUT_WR)
        assert [json.loads(line) for line in file] == [{"step": 0}, {"done": True}]


def test_who_asks_a_worker_that_dies_is_told(make: Make) -> None:
    agent = make().start()
    with agent.connect() as end, end.makefile("rw") as file:
        file.write('{"do": "wait"}\n')
        file.flush()
        file.readline()
        os.kill(agent.worker(), signal.SIGKILL)
        assert json.loads(file.readline()) == {"error": "the worker ended before it answered", "done": True}


def test_a_client_that_says_nothing_sensible_is_told_so_and_holds_up_nobody(make: Make) -> None:
    agent = make().start()
    with agent.connect() as silent, agent.connect() as end, end.makefile("rw") as file:
        silent.send(b'{"do": "sta')
        file.write(f"noise\n[]\n{'[' * 100_000}\n")
        file.flush()
        for _line in range(2):
            assert "an object of JSON" in json.loads(file.readline())["error"]
        assert "an object of JSON" in json.loads(file.readline())["error"]
        assert agent.status()["serves"]


def test_a_worker_that_does_not_answer_is_said_not_to(make: Make) -> None:
    agent = make().start()
    worker = agent.worker()
    os.kill(worker, signal.SIGSTOP)
    said = agent.status()
    assert (said["worker"], said["worker_pid"]) == ("does not answer", worker)
    os.kill(worker, signal.SIGCONT)


def test_what_a_worker_asked_to_be_kept_is_kept_for_the_next(make: Make) -> None:
    agent = make().start()
    before = agent.status()
    os.kill(before["worker_pid"], signal.SIGKILL)
    agent.other_worker(before["worker_pid"])
    after = agent.status()
    assert after["kept"] == ["owner"]
    assert after["worker"]["owner"] == before["worker"]["owner"]


def test_a_configuration_that_cannot_be_read_mounts_nothing(make: Make) -> None:
    agent = make().start(serves=False, colour="red")
    assert agent.ended() == 1
    assert "no field colour" in agent.logged()
    assert not agent.is_mounted()


def test_a_listing_and_contents_are_those_of_the_folder(make: Make) -> None:
    """Of the file system for tests itself, without which the others here would prove little."""
    agent = make().start()
    held = agent.client("hold", "big", mode="read")
    held.line()
    assert held.send()["byte"] == content("big", 1).decode()
    assert is_alive(agent.worker())
