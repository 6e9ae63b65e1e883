# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""The kernel's features, and the network that is already there."""

from __future__ import annotations

import ipaddress
import re
from itertools import combinations
from typing import TYPE_CHECKING

from .finding import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .preflight_settings import Facts, Settings

_EMBEDDED, _BOTH = ("embedded",), ("embedded", "k3s")
# feature: (providers that need it, severity, what cannot be done, what needs it, kernel options)
FEATURES: dict[str, tuple[tuple[str, ...], Severity, str, str, str]] = {
    "netns": (_BOTH, "error", "network namespaces", "every pod has one", "CONFIG_NET_NS"),
    "mountns": (_BOTH, "error", "mount namespaces", "every container has one", "CONFIG_NAMESPACES"),
    "overlay": (_BOTH, "error", "overlayfs", "containers' root file systems are made of it", "CONFIG_OVERLAY_FS"),
    "veth": (_BOTH, "error", "veth", "pods are connected by it", "CONFIG_VETH"),
    "bridge": (_BOTH, "error", "bridges", "the node's address lies on one", "CONFIG_BRIDGE"),
    "nftables": (
        _EMBEDDED,
        "error",
        "nftables with nat",
        "services are made of it",
        "CONFIG_NF_TABLES, CONFIG_NFT_NAT",
    ),
    "nftables_masq": (_EMBEDDED, "error", "nftables' masq", "services are made of it", "CONFIG_NFT_MASQ"),
    "nftables_numgen": (_EMBEDDED, "error", "nftables' numgen", "services are made of it", "CONFIG_NFT_NUMGEN"),
    "nftables_fib": (_EMBEDDED, "error", "nftables' fib", "services are made of it", "CONFIG_NFT_FIB_INET"),
    "vxlan": (("k3s",), "error", "vxlan", "pods of different nodes talk over it", "CONFIG_VXLAN"),
    "fuse": (_BOTH, "warning", "fuse", "file systems are mounted with it", "CONFIG_FUSE_FS"),
}
CONTROLLERS = {1: ("cpu", "cpuacct", "cpuset", "memory", "pids"), 2: ("cpu", "cpuset", "memory", "pids")}


def kernel_findings(facts: Facts, settings: Settings) -> Iterator[Finding]:
    numbers = tuple(int(number) for number in re.findall(r"\d+", str(facts.get("kernel", "")))[:2])
    if settings.provider == "embedded" and numbers and numbers < settings.kernel:
        least = ".".join(map(str, settings.kernel))
        subject = f"The kernel of {settings.host}"
        needed = f"{least} or newer is needed for kube-proxy with nftables"
        yield Finding("error", "kernel", subject, f"is {facts['kernel']}", needed, "boot a newer kernel")
    yield from feature_findings(facts, settings)
    yield from cgroup_findings(facts, settings)


def feature_findings(facts: Facts, settings: Settings) -> Iterator[Finding]:
    features = facts.get("features")
    if not features or facts.get("uid") != 0:  # without root nothing could be tried, and that is a finding of its own
        return
    for name, (providers, severity, thing, purpose, options) in FEATURES.items():
        if settings.provider not in providers or (name == "vxlan" and settings.nodes < 2):
            continue
        if features.get(name) is None:
            continue
        problem = features[name]
        subject, text = f"The kernel of {settings.host}", f"has no working {thing} ({problem})"
        remedy = f"load the module or boot a kernel with {options}"
        if "not permitted" in problem:
            remedy = "run on a machine of its own, or in a container that may do this"
        yield Finding(severity, "feature_" + name, subject, text, purpose, remedy)


def cgroup_findings(facts: Facts, settings: Settings) -> Iterator[Finding]:
    groups = facts.get("cgroup")
    if groups is None:
        return
    subject = f"The host {settings.host}"
    if not groups["version"]:
        remedy = "mount cgroup2 on /sys/fs/cgroup"
        yield Finding(
            "error", "cgroup", subject, "has no control groups mounted", "the kubelet limits pods by them", remedy
        )
        return
    missing = [name for name in CONTROLLERS[groups["version"]] if name not in groups["controllers"]]
    if missing:
        subject = f"The control groups (v{groups['version']}) of {settings.host}"
        remedy = (
            "mount them below /sys/fs/cgroup"
            if groups["version"] == 1
            else "remove cgroup_disable from the kernel's command line (some boards want cgroup_enable=memory)"
        )
        text = f"lack {', '.join(missing)}"
        yield Finding("error", "cgroup", subject, text, "the kubelet limits pods by them", remedy)
    if groups["read_only"]:
        subject = f"The control groups of {settings.host}"
        text = f"are mounted read-only on {', '.join(groups['read_only'])}"
        yield Finding("error", "cgroup", subject, text, "the kubelet writes to them", "mount them writable")


def network_findings(facts: Facts, settings: Settings) -> Iterator[Finding]:
    yield from port_findings(facts, settings)
    if settings.provider == "embedded":
        yield from range_findings(facts, settings)


def port_findings(facts: Facts, settings: Settings) -> Iterator[Finding]:
    """Ports that something else holds; an installation that is there, or half there, holds them itself."""
    if (facts.get("marker") or {}).get("provider") == settings.provider:
        return
    purposes = {(int(port["port"]), str(port.get("protocol", "tcp"))): str(port["purpose"]) for port in settings.ports}
    for listener in facts.get("listeners") or ():
        key = (listener["port"], listener["protocol"])
        if key in purposes:
            yield Finding(
                "error",
                "port",
                f"Port {key[0]}/{key[1]} of {settings.host}",
                f"is used by {listener['process'] or 'a program of another namespace'}",
                f"{purposes[key]} needs it",
                "stop that program, or use cluster_provider embedded, which has a network of its own",
            )


def range_findings(facts: Facts, settings: Settings) -> Iterator[Finding]:
    """The instance's addresses against each other and against what the host already routes."""
    ranges: dict[str, ipaddress.IPv4Network] = {}
    named = [("kubernetes_pod_cidr", settings.pod_cidr), ("kubernetes_service_cidr", settings.service_cidr)]
    named += settings.own_addresses.items()
    for variable, text in named:
        if not text:
            continue
        try:
            ranges[f"{variable} {text}"] = ipaddress.IPv4Network(text)
        except ValueError as error:
            yield Finding(
                "error",
                "address",
                f"The variable {variable}",
                f"is {text!r} ({error})",
                "an IPv4 range is needed",
                "correct it",
            )
    yield from size_findings(ranges, settings)
    yield from link_findings(settings)
    for (one, first), (other, second) in combinations(ranges.items(), 2):
        if first.overlaps(second):
            needed = "every range has to be apart from the others"
            yield Finding(
                "error", "address", f"The {_noun(first)} {one}", f"overlaps {other}", needed, "change one of them"
            )
    taken = [
        (
            f"the route {route['destination']} of interface {route['interface']}",
            route["destination"],
            route["interface"],
        )
        for route in facts.get("routes") or ()
        if not route["destination"].endswith("/0")
    ]
    taken += [
        (f"the address {item['address']} of interface {item['interface']}", f"{item['address']}/32", item["interface"])
        for item in facts.get("addresses") or ()
    ]
    for name, network in ranges.items():
        variable = name.split(" ")[0]
        for what, place, interface in taken:
            if interface not in settings.own_interfaces and network.overlaps(
                ipaddress.IPv4Network(place, strict=False)
            ):
                needed = "the cluster's addresses must not hide others"
                noun = _noun(network)
                remedy = (
                    f"set {variable} to {'an address' if noun == 'address' else 'a range'} that this host does not use"
                )
                found = f"overlaps {what} on {settings.host}"
                yield Finding("error", "address", f"The {noun} {name}", found, needed, remedy)
                break


def size_findings(ranges: Mapping[str, ipaddress.IPv4Network], settings: Settings) -> Iterator[Finding]:
    """kubeadm and the API server refuse the other sizes themselves, when much has been changed already."""
    # The network, its first address, which is every pod's gateway, and the broadcast are no pod's.
    for_pods = 32 - (settings.max_pods + 3 - 1).bit_length()
    limits = {
        "kubernetes_service_cidr": (12, 28, "services", "the cluster's DNS has the tenth"),
        "kubernetes_pod_cidr": (8, 24, "pods", "kubeadm asks for them"),
    }
    if for_pods < limits["kubernetes_pod_cidr"][1]:
        limits["kubernetes_pod_cidr"] = (8, for_pods, "pods", f"kubernetes_max_pods is {settings.max_pods}")
    for name, network in ranges.items():
        variable = name.split(" ")[0]
        if variable not in limits:
            continue
        largest, smallest, users, why = limits[variable]
        if largest <= network.prefixlen <= smallest:
            continue
        needed = f"{users} need at least {1 << (32 - smallest)} ({why})"
        if network.prefixlen < largest:
            needed = f"Kubernetes takes at most {1 << (32 - largest)} for {users}"
        found, remedy = f"holds {network.num_addresses} addresses", f"set it to one from /{largest} to /{smallest}"
        yield Finding("error", "range_size", f"The range {name}", found, needed, remedy)


def link_findings(settings: Settings) -> Iterator[Finding]:
    """The two ends of the link have to see each other."""
    prefix, needed = settings.link_prefix, "they are the two ends of one link"
    ends = [settings.own_addresses.get(f"kubernetes_{end}_address", "") for end in ("host", "node")]
    try:
        host, node = (ipaddress.IPv4Address(end) for end in ends)
    except ValueError:  # a finding of its own
        return
    if not 1 <= prefix <= 30:
        subject, found = "The variable kubernetes_link_prefix", f"is {prefix}"
        yield Finding("error", "link", subject, found, f"{needed}, which takes at least a /30", "set it to 30")
        return
    link = ipaddress.IPv4Network((host, prefix), strict=False)
    if node in link and not {host, node} & {link[0], link[-1]}:
        return
    subject = f"The pair kubernetes_host_address {host} and kubernetes_node_address {node}"
    found = f"does not lie within one range of kubernetes_link_prefix {prefix}, apart from its first and last address"
    yield Finding(
        "error", "link", subject, found, needed, f"set them to two of one range, such as {link[1]} and {link[2]}"
    )


def _noun(network: ipaddress.IPv4Network) -> str:
    return "address" if network.prefixlen == network.max_prefixlen else "range"
