# SPDX-License-Identifier: Apache-2.0
"""Who uses a queue."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from paddleflow_core.model import queue_use
from paddleflow_core.model.queue_use import Owner

from tools import tree

JOB = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "train", "uid": "u-job"}


def group(
    name: str, owner: dict[str, str] | None = None, *, queue: str = "vision", phase: str = "Running"
) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name, "namespace": "team", "uid": f"u-{name}"}
    if owner:
        metadata["ownerReferences"] = [owner]
    return {"metadata": metadata, "spec": {"queue": queue}, "status": {"phase": phase}}


def test_gangs_that_have_not_ended_use_their_queue() -> None:
    running, ended, other = group("a"), group("b", phase="Completed"), group("c", queue="sound")
    new = {"metadata": {"name": "d", "namespace": "team"}, "spec": {"queue": "vision"}}
    assert queue_use.users([running, ended, other, new], {"vision"}) == {"vision": [running, new]}


def test_a_gang_without_a_queue_is_in_the_default_one() -> None:
    bare = {"metadata": {"name": "a", "namespace": "team"}}
    assert queue_use.users([bare], {"default"}) == {"default": [bare]}


def test_a_gang_belongs_to_a_volcano_job_or_to_nobody() -> None:
    assert queue_use.job_of(group("a", JOB)) == Owner("train", "team", "u-job")
    assert queue_use.job_of(group("a", {**JOB, "apiVersion": "batch/v1"})) is None
    assert queue_use.job_of(group("a")) is None


def test_pods_say_which_gang_they_belong_to() -> None:
    mine = {"metadata": {"name": "p", "annotations": {"scheduling.k8s.io/group-name": "a"}}}
    theirs = {"metadata": {"name": "q", "annotations": {"scheduling.k8s.io/group-name": "b"}}}
    assert queue_use.pods_of(group("a"), [mine, theirs, {"metadata": {"name": "r"}}]) == [mine]


@pytest.mark.parametrize(
    ("number", "text"),
    [(1, "team/g0"), (3, "team/g0, team/g1, team/g2"), (5, "team/g0, team/g1, team/g2 and 2 more")],
)
def test_a_message_names_a_few(number: int, text: str) -> None:
    assert queue_use.shown([group(f"g{i}") for i in range(number)]) == text


def test_a_message_names_the_job_rather_than_its_gang() -> None:
    assert queue_use.shown([group("train-0f3a", JOB)]) == "team/train"


def queued(name: str, minute: int, phase: str = "Pending", **more: Any) -> dict[str, Any]:
    found = group(name, phase=phase)
    found["metadata"]["creationTimestamp"] = f"2026-01-31T08:{minute:02}:00Z"
    found["spec"] |= {key: value for key, value in more.items() if key != "conditions"}
    found["status"] |= {key: value for key, value in more.items() if key == "conditions"}
    return found


def test_who_waits_is_in_the_order_of_priority_and_age() -> None:
    groups = [
        queued("young", 9),
        queued("old", 1),
        queued("urgent", 8, priorityClassName="high"),
        queued("patient", 0, priorityClassName="very-low"),
        queued("running", 0, phase="Running"),
        queued("theirs", 2, phase="Inqueue", priorityClassName="a-class-of-theirs"),
    ]
    waiting = queue_use.waiting(groups)
    assert [(one["position"], one["name"]) for one in waiting] == [
        (1, "urgent"),
        (2, "old"),
        (3, "theirs"),
        (4, "young"),
        (5, "patient"),
    ]


def test_who_waits_is_told_why_and_for_how_much() -> None:
    why = {"type": "Unschedulable", "status": "True", "message": "0/2 nodes have 4 cpu"}
    other = {"type": "Scheduled", "status": "True", "message": "it was once"}
    only_reason = {"type": "Unschedulable", "status": "True", "reason": "NotEnoughResources"}
    asked = queued("a", 1, minResources={"cpu": "4"}, conditions=[why, other])
    first, second, third = queue_use.waiting([asked, queued("b", 2, conditions=[only_reason]), queued("c", 3)])
    assert (first["reason"], first["resources"]) == ("0/2 nodes have 4 cpu", {"cpu": "4"})
    assert (first["namespace"], first["since"]) == ("team", "2026-01-31T08:01:00Z")
    assert second["reason"] == "NotEnoughResources"
    assert (third["reason"], third["resources"]) == ("", {})


def test_all_that_is_told_of_a_gang_is_told_of_what_is_kept_of_it() -> None:
    why = {"type": "Unschedulable", "status": "True", "message": "no node has 4 cpu"}
    whole = {"kind": "PodGroup", **queued("a", 1, minResources={"cpu": "4"}, priorityClassName="low", conditions=[why])}
    whole["metadata"] |= {"ownerReferences": [JOB], "managedFields": ["much"]}
    kept = queue_use.kept(whole)
    assert "managedFields" not in kept["metadata"]
    assert queue_use.waiting([kept]) == queue_use.waiting([whole])
    assert queue_use.job_of(kept) == queue_use.job_of(whole)
    assert queue_use.users([kept], {"vision"}) == {"vision": [kept]}
    assert queue_use.kept({"metadata": {"name": "bare"}}) == {"metadata": {"name": "bare"}}


def test_the_classes_are_those_that_the_platform_installs() -> None:
    defaults = yaml.safe_load((tree.ROOT / "roles/volcano/defaults/main.yml").read_text(encoding="utf-8"))
    assert defaults["volcano_priority_classes"] == queue_use.PRIORITIES


def test_queues_that_stay_below_leaving_ones_are_found() -> None:
    parents = {"a": "root", "b": "a", "c": "a", "d": "b", "e": None}
    queues = [{"metadata": {"name": name}, "spec": {"parent": parent}} for name, parent in parents.items()]
    assert queue_use.below(queues, {"a", "b"}) == {"a": ["c"], "b": ["d"]}
