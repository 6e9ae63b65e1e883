# SPDX-License-Identifier: Apache-2.0
"""A service account with the role of the guide for a family of modules runs these, and without it none of them."""

from __future__ import annotations

import base64
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support import guides, modules
from tests.support.binaries import ROOT, built
from tests.support.control_plane import ControlPlane
from tests.support.granted import until
from tests.support.kube_api import define

TEAM = "access"
ROLES = next(text for text in guides.page("docs/guides/connections.md").files.values() if "ClusterRole" in text)
DOCUMENT = "name: greet\ndocker_env: python:3.11\nentry_points: {hello: {command: echo hello}}\n"
KEYS = {"endpoint": "https://minio.example.org", "access_key": "AK", "secret_key": "SK"}
SETTINGS = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"a": "b"}}
JOB = {"image": "none", "command": "true", "framework": "standalone", "flavour": {"cpu": 1, "memory": "1Gi"}}
EVERYWHERE = ("paddleflow-queues", "paddleflow-named-by-jobs")
NAMED = [
    {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "default"}},
    {"apiVersion": "paddleflow.org/v1alpha1", "kind": "Flavour", "metadata": {"name": "small"}, "spec": {"cpu": "1", "memory": "1Gi"}},
]  # fmt: skip
GONE = {"state": "absent"}
FAMILIES: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "queues": [
        ("queue", {"name": "team-a", "namespace": "access-made", "max": {"cpu": 4}}),
        ("queue", {"objects": [{"name": f"team-{one}", "max": {"cpu": 1}} for one in "bcdefg"]}),
        ("queue", {"name": "team-a", "state": "closed"}),
        ("queue_info", {}),
        ("queue", {"name": "team-a", **GONE}),
    ],
    "jobs": [
        ("job", {"name": "train", "scheduling_policy": {"queue": "default"}, **JOB}),
        ("job", {"name": "small", "scheduling_policy": {"queue": "default"}, **JOB, "flavour": {"name": "small"}}),
        ("job_info", {"name": "train", "logs": True}),
        ("job", {"name": "train", "state": "stopped"}),  # what takes it away waits for a controller
        ("job", {"name": "never", **GONE}),
    ],
    "filesystems": [
        ("filesystem", {"name": "corpus", "url": "s3://corpus/2026", "properties": KEYS}),
        ("filesystem", {"name": "corpus", "url": "s3://corpus/2026", "properties": {**KEYS, "access_key": "AX"}}),
        ("filesystem_info", {}),
        ("filesystem", {"name": "corpus", **GONE}),
    ],
    "pipelines": [
        ("pipeline", {"name": "greet", "document": DOCUMENT}),
        ("pipeline_run", {"pipeline": {"name": "greet"}, "run_key": "one"}),
        ("pipeline_info", {}),
        ("pipeline_run_info", {}),
        ("pipeline", {"name": "greet", **GONE}),
    ],
    "apply": [
        ("apply", {"definition": SETTINGS, "set": "team", "prune": True}),
        ("apply", {"definition": [], "set": "team", "prune": True}),
    ],
}


@pytest.fixture(scope="module")
def ca(api: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Path:
    define(api, built("volcano") / "crds", ROOT / "crds")
    api.kubectl("create", "namespace", TEAM)
    api.kubectl("apply", "--filename=-", stdin=ROLES)
    api.kubectl("apply", "--filename=-", stdin=yaml.safe_dump_all(NAMED))
    path = tmp_path_factory.mktemp("access") / "ca"
    config = json.loads(api.kubectl("config", "view", "--raw", "-o", "json"))
    path.write_bytes(base64.b64decode(config["clusters"][0]["cluster"]["certificate-authority-data"]))
    return path


@pytest.mark.parametrize("family", FAMILIES)
def test_the_role_of_a_family_is_enough_and_needed(api: ControlPlane, ca: Path, family: str) -> None:
    api.kubectl("create", "serviceaccount", family, f"--namespace={TEAM}")
    token = api.kubectl("create", "token", family, f"--namespace={TEAM}").strip()
    to = {"host": f"https://127.0.0.1:{api.port}", "api_key": token, "ca_cert": str(ca)}

    def run(module: str, options: dict[str, Any]) -> dict[str, Any]:
        place = {} if module.startswith("queue") else {"namespace": TEAM}
        return modules.run(module, {**to, **place, **options})

    refused = run(*FAMILIES[family][0])
    assert " may not " in refused["msg"], refused
    for role in yaml.safe_load_all(ROLES):
        name = role["metadata"]["name"]
        if name.endswith(f"-{family}"):
            everywhere = name in EVERYWHERE
            binding = "clusterrolebinding" if everywhere else "rolebinding"
            within = [] if everywhere else [f"--namespace={TEAM}"]
            account = f"--serviceaccount={TEAM}:{family}"
            api.kubectl("create", binding, f"access-{name}", f"--clusterrole={name}", account, *within)
            counts = partial(may, api, f"system:serviceaccount:{TEAM}:{family}", role["rules"][-1])
            until("the role counts", counts)
    for module, options in FAMILIES[family]:
        done = run(module, options)
        assert not done.get("failed"), (module, options, done["msg"])


def may(api: ControlPlane, user: str, rule: dict[str, Any]) -> bool:
    asked = {
        "group": rule["apiGroups"][0],
        "resource": rule["resources"][0],
        "verb": rule["verbs"][0],
        "namespace": TEAM,
    }
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": user, "resourceAttributes": asked},
    }
    said = json.loads(api.kubectl("create", "--filename=-", "--output=json", stdin=json.dumps(review)))
    return bool(said["status"]["allowed"])
