# SPDX-License-Identifier: Apache-2.0
"""The roles as a user who may do what the preflight asks for and nothing else, and what they leave to others."""

from __future__ import annotations

import contextlib
import importlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from paddleflow_core.plan.access import GRANTING, NEEDS, Need

from tests.support import volcano
from tests.support.binaries import ROOT
from tests.support.control_plane import ControlPlane, controllers
from tests.support.named_cluster import Site
from tests.support.plays import Play

pytestmark = [pytest.mark.own_api, pytest.mark.extended]  # two minutes of plays

ROOM = "least-volcano"
PLACES = {"volcano": ROOM, "demo": "least-demo"}
OURS = {"app.kubernetes.io/name": "volcano", "app.kubernetes.io/managed-by": "paddleflow"}
LABELS = {**OURS, "app.kubernetes.io/part-of": "paddleflow"}
PLAYBOOK = """\
- hosts: all
  gather_facts: false
  environment:
    PATH: "{{ path }}"
  tasks:
    - name: Use the cluster
      ansible.builtin.include_role:
        name: paddleflow.core.kubernetes
      when: kubernetes_kubectl_argv is not defined

    - name: Install the kinds of the platform
      ansible.builtin.include_role:
        name: paddleflow.core.crds
      when: volcano_state == 'present'

    - name: Install or remove the scheduler
      ansible.builtin.include_role:
        name: paddleflow.core.volcano
      vars:
        volcano_priority_classes: "{{ classes }}"
"""
COMMON = {
    "volcano_namespace": ROOM,
    "volcano_state": "present",
    "volcano_timeout": 1,  # no program comes up: nothing here runs pods
    "verify_demo_namespace": PLACES["demo"],
    "classes": {"low": -10, "high": 100},
}
CLUSTER_WIDE = (
    "clusterroles,clusterrolebindings,priorityclasses,validatingadmissionpolicies,validatingadmissionpolicybindings"
)
CLUSTER_WIDE += ",mutatingwebhookconfigurations,validatingwebhookconfigurations"
WITHIN = "deployments,services,configmaps,secrets,serviceaccounts,roles,rolebindings"
GONE = ("--selector", ",".join(f"{name}={value}" for name, value in LABELS.items()), "--output=name")


def thing(kind: str, name: str, api: str = "v1", labels: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
    metadata = {"name": name, "labels": labels or {}}
    if "within" in more:
        metadata["namespace"] = more.pop("within")
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **more}


def lease(within: str) -> dict[str, Any]:
    return thing("Lease", "volcano", "coordination.k8s.io/v1", within=within)


def upstream(within: str) -> dict[str, Any]:
    """Somebody else's scheduler."""
    pod = {"containers": [{"name": "main", "image": "volcanosh/vc-scheduler:v1.14.1"}]}
    template = {"metadata": {"labels": {"app": "x"}}, "spec": pod}
    spec = {"replicas": 0, "selector": {"matchLabels": {"app": "x"}}, "template": template}
    return thing("Deployment", "volcano-scheduler", "apps/v1", within=within, spec=spec)


# What takes namespaces and what is owned away, as on every cluster.
CONTROLLERS = ("namespace-controller", "garbage-collector-controller", "serviceaccount-controller")


@dataclass(frozen=True)
class Runs:
    """One after the other, with what was there in between."""

    refused: Play
    after_refused: str
    holder: Play
    present: Play
    classes: dict[str, dict[str, str]]
    check: Play
    after_check: str
    absent: Play
    left: str
    last: Play
    verified: list[dict[str, Any]]


@pytest.fixture(scope="module")
def site(api: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Site:
    site = Site(api, tmp_path_factory.mktemp("least"))
    site.write("admin", site.admin)
    for user in ("least", "ungranted", "holder"):
        site.write(user, site.config_of(user))
    return site


def host(site: Site, config: str, **more: Any) -> dict[str, Any]:
    return {**COMMON, **site.named(config), "volcano_image": "localhost/none", **more}


def removal(site: Site, config: str, **more: Any) -> dict[str, Any]:
    """The cluster was asked all its questions when it was installed: what the kubernetes role leaves is named instead."""
    kubectl = ["kubectl", "--kubeconfig", str(site.path(config))]
    gone = {"volcano_state": "absent", "volcano_timeout": 60, "kubernetes_kubectl_argv": kubectl}
    return {**COMMON, **site.named(config), **gone, **more}


def given() -> Iterator[Need]:
    """What Volcano's programs are allowed."""
    for item in volcano.rendered("rbac", volcano_namespace=ROOM):
        for rule in item.get("rules", ()):
            for group in rule["apiGroups"]:
                yield Need(group, tuple(rule["resources"]), tuple(rule["verbs"]))


def prepare(site: Site) -> None:
    # Who may do something in a namespace has it made by somebody else.
    site.create(thing("Namespace", ROOM), thing("Namespace", "least-upstream"))
    site.create(thing("Namespace", PLACES["demo"], labels={"app.kubernetes.io/part-of": "paddleflow-demo"}))
    site.create(*(thing("Namespace", name, labels=LABELS) for name in ("least-own", "least-mixed")))
    for user, needs in (("least", (*NEEDS, *GRANTING)), ("ungranted", NEEDS), ("holder", (*NEEDS, *given()))):
        site.grant(user, needs, PLACES)
    # Of somebody else: in Volcano's namespace, and a class of the value that is wanted.
    site.create(
        thing("ConfigMap", "theirs", within=ROOM),
        thing("PriorityClass", "high", "scheduling.k8s.io/v1", value=100),
    )


def verified(site: Site) -> list[dict[str, Any]]:
    """The rows of role verify and of the demonstration as the same user. No pod runs, so no wait ends well."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "roles/verify/files")
        checks, demo, kubectl = (
            importlib.import_module(f"paddleflow_verify.{name}") for name in ("checks", "demo", "kubectl")
        )
        wait = kubectl.Kubectl.wait

        def wait_shortly(self: Any, target: str, condition: str, where: str = "", timeout: int = 0) -> None:
            wait(self, target, condition, where, min(timeout, 1))

        def make_queues(client: Any, tree: list[dict[str, Any]]) -> None:
            client.apply(tree)  # and does not wait until they are open

        patch.setattr(kubectl.Kubectl, "wait", wait_shortly)
        patch.setattr(checks.sizes, "unit", lambda _free: 10)  # the node takes no pods
        patch.setattr(checks, "make_queues", make_queues)
        patch.setattr(demo, "make_queues", make_queues)
        argv = [str(site.api.folder / "bin/kubectl"), f"--kubeconfig={site.path('least')}"]
        settings = checks.Settings(argv, "none", 60, demo_namespace=PLACES["demo"], volcano_namespace=ROOM)
        rows: list[dict[str, Any]] = checks.verify(settings)["rows"]
        run = demo.Demo(settings)
        run.step("queues", run.queues)
        for name in ("borrow", "give_back"):
            with contextlib.suppress(kubectl.CheckError):
                run.step(name, getattr(run, name))
        run.log()
        run.keep({})
        checks.remove_queues(run.kubectl, ["demo-research", "demo-production", "demo"])
        return rows + [{"name": row.name, "detail": row.detail} for row in run.rows]


@pytest.fixture(scope="module")
def runs(site: Site) -> Iterator[Runs]:
    prepare(site)
    kubectl = site.api.kubectl
    try:
        with site.node():
            other = host(site, "admin", classes={"high": 7})
            refused = site.run(PLAYBOOK, {"ungranted": host(site, "ungranted"), "value": other})
            after_refused = kubectl("get", CLUSTER_WIDE, *GONE)
            holder = site.run(PLAYBOOK, {"holder": host(site, "holder")}, "--check")
            present = site.run(PLAYBOOK, {"least": host(site, "least")}, "-v")
            items = json.loads(kubectl("get", "priorityclasses", "--output=json"))["items"]
            classes = {item["metadata"]["name"]: item["metadata"].get("labels", {}) for item in items}
            check = site.run(PLAYBOOK, {"least": removal(site, "least")}, "--check")
            after_check = kubectl("get", f"{CLUSTER_WIDE},{WITHIN}", f"--namespace={ROOM}", *GONE)
            with controllers(site.api, *CONTROLLERS):
                absent = site.run(PLAYBOOK, {"least": removal(site, "least")})
                left = kubectl("get", f"{CLUSTER_WIDE},{WITHIN}", f"--namespace={ROOM}", *GONE)
                rows = verified(site)
                for name in ("least-own", "least-mixed"):
                    site.create(thing("ConfigMap", "ours", labels=LABELS, within=name), lease(name))
                site.create(thing("ConfigMap", "theirs", within="least-mixed"))
                site.create(lease("least-upstream"), upstream("least-upstream"))
                theirs = removal(site, "admin", volcano_namespace="least-upstream")
                hosts = {"least": removal(site, "least"), "upstream": theirs}
                hosts |= {name: removal(site, "admin", volcano_namespace=f"least-{name}") for name in ("own", "mixed")}
                hosts |= {"kinds": {**theirs, "volcano_remove_crds": True}}
                last = site.run(PLAYBOOK, hosts)
        yield Runs(refused, after_refused, holder, present, classes, check, after_check, absent, left, last, rows)
    finally:
        # Webhooks that do not answer would stop the tests that come after this one.
        kubectl("delete", CLUSTER_WIDE, "--selector", GONE[1])
        kubectl("delete", "priorityclass", "high", "--ignore-not-found")
        kubectl("delete", "deployments", "--all", "--namespace=least-upstream")


def test_who_may_grant_less_than_the_programs_get_is_warned_and_refused_before_anything_of_volcano(runs: Runs) -> None:
    assert (
        "The user ungranted may not bind, escalate clusterroles.rbac.authorization.k8s.io; bind" in runs.refused.output
    )
    said = "Nothing was applied of: namespace, permissions and priority classes of Volcano."
    assert said in runs.refused.output
    assert "is attempting to grant RBAC permissions not currently held" in runs.refused.output
    assert runs.after_refused == ""


def test_who_holds_what_the_programs_get_may_install_without_more(runs: Runs) -> None:
    assert "The user holder may not bind, escalate" in runs.holder.output
    runs.holder.ok()


def test_a_priority_class_of_another_value_is_refused_before_anything_is_applied(runs: Runs) -> None:
    assert "Volcano was not installed and nothing was changed" in runs.refused.output
    assert (
        "The PriorityClass high has the value 100, but volcano_priority_classes says 7, and the value of a class cannot be"
        " changed: give ours another name or the value 100 in volcano_priority_classes, or remove that one."
    ) in runs.refused.output


def test_with_what_is_asked_for_volcano_is_installed_up_to_programs_that_need_nodes(runs: Runs) -> None:
    assert "volcano-webhooks did not become ready within 1 s" in runs.present.output
    assert "forbidden" not in runs.present.output.lower()
    assert runs.present.recap["failed"] == 1


def test_a_priority_class_that_was_there_stays_somebody_else_s(runs: Runs) -> None:
    assert runs.classes["low"] == LABELS
    assert runs.classes["high"] == {}
    assert "high: there already with the value that jobs need" in runs.present.output


def test_a_check_of_the_removal_says_what_would_go_and_takes_nothing(runs: Runs) -> None:
    runs.check.ok()
    assert runs.check.recap["changed"] > 0
    assert f"The namespace {ROOM} would stay" in runs.check.output
    assert runs.after_check.count("deployment.apps/volcano-") == 3


def test_with_what_is_asked_for_all_of_it_is_removed_and_nothing_else(site: Site, runs: Runs) -> None:
    runs.absent.ok()
    assert runs.left == ""
    assert f"The namespace {ROOM} stays: " in runs.absent.output
    assert site.api.kubectl("get", "configmap", "theirs", f"--namespace={ROOM}", "--output=name") != ""
    assert "paddleflow.org" in site.api.kubectl("get", "crd", "--output=name")
    assert "failed=0" in runs.last.output.partition("PLAY RECAP")[2].partition("least ")[2].splitlines()[0]
    assert "changed=0" in runs.last.output.partition("PLAY RECAP")[2].partition("least ")[2].splitlines()[0]


def test_a_namespace_that_holds_nothing_else_goes(site: Site, runs: Runs) -> None:
    assert "changed: [own]" in runs.last.output
    assert site.api.kubectl("get", "namespace", "least-own", "--ignore-not-found") == ""


def test_a_namespace_that_holds_something_else_stays_with_that(site: Site, runs: Runs) -> None:
    assert "The namespace least-mixed stays: it holds ConfigMap theirs." in runs.last.output
    found = site.api.kubectl("get", "configmaps", "--namespace=least-mixed", "--output=name").split()
    assert "configmap/theirs" in found
    assert "configmap/ours" not in found


def test_somebody_else_s_volcano_keeps_everything(site: Site, runs: Runs) -> None:
    kept = site.api.kubectl("get", "leases", "--namespace=least-upstream", "--output=name")
    assert kept == "lease.coordination.k8s.io/volcano\n"
    assert "The namespace least-upstream stays: it does not carry the labels of this role" in runs.last.output
    assert (
        "volcano_remove_crds would take queues and jobs from a Volcano that this role did not install"
        in runs.last.output
    )
    assert "(least-upstream/volcano-scheduler)" in runs.last.output
    assert "queues.scheduling.volcano.sh" in site.api.kubectl("get", "crd", "--output=name")


def test_nothing_that_verify_does_is_forbidden(runs: Runs) -> None:
    rows = {row["name"]: row["detail"] for row in runs.verified}
    assert {"room for the trial", "pods without the webhooks", "nothing left behind", "give_back"} <= set(rows)
    assert [row for row in runs.verified if "forbidden" in row["detail"].lower()] == []
    assert rows["nothing left behind"] == "namespace and queues removed"
