# SPDX-License-Identifier: Apache-2.0
"""What has become of a job, read from its object, its gang and its pods."""

from __future__ import annotations

from typing import Any

import pytest
from paddleflow_core.model.jobs import phases, state, stop, times

from tests.support import jobs

ABORTS: dict[str, Any] = {"policies": [{"exitCode": 143, "action": "AbortJob"}]}


def volcano(
    phase: str = "", *, annotations: dict[str, str] | None = None, retries: int = 0, **more: Any
) -> dict[str, Any]:
    status: dict[str, Any] = {"state": {"phase": phase}} if phase else {}
    metadata = {"name": "a", "annotations": annotations or {}, **more.pop("metadata", {})}
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": metadata,
        "spec": more, "status": {**status, "retryCount": retries},
    }  # fmt: skip


def pod(
    name: str, phase: str, *, code: int | None = None, at: str = "2026-01-01T00:00:00Z", reason: str = "Error",
    said: str = "", annotations: dict[str, str] | None = None, own: dict[str, Any] | None = None, **status: Any
) -> dict[str, Any]:  # fmt: skip
    if code is not None:
        ended = {"exitCode": code, "reason": reason, "finishedAt": at, "message": said}
        status["containerStatuses"] = [{"name": "main", "state": {"terminated": ended}}]
    task, _dash, index = name.rpartition("-")
    return {
        "metadata": {
            "name": name, "namespace": "team", "uid": f"uid-{name}", "annotations": annotations or {},
            "labels": {"volcano.sh/task-spec": task, "volcano.sh/task-index": index},
        },
        "spec": {"nodeName": "n1"} if phase != "Pending" else {},
        "status": {"phase": phase, **status, **(own or {})},
    }  # fmt: skip


FAILED = pod("worker-1", "Failed", code=7, said="Traceback\nValueError: no data\n")
STOPPED = pod("worker-0", "Failed", code=143, at="2025-01-01T00:00:00Z")


@pytest.mark.parametrize(
    ("job", "pods", "expected", "message"),
    [
        (volcano(), [], "init", ""),
        (volcano("Pending"), [], "pending", "waiting for the scheduler"),
        (volcano("Restarting", retries=2), [], "pending", "started again, 2 times so far"),
        (volcano("Running"), [], "running", ""),
        (volcano("Completing"), [], "running", ""),
        (volcano("Completed"), [], "succeeded", ""),
        (volcano("Failed"), [], "failed", "job failed"),
        (volcano("Failed"), [STOPPED], "failed", "worker-0: exit code 143"),
        (volcano("Failed"), [FAILED], "failed", "worker-1: exit code 7: ValueError: no data"),
        # a gang ends with its first failure; the others were only told to stop
        (volcano("Terminating"), [STOPPED, FAILED], "terminating", "worker-1: exit code 7: ValueError: no data"),
        (volcano("Terminated"), [STOPPED, FAILED], "failed", "worker-1: exit code 7: ValueError: no data"),
        (volcano("Terminated"), [], "terminated", "stopped by a command"),
        (volcano("Aborted"), [], "terminated", "stopped by a command"),
        (volcano("Aborting"), [], "terminating", "stopped by a command"),
        # stopped by somebody
        (volcano("Terminated", annotations={stop.STOP: "by ada"}), [FAILED], "terminated", "by ada"),
        (volcano("Aborting", annotations={stop.STOP: ""}), [], "terminating", "stopped"),
        # preempted [D-124]
        (volcano("Aborting", **ABORTS), [], "preempting", "its pods were evicted"),
        (volcano("Aborted", **ABORTS), [STOPPED], "preempted", "its pods were evicted"),
        (volcano("Aborted", **ABORTS), [FAILED], "failed", "worker-1: exit code 7: ValueError: no data"),
        (volcano("Aborted", **ABORTS), [], "preempted", "its pods were evicted"),
        (volcano("Aborted", annotations={state.PREEMPTED_BY: "team/b"}), [STOPPED], "preempted", "preempted by team/b"),
        (volcano("Terminating", annotations={"jobStatus": "preempting"}), [], "preempting", "its pods were evicted"),
        # deleted
        (volcano("Running", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}), [], "terminating", "job is being deleted"),
    ],
)  # fmt: skip
def test_each_state_and_why(job: dict[str, Any], pods: list[Any], expected: str, message: str) -> None:
    found = state.observe(job, pods)
    assert (found["state"], found["message"]) == (expected, message)


@pytest.mark.parametrize(
    ("before", "job", "expected"),
    [
        ("succeeded", volcano("Failed"), "succeeded"),  # any | final | unchanged
        ("preempted", volcano("Running"), "preempted"),
        ("terminating", volcano("Running"), "running"),
        ("terminating", volcano("Completed"), "terminated"),
        ("terminating", volcano("Aborting"), "terminating"),
        ("preempting", volcano("Failed"), "preempted"),
        ("preempting", volcano("Pending"), "pending"),
        ("running", None, "terminated"),
        ("failed", None, "failed"),
        ("", None, "terminated"),
    ],
)
def test_what_was_known_before_counts(before: str, job: dict[str, Any] | None, expected: str) -> None:
    assert state.observe(job, before=before)["state"] == expected


def test_a_job_that_is_gone_says_so() -> None:
    assert state.observe(None, before="running")["message"] == "job is deleted"


def test_why_a_job_waits_is_said_by_its_gang() -> None:
    """Its pods exist only once the gang may be placed."""
    reason = "queue vision: cpu wanted 8, max 20, allocated 14, inqueue 4"
    conditions = [
        {"type": "Unschedulable", "status": "True", "message": "older"},
        {"type": "Unschedulable", "status": "True", "message": reason},
        {"type": "Unschedulable", "status": "True"},
        {"type": "Scheduled", "status": "False"},
    ]
    found = state.observe(volcano("Pending"), [], {"status": {"conditions": conditions}})
    assert found["message"] == reason
    assert state.observe(volcano("Pending"), [], {})["message"] == "waiting for the scheduler"


@pytest.mark.parametrize(
    ("found", "status", "message"),
    [
        (pod("worker-0", "Pending"), "pending", ""),
        (pod("worker-0", "Running"), "running", ""),
        (pod("worker-0", "Succeeded", code=0), "succeeded", ""),
        (pod("worker-0", "Failed", code=137, reason="OOMKilled"), "failed", "exit code 137 (OOMKilled)"),
        (pod("worker-0", "Failed", own={"reason": "Evicted", "message": "low on memory"}), "failed", "Evicted: low on memory"),
        # its node may come back [D-143]
        (pod("worker-0", "Unknown"), "running", "the node does not answer"),
        (pod("worker-0", "Pending", conditions=[{"type": "Ready"}, {"type": "PodScheduled", "status": "False", "message": "no GPU"}]), "pending", "no GPU"),
        (pod("worker-0", "Pending", conditions=[{"type": "PodScheduled", "status": "False"}]), "pending", ""),
        (pod("worker-0", "Pending", containerStatuses=[{"state": {"waiting": {"reason": "ContainerCreating"}}}]), "pending", ""),
        (pod("worker-0", "Pending", containerStatuses=[{"state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}}]),
         "pending", "ImagePullBackOff: no such image"),
        (pod("worker-0", "Pending", initContainerStatuses=[{"state": {"terminated": {"exitCode": 0}}}],
             containerStatuses=[{"state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": {"terminated": {"exitCode": 1}}}]),
         "pending", "CrashLoopBackOff"),
        (pod("worker-0", "Running", containerStatuses=[
            {"lastState": {"terminated": {"exitCode": 2, "reason": "Error"}}}, {"state": {"terminated": {"exitCode": 0}}}]),
         "running", "exit code 2"),
        ({}, "pending", ""),
    ],
)  # fmt: skip
def test_each_task_says_its_status_and_why(found: dict[str, Any], status: str, message: str) -> None:
    (task,) = state.observe(volcano("Running"), [found])["tasks"]
    assert (task["status"], task["message"]) == (status, message)


def test_a_task_says_where_it_runs_and_with_what() -> None:
    found = pod("worker-1-3", "Running", annotations={"BAIDU_COM_GPU_IDX": "0, 2"})
    (task,) = state.observe(volcano("Running"), [found])["tasks"]
    assert task == {
        "id": "uid-worker-1-3", "name": "worker-1-3", "namespace": "team", "role": "worker", "group": 1, "index": 3,
        "status": "running", "message": "", "exitCode": None, "finishedAt": "", "nodeName": "n1", "acceleratorCards": ["0", "2"],
    }  # fmt: skip
    own = pod("driver-0", "Running", annotations={"example.org/cards": "GPU-1"})
    (task,) = state.observe(volcano("Running"), [own], cards=["example.org/cards"])["tasks"]  # [D-126]
    assert (task["group"], task["acceleratorCards"]) == (0, ["GPU-1"])


def test_a_running_job_says_what_is_wrong_with_its_pods() -> None:
    pods = [pod("worker-0", "Running"), pod("worker-1", "Unknown")]
    found = state.observe(volcano("Running", retries=4), pods)
    assert (found["message"], found["restarts"]) == ("worker-1: the node does not answer", 4)


OPERATORS: list[tuple[str, str, dict[str, Any], str]] = [
    ("batch.paddlepaddle.org/v1", "PaddleJob", {"phase": word}, expected)
    for expected, words in {
        "pending": "Starting Pending", "running": "Running Restarting Completing Scaling", "succeeded": "Completed Succeed",
        "failed": "Failed Terminated Unknown", "terminating": "Terminating Aborting", "terminated": "Aborted",
    }.items()
    for word in words.split()
]  # fmt: skip
OPERATORS += [
    ("sparkoperator.k8s.io/v1beta2", "SparkApplication", {"applicationState": {"state": word}}, expected)
    for word, expected in {
        "": "init", "SUBMITTED": "pending", "RUNNING": "running", "FAILING": "running", "COMPLETED": "succeeded", "SUBMISSION_FAILED": "failed",
    }.items()
]  # fmt: skip
OPERATORS += [
    ("ray.io/v1", "RayJob", {"jobStatus": word}, expected)
    for word, expected in {
        "PENDING": "pending", "RUNNING": "running", "SUCCEEDED": "succeeded", "FAILED": "failed", "STOPPED": "terminated",  # [D-142]
    }.items()
]  # fmt: skip
OPERATORS += [
    ("argoproj.io/v1alpha1", "Workflow", {"phase": word}, expected)
    for word, expected in {
        "Pending": "pending",
        "Running": "running",
        "Succeeded": "succeeded",
        "Error": "failed",
    }.items()
]
OPERATORS += [
    ("kongming.cce.baiudbce.com/v1", "AITrainingJob", {"phase": word}, expected)
    for word, expected in {
        "Creating": "pending", "Scaling": "running", "Succeeded": "succeeded", "NodeFail": "failed", "Preempted": "preempted",  # [D-156]
    }.items()
]  # fmt: skip
OPERATORS += [
    ("kubeflow.org/v1", "PyTorchJob", {"conditions": [{"type": "Created", "status": "True"}, *conditions]}, expected)
    for conditions, expected in (
        ([], "pending"),
        ([{"type": "Running", "status": "True"}], "running"),
        ([{"type": "Running", "status": "False"}, {"type": "Succeeded", "status": "True"}], "succeeded"),
        ([{"type": "Failed", "status": "True"}], "failed"),
    )
]
OPERATORS += [
    ("kubeflow.org/v1", "TFJob", {}, "init"),
    ("example.org/v1", "Other", {"phase": "Odd"}, "running"),
    ("v1", "X", {"phase": 3}, "init"),
]


@pytest.mark.parametrize(("api", "kind", "status", "expected"), OPERATORS)
def test_each_word_of_each_operator(api: str, kind: str, status: dict[str, Any], expected: str) -> None:
    found = {"apiVersion": api, "kind": kind, "status": status}
    assert phases.of(found).state == expected
    assert state.observe(found)["state"] == expected


def test_an_operators_message_is_passed_on() -> None:
    failed = {"apiVersion": "ray.io/v1", "kind": "RayJob", "status": {"jobStatus": "FAILED", "message": "no head"}}
    assert state.observe(failed)["message"] == "no head"


def test_pods_say_whose_they_are_by_their_engines_word_or_by_ours() -> None:
    for case, engines in (("mpi", "volcano.sh/job-name"), ("pytorchjob", "paddleflow-job-id")):
        found = jobs.built(case)
        assert state.label(found["apiVersion"]) == engines
    template = found["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]
    assert template["metadata"]["labels"]["paddleflow-job-id"] == found["metadata"]["name"]


POD_TIMES = [{"status": {"startTime": "2026-01-01T00:00:07Z"}}, {"status": {"startTime": "2026-01-01T00:00:05Z"}}, {}]


@pytest.mark.parametrize(
    ("status", "pods", "over", "began", "ended"),
    [
        ({}, [], False, "", ""),
        ({}, POD_TIMES, False, "2026-01-01T00:00:05Z", ""),
        (
            {
                "state": {"phase": "Completed", "lastTransitionTime": "2026-01-01T00:01:00Z"},
                "conditions": [
                    {"status": "Pending", "lastTransitionTime": "2026-01-01T00:00:01Z"},
                    {"status": "Running", "lastTransitionTime": "2026-01-01T00:00:06Z"},
                    {"status": "Completed", "lastTransitionTime": "2026-01-01T00:01:00Z"},
                ],
            },
            POD_TIMES, True, "2026-01-01T00:00:06Z", "2026-01-01T00:01:00Z",
        ),
        ({"state": {"phase": "Running", "lastTransitionTime": "2026-01-01T00:00:06Z"}}, [], False, "", ""),
        ({"startTime": "2026-01-01T00:00:02Z", "completionTime": "2026-01-01T00:00:09Z"}, POD_TIMES, True, "2026-01-01T00:00:02Z", "2026-01-01T00:00:09Z"),
        ({"state": "succeeded", "startTime": 3}, [], True, "", ""),  # an operator's own idea of it
    ],
)  # fmt: skip
def test_when_a_job_began_and_ended(
    status: dict[str, Any], pods: list[Any], over: bool, began: str, ended: str
) -> None:
    job = {"metadata": {"creationTimestamp": "2026-01-01T00:00:00Z"}, "status": status}
    assert times.of(job, pods, over) == {
        "acceptTime": "2026-01-01T00:00:00Z", "startTime": began, "finishTime": ended,
    }  # fmt: skip


def test_a_job_of_kubeflows_begins_when_it_runs() -> None:
    """Its operator writes a time of start when it first sees it."""
    conditions = [{"type": "Created", "status": "True", "lastTransitionTime": "2026-01-01T00:00:01Z"}]
    job = {
        "apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {},
        "status": {"startTime": "2026-01-01T00:00:01Z", "conditions": conditions},
    }  # fmt: skip
    assert times.of(job, [], False)["startTime"] == ""
    conditions.append({"type": "Running", "status": "False", "lastTransitionTime": "2026-01-01T00:00:09Z"})
    assert times.of(job, [], False)["startTime"] == "2026-01-01T00:00:09Z"


def test_a_workflow_has_words_of_its_own_for_times() -> None:
    status = {"startedAt": "2026-01-01T00:00:01Z", "finishedAt": "2026-01-01T00:00:09Z", "conditions": None}
    found = times.of({"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "status": status}, [], True)
    assert (found["startTime"], found["finishTime"]) == ("2026-01-01T00:00:01Z", "2026-01-01T00:00:09Z")
