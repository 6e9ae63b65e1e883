# SPDX-License-Identifier: Apache-2.0
"""The runner of `make test` reads the stages' closing lines, and CI reads the runner's. What a stage leaves on the machine it fails for."""

from __future__ import annotations

import os
import signal
from dataclasses import fields, replace
from pathlib import Path

import pytest

from tests.support import host_state
from tests.support.host_state import HostState
from tools import stages


@pytest.mark.parametrize(
    ("log", "closing"),
    [
        ("collected\n===== 3 passed in 0.12s =====\n", "===== 3 passed in 0.12s ====="),
        ("= 1 failed, 2 passed, 1 warning in 61.00s (0:01:01) =\nmake: *** [unit] Error 1\n", "= 1 failed, 2 passed, 1 warning in 61.00s (0:01:01) ="),
        ("\x1b[32m===== \x1b[1m3 passed\x1b[0m in 0.1s =====\x1b[0m\n", "===== 3 passed in 0.1s ====="),
        ("12 passed in 3.4s\n", "12 passed in 3.4s"),
        ("13 passed, 0 failed\n", "13 passed, 0 failed"),
        ("10 passed, 3 failed\nmore\n11 passed, 2 failed\n", "11 passed, 2 failed"),
        ("3 passed the post\nthe end\n", ""),
        ("", ""),
    ],
)  # fmt: skip
def test_the_closing_line_is_found(log: str, closing: str) -> None:
    assert stages.closing_line(log) == closing


def test_the_report_ends_with_the_closing_lines() -> None:
    results = [
        stages.Result("lint", 0, 61.2, "13 passed, 0 failed"),
        stages.Result("unit", 1, 2.0, "== 1 failed, 2 passed in 1.0s =="),
        stages.Result("api", 2, 0.4, ""),
    ]
    lines = stages.report(results).splitlines()
    assert lines[-3:] == ["13 passed, 0 failed", "== 1 failed, 2 passed in 1.0s ==", "1 failed"]
    assert "lint       ok             1:01  13 passed, 0 failed" in lines
    assert "unit       FAILED (1)     0:02  1 failed, 2 passed" in lines
    assert "api        FAILED (2)     0:00  no counts" in lines


def ran(stage: str, script: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> stages.Result:
    monkeypatch.setattr(stages, "LOGS", folder)
    monkeypatch.setattr(stages, "PATIENCE", 1)
    monkeypatch.setattr(stages, "look", lambda: None)  # of the machine, on which other things happen meanwhile
    monkeypatch.setattr(stages, "command", lambda _stage: ["bash", "-c", script])
    return stages.run(stage)


def test_a_stage_that_leaves_a_process_has_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that no longer belongs to it."""
    # A process that is just becoming another program shows no environment, so it is waited for until it has.
    became = f"until grep -q sleep /proc/$(<{tmp_path}/pid)/comm; do :; done"
    script = f"(setsid sleep 600 >{tmp_path}/out 2>&1 & echo $! >{tmp_path}/pid); {became}; echo 3 passed in 0.1s"
    try:
        result = ran("api", script, tmp_path, monkeypatch)
    finally:
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
    assert (result.code, result.closing) == (1, "1 failed, 3 passed in 0.1s")
    assert (
        f"left behind by api: process: {(tmp_path / 'pid').read_text().strip()} " in (tmp_path / "api.log").read_text()
    )


def test_a_stage_that_ended_what_it_began_has_passed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = ran("api", "sleep 600 >&- 2>&- & kill $!; echo 3 passed in 0.1s", tmp_path, monkeypatch)
    assert (result.code, result.closing) == (0, "3 passed in 0.1s")


NOTHING = HostState(*(frozenset[str]() for _field in fields(HostState)))
# A developer's own cluster, of K3s.
OWN = replace(
    NOTHING,
    mounts=frozenset({"/", "/var/lib/paddleflow/pods/1/token", "/run/netns/cni-1"}),
    interfaces=frozenset({"lo", "veth1"}),
    namespaces=frozenset({"cni-1"}),
)


def test_what_a_stage_leaves_on_the_machine_is_named() -> None:
    after = replace(
        OWN,
        mounts=OWN.mounts | {"/var/lib/pfmolecule/pods/1/token", "/tmp/pytest/fuse"},
        interfaces=OWN.interfaces | {"pfmolecule"},
        namespaces=OWN.namespaces | {"pfmolecule"},
        rules=frozenset({"table inet pfmolecule"}),
    )
    assert stages.left_on_host(OWN, after) == [
        "mounts: /tmp/pytest/fuse",
        "mounts: /var/lib/pfmolecule/pods/1/token",
        "interfaces: pfmolecule",
        "namespaces: pfmolecule",
        "rules: table inet pfmolecule",
    ]
    assert stages.left_on_host(NOTHING, replace(NOTHING, interfaces=frozenset({"veth1"}))) == ["interfaces: veth1"]


def test_the_pods_of_a_cluster_that_ran_before_are_not_the_stage_s() -> None:
    after = replace(
        OWN,
        mounts=frozenset({"/", "/var/lib/paddleflow/pods/2/token", "/run/netns/cni-2"}),
        interfaces=frozenset({"lo", "veth2"}),
        namespaces=frozenset({"cni-2"}),
        cgroups=frozenset({"/sys/fs/cgroup/kubepods"}),
    )
    assert stages.left_on_host(OWN, after) == []


def test_a_cluster_that_was_left_running_may_set_the_kernel_back() -> None:
    """As one of a run that was killed, which the next one takes away."""
    running = replace(NOTHING, folders=frozenset({host_state.KERNEL_NOTES}), settings=frozenset({"kernel/panic=10"}))
    gone = replace(NOTHING, settings=frozenset({"kernel/panic=0"}))
    assert stages.left_on_host(running, gone) == []
    assert stages.left_on_host(NOTHING, gone) == ["settings: kernel/panic=0"]
