# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""PaddlePaddle: parameter servers with workers, or workers alone. Both its launchers are served, and programs without one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import pods, tasks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .pods import Extra
    from .tasks import Job, Task

PORT = 36000
# Each pod's block of ports, the first of which is in the lists.
PORTS = 20
ETCD = "PADDLE_ELASTIC_SERVER"


def extras(job: Job) -> dict[str, Extra]:
    servers = [task for task in job.tasks if task.role != "worker"]
    workers = [task for task in job.tasks if task.role == "worker"]
    found: dict[str, Extra] = {}
    for group, role in ((servers, "PSERVER"), (workers, "TRAINER")):
        before = 0
        for task in group:
            found[task.name] = _extra(job, task, role, before, servers, workers)
            before += task.replicas
    return found


def leading(job: Job) -> list[Task]:
    return [task for task in job.tasks if task.role == "worker"]


def _extra(job: Job, task: Task, role: str, before: int, servers: Sequence[Task], workers: Sequence[Task]) -> Extra:
    port = workers[0].spec.get("port") or PORT
    first = tasks.host(job.name, (servers or workers)[0])
    count = sum(worker.replicas for worker in workers)
    values = {
        # The text that a server looks for in the list of servers, and the first worker in PADDLE_MASTER: the same host.
        "POD_IP": f"$(POD_NAME).{job.name}",
        "PADDLE_JOB_ID": job.name,
        "TRAINING_ROLE": role,
        "PADDLE_TRAINING_ROLE": role,
        "TRAINER_PORTS_NUM": str(PORTS),
        "PADDLE_PORT": str(port),
        "PADDLE_TRAINERS_NUM": str(count),
        "PADDLE_TRAINER_ENDPOINTS": tasks.hosts(job.name, workers, port),
        "PADDLE_TRAINERS": tasks.hosts(job.name, workers),
        "PADDLE_NNODES": str(count),
        "PADDLE_MASTER": f"{first}:{port}",
    }
    if servers:
        endpoints = tasks.hosts(job.name, servers, port)
        gloo = port + PORTS - 2
        values |= {
            "PADDLE_PSERVERS_IP_PORT_LIST": endpoints,
            "PADDLE_GLOO_RENDEZVOUS": "3",
            "PADDLE_GLOO_HTTP_ENDPOINT": f"{first}:{gloo}",
            "PADDLE_GLOO_PORT": str(gloo),
            # The newer launcher finds itself in these lists and needs no master.
            "PADDLE_SERVERS_ENDPOINTS": endpoints,
            "PADDLE_TRAINERS_ENDPOINTS": tasks.hosts(job.name, workers, port),
            ("PADDLE_SERVER_NUM" if role == "PSERVER" else "PADDLE_TRAINER_NUM"): "1",
        }
    elif task.resizable:
        values |= _elastic(job, task)
    found: Extra = {
        "defaults": {"PADDLE_WITH_GLOO": "1"} if servers else {},
        "env": [pods.field("POD_NAME", "metadata.name"), *_named(values)],
    }
    if before:
        found["before"] = f"export PADDLE_TRAINER_ID=$((PF_TASK_INDEX + {before}))\n"
    else:
        index = pods.field("PADDLE_TRAINER_ID", "metadata.annotations['volcano.sh/task-index']")
        found["env"] = [*found["env"], index]
    return found


def _elastic(job: Job, task: Task) -> dict[str, str]:
    """Pods come and go, so the lists are those of etcd and a pod's rank is what they make of it."""
    server = task.spec["env"][ETCD]
    bounds = f"{task.low}:{task.high}"
    return {
        "PADDLE_NNODES": bounds,
        "PADDLE_MASTER": f"etcd://{server.split(',')[0]}",
        "PADDLE_RANK": "-1",
        "PADDLE_ELASTIC_JOB_ID": f"{job.namespace}-{job.name}",
        "PADDLE_ELASTIC_NP": bounds,
        "PADDLE_ELASTIC_TIMEOUT": "60",
    }


def _named(values: dict[str, str]) -> list[dict[str, Any]]:
    return [{"name": name, "value": value} for name, value in values.items()]
