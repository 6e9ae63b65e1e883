# SPDX-License-Identifier: Apache-2.0
"""The role volcano over a cluster that has one of somebody else, from the first refusal to new certificates of ours. Deployments,
ReplicaSets and owners are Kubernetes' own business; the test plays scheduler and kubelet, and says of each pod that it runs."""

from __future__ import annotations

import base64
import json
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from paddleflow_core.kube.client import Client
from paddleflow_core.kube.kinds import Kind
from paddleflow_core.kube.stop import Stop
from paddleflow_core.kube.watch import watch

from tests.support.binaries import artifacts, built
from tests.support.control_plane import ControlPlane, control_plane, controllers
from tests.support.kube_api import Session, define
from tests.support.named_cluster import Site
from tests.support.plays import Play

pytestmark = pytest.mark.extended  # a minute and a half of plays

ROOM = "volcano-system"
HELD = "paddleflow.org/held"
CONTROLLERS = (
    "deployment-controller", "replicaset-controller", "garbage-collector-controller", "serviceaccount-controller",
)  # fmt: skip
PLAYBOOK = """\
- hosts: all
  gather_facts: false
  tasks:
    - name: Install Volcano
      ansible.builtin.include_role:
        name: paddleflow.core.volcano
"""
SECRET = "volcano-webhook-tls"
# Whatever of this changes, changed.
WATCHED = "namespaces,deployments,pods,services,configmaps,secrets,serviceaccounts,priorityclasses,clusterroles,clusterrolebindings"
WATCHED += ",mutatingwebhookconfigurations,validatingwebhookconfigurations,customresourcedefinitions,queues.scheduling.volcano.sh,jobs.batch.volcano.sh"
NODES: dict[str, list[dict[str, str]]] = {"one": [], "two": [], "tainted": [{"key": "x", "effect": "NoSchedule"}]}
QUEUES: dict[str, dict[str, Any]] = {
    "root": {"weight": 1},
    "default": {"weight": 1},
    "research": {"weight": 3},
    "capped": {"weight": 4, "capability": {"cpu": "2"}},
    "entitled": {"weight": 2, "parent": "research", "deserved": {"cpu": "1"}},
}
CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)


def thing(kind: str, name: str, api: str = "v1", within: str = "", **more: Any) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name, **({"namespace": within} if within else {})}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **more}


def program(component: str, image: str, *finalizers: str) -> dict[str, Any]:
    """Of upstream's manifest, under its name, which may be ours too."""
    labels = {"app": f"volcano-{component}"}
    pod = {"containers": [{"name": "main", "image": f"docker.io/volcanosh/{image}:v1.14.1"}]}
    template = {"metadata": {"labels": labels, "finalizers": finalizers}, "spec": pod}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    return thing("Deployment", f"volcano-{component}", "apps/v1", ROOM, spec=spec)


def upstream() -> list[dict[str, Any]]:
    service = {"service": {"name": "volcano-admission-service", "namespace": ROOM, "path": "/jobs/mutate"}}
    webhook = {"name": "mutatejob.volcano.sh", "clientConfig": service, "admissionReviewVersions": ["v1"]}
    webhook |= {"sideEffects": "None", "rules": []}
    name = "volcano-admission-service-jobs-mutate"
    return [
        program("admission", "vc-webhook-manager"),
        program("controllers", "vc-controller-manager"),
        # Its pod stays until the test lets it go.
        program("scheduler", "vc-scheduler", HELD),
        thing("MutatingWebhookConfiguration", name, "admissionregistration.k8s.io/v1", webhooks=[webhook]),
        *(thing("Queue", name, "scheduling.volcano.sh/v1beta1", spec=spec) for name, spec in QUEUES.items()),
        thing(
            "Job", "theirs", "batch.volcano.sh/v1alpha1", ROOM,
            spec={"tasks": [{"name": "main", "replicas": 1, "template": {"spec": {"containers": [{"name": "x", "image": "x"}]}}}]},
        ),
    ]  # fmt: skip


@dataclass
class Kubelet:
    """Says that each pod runs, and remembers what came and went in which order."""

    api: ControlPlane
    client: Client
    stop: Stop = field(default_factory=Stop)
    told: list[tuple[str, str]] = field(default_factory=list)  # ADDED or DELETED, and what the pod runs
    # How many authorities the Secret and the webhook configurations had when a pod of our webhooks was made.
    trusted: list[tuple[int, int]] = field(default_factory=list)

    def run(self) -> None:
        pods = Kind("v1", "Pod", "pods", True)
        for change in watch(self.client, pods, ROOM, stop=self.stop):
            metadata, kind = change.object["metadata"], change.type
            runs = metadata["labels"].get("app.kubernetes.io/component") or metadata["labels"]["app"]
            if kind != "MODIFIED":
                self.told.append((kind, runs))
            if (kind, runs) == ("ADDED", "webhooks"):
                self.trusted.append((len(authorities(secret(self.api)["ca.crt"])), len(authorities(bundle(self.api)))))
            if (
                kind != "DELETED"
                and "deletionTimestamp" not in metadata
                and "conditions" not in change.object["status"]
            ):
                status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
                self.client.patch(pods, metadata["name"], {"status": status}, ROOM, subresource="status")


@dataclass(frozen=True)
class Found:
    """What a play left: of everything what it says, the programs' pods, and the key pair of the webhooks."""

    play: Play
    objects: dict[str, str]
    pods: list[tuple[str, str]]  # since the play before
    secret: dict[str, str]
    trusted: list[tuple[int, int]]

    def replicas(self) -> dict[str, int]:
        return {
            name.split()[1]: json.loads(text)["spec"]["replicas"]
            for name, text in self.objects.items()
            if name.startswith("Deployment ")
        }


@dataclass
class Runs:
    """One after the other."""

    before: dict[str, str]
    refused: Found
    check: Found
    held: Found
    adopted: Found
    rotated: Found


@pytest.fixture(scope="module")
def api() -> Iterator[ControlPlane]:
    """Nobody answers webhooks here, so none is asked."""
    with control_plane("--disable-admission-plugins=MutatingAdmissionWebhook,ValidatingAdmissionWebhook") as plane:
        yield plane


def state(api: ControlPlane) -> dict[str, str]:
    """What each object says, but for its status."""
    items = json.loads(api.kubectl("get", WATCHED, f"--namespace={ROOM}", "--output=json"))["items"]
    found = {}
    for item in items:
        metadata = {name: item["metadata"].get(name) for name in ("uid", "labels", "annotations", "finalizers")}
        said = {**item, "metadata": metadata, "status": None}
        found[f"{item['kind']} {item['metadata']['name']}"] = json.dumps(said, sort_keys=True)
    return found


def secret(api: ControlPlane) -> dict[str, str]:
    text = api.kubectl("get", "secret", SECRET, f"--namespace={ROOM}", "--output=json", "--ignore-not-found")
    data = json.loads(text)["data"] if text else {}
    return {name: base64.b64decode(value).decode() for name, value in data.items()}


def authorities(pem: str) -> list[str]:
    return CERTIFICATE.findall(pem)


def bundle(api: ControlPlane) -> str:
    """Of the webhook configurations, which all have the same."""
    kinds = "mutatingwebhookconfigurations,validatingwebhookconfigurations"
    items = json.loads(api.kubectl("get", kinds, "--output=json"))["items"]
    (found,) = {webhook["clientConfig"]["caBundle"] for item in items for webhook in item["webhooks"]}
    return base64.b64decode(found).decode()


def prepare(api: ControlPlane) -> None:
    define(api, built("volcano") / "crds")
    create = [thing("Namespace", ROOM), *(thing("Node", name) for name in NODES), *upstream()]
    api.kubectl("create", "--filename=-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": create}))
    allocatable = {"status": {"allocatable": {"cpu": "4", "memory": "8Gi"}}}
    for name, taints in NODES.items():
        # A node begins with a taint, which its controller would take away.
        api.kubectl("patch", "node", name, f"--patch={json.dumps({'spec': {'taints': taints}})}", "--type=merge")
        api.kubectl("patch", "node", name, f"--patch={json.dumps(allocatable)}", "--type=merge", "--subresource=status")
    opened = json.dumps({"status": {"state": "Open"}})
    api.kubectl(
        "patch", "queues.scheduling.volcano.sh", "default", f"--patch={opened}", "--type=merge", "--subresource=status"
    )
    for name in ("admission", "controllers", "scheduler"):
        api.kubectl("rollout", "status", f"deployment/volcano-{name}", f"--namespace={ROOM}", "--timeout=60s")


@pytest.fixture(scope="module")
def runs(api: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    site, session = Site(api, tmp_path_factory.mktemp("role")), Session(api)
    site.write("admin", site.admin)
    client = {
        "kubectl": str(api.folder / "bin/kubectl"),
        "kubeconfig": str(site.path("admin")),
        "context": "admin@test",
    }
    kubelet = Kubelet(api, session.client())
    thread = threading.Thread(target=kubelet.run)
    host = {
        "kubernetes_client": client, "kubernetes_kubectl_argv": [client["kubectl"], "--kubeconfig", client["kubeconfig"]],
        "volcano_image": "localhost/none", "volcano_timeout": 60,
    }  # fmt: skip
    adopt = {**host, "volcano_adopt": "adopt"}

    def run(hosts: dict[str, dict[str, Any]], *arguments: str) -> Found:
        pods, trusted = len(kubelet.told), len(kubelet.trusted)
        play = site.run(PLAYBOOK, hosts, *arguments)
        return Found(play, state(api), kubelet.told[pods:], secret(api), kubelet.trusted[trusted:])

    with controllers(api, *CONTROLLERS):
        thread.start()
        try:
            prepare(api)
            before = state(api)
            refused = run(
                {
                    "refuse": host,
                    "preview": {**host, "volcano_adopt": "preview"},
                    "unknown": {**adopt, "volcano_scheduler_tiers": tiers("capacity", "tetris")},
                    "both": {**adopt, "volcano_scheduler_tiers": tiers("capacity", "proportion")},
                }
            )
            check = run({"adopt": adopt}, "--check")
            held = run({"adopt": {**adopt, "volcano_timeout": 5}})
            let_go(api, held)
            adopted = run({"adopt": adopt}, "-vvvv")
            api.kubectl("delete", "node", "two")
            rotated = run({"adopt": {**host, "volcano_certificate_rotate": True}}, "-vvvv")
            yield Runs(before, refused, check, held, adopted, rotated)
        finally:
            kubelet.stop.set()
            thread.join()
            session.close()


def tiers(*names: str) -> list[dict[str, Any]]:
    return [{"plugins": [{"name": name} for name in ("priority", "gang", "conformance", *names)]}]


def let_go(api: ControlPlane, held: Found) -> None:
    """The pod goes, and its scheduler is there once more, as a package manager would bring it back."""
    for name in [name for name in held.objects if name.startswith("Pod volcano-scheduler")]:
        free = '--patch={"metadata": {"finalizers": null}}'
        api.kubectl("patch", *name.lower().split(), f"--namespace={ROOM}", "--type=merge", free)
    for name in ("admission", "controllers", "scheduler"):
        api.kubectl("wait", "--for=delete", f"deployment/volcano-{name}", f"--namespace={ROOM}", "--timeout=60s")
    api.kubectl("create", "--filename=-", stdin=json.dumps(program("scheduler", "vc-scheduler")))
    api.kubectl("rollout", "status", "deployment/volcano-scheduler", f"--namespace={ROOM}", "--timeout=60s")


# ---- before anything is changed -----------------------------------------------------------------------------------------------


def test_a_volcano_of_somebody_else_is_refused_with_the_remedy(runs: Runs) -> None:
    said = printed_error(runs.refused.play, "refuse")
    assert (
        "This cluster already runs Volcano, and two of them would fight over every pod. Nothing was changed. Found:"
        in said
    )
    assert "- scheduler: Deployment volcano-system/volcano-scheduler (docker.io/volcanosh/vc-scheduler:v1.14.1)" in said
    assert (
        "Set volcano_adopt to preview to see what taking it over would do, to adopt to do it, or remove that Volcano first."
        in said
    )


def test_a_configuration_that_the_scheduler_would_misread_is_refused(runs: Runs) -> None:
    unknown, both = (printed_error(runs.refused.play, host) for host in ("unknown", "both"))
    assert "The configuration of Volcano's scheduler was not applied" in unknown
    assert (
        f"- tiers[0].plugins[4] tetris: Volcano {artifacts()['artifacts_volcano_version']} has no such plugin"
        in unknown
    )
    assert "proportion: stands beside capacity; both compute what a queue may have" in both


def printed_error(play: Play, host: str) -> str:
    text = play.output.partition(f"fatal: [{host}]: FAILED! => ")[2]
    return str(json.JSONDecoder().raw_decode(text)[0]["msg"])


CONVERSION = """\
- capped: convert (weight 4 of 8), deserved {"cpu": "2", "memory": "8589934592"}
- default: keep (the default queue gets what nobody is entitled to)
- entitled: keep (has deserved), deserved {"cpu": "1"}
- research: convert (weight 3 of 8), deserved {"cpu": "3", "memory": "6442450944"}
"""


def test_a_preview_and_a_check_say_what_would_become_of_it(runs: Runs) -> None:
    for play, host in ((runs.refused.play, "preview"), (runs.check.play, "adopt")):
        text = play.output.partition("TASK [paddleflow.core.volcano : Show what adopting does]")[2].partition(
            f"[{host}] => "
        )[2]
        said = json.JSONDecoder().raw_decode(text)[0]["msg"]
        assert "Deployment volcano-system/volcano-scheduler" in said
        assert "MutatingWebhookConfiguration volcano-admission-service-jobs-mutate" in said
        assert said.endswith(CONVERSION)


def test_until_then_nothing_was_changed(runs: Runs) -> None:
    assert (runs.refused.play.recap["failed"], runs.refused.play.recap["changed"]) == (3, 0)
    assert runs.refused.objects == runs.before
    runs.check.play.ok()
    assert runs.check.play.recap["changed"] > 0, "what would be done is told as a change"
    assert runs.check.objects == runs.before
    assert runs.refused.pods == runs.check.pods == []


# ---- taken over ---------------------------------------------------------------------------------------------------------------


def test_as_long_as_the_other_scheduler_is_there_none_of_ours_is(runs: Runs) -> None:
    assert runs.held.play.recap["failed"] == 1
    assert "timed out waiting for the condition" in runs.held.play.output
    assert "docker.io/volcanosh/vc-scheduler" in runs.held.objects["Deployment volcano-scheduler"]
    assert [
        name for name, text in runs.held.objects.items() if '"app.kubernetes.io/managed-by": "paddleflow"' in text
    ] == []
    assert [pod for pod in runs.held.pods if pod[0] == "ADDED"] == []


def test_ours_follows_the_other_and_two_schedulers_never_run(runs: Runs) -> None:
    runs.adopted.play.ok()
    assert runs.adopted.pods.index(("DELETED", "volcano-scheduler")) < runs.adopted.pods.index(("ADDED", "scheduler"))
    assert [text for text in runs.adopted.objects.values() if "docker.io/volcanosh" in text] == []


def test_definitions_queues_and_jobs_stay(runs: Runs) -> None:
    for name, text in runs.before.items():
        if name.startswith(("CustomResourceDefinition ", "Queue ", "Job ")):
            assert json.loads(runs.adopted.objects[name])["metadata"]["uid"] == json.loads(text)["metadata"]["uid"], (
                name
            )


def test_queues_get_what_their_weights_gave_them(runs: Runs) -> None:
    deserved = {name: json.loads(runs.adopted.objects[f"Queue {name}"])["spec"].get("deserved") for name in QUEUES}
    assert deserved == {
        "root": None,
        "default": None,
        "research": {"cpu": "3", "memory": "6442450944"},
        "capped": {"cpu": "2", "memory": "8589934592"},
        "entitled": {"cpu": "1"},
    }


def test_there_are_two_pods_of_each_program_where_two_nodes_take_them(runs: Runs) -> None:
    names = ("volcano-scheduler", "volcano-controllers", "volcano-webhooks")
    assert runs.adopted.replicas() == dict.fromkeys(names, 2)
    assert runs.rotated.replicas() == dict.fromkeys(names, 1), "then there was one"


# ---- new certificates ---------------------------------------------------------------------------------------------------------


def test_new_certificates_are_rolled_out_while_both_authorities_are_trusted(runs: Runs) -> None:
    runs.rotated.play.ok()
    assert runs.rotated.secret["tls.crt"] != runs.adopted.secret["tls.crt"]
    assert ("ADDED", "webhooks") in runs.rotated.pods
    assert set(runs.rotated.trusted) == {(2, 2)}


def test_then_only_the_new_authority_is_trusted(api: ControlPlane, runs: Runs) -> None:
    assert len(authorities(runs.adopted.secret["ca.crt"])) == 1
    assert len(authorities(runs.rotated.secret["ca.crt"])) == 1
    assert runs.rotated.secret["ca.crt"] != runs.adopted.secret["ca.crt"]
    assert bundle(api) == runs.rotated.secret["ca.crt"]


def test_keys_are_not_shown_however_much_is(runs: Runs) -> None:
    for found in (runs.adopted, runs.rotated):
        assert "TASK [paddleflow.core.volcano : Write the Secret]" in found.play.output
        assert '"invocation"' in found.play.output
        key = found.secret["tls.key"]
        planted = [base64.b64encode(key.encode()).decode(), *key.splitlines()[1:-1]]
        assert [text for text in planted if text in found.play.output] == []
