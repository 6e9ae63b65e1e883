# SPDX-License-Identifier: Apache-2.0
"""A preflight that fails shows everything at once, and what comes after it has not begun."""

from __future__ import annotations

import socket
import typing as t
from pathlib import Path

import pytest

from tests.support import checkout_play

PLAY = """
- hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - ansible.builtin.include_role:
        name: paddleflow.core.preflight
    - ansible.builtin.copy:
        content: changed
        dest: "{{ changed_file }}"
        mode: "0600"
"""
pytestmark = checkout_play.NEEDS_ANSIBLE


class Run(t.NamedTuple):
    rc: int
    text: str
    changed: bool


@pytest.fixture
def run(tmp_path: Path) -> t.Callable[..., Run]:
    def play(*arguments: str, **variables: str) -> Run:
        target = tmp_path / "changed"
        variables |= {"changed_file": str(target), "kubernetes_data_dir": str(tmp_path / "data")}
        extra = [word for name, value in variables.items() for word in ("-e", f"{name}={value}")]
        command = ("-i", "localhost,", *arguments, *extra)
        done = checkout_play.run(tmp_path, PLAY, *command, ANSIBLE_LOCALHOST_WARNING="0")
        return Run(done.returncode, done.stdout + done.stderr, target.exists() or (tmp_path / "data").exists())

    return play


@pytest.mark.parametrize("mode", [(), ("--check",)])
def test_a_failing_preflight_shows_all_findings_and_changes_nothing(
    run: t.Callable[..., Run], mode: tuple[str]
) -> None:
    done = run(*mode, kubernetes_instance="a-very-long-instance", preflight_kernel="99.0", preflight_data_gib="9999999")
    assert done.rc != 0, done.text
    assert not done.changed
    assert "changed=0" in done.text
    assert "failed=1" in done.text
    for sentence in (
        "The instance name 'a-very-long-instance' has 20 characters",
        "but 99.0 or newer is needed for kube-proxy with nftables: boot a newer kernel.",
        "free some there, or set kubernetes_data_dir",
        "nothing was changed",
    ):
        assert sentence in done.text


def test_a_passing_preflight_lets_the_play_go_on(run: t.Callable[..., Run]) -> None:
    none = {f"preflight_{what}_{unit}": "0" for what in ("cache", "build") for unit in ("gib", "inodes")}
    none |= {"preflight_memory_build_gib": "0"}
    done = run(preflight_provider="existing", images_registry="registry.example/p", images_push="false", **none)
    assert done.rc == 0, done.text
    assert done.changed
    assert "failed=0" in done.text


def test_a_registry_that_nobody_could_use_is_refused_before_anything_is_changed(run: t.Callable[..., Run]) -> None:
    done = run(images_registry="nonsense://x/y")
    assert "The variable images_registry is 'nonsense://x/y', but it has to be host[:port]/prefix" in done.text
    with socket.create_server(("127.0.0.1", 0)) as server:
        silent = f"127.0.0.1:{server.getsockname()[1]}"
    done = run(images_registry=f"{silent}/p")
    assert f"The registry {silent} of the variable images_registry does not answer the control node" in done.text
    assert "Connection refused" in done.text
    assert not done.changed
