# SPDX-License-Identifier: Apache-2.0
"""What may be changed of a job, in which state; and when it goes by itself."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from paddleflow_core.model import job
from paddleflow_core.model.jobs import changes, stop, tasks

from tests.support import jobs
from tests.support.live import respelled

RIGID = jobs.distributed("pytorch", {"role": "master"}, {"role": "worker", "replicas": 2}, command="run")
ELASTIC = jobs.distributed("pytorch", {"role": "worker", "replicas": 2, "maxReplicas": 4}, command="run")


def said(old: dict[str, Any], new: dict[str, Any], now: str) -> list[str]:
    return [problem.text() for problem in changes.problems(old, new, now)]


def with_policy(**policy: Any) -> dict[str, Any]:
    return {**RIGID, "schedulingPolicy": {**jobs.POLICY, **policy}}


def replicas(spec: dict[str, Any], number: int, **more: Any) -> dict[str, Any]:
    *others, last = spec["members"]
    return {**spec, "members": [*others, {**last, "replicas": number, **more}]}


@pytest.mark.parametrize(
    ("old", "new", "now"),
    [
        (RIGID, RIGID, "running"),
        (RIGID, with_policy(priority="NORMAL"), "running"),  # the default; no change is a success [D-145]
        (RIGID, with_policy(priority="HIGH"), "init"),
        (RIGID, with_policy(priority="VERY_LOW"), "pending"),
        (RIGID, {**RIGID, "labels": {"a": "b"}}, "running"),
        (RIGID, {**RIGID, "annotations": {"a": "b"}, "displayName": "x"}, "pending"),
        (ELASTIC, replicas(ELASTIC, 4), "running"),
        (ELASTIC, {**ELASTIC, "minAvailable": 1}, "running"),
        (RIGID, {**RIGID, "image": "other"}, "succeeded"),  # it has ended: another one may be made
    ],
)
def test_what_may_change(old: dict[str, Any], new: dict[str, Any], now: str) -> None:
    assert said(old, new, now) == []


EARLY = "it changes only while a job is"
ONLY = "Only another job can have it: use recreate."


@pytest.mark.parametrize(
    ("old", "new", "now", "text"),
    [
        (RIGID, with_policy(priority="HIGH"), "running",
         f"schedulingPolicy.priority is changed while the job is running, but must be what it was: {EARLY} init or pending. {ONLY}"),
        (RIGID, {**RIGID, "labels": {"a": "b"}}, "terminating", "labels is changed while the job is terminating, but must be"),
        (RIGID, {**RIGID, "image": "other"}, "pending",
         f"image is changed from 'registry.example.org/pytorch:3.5.1' to 'other', but must be what it was. {ONLY}"),
        (RIGID, with_policy(queue="other"), "pending", "schedulingPolicy.queue is changed from 'vision' to 'other', but must be what it was."),
        (RIGID, with_policy(preemptable=False), "pending", "schedulingPolicy.preemptable is changed from True to False"),
        (RIGID, replicas(RIGID, 3), "running", "members[1].replicas is changed from 2 to 3, but must be what it was."),
        (ELASTIC, replicas(ELASTIC, 3, image="x"), "running", "members[0].image is changed from 'registry.example.org/pytorch:3.5.1' to 'x'"),
        (RIGID, {**RIGID, "members": RIGID["members"][:1]}, "running", "members is changed from [{"),
        (RIGID, {**RIGID, "minAvailable": 2}, "running", "minAvailable is changed from 3 to 2, but must be what it was."),
    ],
)  # fmt: skip
def test_everything_else_is_named_with_its_remedy(
    old: dict[str, Any], new: dict[str, Any], now: str, text: str
) -> None:
    found = said(old, new, now)
    assert any(line.startswith(text) for line in found), found


SIZED: dict[str, Any] = {**RIGID, "flavour": {"cpu": 1, "memory": "1Gi", "scalarResources": {"nvidia.com/gpu": 1}}}
TUNED: dict[str, Any] = {**RIGID, "fs": {"name": "data"}, "retryLimit": 2, "env": {"PF_JOB_RESTART_POLICY": "Always"}}


def with_member(spec: dict[str, Any], **more: Any) -> dict[str, Any]:
    first, *others = spec["members"]
    return {**spec, "members": [{**first, **more}, *others]}


SINGLE: dict[str, Any] = {
    "schedulingPolicy": jobs.POLICY,
    "image": "registry.example.org/train:1",
    "command": "python train.py",
}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (SIZED, {**SIZED, "flavour": {**SIZED["flavour"], "cpu": "1"}}),
        (SIZED, {**SIZED, "flavour": {**SIZED["flavour"], "cpu": "1000m", "memory": "1024Mi"}}),
        (SIZED, {**SIZED, "flavour": {**SIZED["flavour"], "scalarResources": {"nvidia.com/gpu": "1e0"}}}),
        (SIZED, {**SIZED, "flavour": {"name": "customFlavour", "scalarResources": {"nvidia.com/gpu": 1}}}),
        (SIZED, with_member(SIZED, flavour={**SIZED["flavour"], "cpu": "1.0"})),
        (with_member(RIGID, flavour={"cpu": 2}), with_member(RIGID, flavour={"cpu": "2", "memory": "1Gi"})),
        (RIGID, {**RIGID, "port": 0, "restartPolicy": "Never", "retryLimit": 0}),
        (RIGID, with_policy(priority="NORMAL", schedulerName="volcano", preemptable=True, requeueOnPreempt=True)),
        (with_policy(networkTopology={"highestTierAllowed": 1}), with_policy(networkTopology={"highestTierAllowed": 1, "mode": "hard"})),
        (TUNED, {**TUNED, "fs": {"name": "data", "readOnly": False}}),
        # A member's default is the job's field.
        (TUNED, with_member(TUNED, replicas=1, retryLimit=2, restartPolicy="Always", schedulingPolicy={"priority": "NORMAL"})),
        (TUNED, {**TUNED, "restartPolicy": "Always"}),
        (RIGID, {**RIGID, "minAvailable": 3, "args": [], "extraFS": []}),
        (SINGLE, {**SINGLE, "framework": "standalone", "flavour": {"cpu": 1}}),
        (SINGLE, {**SINGLE, "kind": "single", "flavour": {"name": "customFlavour"}, "minAvailable": 1}),
        (RIGID, replicas(with_member(RIGID, args=[], extraFS=[], minAvailable=1), 2, minAvailable=2)),
        ({**ELASTIC, "minAvailable": 2}, replicas(ELASTIC, ELASTIC["members"][-1]["replicas"], minAvailable=2)),
    ],
)  # fmt: skip
def test_another_spelling_and_a_default_that_is_written_out_are_no_change(
    old: dict[str, Any], new: dict[str, Any]
) -> None:
    for before, after in ((old, new), (new, old)):
        assert said(before, after, "running") == []
        (live,) = job.build("j", "n", before, jobs.GIVEN)
        assert changes.same(live, after)


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        (SIZED, {**SIZED, "flavour": {**SIZED["flavour"], "cpu": "1001m"}}, "flavour is changed from {'cpu': 1, "),
        (RIGID, {**RIGID, "flavour": {"cpu": 1}}, "flavour is changed from None to {'cpu': 1}"),  # a template may say more
        (TUNED, with_member(TUNED, retryLimit=0), "members[0].retryLimit is changed from 2 to 0"),
        (TUNED, {**TUNED, "restartPolicy": "Never"}, "restartPolicy is changed from 'Always' to 'Never'"),
        (TUNED, with_member(TUNED, restartPolicy="Never"), "members[0].restartPolicy is changed from 'Always' to 'Never'"),
        ({**RIGID, "flavour": {"name": "gpu"}}, {**RIGID, "flavour": {"name": "flavour1"}}, "flavour is changed from {'name': 'gpu'}"),
        ({**RIGID, "args": ["a"]}, with_member({**RIGID, "args": ["a"]}, args=[]), "members[0].args is changed from None to []"),
        (TUNED, {**TUNED, "retryLimit": 3}, "retryLimit is changed from 2 to 3"),  # and not of each member again
    ],
)  # fmt: skip
def test_another_value_is_a_change_of_the_field_that_says_it(
    old: dict[str, Any], new: dict[str, Any], text: str
) -> None:
    (only,) = said(old, new, "running")
    assert only.startswith(text)
    (live,) = job.build("j", "n", old, jobs.GIVEN)
    assert not changes.same(live, new)


def fields(level: Any) -> dict[str, bool]:
    """Each field, and whether it is one that cannot change."""
    found: dict[str, bool] = {}
    for name, field in level.items():
        if name == "schedulingPolicy":
            found |= fields(field["fields"])
        elif name == "members":
            found |= fields(field["items"]["fields"])
        else:
            found[name] = field.get("immutable", False)
    return found


def test_the_table_says_the_same() -> None:
    found = fields(job.NOUN["spec"])
    assert {name for name, immutable in found.items() if not immutable} == set(changes.MUTABLE)


def test_an_empty_label_takes_the_label_away() -> None:
    """[D-146]"""
    worker = {"role": "worker", "labels": {"stage": ""}}
    spec = {**ELASTIC, "members": [worker], "labels": {"stage": "a", "team": ""}, "annotations": {"note": ""}}
    (built,) = job.build("j", "n", spec, {})
    assert not {"team", "note"} & {*built["metadata"]["labels"], *built["metadata"]["annotations"]}
    assert built["metadata"]["labels"]["stage"] == "a"
    assert "stage" not in built["spec"]["tasks"][0]["template"]["metadata"]["labels"]
    assert changes.emptied(spec, built) == {}
    assert changes.same(built, spec)
    built["metadata"]["labels"]["team"] = "somebody's"
    assert changes.emptied(spec, built) == {"labels": {"team": None}}
    assert not changes.same(built, spec)


def test_a_job_is_as_declared_until_it_goes_or_somebody_changes_it() -> None:
    (live,) = job.build("j", "n", ELASTIC, {})
    assert changes.same(live, ELASTIC)
    assert not changes.same(live, {**ELASTIC, "image": "other"})
    going = {**live, "metadata": {**live["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}}
    assert not changes.same(going, ELASTIC)
    foreign = {**live, "metadata": {"name": "j"}}
    assert not changes.same(foreign, job.declared(foreign))  # nobody declared it yet


@given(st.sampled_from(sorted(jobs.VOLCANO)))
def test_an_update_writes_only_what_its_engine_lets_through(case: str) -> None:
    live = jobs.built(case)
    live["metadata"]["resourceVersion"] = "7"
    wanted = jobs.built(case)
    wanted["metadata"]["labels"]["team"] = "new"
    wanted["spec"] |= {"priorityClassName": "high", "minAvailable": 1, "queue": "other", "maxRetry": 3}
    wanted["spec"]["tasks"][0] |= {"replicas": 9, "minAvailable": 1, "template": {}}
    found = changes.revised(live, wanted, jobs.VOLCANO[case], jobs.GIVEN)
    assert found["metadata"] == wanted["metadata"]
    expected = {**live["spec"], "priorityClassName": "high", "minAvailable": 1}
    first, *others = live["spec"]["tasks"]
    assert found["spec"] == {**expected, "tasks": [{**first, "replicas": 9, "minAvailable": 1}, *others]}


def revised(spec: dict[str, Any], new: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The spec of a live job of an operator, that has defaults and a flavour of its own, before and after."""
    (live,) = job.build("j", "n", spec, jobs.GIVEN)
    live["spec"]["defaulted"] = {"by": "operator"}
    later: Any = {**jobs.GIVEN, "flavours": {"gpu": {"cpu": 1, "memory": "1Gi"}}}
    (built,) = job.build("j", "n", new, later)
    found = changes.revised(live, built, new, later)
    assert found["metadata"] == built["metadata"]
    return live["spec"], found["spec"]


@pytest.mark.parametrize("case", sorted(jobs.OPERATORS))
def test_an_operators_object_is_left_as_it_is_but_for_what_its_declaration_changed(case: str) -> None:
    spec = jobs.OPERATORS[case]
    annotations = {**spec.get("annotations", {}), "note": "b"}
    labelled = {**spec, "labels": {**spec.get("labels", {}), "team": "a"}, "annotations": annotations}
    old, new = revised(spec, labelled)
    assert new == old
    if any("_PRIORITY" in name for name in spec.get("env", {})):
        return  # its pods have priorities of their own
    old, new = revised(spec, {**spec, "schedulingPolicy": {**jobs.POLICY, "priority": "HIGH"}})
    words = json.dumps(old).replace(f'"{tasks.PRIORITIES[tasks.priority(spec)]}"', '"high"')
    assert new == json.loads(words)


@pytest.mark.parametrize("case", sorted(jobs.OPERATORS))
def test_of_an_operators_object_another_spelling_changes_nothing(case: str) -> None:
    old, new = revised(jobs.OPERATORS[case], respelled(jobs.OPERATORS[case], job.NOUN["spec"]))
    assert new == old


def test_an_operators_object_gets_the_replicas_that_are_declared() -> None:
    spec = jobs.OPERATORS["pytorchjob_elastic"]
    (member,) = spec["members"]
    old, new = revised(spec, {**spec, "members": [{**member, "replicas": 4}], "minAvailable": 3})
    worker = old["pytorchReplicaSpecs"]["Worker"]
    assert new["pytorchReplicaSpecs"] == {"Worker": {**worker, "replicas": 4}}
    assert new["runPolicy"]["schedulingPolicy"]["minAvailable"] == 3
    assert new["elasticPolicy"]["minReplicas"] == 3
    assert new["defaulted"] == {"by": "operator"}


def test_lists_of_an_operators_object_are_carried_entry_by_entry() -> None:
    ray = jobs.OPERATORS["rayjob"]
    head, worker = ray["members"]
    old, new = revised(ray, {**ray, "members": [head, {**worker, "replicas": 3}]})
    (before,), (after,) = (one["rayClusterSpec"]["workerGroupSpecs"] for one in (old, new))
    assert after == {**before, "replicas": 3}


def test_what_somebody_else_made_of_a_list_gives_way_to_what_is_declared() -> None:
    ray = jobs.OPERATORS["rayjob"]
    head, worker = ray["members"]
    (live,) = job.build("j", "n", ray, jobs.GIVEN)
    live["spec"]["rayClusterSpec"]["workerGroupSpecs"].append({"groupName": "mine"})
    new = {**ray, "members": [head, {**worker, "replicas": 3}]}
    (built,) = job.build("j", "n", new, jobs.GIVEN)
    found = changes.revised(live, built, new, jobs.GIVEN)["spec"]["rayClusterSpec"]
    assert found["workerGroupSpecs"] == built["spec"]["rayClusterSpec"]["workerGroupSpecs"]


def test_a_spark_application_is_not_resized_since_its_operator_would_run_it_again() -> None:
    driver, executor = jobs.SPARK["members"]
    members = [driver, {**executor, "minAvailable": 1}]
    kind = "SparkApplication.sparkoperator.k8s.io/v1beta2"
    for spec, ok in (
        ({**jobs.SPARK, "members": members}, True),
        (jobs.asked(kind, {**jobs.SPARK, "members": members}), False),
    ):
        more = {**spec, "members": [driver, {**members[1], "replicas": 3}]}
        assert (said(spec, more, "running") == []) is ok


def test_a_job_is_stopped_with_a_reason_and_only_once() -> None:
    live = jobs.built("mpi")
    live["metadata"]["uid"] = "u1"
    found = changes.stop(live, "running", "by ada")
    assert found is not None
    patch, command = found
    assert patch == {"metadata": {"annotations": {stop.STOP: "by ada"}}}
    assert command is not None
    assert (command["action"], command["target"]["uid"], command["metadata"]["name"]) == (
        "TerminateJob",
        "u1",
        "stop-u1",
    )
    assert changes.stop(live, "succeeded", "by ada") is None  # [D-147]
    assert changes.stop(jobs.built("rayjob"), "pending", "") == ({"metadata": {"annotations": {stop.STOP: ""}}}, None)


@pytest.mark.parametrize(
    ("spec", "seconds"),
    [
        ({}, None),
        ({"ttlSeconds": {"succeeded": 600}}, None),  # what failed would go as early
        ({"ttlSeconds": {"succeeded": 600, "failed": 3600}}, 3600),
        ({"annotations": {tasks.TTL: "5"}}, 5),
        ({"annotations": {tasks.TTL: "9" * 20}}, 2**31 - 1),
        ({"annotations": {tasks.TTL: "soon"}, "ttlSeconds": {"failed": 1}}, None),
    ],
)
def test_an_engine_that_knows_one_time_is_told_one_for_every_end(spec: dict[str, Any], seconds: int | None) -> None:
    """[D-150]"""
    for case, body in (("mpi", jobs.VOLCANO["mpi"]), ("rayjob", jobs.OPERATORS["rayjob"])):
        annotations = {**body.get("annotations", {}), **spec.get("annotations", {})}
        (built,) = job.build("j", "n", {**body, **spec, "annotations": annotations}, jobs.GIVEN)
        assert built["spec"].get("ttlSecondsAfterFinished") == seconds, case
