# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""From what each kind of object says of itself to one word for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


class Phase(NamedTuple):
    """stopping and stopped are an end that says nothing about success yet; the others are states of a job."""

    state: str
    message: str = ""


# By kind: where the word stands, where its reason, and the words of each state.
_KINDS: dict[str, tuple[str, str, dict[str, str]]] = {
    "Job": (
        "state.phase",
        "state.message",
        {
            "pending": "Pending Restarting",
            "running": "Running Completing",
            "succeeded": "Completed",
            "failed": "Failed",
            "stopping": "Aborting Terminating",
            "stopped": "Aborted Terminated",
        },
    ),
    "PaddleJob": (
        "phase",
        "message",
        {
            "pending": "Starting Pending",
            "running": "Running Restarting Completing Scaling",
            "succeeded": "Completed Succeed",
            "failed": "Failed Terminated Unknown",
            "terminating": "Terminating Aborting",
            "terminated": "Aborted",
        },
    ),
    "SparkApplication": (
        "applicationState.state",
        "applicationState.errorMessage",
        {
            "pending": "NEW SUBMITTED",
            "running": "RUNNING SUCCEEDING FAILING INVALIDATING PENDING_RERUN",
            "succeeded": "COMPLETED",
            "failed": "FAILED SUBMISSION_FAILED UNKNOWN",
        },
    ),
    "RayJob": (
        "jobStatus",
        "message",
        # [D-142]
        {
            "pending": "PENDING",
            "running": "RUNNING",
            "succeeded": "SUCCEEDED",
            "failed": "FAILED",
            "terminated": "STOPPED",
        },
    ),
    "Workflow": (
        "phase",
        "message",
        {
            "pending": "Pending Omitted Skipped",
            "running": "Running",
            "succeeded": "Succeeded",
            "failed": "Failed Error",
        },
    ),
    "AITrainingJob": (
        "phase",
        "message",
        # [D-156]
        {
            "pending": "None Pending Creating",
            "running": "Restarting Running Scaling Terminating",
            "succeeded": "Succeeded Succeed",
            "failed": "Failed NodeFail Timeout",
            "preempted": "Preempted",
        },
    ),
}
# Kubeflow's last condition counts.
_CONDITIONS = {
    "Created": "pending",
    "Running": "running",
    "Restarting": "running",
    "Succeeded": "succeeded",
    "Failed": "failed",
}


def of(job: Mapping[str, Any]) -> Phase:
    status = job.get("status", {})
    if job.get("apiVersion", "").startswith("kubeflow.org/"):
        true = [entry for entry in status.get("conditions", ()) if entry.get("status") == "True"]
        last = true[-1] if true else {}
        return Phase(_CONDITIONS.get(last.get("type", ""), "init"), last.get("message", ""))
    where, why, words = _KINDS.get(job.get("kind", ""), ("phase", "message", {}))
    word, message = _at(status, where), _at(status, why)
    if not word:
        return Phase("init", message)
    state = next((state for state, known in words.items() if word in known.split()), "running")
    return Phase(state, message)


def _at(status: Any, path: str) -> str:
    for part in path.split("."):
        status = status.get(part, {}) if isinstance(status, dict) else {}
    return status if isinstance(status, str) else ""
