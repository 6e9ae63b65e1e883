# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""When a job was accepted, began and ended. All times are of the API server's form, whose order is that of their text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

NAMES = ("acceptTime", "startTime", "finishTime")
# Where kinds say it themselves: Kubeflow's, Paddle's, Ray's and Spark's.
_BEGAN = ("startTime", "lastSubmissionAttemptTime")
_ENDED = ("completionTime", "endTime", "terminationTime")


def of(job: Mapping[str, Any], pods: Iterable[Mapping[str, Any]], over: bool) -> dict[str, str]:
    """Empty for what has not happened yet, and for what nobody remembers: pods go with their nodes."""
    status = job.get("status", {})
    began = [pod["status"]["startTime"] for pod in pods if pod.get("status", {}).get("startTime")]
    return {
        "acceptTime": job.get("metadata", {}).get("creationTimestamp", ""),
        "startTime": _first(status, _BEGAN) or _volcanos(status, "Running") or min(began, default=""),
        "finishTime": (_first(status, _ENDED) or _changed(status)) if over else "",
    }


def _first(status: Mapping[str, Any], names: Iterable[str]) -> str:
    return next((status[name] for name in names if isinstance(status.get(name), str)), "")


def _volcanos(status: Mapping[str, Any], phase: str) -> str:
    """Its conditions are each phase that the job came into."""
    found = [one for one in status.get("conditions", ()) if one.get("status") == phase]
    return str(found[0].get("lastTransitionTime") or "") if found else ""


def _changed(status: Mapping[str, Any]) -> str:
    state = status.get("state")
    return str(state.get("lastTransitionTime") or "") if isinstance(state, dict) else ""
