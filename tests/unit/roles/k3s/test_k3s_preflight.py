# SPDX-License-Identifier: Apache-2.0
"""What roles/preflight asks of a machine that is to be a server or an agent of K3s."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import checkout_play

PLAY = """
- hosts: all
  gather_facts: false
  tasks:
    - ansible.builtin.include_role:
        name: paddleflow.core.preflight
"""
pytestmark = checkout_play.NEEDS_ANSIBLE


@pytest.fixture
def listeners() -> Iterator[list[int]]:
    """Two ports that this test listens on."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _number in range(2)]
    yield [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()


def report(folder: Path, variables: dict[str, object]) -> dict[str, str]:
    """What preflight of provider k3s says of three servers and an agent, all of them this machine, by host."""
    groups = {"servers": {"hosts": {"s1": {"k3s_node_address": "192.0.2.1"}, "s2": {}, "s3": {}}}}
    groups["agents"] = {"hosts": {"a1": {"ansible_host": "192.0.2.9"}}}
    common = {"ansible_connection": "local", "preflight_provider": "k3s", "preflight_ports_k3s": [], **variables}
    (folder / "inventory.json").write_text(json.dumps({"all": {"vars": common, "children": groups}}))
    proxied = {"ANSIBLE_NOCOLOR": "1", "HTTPS_PROXY": "http://proxy.example:3128"}
    done = checkout_play.run(folder, PLAY, "-i", folder / "inventory.json", **proxied)
    assert done.returncode != 0, done.stdout
    hosts = ("s1", "s2", "s3", "a1")
    failed = {host: f"fatal: [{host}]: FAILED! => " for host in hosts}
    assert all(mark in done.stdout for mark in failed.values()), done.stdout + done.stderr
    return {host: json.loads(done.stdout.split(mark, 1)[1].splitlines()[0])["msg"] for host, mark in failed.items()}


def test_each_node_is_asked_for_what_its_part_in_k3s_needs(tmp_path: Path, listeners: list[int]) -> None:
    api, etcd = listeners
    marker = {"provider": "embedded", "state": "ready"}
    (tmp_path / "marker").mkdir()
    (tmp_path / "marker/install.json").write_text(json.dumps(marker))
    said = report(
        tmp_path,
        {
            "kubernetes_data_dir": str(tmp_path / "marker"),
            "k3s_data_dir": str(tmp_path / "rancher"),
            "k3s_https_port": api,
            "k3s_registration_address": "k3s.example.org",
            "preflight_ports_etcd": [{"port": etcd, "protocol": "tcp", "purpose": "etcd"}],
            "preflight_data_gib": 9999999,
        },
    )
    for host, text in said.items():
        # The space is asked of the folder that will hold the data, and the remedy names the variable that moves it.
        assert f"the data directory {tmp_path}/rancher" in text, host
        assert "set k3s_data_dir " in text, host
        assert "set kubernetes_data_dir" not in text
        # The marker of an earlier run lies elsewhere all the same.
        assert f"The installation in {tmp_path}/marker was made by provider embedded" in text, host
        # Every node's address, the one in front of the servers, and K3s' own ranges.
        for address in ("192.0.2.1", "s2", "s3", "192.0.2.9", "k3s.example.org", "10.42.0.0/16", "10.43.0.0/16"):
            assert f",{address}," in text.partition("NO_PROXY=")[2], (host, address)
        assert (f"Port {api}/tcp of {host} is used by" in text) == (host != "a1"), host
        assert (f"Port {etcd}/tcp of {host} is used by" in text) == (host != "a1"), host
