# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""How a job or run stands, in the same words whatever kind of object it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..model.jobs import operators, state, tasks

if TYPE_CHECKING:
    from collections.abc import Mapping

# Objects whose phase is the state, but for a few words of their own.
_PHASED: dict[str, dict[str, str]] = {
    "PipelineRun.paddleflow.org/v1alpha1": {"": "initiating"},
    "TrainingJob.paddlepaddle.org/v1": {"": "init", "creating": "pending", "scaling": "running"},
}
_JOBS = (tasks.VOLCANO, *operators.KINDS)


def outcome(found: Mapping[str, Any]) -> dict[str, Any]:
    """State and reason of the object that was read; whether the state is final, and whether it is a success."""
    # A lookup that found nothing gives a template an empty text.
    kind = f"{found.get('kind', '')}.{found.get('apiVersion', '')}" if hasattr(found, "get") else ""
    if kind in _PHASED:
        status = found.get("status") or {}
        word = str(status.get("phase") or "").lower()
        said, reason = _PHASED[kind].get(word, word), str(status.get("message") or "")
    elif kind in _JOBS:
        seen = state.observe(found)
        said, reason = seen["state"], seen["message"]
    else:
        known = ", ".join([*_JOBS, *_PHASED])
        raise ValueError(f"{kind.strip('.') or 'a value without a kind'} has no outcome: give an object of {known}.")
    return {"state": said, "reason": reason, "final": said in state.FINAL, "succeeded": said == "succeeded"}
