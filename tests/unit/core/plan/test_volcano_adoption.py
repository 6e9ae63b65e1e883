# SPDX-License-Identifier: Apache-2.0
"""Finding a Volcano that somebody else installed, and what its queues become."""

from __future__ import annotations

from typing import Any

import pytest
from paddleflow_core.plan import volcano_adoption as adoption


def workload(
    name: str,
    image: str,
    *,
    command: Any = None,
    args: Any = None,
    labels: Any = None,
    namespace: str = "volcano-system",
) -> dict[str, Any]:
    container: dict[str, Any] = {"name": "main", "image": image}
    if command:
        container["command"] = command
    if args:
        container["args"] = args
    return {
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace, **({"labels": labels} if labels else {})},
        "spec": {"template": {"spec": {"containers": [container]}}},
    }


OURS = {"app.kubernetes.io/managed-by": "paddleflow"}


@pytest.mark.parametrize(
    ("item", "part"),
    [
        (workload("volcano-scheduler", "docker.io/volcanosh/vc-scheduler:v1.9"), "scheduler"),
        (workload("a", "registry:5000/x/vc-controller-manager@sha256:0"), "controllers"),
        (workload("b", "own/volcano:1", command=["/usr/bin/vc-webhook-manager"]), "webhooks"),
        (workload("c", "own/volcano:1", args=["vc-scheduler", "--scheduler-name", "volcano"]), "scheduler"),
        (workload("d", "own/volcano:1", args=["/vc-scheduler", '--scheduler-name="volcano"']), "scheduler"),
    ],
)
def test_parts_are_found_however_they_are_packaged(item: dict[str, Any], part: str) -> None:
    found = adoption.foreign([item])
    assert [row["part"] for row in found] == [part]
    assert found[0]["name"] == item["metadata"]["name"]


@pytest.mark.parametrize(
    "item",
    [
        workload("volcano-scheduler", "localhost/volcano:1", command=["/usr/bin/vc-scheduler"], labels=OURS),
        workload("other", "x/vc-scheduler:1", args=["--scheduler-name=batch"]),
        workload("other", "x/vc-scheduler:1", args=["--scheduler-name", "batch"]),
        workload("web", "nginx:1"),
        {"metadata": {"name": "empty", "namespace": "x"}, "spec": {"template": {"spec": {}}}},
    ],
)
def test_ours_other_schedulers_and_other_programs_are_left_alone(item: dict[str, Any]) -> None:
    assert adoption.foreign([item]) == []


def test_a_scheduler_name_at_the_end_of_the_arguments_is_no_name() -> None:
    assert adoption.scheduler_names(workload("a", "vc-scheduler", args=["--scheduler-name"])) == ["volcano"]


def test_webhook_configurations_are_found_by_name() -> None:
    def configuration(name: str, labels: Any = None) -> dict[str, Any]:
        return {"kind": "ValidatingWebhookConfiguration", "metadata": {"name": name, "labels": labels}}

    items = [
        configuration("volcano-admission-service-pods-validate"),
        configuration("volcano-admission-service-jobs-validate", OURS),
        configuration("another"),
    ]
    expected = [{"kind": "ValidatingWebhookConfiguration", "name": "volcano-admission-service-pods-validate"}]
    assert adoption.foreign_webhooks(items) == expected


ROLE = {**OURS, "app.kubernetes.io/name": "volcano"}


def priority_class(name: str, value: int, labels: Any = None) -> dict[str, Any]:
    return {"kind": "PriorityClass", "metadata": {"name": name, "labels": labels}, "value": value}


def test_priority_classes_of_others_stay_theirs_or_are_refused() -> None:
    found = [
        priority_class("system-node-critical", 2000001000),
        priority_class("high", 100),
        priority_class("low", -10, OURS),  # of this collection, but not of the role volcano
        priority_class("normal", 0, ROLE),
        priority_class("very-high", 5),
        priority_class("very-low", 5, ROLE),
    ]
    wanted = {"very-low": -2000, "low": -10, "normal": 0, "high": 100, "very-high": 2000}
    assert adoption.kept_classes(found, wanted) == ["high", "low", "very-high"]
    needed = "and the value of a class cannot be changed"
    assert adoption.class_problems(found, wanted) == [
        (
            f"The PriorityClass very-high has the value 5, but volcano_priority_classes says 2000, {needed}: give ours another"
            " name or the value 5 in volcano_priority_classes, or remove that one."
        ),
        (
            f"The PriorityClass very-low has the value 5, but volcano_priority_classes says -2000, {needed}: remove it with:"
            " kubectl delete priorityclass very-low (pods keep the priority that they have)."
        ),
    ]


def held(kind: str, name: str, uid: str = "u", labels: tuple[str, str] = ("", ""), owners: str = "") -> str:
    return "\t".join((kind, name, uid, *labels, owners))


MADE = ("volcano", "paddleflow")


def test_what_the_role_made_and_what_follows_from_it_is_not_foreign() -> None:
    rows = [
        held("Pod", "volcano-scheduler-1-x", "3", owners="2"),  # before its owner
        held("ReplicaSet", "volcano-scheduler-1", "2", owners="1"),
        held("Deployment", "volcano-scheduler", "1", MADE),
        held("EndpointSlice", "volcano-webhooks-x", "5", owners="4"),
        held("Service", "volcano-webhooks", "4", MADE),
        held("ConfigMap", "kube-root-ca.crt", "6"),
        held("ServiceAccount", "default", "7"),
        held("Lease", "volcano", "8"),
        "PodMetrics\tvolcano-scheduler-1-x",  # computed: no uid
        "",
    ]
    assert adoption.foreign_objects(rows, ["volcano"]) == []
    assert adoption.foreign_objects(rows) == ["Lease volcano"]


@pytest.mark.parametrize(
    ("row", "foreign"),
    [
        (held("Deployment", "volcano-scheduler"), "Deployment volcano-scheduler"),
        (held("Secret", "s", labels=("volcano", "Helm")), "Secret s"),
        (held("Queue", "q", labels=("", "paddleflow")), "Queue q"),
        (held("Pod", "p", owners="somebody else"), "Pod p"),
        (held("ConfigMap", "volcano"), "ConfigMap volcano"),
    ],
)
def test_everything_else_is_foreign(row: str, foreign: str) -> None:
    assert adoption.foreign_objects([held("Deployment", "ours", "1", MADE), row], ["volcano"]) == [foreign]


def queue(name: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": spec}


def test_weights_become_deserved() -> None:
    queues = [
        queue("root"),
        queue("default", weight=1),
        queue("small", weight=1),
        queue("large", weight=6, parent="root", capability={"cpu": "10", "memory": "64Gi"}),
        queue("child", weight=5, parent="large"),
        queue("done", weight=2, deserved={"cpu": "2"}),
        queue("plain"),
    ]
    rows = {row["name"]: row for row in adoption.queue_conversion(queues, {"cpu": "22", "memory": "11Gi"})}
    assert "root" not in rows
    assert rows["small"]["deserved"] == {"cpu": "2", "memory": str(2**30)}
    assert rows["small"]["reason"] == "weight 1 of 11"
    assert rows["large"]["deserved"] == {"cpu": "10", "memory": str(6 * 2**30)}, "never above its own capability"
    assert rows["plain"]["deserved"]["cpu"] == "2"
    assert {name: row["action"] for name, row in rows.items()} == {
        "default": "keep", "small": "convert", "large": "convert", "child": "keep", "done": "keep", "plain": "convert"
    }  # fmt: skip
    assert rows["done"]["deserved"] == {"cpu": "2"}
    assert "child of large" in rows["child"]["reason"]


def test_shares_that_are_no_whole_cpu_are_in_thousandths() -> None:
    rows = adoption.queue_conversion([queue("a", weight=1), queue("b", weight=2)], {"cpu": "1"})
    assert [row["deserved"]["cpu"] for row in rows] == ["333m", "666m"]


def node(cpu: str, memory: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "n"}, "spec": spec, "status": {"allocatable": {"cpu": cpu, "memory": memory}}}


def test_only_nodes_that_take_ordinary_pods_count() -> None:
    nodes = [
        node("2", "4Gi"),
        node("1500m", "1Gi", taints=[{"key": "a", "effect": "PreferNoSchedule"}]),
        node("64", "1Ti", unschedulable=True),
        node("64", "1Ti", taints=[{"key": "a", "effect": "NoSchedule"}]),
        node("64", "1Ti", taints=[{"key": "a", "effect": "NoExecute"}]),
    ]
    assert len(adoption.schedulable(nodes)) == 2
    assert adoption.allocatable(nodes) == {"cpu": "3500m", "memory": str(5 * 2**30)}
    assert adoption.allocatable([]) == {"cpu": "0", "memory": "0"}


def test_quantities_are_those_of_the_model() -> None:
    """Python's own numbers have digits and spaces that no quantity has."""
    with pytest.raises(ValueError, match="is not a quantity"):
        adoption.allocatable([node("\u0663", "1Gi")])
