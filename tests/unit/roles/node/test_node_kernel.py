# SPDX-License-Identifier: Apache-2.0
"""What the kubelet sets for the whole machine is set back by the last cluster that stops."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from paddleflow_node import kernel
from paddleflow_node.host import Config, Host

BEFORE = dict.fromkeys(kernel.KUBELET.values, "0\n") | {"kernel/keys/root_maxkeys": "200\n"}


@pytest.fixture(autouse=True)
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "SETTINGS", tmp_path / "sys")
    monkeypatch.setattr(kernel, "NOTES", tmp_path / "notes")
    for name, value in BEFORE.items():
        (tmp_path / "sys" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "sys" / name).write_text(value)


def started(config: Config) -> None:
    kernel.borrow(config, Host(), kernel.KUBELET)
    for name, value in kernel.KUBELET.values.items():
        (kernel.SETTINGS / name).write_text(value)


def stopped(config: Config) -> list[str]:
    host = Host()
    kernel.give_back(config, host, kernel.KUBELET)
    return host.changes


def now() -> dict[str, str]:
    return {name: kernel.read(name) for name in BEFORE}


def stripped(values: dict[str, str]) -> dict[str, str]:
    return {name: value.strip() for name, value in values.items()}


def test_they_are_what_they_were_however_often_the_cluster_was_started(config: Config) -> None:
    started(config)
    started(config)
    assert now() == dict(kernel.KUBELET.values)
    assert len(stopped(config)) == 1
    assert now() == stripped(BEFORE)
    assert not kernel.NOTES.exists()
    assert stopped(config) == []


def test_the_last_of_two_clusters_sets_them_back(config: Config) -> None:
    other = replace(config, instance="other")
    started(config)
    started(other)
    stopped(config)
    assert now() == dict(kernel.KUBELET.values)
    stopped(other)
    assert now() == stripped(BEFORE)


def test_what_somebody_else_has_set_since_stays(config: Config) -> None:
    started(config)
    (kernel.SETTINGS / "kernel/panic").write_text("60\n")
    stopped(config)
    assert now() == {**stripped(BEFORE), "kernel/panic": "60"}


def test_a_kernel_without_one_of_them_keeps_the_others(config: Config) -> None:
    (kernel.SETTINGS / "kernel/panic_on_oops").unlink()
    kernel.borrow(config, Host(), kernel.KUBELET)
    (kernel.SETTINGS / "kernel/panic").write_text("10\n")
    stopped(config)
    assert kernel.read("kernel/panic") == "0"


def test_a_check_notes_and_changes_nothing(config: Config) -> None:
    kernel.borrow(config, Host(check=True), kernel.KUBELET)
    assert not kernel.NOTES.exists()
    started(config)
    kernel.give_back(config, Host(check=True), kernel.KUBELET)
    assert now() == dict(kernel.KUBELET.values)
