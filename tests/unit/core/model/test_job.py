# SPDX-License-Identifier: Apache-2.0
"""A job's declaration and the object that it becomes."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from paddleflow_core.model import check, crd, job
from paddleflow_core.model.jobs import objects, pods, shell

from tests.support import documents, jobs

SPEC = job.NOUN["spec"]
ROOT = Path(__file__).parents[4]


@pytest.mark.parametrize("case", jobs.CASES)
def test_each_framework_and_form_has_a_golden_file(case: str) -> None:
    assert jobs.shown(jobs.built(case)) == jobs.golden(case)


def test_there_is_no_golden_file_of_nothing() -> None:
    assert {path.stem for path in jobs.GOLDEN.iterdir()} == set(jobs.CASES)


@pytest.mark.parametrize("case", jobs.CASES)
def test_a_job_says_what_it_was_declared_with(case: str) -> None:
    found = jobs.built(case)
    assert job.declared(found) == json.loads(json.dumps(check.read(SPEC, jobs.CASES[case])[0]))
    assert job.build(jobs.name(case), jobs.NAMESPACE, job.declared(found), jobs.GIVEN) == [found]


@pytest.mark.parametrize("case", jobs.CASES)
def test_nothing_of_a_template_is_changed_by_building(case: str) -> None:
    before = copy.deepcopy(jobs.CASES[case])
    jobs.built(case)
    assert jobs.CASES[case] == before


def test_every_field_has_a_text_and_every_text_a_field() -> None:
    used: set[str] = set()

    class Texts(dict[str, str]):
        def __getitem__(self, path: str) -> str:
            used.add(path)
            return super().__getitem__(path)

    texts = Texts(yaml.safe_load((ROOT / "docs/model/job.yaml").read_text(encoding="utf-8")))
    field: Any = {"type": "object", "fields": SPEC}
    crd._schema(field, "spec", texts)
    assert used | {""} == set(texts)


def test_the_noun_pays_for_its_table_only() -> None:
    """What a framework or an operator needs is imported when it is used."""
    code = "import sys; from paddleflow_core.model import job; print([n for n in sys.modules if n.startswith('paddleflow_core')])"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(ROOT / "build/py")},
        check=True,
        capture_output=True,
        text=True,
    )
    assert set(json.loads(done.stdout.replace("'", '"'))) == {
        "paddleflow_core", "paddleflow_core.model", "paddleflow_core.model.job",
        "paddleflow_core.model.job_fields", "paddleflow_core.model.names",
    }  # fmt: skip


# Any good job: what the table says of the job and of its members, with what belongs together put together.
ROLES = {
    "paddle": ["pserver", "worker", "worker"],
    "pytorch": ["master", "worker"],
    "tensorflow": ["worker"],
    "mpi": ["master", "worker", "worker"],
    "ray": ["worker", "master"],
    "spark": ["driver", "executor"],
}
FREE = ("labels", "annotations", "env", "extraFS", "args", "port", "image", "command", "restartPolicy")


def common(fields: Any) -> st.SearchStrategy[dict[str, Any]]:
    return documents.objects({name: fields[name] for name in FREE}).map(cleaned)


def cleaned(spec: dict[str, Any]) -> dict[str, Any]:
    spec["image"] = spec.get("image", "registry.example.org/any:1")
    spec["command"] = spec.get("command") or "run"
    spec["env"] = {name: value for name, value in spec.get("env", {}).items() if not name.startswith(("PF_", "RAY_"))}
    spec["extraFS"] = [
        {**mount, "name": f"fs{number}", "mountPath": f"/mnt/{number}", "subPath": "part"}
        for number, mount in enumerate(spec.get("extraFS", []))
    ]
    return spec


@st.composite
def declarations(draw: st.DrawFn) -> dict[str, Any]:
    spec = draw(common(SPEC))
    policy = draw(documents.values(SPEC["schedulingPolicy"]))
    spec |= {
        "schedulingPolicy": {**policy, "queue": "vision"},
        "kind": draw(st.sampled_from(["single", "distributed"])),
    }
    spec |= draw(documents.objects({name: SPEC[name] for name in ("displayName", "ttlSeconds")}))
    if spec["kind"] == "single":
        return spec
    spec["framework"] = draw(st.sampled_from(sorted(ROLES)))
    item = SPEC["members"]["items"]["fields"]
    spec["members"] = [
        {
            **draw(common(item)),
            "role": role,
            "replicas": 1 if role in ("master", "driver") else draw(st.integers(1, 20)),
        }
        for role in ROLES[spec["framework"]]
    ]
    for level in (spec, *spec["members"]):
        level["flavour"] = {"cpu": draw(st.integers(1, 64)), "memory": draw(st.sampled_from(["2Gi", "3G", "1.5Gi"]))}
        if spec["framework"] == "ray":
            level["args"] = [f"key:{argument}" for argument in level.get("args", [])]
    return spec


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(declarations())
def test_every_good_job_reads_back_as_itself(spec: dict[str, Any]) -> None:
    read, problems = check.read(SPEC, spec)
    assert problems == []
    assume(not list(job.problems("any", read)))
    (built,) = job.build("any", "team", read)
    assert job.declared(built) == read
    assert job.build("any", "team", job.declared(built)) == [built]
    assert json.loads(json.dumps(built)) == built
    for task in built["spec"]["tasks"]:
        (container,) = task["template"]["spec"]["containers"]
        names = [entry["name"] for entry in container["env"]]
        assert len(names) == len(set(names))
        assert container["command"][:3] == ["sh", "-c", shell.literal(shell.LAUNCH)]
        assert 1 <= task["minAvailable"] <= task["replicas"]
        assert all(task["template"]["metadata"]["labels"][label] for label in pods.IDENTITY)
    assert built["spec"]["minAvailable"] == sum(task["minAvailable"] for task in built["spec"]["tasks"])


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(documents.objects(SPEC))
def test_whatever_is_declared_is_judged(spec: dict[str, Any]) -> None:
    read, problems = check.read(SPEC, spec)
    assert problems == []
    asked: Any = {"flavours": {}, "mounts": {}}
    for found in (None, asked):
        assert all(problem.text() for problem in job.problems("any", read, found))


TEMPLATE_WORDS = st.sampled_from(
    [
        "metadata",
        "labels",
        "annotations",
        "spec",
        "tasks",
        "name",
        "template",
        "containers",
        "env",
        "volumes",
        "volumeMounts",
        "mountPath",
        "tolerations",
        "terminationGracePeriodSeconds",
        "worker",
        "replicaSpecs",
        "pytorchReplicaSpecs",
        "Worker",
        "rayClusterSpec",
        "headGroupSpec",
        "driver",
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | documents.WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEMPLATE_WORDS, inner, max_size=4),
    max_leaves=20,
)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    st.dictionaries(TEMPLATE_WORDS, JSON, max_size=3),
    st.sampled_from(["v1/Pod", "batch.volcano.sh/v1alpha1/Job", "kubeflow.org/v1/PyTorchJob"]),
    st.booleans(),
)
def test_no_template_stops_the_builder(template: dict[str, Any], kind: str, members: bool) -> None:
    api, _slash, name = kind.rpartition("/")
    spec = {
        **jobs.distributed("pytorch", {"role": "worker", **jobs.TRAIN}),
        "extensionTemplate": {"apiVersion": api, "kind": name, **template},
    }
    if not members:
        del spec["members"]
    read, problems = check.read(SPEC, spec)
    assert problems == []
    if not list(job.problems("any", read)):
        assert job.build("any", "team", read)


def test_what_was_changed_while_the_job_lived_is_what_it_says() -> None:
    found = jobs.built("ray")
    found["metadata"]["labels"]["team"] = "new"
    found["metadata"]["annotations"]["volcano.sh/seen"] = "by a program"
    found["spec"]["priorityClassName"] = "high"
    found["spec"]["tasks"][1] |= {"replicas": 3, "minAvailable": 2}
    found["spec"]["minAvailable"] = 4
    said = job.declared(found)
    assert said["labels"] == {"team": "new"}
    assert "annotations" not in said
    assert said["schedulingPolicy"] == {"queue": "vision", "priority": "HIGH"}
    assert (said["members"][1]["replicas"], said["members"][1]["minAvailable"], said["minAvailable"]) == (3, 2, 4)


def test_a_label_that_somebody_took_away_is_not_declared_any_more() -> None:
    found = jobs.built("standalone")
    del found["metadata"]["labels"]["team"]
    found["metadata"]["annotations"]["ticket"] = "V-8"
    assert (job.declared(found)["labels"], job.declared(found)["annotations"]["ticket"]) == ({}, "V-8")


@pytest.mark.parametrize("annotation", [None, "[]", "{not json"])
def test_somebody_elses_job_is_its_own_template(annotation: str | None) -> None:
    body = {"queue": "vision", "priorityClassName": "low", "tasks": [{"name": "a", "replicas": 1, "template": {}}]}
    theirs = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {
            "name": "theirs",
            "uid": "1",
            "annotations": {objects.DECLARATION: annotation} if annotation else {},
        },
        "spec": body,
    }
    said = job.declared(theirs)
    assert said["schedulingPolicy"] == {"queue": "vision", "priority": "LOW"}
    assert said["extensionTemplate"]["spec"] == body
    assert "uid" not in said["extensionTemplate"].get("metadata", {})
    assert list(job.problems("theirs", check.read(SPEC, said)[0])) == []
    (built,) = job.build("theirs", "", said)
    assert [task["name"] for task in built["spec"]["tasks"]] == ["a"]


@pytest.mark.parametrize(
    "found",
    [
        {"spec": {"queue": "vision"}},
        {"spec": {"schedulingPolicy": {"queue": "vision"}}},
        {"spec": {"runPolicy": {"schedulingPolicy": {"queue": "vision"}}}},
        {"spec": {"batchSchedulerOptions": {"queue": "vision"}}},
        {"spec": {"runPolicy": "odd"}, "metadata": {"labels": {"volcano.sh/queue-name": "vision"}}},
        {"metadata": {"annotations": {"scheduling.volcano.sh/queue-name": "vision"}}},
    ],
)
def test_the_queue_of_somebody_elses_job_is_told_whatever_its_kind(found: dict[str, Any]) -> None:
    assert job.declared(found)["schedulingPolicy"] == {"queue": "vision"}


def test_an_object_that_says_nothing_is_read_too() -> None:
    assert job.declared({})["extensionTemplate"] == {"spec": {}}
