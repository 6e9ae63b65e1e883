# SPDX-License-Identifier: Apache-2.0
"""What the node's tool is told, as JSON gives it."""

from __future__ import annotations

import typing as t

RAW: dict[str, t.Any] = {
    "instance": "pf",
    "data_dir": "/var/lib/pf",
    "run_dir": "/run/pf",
    "supervisor": "runit",
    "binary": "/var/lib/pf/lib/kube-1",
    "applets": ["kubelet"],
    "network": {
        "host_address": "10.1.0.1",
        "node_address": "10.1.0.2",
        "prefix": 30,
        "pod_cidr": "10.2.0.0/16",
        "service_cidr": "10.3.0.0/16",
        "outbound": False,
    },
    "pki": {"kubeadm_config": "/k.yaml", "node_name": "n", "node_address": "10.1.0.2", "renew_days": 30, "users": {}},
    "services": [
        {"name": "etcd", "argv": ["/bin/etcd", "--name=a b"], "ready": {"kind": "tcp", "target": "10.1.0.2:2379"}},
        {"name": "containerd", "argv": ["/bin/containerd"], "keeps_children": True},
    ],
}
