# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest
from paddleflow_core.plan.outcome import outcome


def thing(kind: str, api: str, **status: Any) -> dict[str, Any]:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": "train"}, "status": status}


VOLCANO = "batch.volcano.sh/v1alpha1"
RUN = "paddleflow.org/v1alpha1"
ELASTIC = "paddlepaddle.org/v1"


@pytest.mark.parametrize(
    ("found", "state", "reason"),
    [
        (thing("Job", VOLCANO, state={"phase": "Running"}), "running", ""),
        (thing("Job", VOLCANO, state={"phase": "Completed"}), "succeeded", ""),
        (thing("Job", VOLCANO, state={"phase": "Failed", "message": "no retry left"}), "failed", "no retry left"),
        (thing("PaddleJob", "batch.paddlepaddle.org/v1", phase="Completed"), "succeeded", ""),
        (
            thing("PyTorchJob", "kubeflow.org/v1", conditions=[{"type": "Failed", "status": "True", "message": "boom"}]),
            "failed",
            "boom",
        ),
        (thing("RayJob", "ray.io/v1", jobStatus="STOPPED"), "terminated", ""),
        (thing("PipelineRun", RUN), "initiating", ""),
        ({"apiVersion": RUN, "kind": "PipelineRun"}, "initiating", ""),
        (thing("PipelineRun", RUN, phase="failed", message="step a"), "failed", "step a"),
        (thing("TrainingJob", ELASTIC), "init", ""),
        (thing("TrainingJob", ELASTIC, phase="scaling"), "running", ""),
        (thing("TrainingJob", ELASTIC, phase="Succeeded"), "succeeded", ""),
    ],
)  # fmt: skip
def test_every_kind_has_the_same_words(found: dict[str, Any], state: str, reason: str) -> None:
    said = outcome(found)
    assert (said["state"], said["reason"]) == (state, reason)
    assert said["final"] == (state in ("succeeded", "failed", "terminated"))
    assert said["succeeded"] == (state == "succeeded")


@pytest.mark.parametrize(
    ("found", "name"),
    [(thing("Job", "batch/v1"), "Job.batch/v1"), ({}, "a value without a kind"), ("", "a value without a kind")],
)
def test_an_object_that_does_not_run_is_refused_with_what_does(found: Any, name: str) -> None:
    with pytest.raises(ValueError, match=f"^{name} has no outcome: give an object of Job.batch.volcano.sh/v1alpha1, "):
        outcome(found)
