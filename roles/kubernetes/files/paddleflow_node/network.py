# SPDX-License-Identifier: Apache-2.0
"""One network namespace per cluster.

Everything of the cluster that touches the network (components, pods, kube-proxy's tables, CNI's interfaces) lives in a
namespace of its own, tied to the host by one veth pair. So clusters do not meet, no rule lands in the host's tables,
and taking the cluster away is deleting the namespace. It has no default route unless outbound traffic was asked for: a
pod or service address cannot leave the machine.
"""

from __future__ import annotations

import json
from pathlib import Path

from . import kernel
from .host import Config, Host

FORWARDING = Path("/proc/sys/net/ipv4/ip_forward")
INSIDE = "eth0"
SERVICES = "services"  # a bridge without ports: gives local clients of a service a route to be looked up before DNAT


def namespace_path(config: Config) -> Path:
    return Path("/run/netns", config.instance)


def _addresses(*command: str) -> set[str]:
    listing = json.loads(Host.run(["ip", "-json", *command]) or "[]")
    return {f"{item['local']}/{item['prefixlen']}" for link in listing for item in link.get("addr_info", [])}


def up(config: Config, host: Host) -> None:
    name, net = config.instance, config.network
    inside = ["ip", "-netns", name]
    fresh = not host.succeeds([*inside, "link", "show", "lo"])
    if fresh:
        # A folder /run that outlives a start of the machine, as that of a container may, keeps the name of one that is gone.
        old = [["ip", "netns", "delete", name]] if namespace_path(config).exists() else []
        host.change(f"network namespace {name}", *old, ["ip", "netns", "add", name])
    linked = (
        not fresh and host.succeeds([*inside, "link", "show", INSIDE]) and host.succeeds(["ip", "link", "show", name])
    )
    if not linked:
        if not fresh and not host.check:  # one end without the other: left by a run that was killed
            host.succeeds(["ip", "link", "delete", name])
        host.change(f"link {name}", ["ip", "link", "add", name, "type", "veth", "peer", "name", INSIDE, "netns", name])
    if host.check and (fresh or not linked):
        return
    ends = (
        (["ip"], ["addr", "show", "dev", name], name, net.host_address),
        (inside, ["-netns", name, "addr", "show", "dev", INSIDE], INSIDE, net.node_address),
    )
    for prefix, show, device, address in ends:
        wanted = f"{address}/{net.prefix}"
        if wanted not in _addresses(*show):
            host.change(
                f"address {wanted} on {device}",
                [*prefix, "addr", "flush", "dev", device],
                [*prefix, "addr", "add", wanted, "dev", device],
            )
    if not host.succeeds([*inside, "link", "show", SERVICES]):
        host.change(f"bridge {SERVICES}", [*inside, "link", "add", SERVICES, "type", "bridge"])
    if not host.check:
        host.run(["ip", "link", "set", name, "up"])
        for device in ("lo", INSIDE, SERVICES):
            host.run([*inside, "link", "set", device, "up"])
        host.run(["ip", "netns", "exec", name, "sh", "-c", f"echo 1 >{FORWARDING}"])
    _routes(config, host)
    _outbound(config, host)


def _routes(config: Config, host: Host) -> None:
    name, net = config.instance, config.network
    for prefix, route in wanted_routes(config):
        existing = host.run([*prefix, "route", "show", *([] if route[0] != "unreachable" else ["type", "unreachable"])])
        destination = route[1] if route[0] == "unreachable" else route[0]
        if not any(destination in line.split() for line in existing.splitlines()):
            host.change(f"route {' '.join(route)}", [*prefix, "route", "replace", *route])
    default = ["ip", "-netns", name, "route", "show", "default"]
    if not net.outbound and host.run(default).strip():
        host.change("no default route", ["ip", "-netns", name, "route", "delete", "default"])


def wanted_routes(config: Config) -> list[tuple[list[str], list[str]]]:
    name, net = config.instance, config.network
    inside = ["ip", "-netns", name]
    routes = [
        # Processes of the host reach pods and services through the namespace, never through the host's default route.
        (["ip"], [net.pod_cidr, "via", net.node_address, "dev", name]),
        (["ip"], [net.service_cidr, "via", net.node_address, "dev", name]),
        (inside, [net.service_cidr, "dev", SERVICES, "src", net.node_address]),
        # Addresses that no pod has are refused at once; the interfaces of pods bring more specific routes.
        (inside, ["unreachable", net.pod_cidr]),
    ]
    if net.outbound:
        routes.append((inside, ["default", "via", net.host_address]))
    return routes


def outbound_table(config: Config) -> str:
    """Replaces the table that there may be, in one step."""
    name, net = config.instance, config.network
    return (
        f"table ip {name}\ndelete table ip {name}\n"
        f"table ip {name} {{\n  chain postrouting {{\n    type nat hook postrouting priority srcnat;\n"
        f'    ip saddr {{ {net.pod_cidr}, {net.node_address} }} oifname != "{name}" masquerade\n  }}\n}}\n'
    )


def _outbound(config: Config, host: Host) -> None:
    if not config.network.outbound:
        _no_outbound(config, host)
        return
    # What was loaded, and not what nft lists: it writes sets in an order and a form of its own. Both end with a boot.
    loaded, wanted = config.run_dir / "outbound.nft", outbound_table(config)
    current = loaded.exists() and loaded.read_text() == wanted and _has_table(config, host)
    if not current and host.change("masquerade for outbound traffic"):
        new = loaded.with_suffix(".new")
        new.write_text(wanted)
        host.run(["nft", "-f", str(new)])
        new.replace(loaded)
    kernel.borrow(config, host, kernel.FORWARDING)
    if FORWARDING.read_text().strip() == "0" and host.change("forwarding"):
        FORWARDING.write_text("1")


def _no_outbound(config: Config, host: Host) -> None:
    if _has_table(config, host):
        host.change("no masquerade", ["nft", "delete", "table", "ip", config.instance])
    kernel.give_back(config, host, kernel.FORWARDING)


def _has_table(config: Config, host: Host) -> bool:
    return host.succeeds(["nft", "list", "table", "ip", config.instance])


def down(config: Config, host: Host) -> None:
    name = config.instance
    _no_outbound(config, host)
    if host.succeeds(["ip", "link", "show", name]):
        host.change(f"no link {name}", ["ip", "link", "delete", name])
    if namespace_path(config).exists():
        host.change(f"no network namespace {name}", ["ip", "netns", "delete", name])
