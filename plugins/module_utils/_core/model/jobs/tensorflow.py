# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""TensorFlow: parameter servers, a chief and workers, or workers alone (MultiWorkerMirrored). All of it is in TF_CONFIG."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from . import tasks

if TYPE_CHECKING:
    from .pods import Extra
    from .tasks import Job, Task

PORT = 2222
TYPES = {"pserver": "ps", "master": "chief", "worker": "worker"}


def extras(job: Job) -> dict[str, Extra]:
    port = job.tasks[0].spec.get("port") or PORT
    cluster: dict[str, list[str]] = {}
    before: dict[str, int] = {}
    for task in job.tasks:
        members = cluster.setdefault(TYPES[task.role], [])
        before[task.name] = len(members)
        members += tasks.hosts(job.name, [task], port).split(",")
    return {task.name: _extra(cluster, TYPES[task.role], before[task.name]) for task in job.tasks}


def _extra(cluster: dict[str, list[str]], kind: str, before: int) -> Extra:
    text = json.dumps({"cluster": cluster, "task": {"type": kind, "index": "%"}}, separators=(",", ":"))
    if before:
        index = f"'$((PF_TASK_INDEX+{before}))'"
        return {"before": "TF_CONFIG='" + text.replace('"%"', index) + "'\nexport TF_CONFIG\n"}
    return {"env": [{"name": "TF_CONFIG", "value": text.replace('"%"', "$(PF_TASK_INDEX)")}]}


def leading(job: Job) -> list[Task]:
    chief = [task for task in job.tasks if task.role == "master"]
    return chief or [task for task in job.tasks if task.role == "worker"]
