# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""PyTorch: with a master the static environment of torch.distributed and torchrun, without one a rendezvous that workers
may join and leave."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import pods, tasks

if TYPE_CHECKING:
    from .pods import Extra
    from .tasks import Job, Task

PORT = 23456
# Seconds that the others have to end by themselves once the first pod is done.
GRACE = 30


def ordered(job: Job) -> list[Task]:
    """By rank: the first pod of the first one listens for the others."""
    return sorted(job.tasks, key=lambda task: task.role == "worker")


def extras(job: Job) -> dict[str, Extra]:
    by_rank = ordered(job)
    count = sum(task.replicas for task in by_rank)
    address, port = tasks.host(job.name, by_rank[0]), by_rank[0].spec.get("port") or PORT
    shared = {"MASTER_ADDR": address, "MASTER_PORT": str(port), "WORLD_SIZE": str(count)}
    if tasks.mode(job.spec, job.tasks) == "PS":
        shared |= {"PET_NNODES": str(count), "PET_MASTER_ADDR": address, "PET_MASTER_PORT": str(port)}
    else:
        low, high = sum(task.low for task in by_rank), sum(task.high for task in by_rank)
        shared |= {
            "PET_NNODES": f"{low}:{high}" if low < high else str(count),
            "PET_RDZV_BACKEND": "c10d",
            "PET_RDZV_ENDPOINT": f"{address}:{port}",
            "PET_RDZV_ID": job.name,
        }
    env = [{"name": name, "value": value} for name, value in shared.items()]
    index = [pods.field(name, "metadata.annotations['volcano.sh/task-index']") for name in ("RANK", "PET_NODE_RANK")]
    found: dict[str, Extra] = {}
    before = 0
    for task in by_rank:
        if before:
            rank = f"$((PF_TASK_INDEX + {before}))"
            found[task.name] = {"env": env, "before": f"export RANK={rank} PET_NODE_RANK={rank}\n"}
        else:
            found[task.name] = {"env": [*env, *index]}
        before += task.replicas
    return found


def leading(job: Job) -> list[Task]:
    by_rank = ordered(job)
    return [task for task in by_rank if task.role == by_rank[0].role]
