# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""Ray: the master is the head and runs the entrypoint, every worker member is a group of workers. Arguments are start
parameters, as key:value."""

from __future__ import annotations

import base64
import binascii
import json
import shlex
from typing import TYPE_CHECKING, Any

from . import tasks
from .ray_env import HEAD, WORKER

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .pods import Extra
    from .tasks import Job, Task

PORT = 6379
# Of `ray start`: those without a value.
_FLAGS = ("head", "block", "no-monitor", "disable-usage-stats")


def extras(job: Job) -> dict[str, Extra]:
    head = next(task for task in job.tasks if task.role == "master")
    address = f"{tasks.host(job.name, head)}:{head.spec.get('port') or PORT}"
    return {task.name: _head(task, address) if task.role == "master" else _worker(task, address) for task in job.tasks}


def leading(job: Job) -> list[Task]:
    return [task for task in job.tasks if task.role == "master"]


def _head(task: Task, address: str) -> Extra:
    port = address.rpartition(":")[2]
    start = _line("head", {"port": port, **parameters(task.spec)})
    env = [{"name": "RAY_ADDRESS", "value": f"127.0.0.1:{port}"}]
    environment = runtime_env(task.spec.get("env", {}))
    if environment is not None:
        text = json.dumps({"runtime_env": environment}, separators=(",", ":"))
        env.append({"name": "RAY_JOB_CONFIG_JSON_ENV_VAR", "value": text})
    # A second try of the entrypoint finds the head running.
    before = f'ray health-check --address "$RAY_ADDRESS" >/dev/null 2>&1 ||\n{start} || exit\n'
    found: Extra = {"env": env, "before": before, "args": ()}
    found["command"] = entrypoint(task.spec)
    stop = task.spec.get("env", {}).get(f"{HEAD}PRE_STOP")
    if stop:
        found["preStop"] = stop
    return found


def _worker(task: Task, address: str) -> Extra:
    start = _line("block", {**parameters(task.spec), "address": address, "block": ""})
    wait = f"until ray health-check --address {address} >/dev/null 2>&1\ndo sleep 1; done\n"
    return {"before": wait, "command": start, "args": ()}


def _line(mode: str, options: Mapping[str, str]) -> str:
    options = {mode: "", "disable-usage-stats": "", **options}
    words = [
        f"--{name}" if name in _FLAGS else f"--{name}={value}" for name, value in options.items() if _on(name, value)
    ]
    return shlex.join(["ray", "start", *words])


def _on(name: str, value: str) -> bool:
    return name not in _FLAGS or value.lower() != "false"


def entrypoint(spec: Mapping[str, Any]) -> str:
    text: str = spec.get("command") or spec.get("env", {}).get("RAY_JOB_ENTRY_POINT", "")
    return text


def parameters(spec: Mapping[str, Any]) -> dict[str, str]:
    """Start parameters: the arguments, and those of the environment, which are written in capitals."""
    found = {}
    for argument in spec.get("args", ()):
        name, _colon, value = argument.partition(":")
        found[name.strip().lstrip("-")] = value.strip().strip("'")
    for prefix in (f"{HEAD}START_PARAMS_", f"{WORKER}START_PARAMS_"):
        for name, value in spec.get("env", {}).items():
            if name.startswith(prefix) and (prefix.startswith(HEAD) == (spec["role"] == "master")):
                found[name.removeprefix(prefix).lower().replace("_", "-")] = value
    return found


def runtime_env(env: Mapping[str, str]) -> Any:
    """What RAY_JOB_RUNTIME_ENV says; None when there is none. ValueError when it is not JSON in base64."""
    if "RAY_JOB_RUNTIME_ENV" not in env:
        return None
    try:
        return json.loads(base64.b64decode(env["RAY_JOB_RUNTIME_ENV"], validate=True))
    except binascii.Error as error:
        raise ValueError(str(error)) from error
