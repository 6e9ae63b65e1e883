# SPDX-License-Identifier: Apache-2.0
"""A real API server with the policies of grants, and requests to it by people and by controllers."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import yaml
from paddleflow_core.kube.client import Client, Object
from paddleflow_core.kube.errors import KubeError
from paddleflow_core.model import grant, policies

from tests.support.binaries import ROOT, built
from tests.support.control_plane import ControlPlane
from tests.support.kube_api import Session, define, definition

# Of kinds that have no definition in crds/ yet: what a policy reads of them.
STAND_INS = {
    ("batch.paddlepaddle.org", "v1"): ("PaddleJob", "paddlejobs"),
    ("paddlepaddle.org", "v1"): ("TrainingJob", "trainingjobs"),
}
# May make whatever the tests make, but neither update groups of pods nor bind pods to nodes.
MAKERS = "makers"
RULES = [
    {"apiGroups": [group], "resources": list(kinds), "verbs": ["create", "get", "list", "watch"]}
    for group, kinds in policies.KINDS.items()
] + [
    {"apiGroups": [""], "resources": ["pods", "persistentvolumeclaims"], "verbs": ["create", "get", "patch", "update"]},
    {"apiGroups": ["paddleflow.org"], "resources": ["filesystemlinks"], "verbs": ["create", "patch"]},
]
RBAC = "rbac.authorization.k8s.io"
VOLCANO = "system:serviceaccount:volcano-system:volcano-controllers"
REPLICA_SETS = "system:serviceaccount:kube-system:replicaset-controller"
PADDLEFLOW = "system:serviceaccount:paddleflow-system:controllers"


def account_groups(user: str) -> list[str]:
    """Those that the API server puts a service account into."""
    if not user.startswith(grant.ACCOUNT):
        return []
    return ["system:serviceaccounts", f"system:serviceaccounts:{user.split(':')[2]}"]


def until(what: str, true: Callable[[], bool], seconds: float = 30) -> None:
    """The API server reads roles and policies by watches of its own, and nothing tells when it has."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, f"not within {seconds} s: {what}"
        time.sleep(0.05)


def may_use(api: ControlPlane, user: str, queue: str) -> bool:
    """What the API server's own authorizer says, for kinds that are served and for others."""
    asked = {"group": "scheduling.volcano.sh", "resource": "queues", "name": queue, "verb": "use"}
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": user, "resourceAttributes": asked},
    }
    answer = json.loads(api.kubectl("create", "--filename=-", "--output=json", stdin=json.dumps(review)))
    return bool(answer["status"]["allowed"])


def role(name: str, rules: Sequence[Object], *subjects: Object) -> list[Object]:
    """A role of the whole cluster and who has it."""
    metadata = {"name": name}
    reference = {"apiGroup": RBAC, "kind": "ClusterRole", "name": name}
    return [
        {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": metadata, "rules": list(rules)},
        {
            "apiVersion": f"{RBAC}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": metadata,
            "roleRef": reference,
            "subjects": list(subjects),
        },
    ]


def subject(kind: str, name: str) -> Object:
    return {"apiGroup": RBAC, "kind": kind, "name": name}


class Granted:
    def __init__(self, api: ControlPlane, session: Session) -> None:
        self.api, self.session = api, session
        self.admin = session.client()
        self._clients: dict[str, Client] = {}

    def as_user(self, user: str) -> Client:
        if user not in self._clients:
            groups = [MAKERS, "system:authenticated", *account_groups(user)]
            self._clients[user] = self.session.client(
                kubeconfig=self.session.admin, impersonate_user=user, impersonate_groups=groups
            )
        return self._clients[user]

    def refusal(self, user: str, item: Object) -> str:
        """What is said against making it; nothing is kept."""
        return said(lambda: self.as_user(user).create(item, dry_run=True))

    def apply(self, *items: Object) -> None:
        for item in items:
            self.admin.apply(item)

    def namespace(self, name: str, annotations: dict[str, str] | None = None) -> None:
        """With the service account that pods have there, which a controller would make."""
        metadata = {"name": name, "annotations": annotations or {}}
        self.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
        account = {"name": "default", "namespace": name}
        self.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account})

    def grant(self, name: str, **spec: Any) -> None:
        self.apply(*grant.build(name, "", spec))

    def enforce(self, action: str) -> None:
        """As the role crds does."""
        files = sorted((ROOT / "crds/policies").glob("*.yaml"))
        objects = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in files]
        self.apply(*policies.configured(objects, action))

    def settle(self) -> None:
        """Until all that was written so far is what the API server goes by: what is written last is seen last."""
        self.grant("canary", queue="canary", users=["canary"])
        until("the canary's grant", lambda: may_use(self.api, "canary", "canary"))
        self.apply_policies_seen()

    def apply_policies_seen(self) -> None:
        for what, item in (
            ("queues", pod_group("canary", "room", "nobodys")),
            ("pods", pod("canary", "room", {policies.QUEUE_KEY: "nobodys"})),
            ("volumes", pod("canary", "room", volumes=[inline()])),
            ("file systems", claim("canary", "room", "elsewhere/nobodys")),
            ("placement", pod("canary", "bound")),
        ):
            until(f"the policy of {what}", lambda item=item: self.refusal("canary", item) != "")  # type: ignore[misc]


def said(ask: Callable[[], Any]) -> str:
    try:
        ask()
    except KubeError as error:
        return str(error)
    return ""


def install(api: ControlPlane, session: Session) -> Granted:
    """Kinds, policies, people, and two namespaces: `bound` to the queue `team`, and `room` to none."""
    world = Granted(api, session)
    crds = {path.name for path in (ROOT / "crds").glob("*.yaml")}
    missing = [
        definition(group, version, kind, plural)
        for (group, version), (kind, plural) in STAND_INS.items()
        if f"{plural}.{group}.yaml" not in crds
    ]
    define(api, built("volcano") / "crds", ROOT / "crds", objects=missing)
    for namespace in ("room", "bound"):
        world.namespace(namespace)
    world.apply(*role("makers", RULES, subject("Group", MAKERS)))
    world.grant("team", queue="team", users=["alice"], namespaces=["bound"])
    world.enforce("enforce")
    return world


# --- objects ---


def thing(api_version: str, kind: str, name: str, namespace: str, /, **spec: Any) -> Object:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}


def pod_group(name: str, namespace: str, queue: str) -> Object:
    return thing("scheduling.volcano.sh/v1beta1", "PodGroup", name, namespace, minMember=1, queue=queue)


def pod(name: str, namespace: str, annotations: dict[str, str] | None = None, /, **spec: Any) -> Object:
    item = thing("v1", "Pod", name, namespace, containers=[{"name": "main", "image": "x"}], **spec)
    item["metadata"]["annotations"] = annotations or {}
    return item


def claim(name: str, namespace: str, file_system: str) -> Object:
    item = thing(
        "v1",
        "PersistentVolumeClaim",
        name,
        namespace,
        accessModes=["ReadWriteMany"],
        resources={"requests": {"storage": "1Gi"}},
    )
    if file_system:
        item["metadata"]["annotations"] = {policies.FILE_SYSTEM: file_system}
    return item


def inline() -> Object:
    return {"name": "data", "csi": {"driver": policies.DRIVER, "volumeAttributes": {"fileSystem": "data/secret"}}}


def owned(item: Object, api_version: str, kind: str) -> Object:
    """As the controller of that kind makes it for an object of it."""
    reference = {"apiVersion": api_version, "kind": kind, "name": "one", "uid": "u-1", "controller": True}
    return {**item, "metadata": {**item["metadata"], "ownerReferences": [reference]}}


def kinds(namespace: str, queue: str) -> Iterator[Object]:
    """An object of every kind that names a queue."""
    worker = {"name": "worker", "replicas": 1, "template": {"spec": {"containers": [{"name": "main", "image": "x"}]}}}
    volcano = {"minAvailable": 1, "tasks": [worker], "queue": queue}
    policy = {"schedulingPolicy": {"queue": queue}}
    yield pod_group("one", namespace, queue)
    yield thing("batch.volcano.sh/v1alpha1", "Job", "one", namespace, **volcano)
    yield thing("flow.volcano.sh/v1alpha1", "JobTemplate", "one", namespace, **volcano)
    yield thing(
        "batch.volcano.sh/v1alpha1",
        "CronJob",
        "one",
        namespace,
        schedule="0 0 * * *",
        jobTemplate={"spec": volcano},
    )
    yield thing("batch.paddlepaddle.org/v1", "PaddleJob", "one", namespace, **policy)
    yield thing("paddlepaddle.org/v1", "TrainingJob", "one", namespace, **policy)
    # Kinds without a field for it name their queue by the annotation.
    pipeline = {"pipeline": {"name": "digits"}}
    for item in (
        thing("paddleflow.org/v1alpha1", "PipelineRun", "one", namespace, **pipeline),
        thing("paddleflow.org/v1alpha1", "PipelineSchedule", "one", namespace, **pipeline, crontab="0 3 * * *"),
        thing("batch.paddlepaddle.org/v1alpha1", "SampleJob", "one", namespace, type="warmup", sampleSetRef={"name": "set"}),
    ):  # fmt: skip
        item["metadata"]["annotations"] = {policies.QUEUE_KEY: queue}
        yield item
    yield pod("one", namespace, {policies.QUEUE_KEY: queue}, schedulerName="volcano")
    yield pod("one", namespace, {policies.QUEUE_KEYS[1]: queue, policies.QUEUE_KEY: queue}, schedulerName="volcano")
