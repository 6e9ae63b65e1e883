# SPDX-License-Identifier: Apache-2.0
"""What must hold for every object that the role volcano installs."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import yaml
from paddleflow_core.plan.access import APPLY, NEEDS

from tests.support.volcano import arguments, everything, one, rendered

OBJECTS = everything()
TWICE = everything(volcano_replica_count=2)
WEBHOOKS = [
    (item, webhook) for item in OBJECTS if item["kind"].endswith("WebhookConfiguration") for webhook in item["webhooks"]
]
DEPLOYMENTS = {item["metadata"]["name"]: item for item in OBJECTS if item["kind"] == "Deployment"}
ROLES = [item for item in OBJECTS if item["kind"] in {"ClusterRole", "Role"}]
RULES = [(item, rule) for item in ROLES for rule in item["rules"]]


def label(item: dict[str, Any]) -> str:
    return f"{item['kind']} {item['metadata']['name']}"


def test_objects_are_named_once_and_carry_the_label() -> None:
    names = [(item["kind"], item["metadata"].get("namespace"), item["metadata"]["name"]) for item in TWICE]
    assert len(names) == len(set(names))
    unlabelled = [
        label(item)
        for item in TWICE
        if item["metadata"].get("labels", {}).get("app.kubernetes.io/managed-by") != "paddleflow"
    ]
    assert unlabelled == ["Queue default"], "users and the scheduler own the default queue too"


def test_what_is_applied_is_asked_for_before_and_nothing_else() -> None:
    """The permissions to write are those of the objects here, of the roles crds and verify, and of no other."""

    def resource(item: dict[str, Any]) -> tuple[str, str, str]:
        group, _slash, _version = item["apiVersion"].rpartition("/")
        name = item["kind"].lower()
        plural = name[:-1] + "ies" if name.endswith("y") else name + ("es" if name.endswith("s") else "s")
        return group, plural, "volcano" if "namespace" in item["metadata"] else ""

    written = {resource(item) for item in TWICE}
    # Role verify makes these everywhere, so role volcano need not ask for its own.
    written = written - {("", "services", "volcano")} | {("", "services", ""), ("", "pods", "")}
    written |= {("batch.volcano.sh", "jobs", ""), ("", "configmaps", "demo")}
    # Not of a template: the certificates of the webhooks, and the kinds.
    written |= {("", "secrets", "volcano"), ("apiextensions.k8s.io", "customresourcedefinitions", "")}
    asked = {(need.group, name, need.place) for need in NEEDS if "create" in need.verbs for name in need.resources}
    assert asked == written
    assert all(set(APPLY) <= set(need.verbs) for need in NEEDS if "create" in need.verbs)


def test_priority_classes_of_somebody_else_are_not_applied() -> None:
    items = rendered("config", volcano_kept_classes=["high", "low"])
    classes = [item["metadata"]["name"] for item in items if item["kind"] == "PriorityClass"]
    assert classes == ["very-low", "normal", "very-high"]


# --- webhooks ---


def test_there_are_webhooks() -> None:
    paths = {webhook["clientConfig"]["service"]["path"] for _item, webhook in WEBHOOKS}
    assert paths == {
        "/queues/mutate", "/queues/validate", "/podgroups/mutate", "/podgroups/validate", "/jobs/mutate", "/jobs/validate",
        "/cronjobs/validate", "/jobflows/validate", "/hypernodes/validate",
    }  # fmt: skip
    (enabled,) = [
        flag for flag in arguments(DEPLOYMENTS["volcano-webhooks"]) if flag.startswith("--enabled-admission=")
    ]
    assert set(enabled.partition("=")[2].split(",")) == paths


@pytest.mark.parametrize(("item", "webhook"), WEBHOOKS, ids=[label(item) for item, _webhook in WEBHOOKS])
def test_a_webhook_is_bounded_and_never_on_the_way_of_a_pod(item: dict[str, Any], webhook: dict[str, Any]) -> None:
    for rule in webhook["rules"]:
        assert "pods" not in rule["resources"]
        assert "*" not in rule["apiGroups"] + rule["apiVersions"] + rule["resources"] + rule["operations"]
    assert webhook["timeoutSeconds"] == 3
    assert webhook["failurePolicy"] == "Fail"
    assert webhook["sideEffects"] == "None"
    (expression,) = webhook["namespaceSelector"]["matchExpressions"]
    assert expression["operator"] == "NotIn"
    assert set(expression["values"]) == {"kube-system", "volcano-system", "paddleflow-system"}
    assert webhook["clientConfig"]["caBundle"] == "QUJD"
    # The server looks for its configurations by this name, and writes to them when the bundle differs from its own.
    path = webhook["clientConfig"]["service"]["path"]
    assert item["metadata"]["name"] == "volcano-admission-service" + path.replace("/", "-")
    assert item["kind"].startswith("Mutating" if path.endswith("/mutate") else "Validating")


def test_the_webhooks_service_exists() -> None:
    for _item, webhook in WEBHOOKS:
        target = webhook["clientConfig"]["service"]
        service = one(OBJECTS, "Service", target["name"])
        assert service["metadata"]["namespace"] == target["namespace"]
        assert target["port"] in [port["port"] for port in service["spec"]["ports"]]


def test_pods_are_checked_inside_the_api_server_and_only_those_of_volcano() -> None:
    policy = one(OBJECTS, "ValidatingAdmissionPolicy", "volcano-pods")
    (rule,) = policy["spec"]["matchConstraints"]["resourceRules"]
    assert rule["resources"] == ["pods"]
    (condition,) = policy["spec"]["matchConditions"]
    assert condition["expression"].endswith('== "volcano"')
    assert one(OBJECTS, "ValidatingAdmissionPolicyBinding", "volcano-pods")["spec"]["policyName"] == "volcano-pods"


# --- programs ---


@pytest.mark.parametrize("name", DEPLOYMENTS)
def test_a_program_runs_with_nothing_it_does_not_need(name: str) -> None:
    pod = DEPLOYMENTS[name]["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] > 0
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["priorityClassName"] == "system-cluster-critical"
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod)
    assert not [volume for volume in pod["volumes"] if "hostPath" in volume]
    (container,) = pod["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
    }
    assert set(container["resources"]["requests"]) == {"cpu", "memory"}
    assert set(container["resources"]["limits"]) == {"memory"}
    assert container["image"] == "localhost/paddleflow/volcano:test"
    assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in pod["volumes"]}


@pytest.mark.parametrize("name", DEPLOYMENTS)
def test_a_program_is_probed_on_ports_that_it_has(name: str) -> None:
    (container,) = DEPLOYMENTS[name]["spec"]["template"]["spec"]["containers"]
    ports = {port["name"] for port in container["ports"]}
    for probe in ("readinessProbe", "livenessProbe"):
        assert container[probe]["httpGet"]["path"] == "/healthz"
        assert container[probe]["httpGet"]["port"] in ports
        assert container[probe]["httpGet"]["scheme"] == ("HTTPS" if name == "volcano-webhooks" else "HTTP")
    assert "--enable-healthz=true" in arguments(DEPLOYMENTS[name])


@pytest.mark.parametrize("name", DEPLOYMENTS)
def test_a_program_never_has_less_than_one_pod_while_it_is_rolled(name: str) -> None:
    spec = DEPLOYMENTS[name]["spec"]
    assert spec["strategy"] == {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}
    labels = spec["template"]["metadata"]["labels"]
    assert spec["selector"]["matchLabels"].items() <= labels.items()
    assert one(OBJECTS, "Service", name)["spec"]["selector"].items() <= labels.items()


def test_two_replicas_are_spread() -> None:
    for item in TWICE:
        if item["kind"] == "Deployment":
            assert item["spec"]["replicas"] == 2
            (spread,) = item["spec"]["template"]["spec"]["topologySpreadConstraints"]
            assert spread["topologyKey"] == "kubernetes.io/hostname"


@pytest.mark.parametrize("objects", [OBJECTS, TWICE])
def test_programs_go_one_at_a_time_and_never_keep_a_node_from_being_drained(objects: list[dict[str, Any]]) -> None:
    budgets = [item for item in objects if item["kind"] == "PodDisruptionBudget"]
    assert {item["metadata"]["name"] for item in budgets} == set(DEPLOYMENTS)
    for item in budgets:
        assert item["spec"]["maxUnavailable"] == 1
        assert "minAvailable" not in item["spec"]


def test_the_settings_of_the_design_are_there_from_the_start() -> None:
    scheduler = arguments(DEPLOYMENTS["volcano-scheduler"])
    assert "--schedule-period=100ms" in scheduler
    assert "--scheduler-name=volcano" in scheduler
    assert "--disable-default-scheduler-config=true" in scheduler
    assert "--ignored-provisioners=fs.paddleflow.org,kubernetes.io/no-provisioner" in scheduler
    controllers = arguments(DEPLOYMENTS["volcano-controllers"])
    for flag in ("--kube-api-qps=500", "--kube-api-burst=1000", "--worker-threads=8", "--max-requeue-num=-1"):
        assert flag in controllers
    for program in (scheduler, controllers):
        assert "--leader-elect=true" in program
        assert "--leader-elect-resource-namespace=volcano-system" in program


def test_a_change_of_configuration_or_certificate_rolls_the_pods() -> None:
    def annotations(items: list[dict[str, Any]], name: str) -> dict[str, str]:
        found: dict[str, str] = one(items, "Deployment", name)["spec"]["template"]["metadata"]["annotations"]
        return found

    other = rendered(
        "workloads", volcano_scheduler_actions=["allocate"], volcano_certificate={"bundle": "", "id": "other"}
    )
    assert annotations(OBJECTS, "volcano-scheduler") != annotations(other, "volcano-scheduler")
    assert annotations(OBJECTS, "volcano-webhooks") != annotations(other, "volcano-webhooks")
    assert annotations(OBJECTS, "volcano-controllers") == annotations(other, "volcano-controllers")


# --- permissions ---


@pytest.mark.parametrize(("item", "rule"), RULES, ids=[f"{label(item)} {rule['resources']}" for item, rule in RULES])
def test_a_rule_has_no_wildcard(item: dict[str, Any], rule: dict[str, Any]) -> None:
    assert "*" not in rule["apiGroups"] + rule["resources"] + rule["verbs"]
    assert not {"escalate", "bind", "impersonate", "deletecollection"} & set(rule["verbs"])
    for resource, forbidden in (
        ("secrets", {"list", "watch"}),
        ("customresourcedefinitions", {"create", "delete", "get", "list", "update", "watch"}),
        ("certificatesigningrequests", {"create", "get", "update"}),
        ("mutatingwebhookconfigurations", {"create", "update", "patch", "list"}),
        ("validatingwebhookconfigurations", {"create", "update", "patch", "list"}),
    ):
        assert resource not in rule["resources"] or not forbidden & set(rule["verbs"]), label(item)


def test_no_rule_says_the_same_twice() -> None:
    for item in ROLES:
        single = [
            (group, resource, verb, *rule.get("resourceNames", []))
            for rule in item["rules"]
            for group, resource, verb in itertools.product(rule["apiGroups"], rule["resources"], rule["verbs"])
        ]
        assert len(single) == len(set(single)), label(item)


def test_bindings_lead_to_the_account_that_the_program_runs_with() -> None:
    bindings = [item for item in OBJECTS if item["kind"] in {"ClusterRoleBinding", "RoleBinding"}]
    assert len(bindings) == 5
    for item in bindings:
        (subject,) = item["subjects"]
        assert subject["name"] == item["roleRef"]["name"] == item["metadata"]["name"]
        one(OBJECTS, "ServiceAccount", subject["name"])
        role = one(OBJECTS, item["roleRef"]["kind"], item["roleRef"]["name"])
        assert OBJECTS.index(role) < OBJECTS.index(item), "who holds all of a role may bind it once it is there"
    assert {item["spec"]["template"]["spec"]["serviceAccountName"] for item in DEPLOYMENTS.values()} == set(DEPLOYMENTS)


def permissions(component: str, **overrides: Any) -> set[tuple[str, str]]:
    role = one(rendered("rbac", **overrides), "ClusterRole", f"volcano-{component}")
    return {pair for rule in role["rules"] for pair in itertools.product(rule["resources"], rule["verbs"])}


def test_permissions_follow_the_plugins_that_are_configured() -> None:
    tiers = [{"plugins": [{"name": "gang"}, {"name": "deviceshare"}]}]
    usual, other = permissions("scheduler"), permissions("scheduler", volcano_scheduler_tiers=tiers)
    assert {("nodecaches", verb) for verb in ("get", "list", "watch")} <= usual
    assert ("nodecaches", "list") not in other
    assert ("pods", "patch") not in usual
    assert ("pods", "patch") in other
    claims = [{"plugins": [{"name": "predicates", "arguments": {"predicate.DynamicResourceAllocationEnable": True}}]}]
    assert ("resourceclaims/status", "update") not in usual
    assert ("resourceclaims/status", "update") in permissions("scheduler", volcano_scheduler_tiers=claims)


def test_permissions_follow_the_controllers_that_run() -> None:
    usual, all_of_them = permissions("controllers"), permissions("controllers", volcano_controllers_enabled=["*"])
    assert all_of_them - usual == {
        *(("colocationconfigurations", verb) for verb in ("get", "list", "watch")), ("pods", "update"),
        *(("nodeshards", verb) for verb in ("get", "list", "watch", "create", "update", "delete")), ("nodeshards/status", "update"),
    }  # fmt: skip


# --- configuration ---


def test_the_scheduler_reads_what_was_checked() -> None:
    written = yaml.safe_load(one(OBJECTS, "ConfigMap", "volcano-scheduler")["data"]["scheduler.conf"])
    assert written["actions"] == "enqueue, allocate, reclaim, backfill"
    by_name = {plugin["name"]: plugin for tier in written["tiers"] for plugin in tier["plugins"]}
    assert by_name["capacity"] == {"name": "capacity", "enableHierarchy": True, "enableJobEnqueued": False}
    assert by_name["nodegroup"]["arguments"] == {"strict": False}
    assert by_name["cacheaffinity"]["arguments"] == {"cacheaffinity.weight": 10}
    assert [len(tier["plugins"]) for tier in written["tiers"]] == [4, 5]


def test_priority_classes_are_those_of_the_specification() -> None:
    classes = {item["metadata"]["name"]: item for item in OBJECTS if item["kind"] == "PriorityClass"}
    values = {name: item["value"] for name, item in classes.items()}
    assert values == {"very-low": -2000, "low": -10, "normal": 0, "high": 100, "very-high": 2000}
    assert not any(item["globalDefault"] for item in classes.values())


def test_the_namespace_holds_restricted_pods_only() -> None:
    labels = one(OBJECTS, "Namespace", "volcano-system")["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"
