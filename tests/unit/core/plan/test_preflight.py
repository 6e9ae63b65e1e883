# SPDX-License-Identifier: Apache-2.0
"""Every bad input of preflight gives exactly one sentence; a good host gives none."""

from __future__ import annotations

import copy

import pytest
from paddleflow_core.plan.preflight import evaluate
from paddleflow_core.plan.preflight_settings import GIB, Settings

from tests.support.preflight_facts import CONTROL, GOOD_PYTHON, K3S, Facts, judged


def test_a_good_host_has_no_findings() -> None:
    assert judged() == []
    assert judged(**K3S) == []


def test_a_control_node_alone_is_judged_for_an_existing_cluster() -> None:
    settings = Settings.from_data({"provider": "existing", "compile": False})
    assert evaluate(None, copy.deepcopy(CONTROL), settings) == []


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
            {"paths.data.real": "/data/pf"},
            {},
            "error: The data directory /var/lib/paddleflow is in truth /data/pf, but a removal has to know what is mounted below it:"
            " set kubernetes_data_dir to /data/pf.",
            id="data directory behind a link",
        ),
        pytest.param(
            {"paths.run.real": "/run/x"},
            {},
            "error: The run-time directory /run/paddleflow is in truth /run/x, but a removal has to know what is mounted below it:"
            " set kubernetes_run_dir to /run/x.",
            id="run-time directory behind a link",
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
            {"marker": {"problem": "Expecting value: line 1 column 1 (char 0)"}},
            {},
            "error: The installation in /var/lib/paddleflow cannot be told from /var/lib/paddleflow/install.json"
            " (Expecting value: line 1 column 1 (char 0)), but it must not be overwritten unread:"
            " remove what is there with playbooks/reset.yml with kubernetes_instance=paddleflow"
            " and cluster_provider=embedded.",
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
            {"nodes": 3},
            "error: The play has 3 hosts, but the provider embedded makes a cluster of its own on each, and the platform"
            " would be on the first alone: set cluster_provider to k3s for one cluster of all of them, or run it with one"
            " host.",
            id="several hosts",
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
