# SPDX-License-Identifier: Apache-2.0
"""The network of the node's tool: what it asks of `ip` and `nft`, and when."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from paddleflow_node import kernel, network
from paddleflow_node.host import Config, Host


def test_without_outbound_traffic_there_is_no_default_route(config: Config) -> None:
    assert not [route for _where, route in network.wanted_routes(config) if route[0] == "default"]


def test_outbound_traffic_goes_through_the_machine(config: Config) -> None:
    outbound = replace(config, network=replace(config.network, outbound=True))
    assert (["ip", "-netns", "pf"], ["default", "via", "10.1.0.1"]) in network.wanted_routes(outbound)


def test_pod_addresses_without_a_pod_are_refused_inside_and_routed_inside_from_the_machine(config: Config) -> None:
    routes = network.wanted_routes(config)
    assert (["ip", "-netns", "pf"], ["unreachable", "10.2.0.0/16"]) in routes
    assert (["ip"], ["10.2.0.0/16", "via", "10.1.0.2", "dev", "pf"]) in routes


def test_masquerade_is_for_what_leaves_the_machine(config: Config) -> None:
    assert 'ip saddr { 10.2.0.0/16, 10.1.0.2 } oifname != "pf" masquerade' in network.outbound_table(config)


class Net:
    """Answers as `ip` and `nft` do on a host whose cluster is up, and keeps what was asked of them."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ran: list[list[str]] = []
        self.loaded: list[str] = []
        self.table = False
        self.namespace = True
        self.forwarding = folder / "sys/net/ipv4/ip_forward"
        self.forwarding.parent.mkdir(parents=True)
        self.forwarding.write_text("0\n")
        monkeypatch.setattr(kernel, "SETTINGS", folder / "sys")
        monkeypatch.setattr(kernel, "NOTES", folder / "notes")
        monkeypatch.setattr(network, "FORWARDING", self.forwarding)
        monkeypatch.setattr(network, "namespace_path", lambda _config: folder)
        monkeypatch.setattr(Host, "run", self.run)
        monkeypatch.setattr(Host, "succeeds", self.succeeds)

    def succeeds(self, command: list[str]) -> bool:
        self.ran.append(command)
        if command[:2] == ["ip", "-netns"]:
            return self.namespace
        return self.table if command[0] == "nft" else True

    def run(self, command: list[str]) -> str:
        self.ran.append(command)
        if command[:2] == ["nft", "-f"]:
            self.loaded.append(Path(command[2]).read_text())
            self.table = True
        if command[:2] == ["nft", "delete"]:
            self.table = False
        if "-json" in command:
            address = "10.1.0.2" if "-netns" in command else "10.1.0.1"
            return json.dumps([{"addr_info": [{"local": address, "prefixlen": 30}]}])
        return "10.2.0.0/16 10.3.0.0/16 default" if "route" in command else ""


def outward(config: Config, **changes: object) -> Config:
    config.run_dir.mkdir(exist_ok=True)
    return replace(config, network=replace(config.network, **{"outbound": True, **changes}))  # type: ignore[arg-type]


def test_a_changed_range_is_masqueraded_in_the_place_of_the_old_one(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = Net(tmp_path, monkeypatch)
    network.up(outward(config), Host())
    again = Host()
    network.up(outward(config), again)
    assert again.changes == []
    network.up(outward(config, pod_cidr="10.9.0.0/16"), Host())
    assert ["10.2.0.0/16" in rules for rules in net.loaded] == [True, False]
    assert "{ 10.9.0.0/16, 10.1.0.2 }" in net.loaded[1]
    # The table that there may be is replaced in the same step.
    assert net.loaded[1].startswith("table ip pf\ndelete table ip pf\ntable ip pf {\n")
    net.table = False  # by somebody's `nft flush ruleset`
    network.up(outward(config, pod_cidr="10.9.0.0/16"), Host())
    assert len(net.loaded) == 3


def test_without_outbound_traffic_the_machine_forwards_as_it_did_before(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = Net(tmp_path, monkeypatch)
    network.up(outward(config), Host())
    assert net.forwarding.read_text() == "1"
    network.up(outward(config, outbound=False), Host())
    assert net.forwarding.read_text() == "0"
    assert not net.table
    assert not (tmp_path / "notes").exists()
    net.forwarding.write_text("1")  # by the machine's owner, before the cluster wanted it
    network.up(outward(config), Host())
    network.down(outward(config), Host())
    assert net.forwarding.read_text() == "1"


def test_of_two_clusters_that_forward_the_last_one_ends_it(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = Net(tmp_path, monkeypatch)
    one, other = outward(config), replace(outward(config), instance="other")
    network.up(one, Host())
    network.up(other, Host())
    network.down(one, Host())
    assert net.forwarding.read_text() == "1"
    network.down(other, Host())
    assert net.forwarding.read_text() == "0"


def test_the_name_of_a_namespace_that_a_start_of_the_machine_left_is_made_one_again(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = Net(tmp_path, monkeypatch)
    net.namespace = False  # though its path is there
    network.up(config, Host())
    made = [command[2:] for command in net.ran if command[:2] == ["ip", "netns"] and "exec" not in command]
    assert made == [["delete", "pf"], ["add", "pf"]]


def test_nothing_is_run_that_no_package_list_brings(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = Net(tmp_path, monkeypatch)
    network.up(outward(config), Host())
    inside = [command[4:] for command in net.ran if command[:3] == ["ip", "netns", "exec"]]
    assert inside == [["sh", "-c", f"echo 1 >{net.forwarding}"]]
    assert {command[0] for command in net.ran} == {"ip", "nft"}  # iproute2, nftables
