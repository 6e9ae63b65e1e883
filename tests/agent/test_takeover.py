# SPDX-License-Identifier: Apache-2.0
"""Those who serve a mount are killed, stopped and replaced, and those who use it see no error."""

from __future__ import annotations

import errno
import json
import os
import signal
from typing import Any

import pytest
from paddleflow_fuse.control import load
from paddleflow_fuse.protocol.codes import Init
from paddleflow_fuse.session.mount import abort

from tests.support.agent_client import content
from tests.support.agent_mounts import SIZES, WORKER, Agent, Make, is_alive, readers, until
from tests.support.agent_systemd import systemd


def test_a_worker_that_is_killed_is_replaced_and_what_is_open_stays_open(make: Make) -> None:
    agent = make().start()
    held = agent.client("hold", "small1", mode="read")
    assert held.line() == {"open": True}
    worker = agent.worker()
    os.kill(worker, signal.SIGKILL)
    agent.other_worker(worker)
    assert agent.status()["worker"]["open"] == 1
    assert held.send() == {"byte": content("small1", 1).decode()}
    assert agent.read("small2") == {"size": SIZES["small2"]}
    assert agent.status()["restarts"] == 1


def test_who_waits_in_the_middle_of_a_read_gets_what_it_asked_for(make: Make) -> None:
    agent = make().start()
    client = agent.client("once", "slow")
    (first,) = until(agent.begun, "the read to begin")
    os.kill(first, signal.SIGKILL)
    assert until(lambda: agent.begun()[1:], "the read to begin anew") == [agent.other_worker(first)]
    assert not client.has_ended
    agent.go_on()
    assert client.last() == {"size": SIZES["slow"]}


def test_what_the_kernel_reads_by_itself_needs_nobody(make: Make) -> None:
    agent = make().start()
    held = agent.client("hold", "big", mode="read")
    assert held.line() == {"open": True}
    worker = agent.worker()
    assert agent.supervisor is not None
    agent.supervisor.send_signal(signal.SIGSTOP)  # so that nobody comes in the worker's place
    os.kill(worker, signal.SIGKILL)
    until(lambda: not is_alive(worker), "the worker to end")
    whole = content("big", SIZES["big"]).decode()
    assert [held.send()["byte"] for _page in range(8)] == [whole[4096 * page] for page in range(8)]
    agent.supervisor.send_signal(signal.SIGCONT)
    agent.other_worker(worker)
    assert agent.status()["worker"]["open"] == 1
    assert held.send()["byte"] == whole[4096 * 8]


def test_nobody_sees_an_error_when_one_worker_after_the_other_is_killed(make: Make) -> None:
    agent = make()
    agent.configuration["files"]["hold"] = 0.05  # so that the kernel asks all the time
    agent.start(settled=0)
    worker = 0
    with readers(agent, 4):
        for _kill in range(20):
            worker = agent.other_worker(worker)
            until(lambda: _answered(agent), "requests to be answered")
            os.kill(worker, signal.SIGKILL)
        agent.other_worker(worker)
    assert agent.status()["restarts"] == 20


def test_a_worker_that_is_stuck_is_replaced(make: Make) -> None:
    agent = make().start(patience=1)
    worker = agent.worker()
    os.kill(worker, signal.SIGSTOP)
    assert agent.read("small3") == {"size": SIZES["small3"]}
    assert agent.other_worker(worker)
    assert not is_alive(worker)
    assert "gives no sign of life" in agent.logged()


def test_a_worker_is_replaced_by_hand_over_and_what_it_read_it_answers(make: Make) -> None:
    agent = make()
    agent.configuration["files"]["hold"] = 0.05
    agent.start()
    worker = agent.worker()
    slow = agent.client("once", "slow")
    until(agent.begun, "the read to begin")
    held = agent.client("hold", "small1", mode="read")
    held.line()
    with readers(agent, 4), agent.connect() as end, end.makefile("rw") as file:
        file.write('{"do": "upgrade"}\n')
        file.flush()
        agent.go_on()
        answer = file.readline()
    assert f'"worker_pid": {agent.worker()}' in answer
    assert agent.worker() != worker
    assert slow.last() == {"size": SIZES["slow"]}
    assert agent.begun() == [worker]
    assert held.send() == {"byte": content("small1", 1).decode()}
    assert agent.status()["failures"] == 0


def test_what_takes_longer_than_a_hand_over_is_done_by_the_next_worker(make: Make) -> None:
    agent = make().start(hand_over=0.2)
    worker = agent.worker()
    client = agent.client("once", "slow")
    until(agent.begun, "the read to begin")
    assert agent.supervisor is not None
    agent.supervisor.send_signal(signal.SIGUSR2)
    assert until(lambda: agent.begun()[1:], "the read to begin anew") == [agent.other_worker(worker)]
    agent.go_on()
    assert client.last() == {"size": SIZES["slow"]}


def test_a_worker_that_cannot_begin_replaces_nobody(make: Make) -> None:
    agent = make()
    broken = agent.folder / "broken"
    script = f'if [ -e {broken} ]; then exit 9; fi; exec "$0" "$@"'
    agent.start(worker=["sh", "-c", script, *WORKER])
    worker = agent.worker()
    broken.touch()
    assert "ended with status 9" in agent.ask("upgrade")["error"]
    assert agent.worker() == worker
    assert agent.read("small1") == {"size": SIZES["small1"]}
    broken.unlink()
    assert agent.ask("upgrade")["worker_pid"] == agent.worker() != worker


def test_what_may_change_does_by_hand_over_and_for_all_workers_after_it(make: Make) -> None:
    agent = make()
    agent.configuration["files"] |= {"hold": 0.05, "options": {"profile": "auto", "spin": 0}}
    agent.start(label="corpus:1.1")
    before = agent.status()
    held = agent.client("hold", "small1", mode="read")
    held.line()
    with readers(agent, 4):
        answer = agent.ask("change", label="corpus:1.2", log_level="DEBUG", options={"spin": "1u"})
    after = agent.status()
    assert answer == {"worker_pid": after["worker_pid"], "done": True}
    assert (before["label"], after["label"], after["pid"]) == ("corpus:1.1", "corpus:1.2", before["pid"])
    assert after["worker_pid"] != before["worker_pid"]
    assert after["worker"]["options"] == {"profile": "auto", "spin": "1u"}
    os.kill(after["worker_pid"], signal.SIGKILL)
    agent.other_worker(after["worker_pid"])
    assert agent.status()["worker"]["options"]["spin"] == "1u"
    assert agent.ask("upgrade-supervisor")["pid"] == before["pid"]
    until(lambda: agent.serves() and agent.status()["restarts"] == 3, "the worker after the supervisor")
    assert (agent.status()["label"], agent.status()["worker"]["options"]["spin"]) == ("corpus:1.2", "1u")
    assert held.send() == {"byte": content("small1", 1).decode()}


def test_what_cannot_change_or_begin_leaves_all_as_it_was(make: Make) -> None:
    agent = make()
    broken = agent.folder / "broken"
    script = f'if [ -e {broken} ]; then exit 9; fi; exec "$0" "$@"'
    agent.start(worker=["sh", "-c", script, *WORKER], label="corpus:1.1")
    worker = agent.worker()
    assert "point cannot change while it is mounted" in agent.ask("change", point="/elsewhere")["error"]
    assert "'LOUD'; give a name" in agent.ask("change", log_level="LOUD")["error"]
    broken.touch()
    for told in (agent.ask("change", label="corpus:1.2", options={"spin": 0}), agent.ask("change", grace=0)):
        assert "ended with status 9" in told["error"]
    assert (agent.worker(), agent.status()["label"]) == (worker, "corpus:1.1")
    broken.unlink()
    os.kill(worker, signal.SIGKILL)
    agent.other_worker(worker)
    assert agent.status()["worker"]["options"] == {}


def test_new_code_of_the_supervisor_that_cannot_begin_changes_nothing(make: Make) -> None:
    agent = make()
    broken = agent.folder / "site" / "sitecustomize.py"
    broken.parent.mkdir()
    agent.environment["PYTHONPATH"] += f":{broken.parent}"
    agent.start()
    before = agent.status()
    broken.write_text("import os, sys\nif '--try' in sys.orig_argv: os._exit(9)\n")
    assert "ends with status 9" in agent.ask("upgrade-supervisor")["error"]
    after = agent.status()
    assert (after["pid"], after["worker_pid"]) == (before["pid"], before["worker_pid"])


def test_the_supervisor_is_replaced_by_itself_and_then_the_worker(make: Make) -> None:
    agent = make()
    agent.configuration["files"]["hold"] = 0.05
    agent.start()
    before = agent.status()
    held = agent.client("hold", "small1", mode="read")
    held.line()
    with readers(agent, 4):
        assert agent.ask("upgrade-supervisor") == {"pid": before["pid"], "done": True}
        agent.other_worker(before["worker_pid"])
    after = agent.status()
    assert (after["pid"], after["restarts"], after["kept"]) == (before["pid"], 1, ["owner"])
    assert after["worker"]["owner"] == before["worker"]["owner"]
    assert held.send() == {"byte": content("small1", 1).decode()}
    # What it holds it holds as before.
    assert agent.supervisor is not None
    agent.supervisor.terminate()
    assert agent.ended() == 0
    assert not agent.is_mounted()


def test_a_supervisor_that_is_started_again_serves_the_mount_that_was_kept(make: Make) -> None:
    agent = make()
    agent.configuration["files"]["hold"] = 0.05
    with systemd(agent) as keeper:
        assert sorted(keeper.kept) == ["fuse", "keep.owner", "region", "terms"]
        before, device = agent.status(), agent.device()
        held = agent.client("hold", "small1", mode="read")
        held.line()
        with readers(agent, 4):
            agent.kill()
            keeper.start_again(agent)
            assert agent.device() == device
        after = agent.status()
        assert after["worker"]["owner"] == before["worker"]["owner"]
        assert not is_alive(before["worker_pid"])
        assert held.send() == {"byte": content("small1", 1).decode()}
        assert agent.supervisor is not None
        agent.supervisor.terminate()
        assert agent.ended() == 0
        keeper.hear()
        assert keeper.kept == {}
        assert keeper.has_said("STOPPING")


@pytest.mark.parametrize(
    ("changed", "terms", "why"),
    [
        ({"source": "other"}, b"", "something else was mounted"),
        ({"label": "corpus:2"}, b"", "something else was mounted"),
        ({}, b"{}", "it is of another release"),
    ],
)
def test_what_was_mounted_otherwise_is_not_served_on(
    make: Make, changed: dict[str, Any], terms: bytes, why: str
) -> None:
    """Its nodes are those of other files."""
    agent = make()
    with systemd(agent, label="corpus:1") as keeper:
        held = agent.client("hold", "small1", mode="read")
        held.line()
        agent.kill()
        if terms:
            os.truncate(keeper.kept["terms"], 0)
            os.pwrite(keeper.kept["terms"], terms, 0)
        keeper.start_again(agent, **changed)
        assert why in agent.logged()
        assert held.send() == {"errno": errno.ENOTCONN}
        assert agent.read("small1") == {"size": SIZES["small1"]}


def test_a_kernel_that_asks_nobody_twice_is_said_to_be_one(make: Make) -> None:
    """Of a mount that was kept, since what was agreed is kept too."""
    agent = make()
    with systemd(agent) as keeper:
        terms = keeper.kept["terms"]
        stored = load(terms)
        stored["agreed"][1] &= ~Init.HAS_RESEND
        os.truncate(terms, 0)
        os.pwrite(terms, json.dumps(stored).encode(), 0)
        agent.kill()
        keeper.start_again(agent)
        worker = agent.worker()
        assert "asks nobody twice" not in agent.logged()
        os.kill(worker, signal.SIGKILL)
        agent.other_worker(worker)
        assert "asks nobody twice" in agent.logged()
        assert agent.read("small1") == {"size": SIZES["small1"]}


def test_systemd_hears_signs_of_life_as_often_as_it_wants(make: Make) -> None:
    agent = make()
    with systemd(agent, {"WATCHDOG_USEC": "200000"}) as keeper:
        until(lambda: keeper.times("WATCHDOG") > 3, "signs of life")


def test_a_mount_that_was_kept_and_has_ended_is_made_anew(make: Make) -> None:
    agent = make()
    with systemd(agent) as keeper:
        worker = agent.worker()
        agent.kill()
        abort(agent.device())
        until(lambda: not is_alive(worker), "the worker to end")
        keeper.start_again(agent)
        assert "it has ended" in agent.logged()
        assert agent.read("small1") == {"size": SIZES["small1"]}
        keeper.hear()
        assert sorted(keeper.kept) == ["fuse", "keep.owner", "region", "terms"]


def test_a_supervisor_that_is_killed_takes_the_mount_with_it_and_another_can_be_made(make: Make) -> None:
    agent = make().start(grace=1)
    worker = agent.worker()
    client = agent.client("once", "slow")
    until(agent.begun, "the read to begin")
    agent.kill()
    until(lambda: not is_alive(worker), "the worker to end")
    assert client.last()["errno"] in (errno.ENOTCONN, errno.ECONNABORTED)
    assert agent.read("small1") == {"errno": errno.ENOTCONN}
    assert "the supervisor is gone" in agent.logged()
    agent.start()
    assert agent.read("small1") == {"size": SIZES["small1"]}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")
def test_without_root_the_same_goes_over_fusermount(make: Make) -> None:
    agent = make(user=65534)
    agent.start(allow_other=False)
    lacks = agent.status()["mount"]["lacks"]
    assert any("ahead" in text for text in lacks)
    held = agent.client("hold", "small1", mode="read")
    held.line()
    worker = agent.worker()
    os.kill(worker, signal.SIGKILL)
    agent.other_worker(worker)
    assert held.send() == {"byte": content("small1", 1).decode()}
    assert agent.supervisor is not None
    agent.supervisor.terminate()
    assert agent.ended() == 0
    assert "is taken from those who use it" in agent.logged()
    assert held.send() == {"errno": errno.ENOTCONN}


def _answered(agent: Agent) -> int:
    said = agent.status()["worker"]
    return int(said["answered"]) if isinstance(said, dict) else 0
