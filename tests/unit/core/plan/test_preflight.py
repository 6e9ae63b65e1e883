# SPDX-License-Identifier: Apache-2.0
"""Every bad input of preflight gives exactly one sentence; a good host gives none."""

from __future__ import annotations

import copy
import json
import typing as t

import pytest
from paddleflow_core.plan.finding import as_data
from paddleflow_core.plan.preflight import evaluate, facts_of
from paddleflow_core.plan.preflight_settings import GIB, Settings
from paddleflow_core.plan.proxy import uncovered

Facts = dict[str, t.Any]


def _place(path: str, **other: t.Any) -> Facts:
    place = {"path": path, "existing": "/var", "is_directory": True, "device": 1, "mount": "/", "source": "/dev/sda"}
    place |= {"fstype": "ext4", "options": ["rw"], "free": 100 * GIB, "size": 200 * GIB}
    place |= {"inodes": 10_000_000, "inodes_free": 9_000_000, "names_have_types": True}
    return place | other


FEATURES = [
    "netns",
    "mountns",
    "overlay",
    "veth",
    "bridge",
    "vxlan",
    "nftables",
    "nftables_masq",
    "nftables_numgen",
    "nftables_fib",
    "fuse",
]
NODE: Facts = {
    "time": 1790000000.0,
    "sent": 1790000000.0,
    "python": {"version": [3, 11, 2], "executable": "/usr/bin/python3"},
    "uid": 0,
    "capabilities": {"net_admin": True, "sys_admin": True, "sys_resource": True},
    "hostname": "n1",
    "machine": "m1",
    "system": "Linux",
    "kernel": "6.1.0-13-amd64",
    "os": {"id": "debian", "like": [], "version": "12", "name": "Debian GNU/Linux 12 (bookworm)"},
    "package_managers": ["apt-get"],
    "memory": {"total": 8 * GIB, "available": 7 * GIB, "limit": None},
    "paths": {"data": _place("/var/lib/paddleflow"), "run": _place("/run/paddleflow", fstype="tmpfs", device=2)},
    "marker": None,
    "cgroup": {"version": 2, "controllers": ["cpu", "cpuset", "memory", "pids"], "read_only": []},
    "addresses": [{"interface": "eth0", "address": "192.0.2.2", "prefix": 24}],
    "routes": [
        {"destination": "0.0.0.0/0", "interface": "eth0"},
        {"destination": "192.0.2.0/24", "interface": "eth0"},
        {"destination": "10.201.0.0/30", "interface": "paddleflow"},
    ],
    "listeners": [],
    "proxies": {},
    "features": dict.fromkeys(FEATURES),
    "problems": {},
}
CONTROL: Facts = {
    "python": {"version": [3, 11, 7], "executable": "/venv/bin/python"},
    "machine": "m1",
    "memory": NODE["memory"],
    "paths": {"cache": _place("/var/cache/paddleflow")},
    "proxies": {},
    "problems": {},
}
SETTINGS: dict[str, t.Any] = {
    "host": "n1",
    "version": "1.34.4",
    "own_addresses": {"kubernetes_host_address": "10.201.0.1", "kubernetes_node_address": "10.201.0.2"},
    "pod_cidr": "10.202.0.0/16",
    "service_cidr": "10.203.0.0/16",
    "own_interfaces": ["paddleflow"],
    "distributions": {"debian": "12", "ubuntu": "22.04"},
    "package_managers": ["apt-get"],
    "compile": True,
}
K3S: dict[str, t.Any] = {
    "provider": "k3s",
    "own_addresses": {},
    "ports": [
        {"port": 6443, "protocol": "tcp", "purpose": "K3s' API server"},
        {"port": 8472, "protocol": "udp", "purpose": "flannel"},
    ],
}
NO_PROXY = "localhost,127.0.0.1,10.201.0.1,10.201.0.2,10.202.0.0/16,10.203.0.0/16,.svc,.cluster.local"


def _changed(facts: Facts, changes: Facts) -> Facts:
    """A copy with ``{"paths.data.free": 1}`` applied; what a dotted name leads through is made a dict when it is none."""
    facts = copy.deepcopy(facts)
    for name, value in changes.items():
        *way, last = name.split(".")
        place = facts
        for step in way:
            place = place[step]
        place[last] = value
    return facts


def judged(node: Facts | None = None, control: Facts | None = None, **settings: t.Any) -> list[str]:
    found = evaluate(
        _changed(NODE, node or {}), _changed(CONTROL, control or {}), Settings.from_data({**SETTINGS, **settings})
    )
    return [f"{finding.severity}: {finding.message}" for finding in found]


def test_a_good_host_has_no_findings() -> None:
    assert judged() == []
    assert judged(**K3S) == []


def test_a_control_node_alone_is_judged_for_an_existing_cluster() -> None:
    settings = Settings.from_data({"provider": "existing", "compile": False})
    assert evaluate(None, copy.deepcopy(CONTROL), settings) == []


GOOD_PYTHON = "install Python 3.9 or newer there and set ansible_python_interpreter to it."
OVERLAY = "container root file systems need one that can hold overlay's upper directories"
ON_EXT4 = "set kubernetes_data_dir to a directory on ext4, XFS or btrfs."


@pytest.mark.parametrize(
    ("node", "settings", "expected"),
    [
        pytest.param(
            {"uid": 1000},
            {},
            "error: The user on n1 has user id 1000, but root is needed to make namespaces, mounts and services:"
            " run as root, or with become: true (option --become).",
            id="no root",
        ),
        pytest.param(
            {"capabilities.sys_admin": False},
            {},
            "error: Root on n1 lacks CAP_SYS_ADMIN, but the cluster makes mounts and namespaces:"
            " run on a machine of its own, or in a privileged container.",
            id="no capability",
        ),
        pytest.param(
            {"capabilities.sys_resource": False},
            {},
            "note: Root on n1 lacks CAP_SYS_RESOURCE, so that containers keep the out-of-memory score of containerd.",
            id="no CAP_SYS_RESOURCE",
        ),
        pytest.param(
            {"python": {"version": [3, 6, 8], "executable": "/usr/libexec/platform-python"}},
            {},
            "error: The Python of the node n1 (/usr/libexec/platform-python) is 3.6.8, but 3.9 or newer is needed: "
            + GOOD_PYTHON,
            id="node's Python too old",
        ),
        pytest.param(
            {"time": 86400.0},
            {},
            "error: The clock of n1 is before the year 2025, but certificates are judged by it:"
            " set it, and let chrony or systemd-timesyncd keep it.",
            id="clock never set",
        ),
        pytest.param(
            {"time": 1790000300.0},
            {},
            "error: The clock of n1 is 300 s ahead of the control node's, but at most 60 s are allowed:"
            " set it, and let chrony or systemd-timesyncd keep it.",
            id="clock ahead",
        ),
        pytest.param(
            {"time": 1789999000.0},
            {},
            "error: The clock of n1 is 1000 s behind the control node's, but at most 60 s are allowed:"
            " set it, and let chrony or systemd-timesyncd keep it.",
            id="clock behind",
        ),
        pytest.param(
            {"system": "FreeBSD"},
            {},
            "error: n1 runs FreeBSD, but a cluster node needs Linux: choose another host.",
            id="no Linux",
        ),
        pytest.param(
            {"os.version": "11", "os.name": "Debian GNU/Linux 11 (bullseye)"},
            {},
            "error: The distribution of n1 is Debian GNU/Linux 11 (bullseye), but debian 12 or newer is needed for a"
            " containerd that this Kubernetes can use: use such a host, or cluster_provider k3s or existing.",
            id="distribution too old",
        ),
        pytest.param(
            {"os": {"id": "alpine", "like": [], "version": "3.20", "name": "Alpine Linux v3.20"}},
            {},
            "error: The distribution of n1 is Alpine Linux v3.20, but containerd and runc are installed from debian 12,"
            " ubuntu 22.04 or newer: use such a host, or cluster_provider k3s or existing.",
            id="other distribution",
        ),
        pytest.param(
            {"os": {"id": "linuxmint", "like": ["ubuntu"], "version": "22", "name": "Linux Mint 22"}},
            {},
            "warning: The distribution of n1 is Linux Mint 22, but containerd and runc are installed from debian 12,"
            " ubuntu 22.04 or newer: use such a host, or cluster_provider k3s or existing.",
            id="cousin of a supported distribution",
        ),
        pytest.param(
            {"package_managers": ["dnf"]},
            {},
            "error: The host n1 has none of apt-get, but containerd, runc and the CNI plugins are installed with it:"
            " install it, or use cluster_provider k3s or existing.",
            id="no package manager",
        ),
        pytest.param(
            {"hostname": "gpu_01"},
            {},
            "error: The host name 'gpu_01' cannot name a Kubernetes node, but at most 63 of a-z, 0-9, - and . are"
            " allowed, with a letter or digit at both ends of each part:"
            " set another with: hostnamectl set-hostname <name>.",
            id="host name",
        ),
        pytest.param(
            {"paths.data.options": ["noexec", "rw"]},
            {},
            "error: The data directory /var/lib/paddleflow is on /, which is mounted with noexec, but programs and"
            " volumes are kept and run there: mount -o remount,exec /, or " + ON_EXT4,
            id="noexec",
        ),
        pytest.param(
            {"paths.data.options": ["ro"]},
            {},
            "error: The data directory /var/lib/paddleflow is on /, which is mounted read-only, but programs and"
            " volumes are kept and run there: mount -o remount,rw /, or " + ON_EXT4,
            id="read-only",
        ),
        pytest.param(
            {"paths.data.fstype": "nfs4", "paths.data.mount": "/net"},
            {},
            f"error: The data directory /var/lib/paddleflow is on /net (nfs4), but {OVERLAY}: {ON_EXT4}",
            id="no overlay on NFS",
        ),
        pytest.param(
            {"paths.data.fstype": "xfs", "paths.data.names_have_types": False},
            {},
            f"error: The data directory /var/lib/paddleflow is on / (xfs made with ftype=0), but {OVERLAY}: {ON_EXT4}",
            id="no overlay on old XFS",
        ),
        pytest.param(
            {"paths.data.fstype": "lustre"},
            {},
            f"warning: The data directory /var/lib/paddleflow is on / (lustre), but {OVERLAY}: {ON_EXT4}",
            id="unknown file system",
        ),
        pytest.param(
            {"paths.data.is_directory": False, "paths.data.existing": "/var/lib/paddleflow"},
            {},
            "error: The data directory /var/lib/paddleflow cannot be made because /var/lib/paddleflow is no directory,"
            " but it has to be one: set kubernetes_data_dir to another path.",
            id="data directory is a file",
        ),
        pytest.param(
            {"paths.data.device": 3, "paths.data.free": GIB, "paths.data.mount": "/var/lib"},
            {},
            "error: The file system /var/lib has 1.0 GiB free, but the data directory /var/lib/paddleflow needs"
            " 4.0 GiB: free some there, or set kubernetes_data_dir to a directory on a larger one.",
            id="no space",
        ),
        pytest.param(
            {"paths.data.device": 3, "paths.data.inodes_free": 10},
            {},
            "error: The file system / has 10 inodes free, but the data directory /var/lib/paddleflow needs 100000:"
            " free some there, or set kubernetes_data_dir to a directory on a larger one.",
            id="no inodes",
        ),
        pytest.param(
            {"memory.total": GIB},
            {},
            "error: The memory of n1 is 1.0 GiB, but 1.8 GiB are needed to run the cluster: use a larger machine.",
            id="memory",
        ),
        pytest.param(
            {"memory.limit": GIB},
            {},
            "error: The memory of n1 is 1.0 GiB (limit of its control group), but 1.8 GiB are needed to run the"
            " cluster: use a larger machine.",
            id="memory limit",
        ),
        pytest.param(
            {"marker": {"provider": "k3s", "state": "ready"}},
            {},
            "error: The installation in /var/lib/paddleflow was made by provider k3s, but embedded is asked for:"
            " run playbooks/reset.yml with cluster_provider=k3s first, or choose another kubernetes_instance.",
            id="installation of another provider",
        ),
        pytest.param(
            {"marker": {"provider": "embedded", "state": "ready", "kubernetes": "1.35.0"}},
            {},
            "error: The installation in /var/lib/paddleflow holds Kubernetes 1.35.0, but this release brings 1.34.4"
            " and etcd does not go back: use the release of paddleflow.core that made it, or a newer one.",
            id="newer installation",
        ),
        pytest.param(
            {"marker": {"provider": "embedded", "state": "installing", "kubernetes": "1.34.4"}},
            {},
            "note: The installation in /var/lib/paddleflow was not finished by an earlier run and is resumed.",
            id="half-finished installation",
        ),
        pytest.param(
            {"marker": {"provider": "embedded", "state": "removing"}},
            {},
            "error: The installation in /var/lib/paddleflow is half removed, but it has to be removed whole before a"
            " new one: run playbooks/reset.yml with kubernetes_instance=paddleflow again.",
            id="half-removed installation",
        ),
        pytest.param(
            {"marker": {"problem": "Expecting value: line 1 column 1 (char 0)"}},
            {},
            "error: The installation in /var/lib/paddleflow cannot be told from /var/lib/paddleflow/install.json"
            " (Expecting value: line 1 column 1 (char 0)), but it must not be overwritten unread:"
            " remove what is there with playbooks/reset.yml with kubernetes_instance=paddleflow.",
            id="unreadable marker",
        ),
        pytest.param(
            {"kernel": "5.10.0-26-amd64"},
            {},
            "error: The kernel of n1 is 5.10.0-26-amd64, but 5.13 or newer is needed for kube-proxy with nftables:"
            " boot a newer kernel.",
            id="kernel too old",
        ),
        pytest.param(
            {"features.overlay": "mount overlay: No such device"},
            {},
            "error: The kernel of n1 has no working overlayfs (mount overlay: No such device), but containers' root"
            " file systems are made of it: load the module or boot a kernel with CONFIG_OVERLAY_FS.",
            id="no overlayfs",
        ),
        pytest.param(
            {"features.netns": "unshare: Operation not permitted"},
            {},
            "error: The kernel of n1 has no working network namespaces (unshare: Operation not permitted), but every"
            " pod has one: run on a machine of its own, or in a container that may do this.",
            id="no network namespaces",
        ),
        pytest.param(
            {"features.nftables": "a nat chain of nftables cannot be made: Operation not supported"},
            {},
            "error: The kernel of n1 has no working nftables with nat (a nat chain of nftables cannot be made:"
            " Operation not supported), but services are made of it: load the module or boot a kernel with"
            " CONFIG_NF_TABLES, CONFIG_NFT_NAT.",
            id="no nftables",
        ),
        pytest.param(
            {"features.fuse": "there is no /dev/fuse"},
            {},
            "warning: The kernel of n1 has no working fuse (there is no /dev/fuse), but file systems are mounted with"
            " it: load the module or boot a kernel with CONFIG_FUSE_FS.",
            id="no fuse",
        ),
        pytest.param(
            {"features.vxlan": "Operation not supported"},
            {**K3S, "nodes": 3},
            "error: The kernel of n1 has no working vxlan (Operation not supported), but pods of different nodes talk"
            " over it: load the module or boot a kernel with CONFIG_VXLAN.",
            id="no vxlan between nodes",
        ),
        pytest.param(
            {"cgroup": {"version": 2, "controllers": ["cpu", "cpuset", "pids"], "read_only": []}},
            {},
            "error: The control groups (v2) of n1 lack memory, but the kubelet limits pods by them: remove"
            " cgroup_disable from the kernel's command line (some boards want cgroup_enable=memory).",
            id="no memory controller",
        ),
        pytest.param(
            {"cgroup": {"version": 1, "controllers": ["cpu", "cpuacct", "cpuset", "memory"], "read_only": []}},
            {},
            "error: The control groups (v1) of n1 lack pids, but the kubelet limits pods by them:"
            " mount them below /sys/fs/cgroup.",
            id="no pids controller",
        ),
        pytest.param(
            {"cgroup": {"version": 0, "controllers": [], "read_only": []}},
            {},
            "error: The host n1 has no control groups mounted, but the kubelet limits pods by them:"
            " mount cgroup2 on /sys/fs/cgroup.",
            id="no control groups",
        ),
        pytest.param(
            {"cgroup.read_only": ["/sys/fs/cgroup"]},
            {},
            "error: The control groups of n1 are mounted read-only on /sys/fs/cgroup, but the kubelet writes to them:"
            " mount them writable.",
            id="read-only control groups",
        ),
        pytest.param(
            {"listeners": [{"port": 6443, "protocol": "tcp", "process": "haproxy (process 77)"}]},
            K3S,
            "error: Port 6443/tcp of n1 is used by haproxy (process 77), but K3s' API server needs it:"
            " stop that program, or use cluster_provider embedded, which has a network of its own.",
            id="port in use",
        ),
        pytest.param(
            {"routes": [{"destination": "10.0.0.0/14", "interface": "tun0"}]},
            {"pod_cidr": "10.2.0.0/16"},
            "error: The range kubernetes_pod_cidr 10.2.0.0/16 overlaps the route 10.0.0.0/14 of interface tun0 on n1,"
            " but the cluster's addresses must not hide others: set kubernetes_pod_cidr to a range that this host does"
            " not use.",
            id="range is routed elsewhere",
        ),
        pytest.param(
            {"addresses": [{"interface": "docker0", "address": "10.203.0.1", "prefix": 32}]},
            {},
            "error: The range kubernetes_service_cidr 10.203.0.0/16 overlaps the address 10.203.0.1 of interface"
            " docker0 on n1, but the cluster's addresses must not hide others: set kubernetes_service_cidr to a range"
            " that this host does not use.",
            id="range holds an address of the host",
        ),
        pytest.param(
            {},
            {"service_cidr": "10.202.128.0/17"},
            "error: The range kubernetes_pod_cidr 10.202.0.0/16 overlaps kubernetes_service_cidr 10.202.128.0/17, but"
            " every range has to be apart from the others: change one of them.",
            id="ranges overlap each other",
        ),
        pytest.param(
            {},
            {"pod_cidr": "10.202.0.0/33"},
            "error: The variable kubernetes_pod_cidr is '10.202.0.0/33' ('33' is not a valid netmask), but an IPv4"
            " range is needed: correct it.",
            id="range is none",
        ),
        pytest.param(
            {},
            {"instance": "a-very-long-instance"},
            "error: The instance name 'a-very-long-instance' has 20 characters, but it also names a network interface,"
            " which takes at most 15 of a-z, 0-9 and -: set kubernetes_instance to a shorter or plainer name.",
            id="instance name",
        ),
        pytest.param(
            {},
            {"run_dir": "/run/" + "x" * 85},
            f"error: The directory /run/{'x' * 85} makes socket paths of 112 bytes, but the kernel takes at most 107:"
            " set kubernetes_run_dir to a path that is at least 5 bytes shorter.",
            id="path too long for sockets",
        ),
        pytest.param(
            {"problems": {"routes": "ValueError: what"}},
            {},
            "warning: The fact routes of the node n1 could not be read (ValueError: what).",
            id="a fact that cannot be had",
        ),
    ],
)
def test_what_is_wrong_with_a_node_is_said_in_one_sentence(node: Facts, settings: Facts, expected: str) -> None:
    assert judged(node, **settings) == [expected]


def test_the_control_node_has_its_own_needs() -> None:
    old = {"python": {"version": [3, 10, 1], "executable": "/usr/bin/python3"}}
    assert judged(control=old) == [
        (
            "error: The Python of the control node (/usr/bin/python3) is 3.10.1, but 3.11 or newer is needed:"
            " run Ansible from a virtual environment of Python 3.11 or newer."
        )
    ]
    assert judged(control={"memory.total": 2 * GIB}) == [
        (
            "error: The memory of the control node is 2.0 GiB, but 3.5 GiB are needed to compile Kubernetes:"
            " use a larger machine."
        )
    ]


def test_what_two_directories_need_of_one_file_system_is_added_up() -> None:
    free = {"paths.data.free": 13 * GIB}
    assert judged(free, {"paths.cache.free": 13 * GIB}) == [
        (
            "error: The file system / has 13.0 GiB free, but the data directory /var/lib/paddleflow and the cache directory"
            " /var/cache/paddleflow need 16.0 GiB: free some there, or set kubernetes_data_dir or artifacts_cache_dir to a"
            " directory on a larger one."
        )
    ]
    assert judged(free, {"paths.cache.device": 9, "paths.cache.free": 13 * GIB}) == []
    assert judged(free, {"machine": "m2", "paths.cache.free": 13 * GIB}) == []


def test_a_warm_cache_and_a_finished_installation_need_less() -> None:
    little = {"paths.data.free": 7 * GIB}, {"paths.cache.free": 7 * GIB}
    assert judged(*little, compile=False) == []
    finished = {"marker": {"provider": "embedded", "state": "ready"}, "paths.data.free": 4 * GIB}
    assert judged(finished, {"paths.cache.free": 4 * GIB}, compile=False) == []


def test_a_file_system_without_an_inode_table_has_enough_of_them() -> None:
    assert judged({"paths.data.inodes": None, "paths.data.inodes_free": None, "paths.data.fstype": "btrfs"}) == []


def test_our_own_ports_and_routes_are_no_conflict() -> None:
    taken = {"listeners": [{"port": 6443, "protocol": "tcp", "process": "k3s (process 5)"}]}
    assert judged({**taken, "marker": {"provider": "k3s", "state": "ready"}}, **K3S) == []
    own = [{"destination": "10.202.0.0/16", "interface": "paddleflow"}]
    assert (
        judged({"routes": own, "addresses": [{"interface": "paddleflow", "address": "10.201.0.1", "prefix": 30}]}) == []
    )


def test_a_proxy_that_covers_the_cluster_is_an_error_with_the_value_to_set() -> None:
    proxies = {"https_proxy": "http://***@proxy:3128"}
    assert judged({"proxies": proxies}, {"proxies": proxies}) == [
        (
            "error: The proxy variable https_proxy of the control node (http://***@proxy:3128) also covers localhost,"
            " 127.0.0.1, 10.201.0.1, 10.201.0.2, 10.202.0.0/16, 10.203.0.0/16, .svc, .cluster.local, but the cluster's own"
            f' addresses must be reached directly: run again after: export NO_PROXY="{NO_PROXY}" no_proxy="{NO_PROXY}".'
        )
    ]


def test_the_value_to_set_keeps_what_was_exempt_and_is_then_enough() -> None:
    settings = {"HTTPS_PROXY": "http://proxy", "NO_PROXY": "intranet.example, 10.202.0.0/15,localhost"}
    (sentence,) = judged(control={"proxies": settings})
    value = "intranet.example,10.202.0.0/15,localhost,127.0.0.1,10.201.0.1,10.201.0.2,.svc,.cluster.local"
    assert f'export NO_PROXY="{value}" no_proxy="{value}"' in sentence
    assert judged(control={"proxies": {**settings, "NO_PROXY": value}}) == []
    assert judged(control={"proxies": {**settings, "NO_PROXY": "*"}}) == []
    # Programs differ in which spelling they read.
    assert judged(control={"proxies": {**settings, "NO_PROXY": value, "no_proxy": "localhost"}}) != []


def test_a_remote_node_answers_for_its_own_environment() -> None:
    (sentence,) = judged({"machine": "m2", "proxies": {"http_proxy": "http://proxy"}})
    assert sentence.startswith(
        "error: The proxy variable http_proxy of the node n1 (http://proxy) also covers localhost"
    )


@pytest.mark.parametrize(
    ("no_proxy", "target", "covered"),
    [
        ("10.0.0.0/8", "10.202.0.0/16", True),
        ("10.202.0.0/17", "10.202.0.0/16", False),
        ("10.201.0.2", "10.201.0.2", True),
        ("10.201.0.2", "10.201.0.3", False),
        ("example.org", "api.example.org", True),
        ("example.org", "api.badexample.org", False),
        (".example.org", "example.org", False),
        ("svc", ".svc", True),
        ("api.lab", "API.lab", True),
        ("", "localhost", False),
        ("2001:db8::/32", "2001:db8::1", True),
        ("2001:db8::/32", "10.0.0.1", False),
    ],
)
def test_what_no_proxy_exempts(no_proxy: str, target: str, covered: bool) -> None:
    assert (uncovered(no_proxy, [target]) == []) is covered


def test_without_root_only_that_is_said_of_the_kernel() -> None:
    refused = {"netns": "unshare: Operation not permitted", "mountns": "unshare: Operation not permitted", "fuse": None}
    assert len(judged({"uid": 1000, "features": refused})) == 1


def test_a_probe_that_could_not_run_is_a_finding() -> None:
    results = {"rc": 127, "stdout": "", "stderr": "/bin/sh: 1: /opt/python: not found\n"}
    found = evaluate(facts_of(results), None, Settings.from_data(SETTINGS))
    assert [finding.message for finding in found] == [
        "The Python of the node n1 could not run the probe (/bin/sh: 1: /opt/python: not found), but Python 3.9 or newer"
        " is needed: " + GOOD_PYTHON
    ]
    assert facts_of({"rc": 1, "stdout": "", "stderr": ""}) == {"unreadable": "exit code 1"}
    assert facts_of({"skipped": True}) is None
    assert facts_of(None) is None
    assert facts_of({"rc": 0, "stdout": "motd\r\n" + json.dumps({"uid": 0}) + "\r\nbye"}) == {"uid": 0}


def test_a_python_that_cannot_even_run_the_probe_says_its_version_only() -> None:
    node = {"python": {"version": [2, 7, 18], "executable": "/usr/bin/python"}}
    (finding,) = evaluate(node, None, Settings.from_data(SETTINGS))
    assert finding.message.startswith(
        "The Python of the node n1 (/usr/bin/python) is 2.7.18, but 3.9 or newer is needed"
    )


def test_all_findings_are_in_one_report_errors_first() -> None:
    node = _changed(NODE, {"features.fuse": "there is no /dev/fuse", "uid": 0, "kernel": "5.4.0", "hostname": "a_b"})
    data = as_data(evaluate(node, None, Settings.from_data(SETTINGS)), "preflight of n1")
    lines = data["report"].splitlines()
    assert lines[0] == "preflight of n1: 2 errors and 1 warning; nothing was changed"
    assert [line.split(":")[0].strip() for line in lines[1:]] == ["error", "error", "warning"]
    assert len(data["errors"]) == 2
    assert data["notes"] == []
    assert as_data([], "x")["report"] == ""


def test_settings_come_as_ansible_gives_them() -> None:
    settings = Settings.from_data({"python_node": "3.10", "data_gib": "2.5", "nodes": "3", "compile": "True"})
    assert (settings.python_node, settings.data_gib, settings.nodes, settings.compile) == ((3, 10), 2.5, 3, True)
    with pytest.raises(ValueError, match="preflight's setting data_gib is 'much', but it must be of the kind float"):
        Settings.from_data({"data_gib": "much"})
    with pytest.raises(ValueError, match="preflight knows no setting 'dta_gib'; it knows api_hosts"):
        Settings.from_data({"dta_gib": 1})
