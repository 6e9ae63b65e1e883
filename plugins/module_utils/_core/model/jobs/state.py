# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""What has become of a job: its state, why it is so, and the same of each of its pods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import phases, shell, times
from .stop import STOP

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

WORDS = (
    "init", "pending", "running", "succeeded", "failed", "terminating", "terminated", "preempting", "preempted",
)  # fmt: skip
FINAL = ("succeeded", "failed", "terminated", "cancelled", "skipped", "preempted")
# Who took the job's place, and the reference's word for it.
PREEMPTED_BY, STATUS = "paddleflow.org/preempted-by", "jobStatus"
# Where schedulers write the accelerators of a pod [D-126].
CARDS = ("BAIDU_COM_GPU_IDX", "volcano.sh/gpu-index", "volcano.sh/vgpu-ids-new")


def label(api: str) -> str:
    """By which a pod says whose it is: Volcano's word, and ours for jobs that operators make pods of."""
    return "volcano.sh/job-name" if api.startswith("batch.volcano.sh/") else "paddleflow-job-id"


def observe(
    job: Mapping[str, Any] | None,
    pods: Iterable[Mapping[str, Any]] = (),
    group: Mapping[str, Any] | None = None,
    before: str = "",
    cards: Sequence[str] = CARDS,
) -> dict[str, Any]:
    """`before` is the state that was seen last: a final one stays what it is."""
    pods = list(pods)
    found = [_task(pod, cards) for pod in pods]
    if job is None:
        gone = {
            "state": before or "terminated",
            "message": "",
            "restarts": 0,
            "tasks": found,
            **times.of({}, pods, False),
        }
        return gone if before in FINAL else {**gone, "state": "terminated", "message": "job is deleted"}
    state, message = _state(job, found, group)
    if before in FINAL:
        state = before
    elif before == "terminating" and state != "running":
        state = state if state == "terminating" else "terminated"
    elif before == "preempting" and state in FINAL:
        state = "preempted"
    restarts = job.get("status", {}).get("retryCount", 0)
    when = times.of(job, pods, state in FINAL)
    return {"state": state, "message": message, "restarts": restarts, "tasks": found, **when}


def _state(
    job: Mapping[str, Any], found: Sequence[Mapping[str, Any]], group: Mapping[str, Any] | None
) -> tuple[str, str]:
    annotations = job.get("metadata", {}).get("annotations", {})
    phase = phases.of(job)
    if job.get("metadata", {}).get("deletionTimestamp"):
        return "terminating", "job is being deleted"
    if phase.state in ("stopping", "stopped"):
        return _ended(phase.state == "stopped", annotations, found, _aborts(job))
    if phase.state == "failed":
        return "failed", _failure(found) or phase.message or _trouble(found) or "job failed"
    if phase.state == "pending":
        return "pending", _waiting(job, found, group) or phase.message
    return phase.state, phase.message or _trouble(found)


def _ended(
    final: bool, annotations: Mapping[str, str], found: Sequence[Mapping[str, Any]], aborts: bool
) -> tuple[str, str]:
    """Volcano says aborted or terminated of what was stopped, what was evicted and what failed."""
    if STOP in annotations:
        return ("terminated" if final else "terminating"), annotations[STOP] or "stopped"
    by = annotations.get(PREEMPTED_BY)
    failure = _failure(found)
    if by or annotations.get(STATUS) in ("preempting", "preempted") or (aborts and not failure):
        return ("preempted" if final else "preempting"), f"preempted by {by}" if by else "its pods were evicted"
    if failure:
        return ("failed" if final else "terminating"), failure
    return ("terminated" if final else "terminating"), "stopped by a command"


def _aborts(job: Mapping[str, Any]) -> bool:
    """Whether the job is not to be started again once it was evicted [D-124]."""
    phase = job.get("status", {}).get("state", {}).get("phase", "")
    policies = job.get("spec", {}).get("policies", ())
    return phase in ("Aborting", "Aborted") and any(policy.get("action") == "AbortJob" for policy in policies)


def _failure(found: Iterable[Mapping[str, Any]]) -> str:
    """Of the first pod that failed by itself: those that were told to stop are what followed."""
    own = [task for task in found if task["status"] == "failed" and task["exitCode"] != shell.STOPPED]
    first = min(own, key=lambda task: task["finishedAt"] or "~", default=None)
    return f"{first['name']}: {first['message']}" if first else ""


def _waiting(job: Mapping[str, Any], found: Iterable[Mapping[str, Any]], group: Mapping[str, Any] | None) -> str:
    """Pods exist only once the gang may be placed, so the gang says why it is not."""
    status = (group or {}).get("status", {})
    for condition in reversed(status.get("conditions", [])):
        if condition.get("type") == "Unschedulable" and condition.get("status") == "True":
            text: str = condition.get("message") or condition.get("reason") or ""
            if text:
                return text
    again = job.get("status", {}).get("retryCount", 0)
    return _trouble(found) or (f"started again, {again} times so far" if again else "waiting for the scheduler")


def _trouble(found: Iterable[Mapping[str, Any]]) -> str:
    """The first pod that has something to say."""
    return next((f"{task['name']}: {task['message']}" for task in found if task["message"]), "")


def _task(pod: Mapping[str, Any], cards: Sequence[str]) -> dict[str, Any]:
    metadata, status = pod.get("metadata", {}), pod.get("status", {})
    labels, annotations = metadata.get("labels", {}), metadata.get("annotations", {})
    role, _dash, number = labels.get("volcano.sh/task-spec", "").partition("-")
    code, finished, message = _told(status)
    return {
        "id": metadata.get("uid", ""),
        "name": metadata.get("name", ""),
        "namespace": metadata.get("namespace", ""),
        "role": role,
        "group": int(number) if number.isdecimal() else 0,
        "index": int(labels.get("volcano.sh/task-index", 0)),
        "status": _status(status),
        "message": message,
        "exitCode": code,
        "finishedAt": finished,
        "nodeName": pod.get("spec", {}).get("nodeName", ""),
        "acceleratorCards": _cards(annotations, cards),
    }


def _status(status: Mapping[str, Any]) -> str:
    # A node that does not answer may come back, so Unknown is not an end [D-143].
    return {"Succeeded": "succeeded", "Failed": "failed", "Running": "running", "Unknown": "running"}.get(
        status.get("phase", ""), "pending"
    )


def _told(status: Mapping[str, Any]) -> tuple[int | None, str, str]:
    """Exit code, end and reason: of the last container that ended, of one that cannot start, of the pod's placing."""
    code, finished, message = None, "", ""
    for container in [*status.get("initContainerStatuses", ()), *status.get("containerStatuses", ())]:
        now, last = container.get("state", {}), container.get("lastState", {})
        ended = now.get("terminated") or last.get("terminated")
        if ended and (ended.get("exitCode") or not message):
            code, finished = ended.get("exitCode"), ended.get("finishedAt", "")
            message = _ending(ended) if code else ""
        waiting = now.get("waiting", {})
        if waiting.get("reason") not in (None, "ContainerCreating", "PodInitializing"):
            message = ": ".join(text for text in (waiting["reason"], waiting.get("message", "")) if text)
    if status.get("phase") == "Unknown":
        message = "the node does not answer"
    own = ": ".join(text for text in (status.get("reason", ""), status.get("message", "")) if text)
    return code, finished, own or message or _unplaced(status)


def _ending(ended: Mapping[str, Any]) -> str:
    said = ended.get("message", "").strip().splitlines()
    reason = ended.get("reason", "")
    text = f"exit code {ended['exitCode']}" + (f" ({reason})" if reason not in ("", "Error") else "")
    return f"{text}: {said[-1]}" if said else text


def _unplaced(status: Mapping[str, Any]) -> str:
    for condition in status.get("conditions", ()):
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            text: str = condition.get("message") or condition.get("reason") or ""
            return text
    return ""


def _cards(annotations: Mapping[str, str], keys: Sequence[str]) -> list[str]:
    text = next((annotations[key] for key in keys if annotations.get(key)), "")
    return [card.strip() for card in text.split(",") if card.strip()]
