# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import random
from typing import Any

import pytest
from paddleflow_core.model import nodecache
from paddleflow_core.model import queue as queue_model
from paddleflow_core.plan import inventory

GPU = {"cpu": "8", "memory": "64Gi", "nvidia.com/gpu": "4", "rdma/hca": "1"}


def node(name: str = "n1", **more: Any) -> dict[str, Any]:
    labels = more.pop("labels", {})
    spec = {key: more.pop(key) for key in ("taints", "unschedulable") if key in more}
    return {"metadata": {"name": name, "labels": labels}, "spec": spec, "status": {"capacity": {"cpu": "8"}, **more}}


def pod(on: str = "n1", job: str = "", phase: str = "Running", cpu: str = "1", **labels: str) -> dict[str, Any]:
    metadata = {"name": "p", "namespace": "team", "labels": {**({"volcano.sh/job-name": job} if job else {}), **labels}}
    spec = {"nodeName": on, "containers": [{"resources": {"requests": {"cpu": cpu, "memory": "512Mi"}}}]}
    return {"metadata": metadata, "spec": spec, "status": {"phase": phase}}


def queue(name: str, parent: str = "root", **spec: Any) -> dict[str, Any]:
    (built,) = queue_model.build(name, "", {"parent": parent, **spec})
    return inventory.queue(built)


def cache(name: str, **held: int) -> dict[str, Any]:
    entries = [{"fileSystem": key.replace("_", "/"), "cachedBytes": size} for key, size in held.items()]
    return {"metadata": {"name": name}, "spec": {"nodeName": name}, "status": {"fileSystems": entries}}


def made(*nodes: dict[str, Any], **parts: Any) -> inventory.Inventory:
    facts: Any = {"nodes": [inventory.node(one) for one in nodes], **parts}
    return inventory.inventory(facts)


def only(*nodes: dict[str, Any], **facts: Any) -> inventory.Host:
    (host,) = made(*nodes, **facts).hosts
    return host


def test_a_bare_node_is_a_host() -> None:
    host = only({"metadata": {"name": "n1"}})
    assert host.groups == ["nodes_without_group", "paddleflow_nodes"]
    assert host.variables == {
        "paddleflow_accelerators": {},
        "paddleflow_addresses": {},
        "paddleflow_allocatable": {},
        "paddleflow_capacity": {},
        "paddleflow_conditions": {},
        "paddleflow_hardware_type": "",
        "paddleflow_labels": {},
        "paddleflow_node_group": "",
        "paddleflow_ready": False,
        "paddleflow_roles": [],
        "paddleflow_schedulable": True,
        "paddleflow_taints": [],
    }


def test_what_a_node_says_of_itself() -> None:
    host = only(
        node(
            labels={"node-role.kubernetes.io/control-plane": "", "node-role.kubernetes.io/": "x", "a": "b"},
            taints=[
                {"key": "z", "effect": "NoSchedule", "timeAdded": "2026-01-01T00:00:00Z"},
                {"key": "a", "value": "1", "effect": "NoExecute"},
            ],
            unschedulable=True,
            addresses=[
                {"type": "Hostname", "address": "n1"},
                {"type": "InternalIP", "address": "10.0.0.1"},
                {"type": "InternalIP", "address": "fd00::1"},
            ],
            conditions=[
                {"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-01-01T00:00:00Z"},
                {"type": "DiskPressure", "status": "False"},
            ],
            capacity=GPU,
            allocatable={"cpu": "7500m"},
        )
    )
    found = host.variables
    assert found["ansible_host"] == "10.0.0.1"
    assert found["paddleflow_addresses"] == {"Hostname": ["n1"], "InternalIP": ["10.0.0.1", "fd00::1"]}
    assert found["paddleflow_taints"] == [
        {"key": "a", "value": "1", "effect": "NoExecute"},
        {"key": "z", "value": "", "effect": "NoSchedule"},
    ]
    assert found["paddleflow_conditions"] == {"DiskPressure": "False", "Ready": "True"}
    assert found["paddleflow_ready"]
    assert not found["paddleflow_schedulable"]
    assert found["paddleflow_roles"] == ["control-plane"]
    assert found["paddleflow_accelerators"] == {"nvidia.com/gpu": 4}
    assert found["paddleflow_capacity"] == GPU
    assert found["paddleflow_allocatable"] == {"cpu": "7500m"}
    assert host.groups == [
        "accelerator_nvidia_com_gpu",
        "nodes_without_group",
        "paddleflow_nodes",
        "role_control_plane",
    ]
    assert "2026" not in json.dumps(found)


@pytest.mark.parametrize(
    ("addresses", "expected"),
    [
        ([("ExternalIP", "1.2.3.4"), ("Hostname", "h")], "1.2.3.4"),
        ([("Hostname", "h"), ("InternalDNS", "d")], "h"),
        ([("InternalDNS", "d")], None),
    ],
)
def test_the_address_to_log_in_by(addresses: list[tuple[str, str]], expected: str | None) -> None:
    host = only(node(addresses=[{"type": kind, "address": address} for kind, address in addresses]))
    assert host.variables.get("ansible_host") == expected


@pytest.mark.parametrize(
    "resource",
    [
        "nvidia.com/gpu",
        "nvidia.com/mig-1g.5gb",
        "volcano.sh/vgpu-number",
        "baidu.com/v100_32g_cgpu",
        "gpu.intel.com/i915",
        "huawei.com/Ascend910",
        "google.com/tpu",
        "habana.ai/gaudi",
    ],
)
def test_what_is_an_accelerator(resource: str) -> None:
    assert only(node(capacity={resource: "2"})).variables["paddleflow_accelerators"] == {resource: 2}


@pytest.mark.parametrize(
    "resource", ["cpu", "gpu", "hugepages-2Mi", "rdma/hca", "example.com/output", "devices.kubevirt.io/kvm"]
)
def test_what_is_none(resource: str) -> None:
    assert only(node(capacity={resource: "2"})).variables["paddleflow_accelerators"] == {}


def test_an_accelerator_that_is_gone_is_none() -> None:
    assert only(node(capacity={"nvidia.com/gpu": "0"})).groups == ["nodes_without_group", "paddleflow_nodes"]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({"nvidia.com/gpu.product": "Tesla-V100-SXM2-16GB"}, "Tesla-V100-SXM2-16GB"),
        ({"nvidia.com/gpu.product": "x", "paddleflow.org/hardware-type": "V100"}, "V100"),
        ({"paddleflow.baidu.com/hardware-type": "V100"}, "V100"),
    ],
)
def test_the_type_of_the_hardware(labels: dict[str, str], expected: str) -> None:
    host = only(node(labels=labels))
    assert host.variables["paddleflow_hardware_type"] == expected
    assert f"hardware_{expected.replace('-', '_')}" in host.groups


KEY = "paddleflow.org/node-group"
TAINT = {"key": KEY, "value": "tainted", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"labels": {KEY: "a100", "volcano.sh/nodegroup-name": "x"}, "taints": [TAINT]}, "a100"),
        ({"labels": {"volcano.sh/nodegroup-name": "x"}, "taints": [TAINT]}, "tainted"),
        ({"labels": {"volcano.sh/nodegroup-name": "x"}}, "x"),
        ({"taints": [{"key": "other", "value": "x", "effect": "NoSchedule"}]}, ""),
    ],
)
def test_the_group_of_a_node(more: dict[str, Any], expected: str) -> None:
    host = only(node(**more))
    assert host.variables["paddleflow_node_group"] == expected
    assert (f"node_group_{expected}" if expected else "nodes_without_group") in host.groups
    assert ("nodes_without_group" in host.groups) == (not expected)


def test_what_pods_ask_for_and_run() -> None:
    pods = [
        pod(job="train-b"),
        pod(job="train-b", cpu="500m"),
        pod(job="train-a"),
        pod(job="placed", phase="Pending"),  # asks for its room, but does not run yet
        pod(**{"paddleflow-job-id": "ray-1"}),
        pod(),
        pod("n2"),
    ]
    usage = inventory.usage(map(inventory.pod, pods))
    first, second, third = made(node("n1"), node("n2"), node("n3"), pods=usage).hosts
    assert first.variables["paddleflow_pods"] == 6
    assert first.variables["paddleflow_requested"] == {"cpu": "5500m", "memory": "3Gi"}
    assert first.variables["paddleflow_jobs"] == ["team/ray-1", "team/train-a", "team/train-b"]
    assert (second.variables["paddleflow_pods"], second.variables["paddleflow_jobs"]) == (1, [])
    assert (third.variables["paddleflow_pods"], third.variables["paddleflow_requested"]) == (0, {})


def test_what_is_cached_where() -> None:
    caches = dict(map(nodecache.held, [cache("n1", team_data=7, team_empty=0), {"spec": {"nodeName": "n2"}}]))
    first, second, third = made(node("n1"), node("n2"), node("n3"), caches=caches).hosts
    assert first.variables["paddleflow_cached_bytes"] == {"team/data": 7, "team/empty": 0}
    assert [group for group in first.groups if group.startswith("cached_")] == ["cached_team__data"]
    assert second.variables["paddleflow_cached_bytes"] == third.variables["paddleflow_cached_bytes"] == {}


def test_a_part_that_was_not_read_leaves_no_trace() -> None:
    names = set(only(node()).variables)
    assert not names & {"paddleflow_pods", "paddleflow_jobs", "paddleflow_requested", "paddleflow_cached_bytes"}


def test_a_queue_has_the_nodes_of_its_group_or_of_the_nearest_queue_above_it() -> None:
    queues = [
        {"name": "root", "parent": "", "groups": []},
        queue("org", nodeGroup="a100"),
        queue("team-a", "org"),
        queue("team-b", "org", nodeGroup="v100"),
        queue("free"),
        queue("lost", "gone"),
        queue("ring-a", "ring-b"),
        queue("ring-b", "ring-a"),
        inventory.queue({"metadata": {"name": "bare"}}),
        {"name": "both", "parent": "root", "groups": ["a100", "v100"]},
    ]
    groups = made(node(labels={KEY: "a100"}), queues=queues).groups
    assert {name: list(parts) for name, parts in groups.items() if name.startswith("queue_")} == {
        "queue_bare": ["nodes_without_group"],
        "queue_both": ["node_group_a100", "node_group_v100"],
        "queue_free": ["nodes_without_group"],
        "queue_lost": ["nodes_without_group"],
        "queue_org": ["node_group_a100"],
        "queue_ring_a": ["nodes_without_group"],
        "queue_ring_b": ["nodes_without_group"],
        "queue_team_a": ["node_group_a100"],
        "queue_team_b": ["node_group_v100"],
    }
    # A group that has no nodes yet is there all the same, so that a play may name it.
    assert groups["node_group_v100"] == groups["nodes_without_group"] == ()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a/b-c", "a-b/c"),
        ("a--b/c", "a/b--c"),
        ("a/b.c", "a/b-c"),
        ("a/b--c", "a/b__c"),
    ],
)
def test_two_file_systems_are_two_groups(one: str, other: str) -> None:
    caches = {"n1": {one: 1}, "n2": {other: 1}}
    first, second = made(node("n1"), node("n2"), caches=caches).hosts
    assert set(first.groups) & set(second.groups) == {"nodes_without_group", "paddleflow_nodes"}
    assert len(first.groups) == len(second.groups) == 3


def test_names_are_such_that_ansible_changes_none_of_them() -> None:
    found = made(
        node(labels={KEY: "A.b_c", "paddleflow.org/hardware-type": "Tesla.T4 x"}, capacity=GPU),
        caches={"n1": {"a.b/c.d": 1}},
        queues=[queue("x-y"), queue("9")],
    )
    assert all(name.replace("_", "a").isalnum() and name[0].isalpha() for name in found.groups)
    assert set(found.hosts[0].groups) <= set(found.groups)


def test_the_same_cluster_is_the_same_inventory_in_whatever_order_it_is_told() -> None:
    dice = random.Random(7)
    nodes = [node(f"n{i}", labels={KEY: f"g{i % 3}", "b": "2", "a": "1"}, capacity=GPU) for i in range(20)]
    queues = [queue(f"q{i}", f"q{i // 2}", **({"nodeGroup": f"g{i}"} if i < 3 else {})) for i in range(1, 20)]
    pods = [pod(f"n{i % 20}", f"job-{i}", cpu=f"{i}m") for i in range(200)]
    caches = [cache(f"n{i}", team_a=i, team_b=1) for i in range(20)]

    def told() -> str:
        for part in (nodes, queues, pods, caches):
            dice.shuffle(part)
        usage = inventory.usage(map(inventory.pod, pods))
        found = made(*nodes, pods=usage, queues=queues, caches=dict(map(nodecache.held, caches)))
        return json.dumps(found)

    assert len({told() for _time in range(5)}) == 1


def test_an_option_that_is_none_is_named_with_those_that_are() -> None:
    assert inventory.unknown({"plugin": 1, "keyed_group": 2}, {"plugin", "keyed_groups"}) == (
        "keyed_group: no such option; there are keyed_groups, plugin."
    )
    assert inventory.unknown(["plugin"], ["plugin", "read"]) == ""
