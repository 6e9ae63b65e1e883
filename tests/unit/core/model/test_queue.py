# SPDX-License-Identifier: Apache-2.0
"""A queue's declaration and the Volcano Queue that it becomes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from paddleflow_core.model import check, own, queue

from tests.support import documents

SPEC = queue.NOUN["spec"]


def said(name: str = "research", **spec: Any) -> list[str]:
    read, problems = check.read(SPEC, spec)
    return [problem.text() for problem in [*problems, *queue.problems(name, read)]]


def test_an_elastic_queue_is_entitled_to_min_and_borrows_up_to_max() -> None:
    (built,) = queue.build("research", "", {"min": {"cpu": 4}, "max": {"cpu": "8", "nvidia.com/gpu": 0}})
    assert (built["apiVersion"], built["kind"]) == ("scheduling.volcano.sh/v1beta1", "Queue")
    assert built["spec"] == {
        "weight": 1,
        "parent": "root",
        "deserved": {"cpu": "4"},
        "capability": {"cpu": "8", "nvidia.com/gpu": "0"},  # an explicit 0 is none, not no limit
    }
    assert built["metadata"] == {
        "name": "research",
        "labels": {"app.kubernetes.io/managed-by": "paddleflow"},
        "annotations": {},
    }


def test_what_is_not_to_be_lent_is_noted_for_who_writes_guarantees() -> None:
    (built,) = queue.build("research", "", {"min": {"cpu": 4}, "lendable": False})
    assert "guarantee" not in built["spec"]
    assert built["metadata"]["annotations"] == {queue.LENDABLE: "false"}
    (lent,) = queue.build("research", "", {"min": {"cpu": 4}, "lendable": True})
    assert lent["metadata"]["annotations"] == {}


def test_of_a_queue_of_somebody_else_a_guarantee_says_that_it_is_not_lent() -> None:
    found: dict[str, Any] = {"metadata": {"labels": {}}, "spec": {"guarantee": {"resource": {"cpu": "1"}}}}
    assert queue.declared(found)["lendable"] is False
    found["metadata"]["labels"] = own.MANAGED  # a sum of what is kept below it
    assert "lendable" not in queue.declared(found)


def test_more_in_use_than_there_may_be_is_said() -> None:
    spec = {"capability": {"cpu": "2", "memory": "1Gi", "nvidia.com/gpu": "1"}}
    status = {"allocated": {"cpu": "2500m", "memory": "1Gi"}}
    assert list(queue.beyond({"metadata": {"name": "q"}, "spec": spec, "status": status})) == [
        "queue q: max.cpu is 2, and 2500m are in use: what runs goes on, and nothing new begins until enough of it has ended."
    ]
    assert list(queue.beyond({"metadata": {"name": "q"}, "spec": spec})) == []


def test_a_queue_of_a_group_has_at_most_what_its_nodes_have() -> None:
    nodes = [{"allocatable": {"cpu": "2", "memory": "1Gi"}}, {"allocatable": {"cpu": "1500m", "memory": "1Gi"}}]
    spec = {"nodeGroup": "a", "min": {"memory": "2Gi", "gpu": 1}, "max": {"cpu": 4, "memory": "3Gi"}}
    assert [one.text() for one in queue.beyond_group(spec, nodes)] == [
        "min.gpu is 1, but must be at most 0, what the nodes of the group a have.",
        "max.cpu is 4, but must be at most 3500m, what the nodes of the group a have.",
        "max.memory is 3Gi, but must be at most 2Gi, what the nodes of the group a have.",
    ]


def test_a_queue_that_owns_nodes_is_held_to_their_group() -> None:
    (built,) = queue.build("research", "", {"isolation": "physical", "nodeGroup": "a100"})
    assert built["spec"]["affinity"] == {
        "nodeGroupAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": ["a100"]}
    }


def test_what_volcano_has_no_field_for_is_annotated_unless_it_is_the_default() -> None:
    (built,) = queue.build(
        "research",
        "",
        {
            "namespace": "team",
            "ordering": "StrictFIFO",
            "withinQueue": "Never",
            "maxRunningJobs": 3,
            "hardwareTypes": ["V100"],
        },
    )
    assert built["metadata"]["annotations"] == {
        "paddleflow.org/namespace": "team",
        "paddleflow.org/ordering": "StrictFIFO",
        "paddleflow.org/max-running-jobs": "3",
        "paddleflow.org/hardware-types": '["V100"]',
    }


def test_a_bound_namespace_has_to_be_there() -> None:
    (namespace,) = queue.needs("", {"namespace": "team"})
    assert (namespace["kind"], namespace["metadata"]["name"]) == ("Namespace", "team")
    assert queue.needs("", {}) == []


@given(documents.objects(SPEC))
def test_a_live_queue_says_the_declaration_that_it_was_built_from(spec: dict[str, Any]) -> None:
    read, problems = check.read(SPEC, spec)
    assert problems == []
    assume(not list(queue.problems("research", read)))
    (built,) = queue.build("research", "", read)
    assert queue.build("research", "", queue.declared(built)) == [built]


def test_what_somebody_else_wrote_into_an_annotation_is_shown_as_it_is() -> None:
    built = {"metadata": {"annotations": {"paddleflow.org/max-running-jobs": "many"}}}
    assert queue.declared(built) == {"maxRunningJobs": "many"}


@pytest.mark.parametrize(
    ("name", "spec", "text"),
    [
        ("default", {}, "name is 'default', but must be another name. Volcano's own queues have these names."),
        ("Root", {}, "name is 'Root', but must be another name."),
        ("a", {"parent": "a"}, "parent is 'a', the queue itself, but must be another queue."),
        (
            "a",
            {"quotaType": "volcanoCapabilityQuota", "min": {"cpu": 1}, "lendable": False},
            "lendable is false, but must",
        ),
        ("a", {"lendable": False}, "lendable is false, but must be true where there is no min."),
        ("a", {"isolation": "physical"}, "nodeGroup is missing, but must be the group of nodes"),
        ("a", {"min": {"cpu": "2000m"}, "max": {"cpu": 1}}, "min.cpu is 2000m, but must be at most max.cpu, 1."),
        (
            "a",
            {"min": {"gpu": 2}, "max": {"cpu": 1}},
            "max.gpu is missing, but must be at least min.gpu, 2, as max names other resources. To Volcano a limit that leaves it out",
        ),
        ("a", {"location": {"zone": "a b"}}, "location.zone is 'a b', but must be text like ^([A-Za-z0-9]"),
        ("a", {"max": {"cpu": -1}}, "max.cpu is -1, but must be"),
        ("a", {"parent": "A"}, "parent is 'A', but must be text like"),
        ("a", {"nodeGroup": "a_b"}, "nodeGroup is 'a_b', but must be text like"),
        ("a", {"namespace": "a.b"}, "namespace is 'a.b', but must be text like"),
        ("a\n", {"namespace": "a\n"}, "namespace is 'a\\n', but must be text like"),
        ("a", {"ordering": "LIFO"}, "ordering is 'LIFO', but must be one of Fair, StrictFIFO, BestEffortFIFO."),
        ("a", {"withinQueue": "Any"}, "withinQueue is 'Any', but must be one of Never, LowerPriority."),
        ("a", {"isolation": "none"}, "isolation is 'none', but must be one of logical, physical."),
        ("a", {"schedulingPolicy": ["age"]}, "schedulingPolicy[0] is 'age', but must be one of priority."),
        ("a", {"quotaType": "other"}, "quotaType is 'other', but must be one of elasticQuota, volcanoCapabilityQuota."),
    ],
)
def test_what_is_wrong_with_a_queue(name: str, spec: dict[str, Any], text: str) -> None:
    assert any(line.startswith(text) for line in said(name, **spec)), said(name, **spec)


def test_volcanos_own_queues_are_not_taken_away() -> None:
    said = {
        name: [problem.text() for problem in queue.absent_problems(name)] for name in ("default", "root", "research")
    }
    assert said == {
        "default": ["name is 'default', but must be another name. Volcano's own queues stay."],
        "root": ["name is 'root', but must be another name. Volcano's own queues stay."],
        "research": [],
    }


def test_a_good_queue_has_no_problems() -> None:
    assert (
        said("a", min={"cpu": 1, "memory": "1Gi"}, max={"cpu": "1000m", "memory": "1Gi"}, parent="b", lendable=False)
        == []
    )


@pytest.mark.parametrize(
    ("spec", "part"),
    [
        ({"ordering": "BestEffortFIFO"}, {"paddleflow.org/ordering": "BestEffortFIFO"}),
        ({"ordering": "Fair"}, {}),
        ({"withinQueue": "LowerPriority"}, {"paddleflow.org/within-queue": "LowerPriority"}),
        ({"isolation": "logical"}, {}),
        ({"schedulingPolicy": ["priority"]}, {"paddleflow.org/scheduling-policy": '["priority"]'}),
        ({"quotaType": "volcanoCapabilityQuota"}, {"paddleflow.org/quota-type": "volcanoCapabilityQuota"}),
    ],
)
def test_words_of_a_queue(spec: dict[str, Any], part: dict[str, str]) -> None:
    assert said("a", **spec) == []
    (built,) = queue.build("a", "", spec)
    assert built["metadata"]["annotations"] == part


def test_what_is_reclaimed_is_volcanos_own_field() -> None:
    assert [queue.build("a", "", {"reclaimable": one})[0]["spec"]["reclaimable"] for one in (True, False)] == [
        True,
        False,
    ]


def test_the_references_names_are_taken() -> None:
    spec, problems = check.read(SPEC, {"maxResources": {"cpu": 2, "mem": "1Gi"}, "minResources": {"cpu": 1}})
    assert (spec, problems) == ({"max": {"cpu": 2, "memory": "1Gi"}, "min": {"cpu": 1}}, [])


def test_jobs_are_ordered_fairly_when_nothing_is_said() -> None:
    assert [SPEC[field]["default"] for field in ("ordering", "withinQueue", "isolation")] == [
        "Fair",
        "Never",
        "logical",
    ]


def test_an_entitlement_that_the_type_knows_nothing_of_is_ignored_with_a_remark() -> None:
    spec = {"quotaType": "volcanoCapabilityQuota", "min": {"cpu": 4}, "max": {"cpu": 2}}
    assert said("a", **spec) == []
    (built,) = queue.build("a", "", spec)
    assert built["spec"] == {"weight": 1, "parent": "root", "capability": {"cpu": "2"}}
    assert queue.remarks("a", spec) == [
        "min is ignored: a queue with quotaType volcanoCapabilityQuota guarantees nothing."
    ]
    assert queue.remarks("a", {"min": {"cpu": 4}}) == queue.remarks("a", {}) == []


# ---- opening and closing ----------------------------------------------------------------------------------------------


def live(state: str | None) -> dict[str, Any]:
    status = {"status": {"state": state}} if state else {}
    return {"metadata": {"name": "vision", "uid": "u-1"}, **status}


@pytest.mark.parametrize(
    ("now", "state", "action"),
    [
        ("Open", "open", None),
        (None, "open", None),
        ("Closed", "open", "OpenQueue"),
        ("Closing", "open", "OpenQueue"),
        ("Unknown", "open", "OpenQueue"),
        ("Open", "closed", "CloseQueue"),
        (None, "closed", "CloseQueue"),
        ("Closing", "closed", None),
        ("Closed", "closed", None),
        ("Open", "drained", "CloseQueue"),
        ("Closing", "drained", None),
    ],
)
def test_volcano_is_told_once(now: str | None, state: str, action: str | None) -> None:
    told = queue.command(live(now), state)
    assert (told and told["action"]) == action


@pytest.mark.parametrize(
    ("before", "spec", "reason"),
    [
        ({"max": {"cpu": 1}}, {"max": {"cpu": 2}}, None),
        ({}, {"quotaType": "volcanoCapabilityQuota"}, "its quota_type is elasticQuota and cannot become volcanoCap"),
        ({"quotaType": "volcanoCapabilityQuota"}, {}, "its quota_type is volcanoCapabilityQuota and cannot become el"),
        (
            {"isolation": "physical", "nodeGroup": "a"},
            {},
            "its isolation is physical and cannot become logical; remove",
        ),
        ({"namespace": "a"}, {"namespace": "b"}, "its namespace is a and cannot become b; remove the queue"),
        ({"namespace": "a"}, {}, "its namespace is a and cannot become none"),
        ({"namespace": "a"}, {"namespace": "a"}, None),
        ({}, {"namespace": "a"}, None),
    ],
)
def test_what_a_queue_was_made_for_stays(before: dict[str, Any], spec: dict[str, Any], reason: str | None) -> None:
    (found,) = queue.build("vision", "", before)
    said = queue.judge("open", found, spec)
    assert (said or "").startswith(reason) if reason else said is None
    assert queue.judge("absent", found, spec) is None
    # One that somebody else made is taken over as what it is declared to be.
    found["metadata"]["labels"] = {}
    assert queue.judge("open", found, spec) is None


def test_a_command_goes_with_its_queue() -> None:
    told = queue.command(live("Open"), "closed")
    assert told is not None
    assert told["metadata"]["generateName"] == "vision-closequeue-"
    assert told["metadata"]["ownerReferences"] == [told["target"]]
    assert told["target"]["uid"] == "u-1"
