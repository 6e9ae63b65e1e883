# SPDX-License-Identifier: Apache-2.0
"""Who writes a file that another replaced meanwhile: the last wins, or he is told, and nothing is lost either way."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.agent_command import Command, command
from tests.support.granted import until
from tests.support.places import file
from tests.support.source_suite import failing

LARGE = 3 << 20
QUICK = {"attr-timeout": "0", "entry-timeout": "0", "meta-cache-expire": "0", "entry-cache-expire": "0"}


class Case:
    def __init__(self, agent: Command, root: Path) -> None:
        self.agent, self.root, self.point = agent, root, agent.point

    def mount(self, conflict: str) -> None:
        self.agent.mount(f"local:/{self.root}", options={**QUICK, "conflict": conflict})

    def conflicts(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.agent.status()["worker"]["files"]["conflicts"]
        return found

    def theirs(self, name: str, data: bytes) -> None:
        (self.root / f"{name}.new").write_bytes(data)
        (self.root / f"{name}.new").rename(self.root / name)


@pytest.fixture
def case(tmp_path: Path) -> Iterator[Case]:
    (tmp_path / "root").mkdir()
    (tmp_path / "agent").mkdir()
    with command(tmp_path / "agent") as one:
        yield Case(one, tmp_path / "root")


def written(path: Path, flags: int, data: bytes) -> int:
    one = os.open(path, flags, 0o644)
    os.write(one, data)
    return one


def test_the_last_who_closes_wins_unless_told_otherwise(case: Case) -> None:
    """D-47."""
    (case.root / "file").write_bytes(b"before")
    case.mount("last")
    one = written(case.point / "file", os.O_WRONLY | os.O_TRUNC, b"ours")
    case.theirs("file", b"theirs")
    os.close(one)
    assert (case.root / "file").read_bytes() == b"ours"
    assert case.conflicts() == []


@pytest.mark.parametrize("before", [b"before", None])
@pytest.mark.parametrize("take", ["ours", "theirs"])
def test_a_newer_version_is_replaced_by_nobody_but_a_person(case: Case, before: bytes | None, take: str) -> None:
    if before is not None:
        (case.root / "file").write_bytes(before)
    case.mount("fail")
    one = written(case.point / "file", os.O_WRONLY | os.O_TRUNC | os.O_CREAT, b"ours")
    case.theirs("file", b"theirs")
    with failing(errno.ESTALE):
        os.fsync(one)
    with failing(errno.ESTALE):
        os.close(one)
    until("it is told", lambda: case.conflicts() != [])
    (told,) = case.conflicts()
    assert (told["path"], told["missing"]) == ("file", 0)
    assert Path(told["file"]).read_bytes() == b"ours"
    assert "overtaken by a newer version" in case.agent.said()
    assert (case.root / "file").read_bytes() == (case.point / "file").read_bytes() == b"theirs"
    # Also not by the next mount, or when others write on.
    case.agent.end()
    case.mount("fail")
    assert case.conflicts() == [told]
    (case.point / "file").write_bytes(b"theirs again")
    case.agent("resolve", str(case.point), take, "file")
    assert (case.root / "file").read_bytes() == (b"ours" if take == "ours" else b"theirs again")
    assert (case.point / "file").read_bytes() == (case.root / "file").read_bytes()
    assert case.conflicts() == []
    assert not Path(told["file"]).exists()
    case.agent("resolve", str(case.point), take, "file", code=1)


def test_who_writes_again_and_again_has_no_conflict_with_himself(case: Case) -> None:
    case.mount("fail")
    with file(case.point / "file", os.O_WRONLY | os.O_CREAT) as one:
        for turn in range(3):
            os.pwrite(one, b"%d" % turn, turn)
            os.fsync(one)
    for turn in range(3):
        (case.point / "file").write_bytes(b"%d" % turn)
        (case.point / "file").rename(case.point / "other")
        (case.point / "other").write_bytes(b"other")
        (case.point / "other").rename(case.point / "file")
    assert (case.root / "file").read_bytes() == b"other"


def test_of_two_who_make_a_file_alone_one_is_told(case: Case) -> None:
    case.mount("last")
    one = written(case.point / "file", os.O_WRONLY | os.O_CREAT | os.O_EXCL, b"ours")
    case.theirs("file", b"theirs")
    with failing(errno.ESTALE):
        os.close(one)
    assert (case.root / "file").read_bytes() == b"theirs"
    assert [told["path"] for told in case.conflicts()] == ["file"]


@pytest.mark.parametrize("conflict", ["last", "fail"])
def test_what_was_changed_of_a_version_that_is_gone_is_never_mixed_with_another(case: Case, conflict: str) -> None:
    (case.root / "file").write_bytes(b"a" * LARGE)
    case.mount(conflict)
    one = os.open(case.point / "file", os.O_WRONLY)
    os.pwrite(one, b"ours", LARGE // 2)
    case.theirs("file", b"b" * LARGE)
    with failing(errno.ESTALE):
        os.close(one)
    assert (case.root / "file").read_bytes() == (case.point / "file").read_bytes() == b"b" * LARGE
    (told,) = case.conflicts()
    assert 0 < told["missing"] < LARGE
    refused = case.agent("resolve", str(case.point), "ours", "file", code=1)
    assert "are gone" in refused.stderr
    case.agent("resolve", str(case.point), "theirs", "file")
    assert case.conflicts() == []
