# SPDX-License-Identifier: Apache-2.0
"""What the cluster tests take for a complaint."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.support import checklogs

SERVICES = ("kubelet", "etcd", "containerd", "coredns")
STAMP = "2026-01-01_00:00:00.00000 "
IN_A_POD = "2026-01-01T00:00:00.0Z stderr F "
REJECTED = '{"level":"warn","msg":"rejected connection on client endpoint","error":"EOF"}'


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for name in SERVICES:
        write(tmp_path / "log" / name / "current", STAMP + "I0101 00:00:00.0 1 x.go:1] all is well")
    write(tmp_path / "install.json", "{}")
    os.utime(tmp_path / "install.json", (0, datetime(2025, 12, 31, 23, 59, tzinfo=UTC).timestamp()))
    return tmp_path


def write(path: Path, line: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(line + "\n")


@pytest.fixture(autouse=True)
def usual(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PADDLEFLOW_EXTENDED", raising=False)


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("log/kubelet/current", STAMP + "E0101 00:00:00.000000   1 x.go:1] something new"),
        ("log/etcd/current", STAMP + '{"level":"error","msg":"something new"}'),
        ("log/containerd/current", STAMP + 'time="2026" level=warning msg="something new"'),
        ("log/coredns/current", STAMP + "[ERROR] plugin/errors: something new"),
        ("log/coredns/current", STAMP + REJECTED),
        ("pods-log/volcano-system_name_uid/scheduler/0.log", IN_A_POD + "W0101 00:00:00.0 1 x.go:1] something new"),
    ],
)
def test_what_nobody_expected_is_found(
    data: Path, path: str, line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(data / path, line)
    assert checklogs.unexpected(data) == []
    assert capsys.readouterr().err.startswith("said 1 times: ")
    again = [line.replace("00:00:00", f"00:00:0{second}") for second in range(checklogs.OFTEN)]
    write(data / path, "\n".join(again))
    assert len(checklogs.unexpected(data)) == checklogs.OFTEN
    monkeypatch.setenv("PADDLEFLOW_EXTENDED", "1")
    write(data / path, line)
    assert len(checklogs.unexpected(data)) == 1
    assert checklogs.crashes(checklogs.programs(data)) == []


@pytest.mark.parametrize("line", ["panic: assignment to entry in nil map", "Traceback (most recent call last):"])
@pytest.mark.parametrize("path", ["log/kubelet/@400000.s", "pods-log/volcano-system_name_uid/webhooks/0.log"])
def test_a_crash_is_found_whatever_was_done_to_the_cluster(data: Path, path: str, line: str) -> None:
    write(data / path, (STAMP if path.startswith("log/") else IN_A_POD) + line)
    assert len(checklogs.crashes(checklogs.programs(data))) == 1


def test_what_is_listed_is_harmless_in_its_own_program(data: Path) -> None:
    write(data / "log/etcd/current", STAMP + REJECTED)
    assert checklogs.unexpected(data) == []


def test_before_the_cluster_was_complete_each_complains_of_those_to_come(data: Path) -> None:
    write(data / "log/kubelet/current", "2025-12-31_23:58:59.00000 E1231 23:58:59.0 1 x.go:1] no API server yet")
    assert checklogs.unexpected(data) == []
    write(data / "log/kubelet/current", "2025-12-31_23:58:59.00000 panic: at any time")
    assert len(checklogs.unexpected(data)) == 1


def test_a_users_pod_may_complain(data: Path) -> None:
    write(data / "pods-log/default_name_uid/main/0.log", IN_A_POD + "E0101 00:00:00.0 1 x.go:1] their own")
    assert checklogs.unexpected(data) == []
