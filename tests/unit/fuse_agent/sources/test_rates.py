# SPDX-License-Identifier: Apache-2.0
"""Bytes a second: what passes in any time, who waits for whom, and what a bucket is after a death."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from paddleflow_fuse.sources.rates import SECOND, Gate, Rate, take

MIB = 1 << 20
START = 10**15


class Clock:
    """Time passes only while somebody waits."""

    def __init__(self) -> None:
        self.now = START
        self.waits: list[float] = []

    def wait(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += round(seconds * SECOND)

    def gate(self, *rates: Rate) -> Gate:
        return Gate(rates, lambda: self.now, self.wait)

    @property
    def seconds(self) -> float:
        return (self.now - START) / SECOND


@given(
    most=st.integers(1, 1 << 40),
    asked=st.lists(st.tuples(st.integers(0, 10 * SECOND), st.integers(0, 1 << 18)), max_size=50),
)
def test_no_more_passes_in_any_time_than_may(most: int, asked: list[tuple[int, int]]) -> None:
    paid, now = 0, START
    passed: list[tuple[int, int]] = []
    for pause, size in asked:
        now += pause
        paid, wait = take(paid, now, size, most)
        now += wait
        passed.append((now, size))
    for first in range(len(passed)):
        for last in range(first, len(passed)):
            span = passed[last][0] - passed[first][0]
            # Beside what the time allows, a quarter of a second that was not used, and the one that passes now.
            allowed = most * (span + SECOND // 4) // SECOND + passed[last][1] + len(passed)
            assert sum(size for _now, size in passed[first : last + 1]) <= allowed


def test_what_passes_takes_as_long_as_it_must(tmp_path: Path) -> None:
    clock = Clock()
    gate = clock.gate(Rate(str(tmp_path / "sub/read"), 4 * MIB))
    for _time in range(10):
        gate.admit(4 * MIB)
    assert 9 < clock.seconds <= 10
    gate.close()


def test_without_a_rate_nobody_waits_and_no_file_is_made(tmp_path: Path) -> None:
    clock = Clock()
    clock.gate(Rate(str(tmp_path / "read"), 0)).admit(1 << 50)
    Gate().admit(1 << 50)
    assert (clock.waits, list(tmp_path.iterdir())) == ([], [])


def test_who_wants_little_waits_for_no_more_than_a_part_of_what_others_want(tmp_path: Path) -> None:
    clock = Clock()
    gate = clock.gate(Rate(str(tmp_path / "read"), 8 * MIB))
    parts = gate.parts(1 << 30)
    for _part in range(100):  # a large one under way, which is not through for minutes
        gate.admit_part(next(parts))
    before = clock.now
    gate.admit(4096)
    assert clock.now - before <= SECOND // 8
    gate.close()


@pytest.mark.parametrize("most", [1, 100, 4096, 1 << 20, 1 << 40])
def test_parts_make_up_the_whole(tmp_path: Path, most: int) -> None:
    parts = list(Gate([Rate(str(tmp_path / "x"), most)]).parts(10 * MIB + 1))
    assert sum(parts) == 10 * MIB + 1
    assert max(parts) <= 256 << 10


def test_mounts_of_a_machine_share_and_each_keeps_its_own(tmp_path: Path) -> None:
    clock = Clock()
    shared = Rate(str(tmp_path / "node"), 2 * MIB)
    one = clock.gate(Rate(str(tmp_path / "one"), 1 * MIB), shared)
    two = clock.gate(shared)
    for _time in range(5):
        one.admit(MIB)
        two.admit(MIB)
    assert 4.5 < clock.seconds <= 5
    clock.now += 100 * SECOND
    before = clock.now
    one.admit(10 * MIB)
    assert 9 * SECOND < clock.now - before <= 10 * SECOND
    for gate in (one, two):
        gate.close()


@pytest.mark.parametrize("content", [b"", b"abc", b"\xff" * 7 + b"\x7f"])
def test_a_bucket_that_holds_nonsense_begins_anew(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "read").write_bytes(content)
    clock = Clock()
    gate = clock.gate(Rate(str(tmp_path / "read"), MIB))
    gate.admit(MIB)
    assert clock.seconds <= 1
    gate.close()


def test_what_was_paid_before_the_machine_started_anew_is_nobodys_to_wait_for(tmp_path: Path) -> None:
    """Its time begins anew, with a smaller number."""
    rate = [Rate(str(tmp_path / "read"), MIB)]
    before, after = Clock(), Clock()
    before.now = START + 3000 * SECOND
    for clock, boot in ((before, b"1" * 16), (after, b"2" * 16)):
        gate = Gate(rate, lambda clock=clock: clock.now, clock.wait, boot)  # type: ignore[misc]
        gate.admit(MIB)
        gate.close()
    assert after.seconds <= 1


def test_who_is_killed_with_a_bucket_in_his_hand_lets_it_go(tmp_path: Path) -> None:
    path = tmp_path / "read"
    program = (
        "import fcntl, os, sys\n"
        "file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)\n"
        "fcntl.flock(file, fcntl.LOCK_EX)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", program, str(path)], check=False, timeout=60)
    clock = Clock()
    gate = clock.gate(Rate(str(path), MIB))
    gate.admit(MIB)
    assert clock.seconds <= 1
    gate.close()
