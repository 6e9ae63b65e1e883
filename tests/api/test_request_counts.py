# SPDX-License-Identifier: Apache-2.0
"""What a run that changes nothing asks of the API server, counted from its audit log."""

from __future__ import annotations

import collections
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from paddleflow_core.kube.client import PAGE
from paddleflow_core.kube.declare import FEW

from tests.support import modules
from tests.support.binaries import built
from tests.support.control_plane import ControlPlane, control_plane
from tests.support.kube_api import define
from tools import tree

# A request is noted when it comes in, before it is answered: whoever has the answer finds the note.
POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["ResponseStarted", "ResponseComplete"],
    "rules": [{"level": "Metadata"}],
}
SIZE = {"cpu": 1, "memory": "1Gi"}
STORE = {
    "url": "sftp://files.example.org:22/a",
    "secret_ref": {"name": "keys"},
    "properties": {"user": "reader", "insecure_skip_verify": True},
}


class Audited:
    def __init__(self, api: ControlPlane) -> None:
        self.api, self.log = api, api.folder / "audit.log"

    def asked(self, name: str, **options: Any) -> tuple[bool, dict[str, int]]:
        """Whether anything was changed, and what was asked for that: verb, resource and namespace."""
        noted = len(self.log.read_text().splitlines())
        answer = modules.run(name, {"kubeconfig": str(self.api.kubeconfig), **options})
        assert "failed" not in answer, answer["msg"]
        found: collections.Counter[str] = collections.Counter()
        for line in self.log.read_text().splitlines()[noted:]:
            event = json.loads(line)
            if event.get("userAgent", "").startswith("paddleflow.core"):
                what = event.get("objectRef", {})
                dry = "dry " if "dryRun" in event["requestURI"] else ""
                found[f"{dry}{event['verb']} {what.get('resource')} {what.get('namespace', '')}".strip()] += 1
        return answer["changed"], dict(found)


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Audited]:
    policy: Path = tmp_path_factory.mktemp("audit") / "policy.yaml"
    policy.write_text(json.dumps(POLICY))
    with control_plane(f"--audit-policy-file={policy}", "--audit-log-path=audit.log") as plane:
        define(plane, built("volcano") / "crds", tree.ROOT / "crds")
        for name in ("left", "right"):
            plane.kubectl("create", "namespace", name)
        yield Audited(plane)


def flavours(prefix: str, number: int) -> list[dict[str, Any]]:
    return [{"name": f"{prefix}-{one}", **SIZE} for one in range(number)]


@pytest.mark.parametrize(
    ("name", "objects", "unchanged"),
    [
        ("flavour", flavours("single", 1), {"get flavours": 1}),
        ("flavour", flavours("few", 4), {"get flavours": 4}),
        ("flavour", flavours("many", 5), {"list flavours": 1}),
        ("queue", [{"name": f"q-{one}", "max": {"cpu": "1000m"}} for one in range(5)], {"list queues": 1}),
        (
            "filesystem",
            [{"name": f"f-{one}", "namespace": space, **STORE} for one in range(5) for space in ("left", "right")],
            # Secrets that an earlier declaration made and this one does not need would go.
            {f"list {kind} {space}": 1 for kind in ("filesystems", "secrets") for space in ("left", "right")},
        ),
    ],
    ids=["one", "few", "many", "of Volcano", "two namespaces"],
)
def test_a_run_that_changes_nothing_reads_once_and_writes_nothing(
    audited: Audited, name: str, objects: list[dict[str, Any]], unchanged: dict[str, int]
) -> None:
    changed, asked = audited.asked(name, objects=objects)
    assert changed
    assert sum(number for what, number in asked.items() if what.startswith("patch")) == len(objects)
    assert not [what for what in asked if what.startswith("dry")]
    assert audited.asked(name, objects=objects) == (False, unchanged)


def test_a_long_list_is_read_in_pages(audited: Audited) -> None:
    objects = flavours("paged", PAGE + 1)
    audited.asked("flavour", objects=objects)
    changed, asked = audited.asked("flavour", objects=objects)
    assert not changed
    assert asked == {"list flavours": 2}


def few(asked: dict[str, int]) -> bool:
    """One list, or at most four single objects, of each kind and namespace; and nothing else."""
    verbs: dict[str, list[str]] = {}
    for what, number in asked.items():
        verb, _space, of = what.partition(" ")
        verbs.setdefault(of, []).append(verb)
        if (verb, number) != ("list", 1) and not (verb == "get" and number <= FEW):
            return False
    return all(len(found) == 1 for found in verbs.values())


POLICY_OF = {"cache_dir": "/var/cache/x", "meta_driver": "disk"}
S3 = {"endpoint": "https://s3.example.org"}
DOCUMENT = """
name: greet-{}
docker_env: python:3.11
entry_points:
  hello: {{command: "echo hello"}}
"""


def numbered(prefix: str, **options: Any) -> list[dict[str, Any]]:
    return [{"name": f"{prefix}-{number}", **options} for number in range(5)]


@pytest.mark.parametrize("number", [1, 5])
@pytest.mark.parametrize(
    ("name", "objects"),
    [
        (
            "job",
            [
                {**one, "scheduling_policy": {"queue": f"jobs-{number}"}}
                for number, one in enumerate(numbered("j", namespace="left", image="x", command="y", flavour=SIZE))
            ],
        ),
        (
            "grant",
            [
                {"name": f"g-{number}", "queue": f"jobs-{number}", "users": ["alice"], "namespaces": ["left"]}
                for number in range(5)
            ],
        ),
        ("user", [{"name": f"user{number}", "identities": [f"oidc:{number}@example.com"]} for number in range(5)]),
        ("node_group", [{"name": f"n-{number}", "nodes": [f"node-{number}"]} for number in range(5)]),
        (
            "pipeline",
            [
                {"name": f"greet-{number}", "namespace": "left", "document": DOCUMENT.format(number)}
                for number in range(5)
            ],
        ),
        ("pipeline_schedule", numbered("s", namespace="left", pipeline={"name": "greet-0"}, crontab="30 2 * * *")),
        (
            "sampleset",
            numbered("d", namespace="left", no_sync=True, secret_ref={"name": "none"}),
        ),
        (
            "filesystem_link",
            [
                {
                    "name": f"l-{number}", "namespace": "left", "file_system": "host", "path": f"/{number}",
                    "url": "s3://more/", "properties": S3, "secret_ref": {"name": "keys"},
                }
                for number in range(5)
            ],
        ),
        ("filesystem_cache", [{"name": f"c-{number}", "namespace": "left", **POLICY_OF} for number in range(5)]),
        ("queue", [{"name": f"k-{number}", "min": {"cpu": 1}, "lendable": False} for number in range(5)]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_no_noun_asks_for_more_when_nothing_changes(
    standing: Audited, name: str, objects: list[dict[str, Any]], number: int
) -> None:
    given = objects[:number]
    standing.asked(name, objects=given)
    changed, asked = standing.asked(name, objects=given)
    assert not changed
    assert few(asked), asked


@pytest.mark.parametrize("number", [1, 5])
def test_neither_do_jobs_that_are_not_there(standing: Audited, number: int) -> None:
    changed, asked = standing.asked("job", objects=numbered("never", namespace="left")[:number], state="absent")
    assert not changed
    # And which kinds of operators are served.
    assert asked.pop("get None") < 10
    assert few(asked), asked


@pytest.mark.parametrize("number", [1, 5])
def test_neither_does_apply(standing: Audited, number: int) -> None:
    queues = [
        {
            "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue",
            "metadata": {"name": f"a-{one}"}, "spec": {"weight": 1, "parent": "root"},
        }
        for one in range(number)
    ]  # fmt: skip
    maps = [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": f"m-{one}", "namespace": "left"},
            "data": {"a": "b"},
        }
        for one in range(number)
    ]
    standing.asked("apply", definition=[*queues, *maps])
    changed, asked = standing.asked("apply", definition=[*queues, *maps])
    assert not changed
    assert few(asked), asked


@pytest.fixture(scope="module")
def standing(audited: Audited) -> Audited:
    """With what the declarations name."""
    audited.asked("queue", objects=[{"name": f"jobs-{number}"} for number in range(5)])
    for number in range(5):
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"node-{number}"}}
        audited.api.kubectl("create", "--filename=-", stdin=json.dumps(node))
    host = {"url": "s3://host/", "properties": S3, "secret_ref": {"name": "keys"}, "namespace": "left"}
    audited.asked(
        "filesystem", objects=[{"name": name, **host} for name in ("host", *(f"c-{one}" for one in range(5)))]
    )
    return audited
