# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""What the info module of jobs says beyond the jobs themselves: what has become of each, of its pods, and what they wrote."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any

from .._core.kube.errors import NotFoundError, StatusError
from .._core.kube.logs import logs
from .._core.model import moment
from .._core.model.jobs import state, times

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .._core.kube.client import Client, Object
    from .module import Module


KINDS = {
    "Job": "Job.batch.volcano.sh/v1alpha1",
    "PaddleJob": "PaddleJob.batch.paddlepaddle.org/v1",
    "TrainingJob": "TrainingJob.paddlepaddle.org/v1",
}
BESIDE: dict[str, Any] = {
    "kind": {"type": "str", "default": "Job"},
    "states": {"type": "list", "elements": "str", "choices": list(state.WORDS)},
    "queue": {"type": "str"},
    "started_since": {"type": "str"},
    "changed_since": {"type": "str"},
    "logs": {"type": "bool", "default": False},
    "log_lines": {"type": "int", "default": 100},
}


def kind(module: Module) -> tuple[str, str]:
    """apiVersion and kind of the jobs that are asked for."""
    given: str = module.params["kind"]
    name, _dot, api = KINDS.get(given, given).partition(".")
    if not name or "/" not in api:
        allowed = f"one of {', '.join(KINDS)}, or <Kind>.<group>/<version>, such as PyTorchJob.kubeflow.org/v1"
        module.fail_json(msg=f"kind is {given!r}, but must be {allowed}.")
    return api, name


def more(module: Module, client: Client, deadline: float, found: list[Object], entries: list[dict[str, Any]]) -> None:
    wanted = _filter(module)
    if not found:
        return
    spaces = {one["metadata"]["namespace"] for one in found}
    # Of one job alone its own pods; of several all those of their namespaces, in one list for each.
    label = state.label(kind(module)[0])
    selector = f"{label}={found[0]['metadata']['name']}" if len(found) == 1 else label
    pods: dict[tuple[str, str], list[Object]] = {}
    groups: dict[tuple[str, str], Object] = {}
    for space in sorted(spaces):
        for pod in client.list(client.kind("v1", "Pod"), space, labels=selector, deadline=deadline).items:
            pods.setdefault((space, pod["metadata"]["labels"][label]), []).append(pod)
        gangs = client.kind("scheduling.volcano.sh/v1beta1", "PodGroup")
        for group in client.list(gangs, space, deadline=deadline).items:
            groups[space, group["metadata"]["name"]] = group
    for one, entry in zip(found, entries, strict=True):
        metadata = one["metadata"]
        place = metadata["namespace"]
        group = groups.get((place, f"{metadata['name']}-{metadata['uid']}"))
        entry |= state.observe(one, pods.get((place, metadata["name"]), ()), group)
    entries[:] = sorted(filter(wanted, entries), key=itemgetter("acceptTime"), reverse=True)
    if module.params["logs"]:
        for task in (task for entry in entries for task in entry["tasks"]):
            task["log"] = _log(client, task, module.params["log_lines"], deadline)


def _filter(module: Module) -> Callable[[Mapping[str, Any]], bool]:
    states, queue = module.params["states"], module.params["queue"]
    standard = "default" if module.params["kind"] == "Job" else ""  # Volcano's own, for jobs that name none
    started, changed = (_moment(module, option) for option in ("started_since", "changed_since"))

    def wanted(entry: Mapping[str, Any]) -> bool:
        return (
            (not states or entry["state"] in states)
            and (not queue or entry["declared"].get("scheduling_policy", {}).get("queue", standard) == queue)
            and (not started or entry["startTime"] >= started)
            and (not changed or max(entry[name] for name in times.NAMES) >= changed)
        )

    return wanted


def _moment(module: Module, option: str) -> str:
    given = module.params[option] or ""
    try:
        return moment.utc(given) if given else ""
    except (ValueError, OverflowError):
        return str(module.fail_json(msg=f"{option} is {given!r}, but must be a time, such as 2026-01-31T08:00:00Z."))


def _log(client: Client, task: Mapping[str, Any], lines: int, deadline: float) -> str:
    try:
        return "\n".join(logs(client, task["name"], task["namespace"], tail=lines, deadline=deadline))
    except NotFoundError:  # it went while we asked
        return ""
    except StatusError as error:  # a container that has not begun, or is gone from its node
        return f"({error})"
