# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""When a job was accepted, began and ended. All times are of the API server's form, whose order is that of their text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

NAMES = ("acceptTime", "startTime", "finishTime")
# Where kinds say it themselves: Paddle's and Ray's, Argo's, Spark's.
_BEGAN = ("startTime", "startedAt", "lastSubmissionAttemptTime")
_ENDED = ("completionTime", "endTime", "finishedAt", "terminationTime")


def of(job: Mapping[str, Any], pods: Iterable[Mapping[str, Any]], over: bool) -> dict[str, str]:
    """Empty for what has not happened yet, and for what nobody remembers: pods go with their nodes."""
    status = job.get("status", {})
    began = [pod["status"]["startTime"] for pod in pods if pod.get("status", {}).get("startTime")]
    return {
        "acceptTime": job.get("metadata", {}).get("creationTimestamp", ""),
        "startTime": _began(job, status) or min(began, default=""),
        "finishTime": (_first(status, _ENDED) or _changed(status)) if over else "",
    }


def _first(status: Mapping[str, Any], names: Iterable[str]) -> str:
    return next((status[name] for name in names if isinstance(status.get(name), str)), "")


def _began(job: Mapping[str, Any], status: Mapping[str, Any]) -> str:
    """Volcano's conditions are the phases that a job came into. Kubeflow's operators write a time of start when they first see a
    job, which may wait in its queue for long then."""
    running = {"status": "Running"}
    if job.get("apiVersion", "").startswith("kubeflow.org/"):
        running = {"type": "Running"}
    elif _first(status, _BEGAN):
        return _first(status, _BEGAN)
    conditions = status.get("conditions") or ()
    return next((str(one.get("lastTransitionTime") or "") for one in conditions if running.items() <= one.items()), "")


def _changed(status: Mapping[str, Any]) -> str:
    state = status.get("state")
    return str(state.get("lastTransitionTime") or "") if isinstance(state, dict) else ""
