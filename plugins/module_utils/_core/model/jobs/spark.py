# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""Spark: the driver's pod runs Spark's own master and submits to it, the executors' pods run its workers. So the whole of it
is one gang, and needs no permission to make pods."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from .. import quantity
from . import tasks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .pods import Extra
    from .tasks import Job, Task

PORT = 7077
MAIN, CLASS, ARGUMENTS = "PF_JOB_SPARK_MAIN_FILE", "PF_JOB_SPARK_MAIN_CLASS", "PF_JOB_SPARK_ARGUMENTS"
_MI = 1024**2 * quantity.UNIT
# What a JVM needs beside its heap: a tenth, and at least this; and what Spark's own process in each pod needs.
_LEAST = _DAEMON = 256 * _MI
# Below that Spark does not start.
SMALLEST = 450
_PATH = 'export PATH="$PATH:${SPARK_HOME:-/opt/spark}/bin"\n'
_OWN_MEMORY = {"SPARK_DAEMON_MEMORY": "128m"}
_CLASS = "spark-class org.apache.spark.deploy"


def extras(job: Job) -> dict[str, Extra]:
    driver = next(task for task in job.tasks if task.role == "driver")
    executors = [task for task in job.tasks if task.role == "executor"]
    host = tasks.host(job.name, driver)
    port = driver.spec.get("port") or PORT
    found: dict[str, Extra] = {driver.name: _driver(job, driver, executors, host, port)}
    for task in executors:
        found[task.name] = _executor(job, task, host, port)
    return found


def leading(job: Job) -> list[Task]:
    return [task for task in job.tasks if task.role == "driver"]


def _driver(job: Job, task: Task, executors: list[Task], host: str, port: int) -> Extra:
    if not executors:
        return {"env": [{"name": "MASTER", "value": "local[*]"}], "before": _PATH, "command": submit(task.spec, {})}
    settings = {
        "spark.driver.host": host,
        "spark.driver.bindAddress": "0.0.0.0",
        "spark.driver.memory": f"{heap(job, task)}m",
        "spark.executor.memory": f"{min(heap(job, executor) for executor in executors)}m",
    }
    # Beside the command, not before it: process 1 ends both. A second try finds the master running.
    before = (
        f"{_PATH}kill -0 $(cat /tmp/spark-master 2>/dev/null) 2>/dev/null || {{\n"
        f"  {_CLASS}.master.Master --host {host} --port {port} &\n"
        "  echo $! >/tmp/spark-master\n"
        "}\n"
    )
    return {
        "env": [{"name": "MASTER", "value": f"spark://{host}:{port}"}],
        "defaults": _OWN_MEMORY,
        "before": before,
        "command": submit(task.spec, settings),
    }


def _executor(job: Job, task: Task, host: str, port: int) -> Extra:
    # By bash, which Spark's own scripts need too.
    wait = f"until (exec 3<>/dev/tcp/{host}/{port}) 2>/dev/null; do sleep 1; done"
    line = f"{_CLASS}.worker.Worker --cores {cores(job, task)} --memory {heap(job, task)}m spark://{host}:{port}"
    return {"defaults": _OWN_MEMORY, "before": f"{_PATH}bash -c {shlex.quote(wait)}\n", "command": line, "args": ()}


def submit(spec: Mapping[str, Any], settings: Mapping[str, str]) -> str:
    """The line that submits the main file; none when a command says what to do."""
    env = spec.get("env", {})
    if MAIN not in env:
        return ""
    options = [["--conf", f"{name}={value}"] for name, value in settings.items()]
    options += [["--class", env[CLASS]]] if CLASS in env else []
    lines = ["spark-submit", *map(shlex.join, options), shlex.join([env[MAIN], *arguments(spec)])]
    return " \\\n  ".join(lines)


def arguments(spec: Mapping[str, Any]) -> list[str]:
    """They are one text, of words as a shell has them."""
    text = spec.get("env", {}).get(ARGUMENTS, "")
    try:
        return shlex.split(text)
    except ValueError:  # an open quote
        return [text]


def cores(job: Job, task: Task) -> int:
    """Whole ones: Spark knows no others. A fraction still is one thread."""
    asked = tasks.requests(task.spec, tasks.flavours(job.given))
    return max(1, quantity.parse(asked["cpu"]) // quantity.UNIT)


def heap(job: Job, task: Task) -> int:
    """What is left for one JVM, in MiB."""
    asked = quantity.parse(tasks.requests(task.spec, tasks.flavours(job.given))["memory"])
    return (asked - max(asked // 10, _LEAST) - _DAEMON) // _MI
