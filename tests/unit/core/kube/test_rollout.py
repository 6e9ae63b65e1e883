# SPDX-License-Identifier: Apache-2.0
"""When a workload has all of its pods as they are declared now."""

from __future__ import annotations

from typing import Any

import pytest
from paddleflow_core.kube import rollout

FULL = {"replicas": 3, "updatedReplicas": 3, "availableReplicas": 3}
EVERYWHERE = {"desiredNumberScheduled": 3, "updatedNumberScheduled": 3, "numberAvailable": 3}
STUCK = {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": "timed out"}
MOVING = {"type": "Progressing", "status": "True", "reason": "ReplicaSetUpdated"}
AVAILABLE = {"type": "Available", "status": "True"}


def workload(status: dict[str, Any], generation: int = 2, **spec: Any) -> dict[str, Any]:
    observed = {"observedGeneration": 2, **status}
    return {"metadata": {"name": "x", "generation": generation}, "spec": spec, "status": observed}


CHECKS = {
    "Deployment": (rollout.deployment({}), FULL),
    "StatefulSet": (rollout.stateful_set, FULL),
    "DaemonSet": (rollout.daemon_set, EVERYWHERE),
}


@pytest.mark.parametrize("kind", CHECKS)
def test_it_is_ready_when_every_pod_is_new_and_available_and_not_before(kind: str) -> None:
    check, full = CHECKS[kind]
    assert check(workload(full, replicas=3)).state == "ready"
    for field in [field for field in full if field not in ("replicas", "desiredNumberScheduled")]:
        verdict = check(workload({**full, field: 2}, replicas=3))
        assert (verdict.state, verdict.why) == ("waiting", f"its status.{field} is 2, and not 3")
        unsaid = {key: value for key, value in full.items() if key != field}
        assert check(workload(unsaid, replicas=3)).state == "waiting"


@pytest.mark.parametrize("kind", CHECKS)
def test_what_was_said_before_it_was_written_says_nothing(kind: str) -> None:
    check, full = CHECKS[kind]
    assert check(workload({**full, "conditions": [AVAILABLE, STUCK]}, generation=3, replicas=3)).why == (
        "its status is of an earlier generation"
    )
    assert check({"metadata": {"name": "x", "generation": 1}, "spec": {}}).state == "waiting"
    assert check(None).why == "it does not exist"


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet"])
def test_pods_from_before_are_waited_out(kind: str) -> None:
    check, full = CHECKS[kind]
    verdict = check(workload({**full, "replicas": 4}, replicas=3))
    assert (verdict.state, verdict.why) == ("waiting", "its status.replicas is 4, and not 3")


@pytest.mark.parametrize("kind", CHECKS)
def test_none_at_all_may_be_wanted(kind: str) -> None:
    check, _full = CHECKS[kind]
    assert check(workload({}, replicas=0)).state == "ready"


def test_one_is_wanted_where_nothing_is_said() -> None:
    assert rollout.stateful_set(workload({})).why == "its status.updatedReplicas is 0, and not 1"


def test_a_rollout_without_progress_has_failed_with_its_reason_though_old_pods_are_available() -> None:
    check = rollout.deployment({})
    broken = workload({**FULL, "updatedReplicas": 1, "conditions": [AVAILABLE, STUCK]}, replicas=3)
    verdict = check(broken)
    assert (verdict.state, verdict.why) == (
        "failed",
        "its condition Progressing is False, ProgressDeadlineExceeded: timed out",
    )
    moving = workload({**FULL, "updatedReplicas": 1, "conditions": [AVAILABLE, MOVING]}, replicas=3)
    assert check(moving).state == "waiting"


def test_one_that_is_just_put_right_has_not_failed_by_what_it_said_before() -> None:
    """Going back to pods that are still there, its controller says so only once the broken ones are gone."""
    before = workload({"replicas": 2, "updatedReplicas": 1, "availableReplicas": 1, "conditions": [STUCK]}, replicas=1)
    check = rollout.deployment(before)
    assert check(before).state == "waiting"
    assert check(workload({**before["status"], "replicas": 1, "conditions": [MOVING]}, replicas=1)).state == "ready"
    again = {**STUCK, "lastUpdateTime": "later"}
    assert check(workload({**before["status"], "conditions": [again]}, replicas=1)).state == "failed"


def test_what_a_stateful_set_holds_back_is_not_waited_for() -> None:
    held: dict[str, Any] = {"updateStrategy": {"rollingUpdate": {"partition": 2}}, "replicas": 3}
    assert rollout.stateful_set(workload({**FULL, "updatedReplicas": 1}, **held)).state == "ready"
    assert rollout.stateful_set(workload({**FULL, "updatedReplicas": 0}, **held)).state == "waiting"
    held["updateStrategy"] = {"rollingUpdate": {"partition": 9}}
    assert rollout.stateful_set(workload({**FULL, "updatedReplicas": 0}, **held)).state == "ready"


def test_pods_that_only_their_owner_replaces_may_be_old_ones() -> None:
    by_hand: dict[str, Any] = {"updateStrategy": {"type": "OnDelete"}}
    assert rollout.stateful_set(workload({**FULL, "updatedReplicas": 0}, **by_hand, replicas=3)).state == "ready"
    assert rollout.daemon_set(workload({**EVERYWHERE, "updatedNumberScheduled": 0}, **by_hand)).state == "ready"
    assert rollout.daemon_set(workload({**EVERYWHERE, "numberAvailable": 0}, **by_hand)).state == "waiting"
