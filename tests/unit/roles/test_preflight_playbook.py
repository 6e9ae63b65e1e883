# SPDX-License-Identifier: Apache-2.0
"""A preflight that fails shows everything at once, and what comes after it has not begun."""

from __future__ import annotations

import shutil
import socket
import typing as t
from pathlib import Path

import pytest

from tests.support import checkout_play

PLAY = """
- hosts: "{{ hosts | default('localhost') }}"
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
    def play(*arguments: str, path: str = "", **variables: str) -> Run:
        target = tmp_path / "changed"
        variables |= {"changed_file": str(target), "kubernetes_data_dir": str(tmp_path / "data")}
        extra = [word for name, value in variables.items() for word in ("-e", f"{name}={value}")]
        command = ("-i", "localhost,", *arguments, *extra)
        given = {"PATH": path} if path else {}
        done = checkout_play.run(tmp_path, PLAY, *command, ANSIBLE_LOCALHOST_WARNING="0", **given)
        return Run(done.returncode, done.stdout + done.stderr, target.exists() or (tmp_path / "data").exists())

    return play


@pytest.mark.parametrize("mode", [(), ("--check",)])
def test_a_failing_preflight_shows_all_findings_and_changes_nothing(
    run: t.Callable[..., Run], mode: tuple[str]
) -> None:
    wrong = {"kubernetes_instance": "a-very-long-instance", "kubernetes_service_cidr": "10.203.0.0/29"}
    wrong |= {"kubernetes_pod_cidr": "10.202.0.0/24", "kubernetes_max_pods": "254", "kubernetes_link_prefix": "32"}
    wrong |= {"kubernetes_host_address": "10.201.0.1", "kubernetes_node_address": "10.201.0.2"}
    done = run(*mode, preflight_kernel="99.0", preflight_data_gib="9999999", **wrong)
    assert done.rc != 0, done.text
    assert not done.changed
    assert "changed=0" in done.text
    assert "failed=1" in done.text
    for sentence in (
        "The instance name 'a-very-long-instance' has 20 characters",
        "but 99.0 or newer is needed for kube-proxy with nftables: boot a newer kernel.",
        "free some there, or set kubernetes_data_dir",
        "The range kubernetes_service_cidr 10.203.0.0/29 holds 8 addresses",
        "pods need at least 512 (kubernetes_max_pods is 254)",
        "The variable kubernetes_link_prefix is 32",
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


def test_images_cannot_be_built_without_debians_package_manager(run: t.Callable[..., Run], tmp_path: Path) -> None:
    """As in an execution environment, which is made of RPM packages."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in (
        "cat",
        "chmod",
        "dd",
        "env",
        "ls",
        "mkdir",
        "rm",
        "sh",
        "sleep",
        "stat",
        "touch",
    ):  # Ansible's own needs
        (programs / name).symlink_to(shutil.which(name) or name)
    registry = {"preflight_provider": "existing", "images_registry": "registry.example/p", "path": str(programs)}
    sentence = "The control node has no apt-get, but the platform's images are built there of Debian packages"
    assert sentence in run(**registry).text
    assert sentence not in run(**registry, images_push="false").text


def test_two_hosts_are_not_made_two_clusters(run: t.Callable[..., Run]) -> None:
    done = run("-i", "localhost,other,", hosts="all", ansible_connection="local")
    assert "The play has 2 hosts, but the provider embedded makes a cluster of its own on each" in done.text
    assert not done.changed


def test_a_registry_that_nobody_could_use_is_refused_before_anything_is_changed(run: t.Callable[..., Run]) -> None:
    done = run(images_registry="nonsense://x/y")
    assert "The variable images_registry is 'nonsense://x/y', but it has to be host[:port]/prefix" in done.text
    with socket.create_server(("127.0.0.1", 0)) as server:
        silent = f"127.0.0.1:{server.getsockname()[1]}"
    done = run(images_registry=f"{silent}/p")
    assert f"The registry {silent} of the variable images_registry does not answer the control node" in done.text
    assert "Connection refused" in done.text
    assert not done.changed
