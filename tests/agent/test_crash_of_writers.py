# SPDX-License-Identifier: Apache-2.0
"""Who serves a mount is killed at each step of what a client writes: what was acknowledged is at the store, and nothing is torn."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator

import pytest

from tests.conftest import EXTENDED
from tests.support.agent_mounts import Agent, agents, until
from tests.support.folder_store import Doom, FolderStore
from tests.support.places import client

WORKER = [sys.executable, "-P", "-m", "tests.support.agent_objects"]
QUICK = {"attributes_hold": 0, "names_hold": 0, "kernel_attributes_hold": 0, "kernel_names_hold": 0}
LARGE = 3 << 20
PLACE = 1 << 20
# Each step is what it says once it is done. What is large is changed in place, so that a store is made of parts.
CODE = """
import json
os.chdir(sys.argv[1])
def say(name, state): print(json.dumps([name, state]), flush=True)
new = os.open('new', os.O_CREAT | os.O_RDWR)
say('new', '')
os.write(new, b'one ')
os.fsync(new)
say('new', 'one ')
os.write(new, b'two')
os.close(new)
say('new', 'one two')
large = os.open('large', os.O_RDWR)
os.pwrite(large, b'first', 1 << 20)
os.fsync(large)
say('large', 'first')
os.pwrite(large, b'later', 1 << 20)
os.write(large, b'again')
os.close(large)
say('large', 'later')
again = os.open('new', os.O_WRONLY | os.O_TRUNC)
os.write(again, b'three')
os.close(again)
say('new', 'three')
"""
STATES = {"new": ["", "one ", "one two", "three"], "large": ["before", "first", "later"]}


def large(state: str) -> bytes:
    data = bytearray(b"x" * LARGE)
    if state != "before":
        data[PLACE : PLACE + 5] = state.encode()
    if state == "later":
        data[:5] = b"again"
    return bytes(data)


def allowed(name: str, acknowledged: str) -> list[bytes | None]:
    """What the store may have: what was acknowledged, or what was written after that."""
    states = STATES[name]
    later = states[states.index(acknowledged) :] if acknowledged in states else states
    found: list[bytes | None] = [large(state) if name == "large" else state.encode() for state in later]
    if name == "large" and "later" in later:  # of two writes the first alone
        half = bytearray(large("first"))
        half[PLACE : PLACE + 5] = b"later"
        found.append(bytes(half))
    return [*found, None] if acknowledged == "none" or (name == "new" and acknowledged == "") else found


class Case:
    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.store, self.doom = FolderStore(agent.files / "store"), Doom(agent.files / "doom")
        self.staging = agent.files / "staging"

    def ready(self) -> None:
        self.store.delete(list(self.store.tree()))
        self.store.add("large", large("before"))

    def write(self) -> tuple[dict[str, str], str]:
        """What was acknowledged, and what was said of an error."""
        said, failure = client(CODE, self.agent.point).communicate(timeout=120)
        return {"new": "none", "large": "before"} | dict(json.loads(line) for line in said.splitlines()), failure

    def staged(self) -> list[str]:
        return [one.name for one in self.staging.iterdir()]

    def check(self, acknowledged: dict[str, str], when: str) -> None:
        tree = self.store.tree()
        assert set(tree) <= {"new", "large"}, when
        for name, state in acknowledged.items():
            assert tree.get(name) in allowed(name, state), f"{when}: {name} after {state!r}"


@pytest.fixture
def case() -> Iterator[Case]:
    with agents() as make:
        agent = make()
        agent.configuration["files"] = {"folder": str(agent.files), "settings": QUICK}
        yield Case(agent.start(worker=WORKER, settled=0, grace=1))


def requests(case: Case) -> list[str]:
    """That it takes when nobody dies."""
    case.ready()
    case.doom.spare()
    acknowledged, failure = case.write()
    assert (acknowledged, failure) == ({"new": "three", "large": "later"}, "")
    until(lambda: case.staged() == [], "all to be stored")
    made = case.doom.requests
    assert made.count("part") > 2, "what is large is stored in parts"
    return made


@pytest.mark.parametrize("when", ["after", pytest.param("before", marks=pytest.mark.extended)])
def test_a_worker_that_is_killed_at_any_request_of_a_writer_is_not_noticed(case: Case, when: str) -> None:
    made = requests(case)
    for number in range(1, len(made) + 1, 1 if EXTENDED else 4):
        case.ready()
        case.doom.say(number, when)
        acknowledged, failure = case.write()
        where = f"{when} {number}, {made[number - 1]}"
        assert failure == "", where
        assert acknowledged == {"new": "three", "large": "later"}
        until(lambda: case.staged() == [], f"all to be stored, {where}")
        assert case.store.tree() == {"new": b"three", "large": large("later")}, where
        assert case.agent.status()["worker"]["conflicts"] == [], where


def test_what_was_stored_is_not_stored_again_over_a_newer_one_by_another_worker(case: Case) -> None:
    code = (
        "one = os.open(sys.argv[1] + '/new', os.O_CREAT | os.O_RDWR)\nos.write(one, b'ours')\nos.fsync(one)\n"
        "print(flush=True)\nsys.stdin.readline()\nos.close(one)"
    )
    writer = client(code, case.agent.point)
    assert writer.stdout
    writer.stdout.readline()
    worker = case.agent.worker()
    os.kill(worker, signal.SIGKILL)
    case.agent.other_worker(worker)
    case.store.add("new", b"theirs, and newer")
    assert writer.communicate(timeout=60)[1] == ""
    until(lambda: case.staged() == [], "it to be left")
    assert case.store.tree()["new"] == b"theirs, and newer"


def test_what_was_acknowledged_is_there_when_all_die_and_what_was_staged_is_stored_by_the_next(case: Case) -> None:
    made = requests(case)
    puts = [number for number, name in enumerate(made, 1) if name in ("put", "part")]
    for number in range(1, len(made) + 1) if EXTENDED else puts[1::2]:
        case.ready()
        case.doom.say(number, "after", all_die=True)
        acknowledged, failure = case.write()
        where = f"after {number}, {made[number - 1]}"
        assert case.doom.is_met, where
        assert "Error" in failure, where
        case.check(acknowledged, f"at once {where}")
        case.agent.ended()
        # Who recovers dies as well, at its first store.
        case.doom.say(1, "after" if number % 2 else "before", "put")
        case.agent.start()
        until(lambda: case.staged() == [], f"all to be stored, {where}")
        case.doom.spare()
        case.check(acknowledged, f"at the end {where}")
        assert case.agent.status()["worker"]["conflicts"] == [], where
