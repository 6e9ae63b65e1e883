# SPDX-License-Identifier: Apache-2.0
"""Modules of Ansible within its own workers, as ours are everywhere, a tenth of the time, for plays whose subject is not how they are sent.
Ansible takes it by plays.IN_PROCESS: callbacks are what it loads before its workers are made."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
from typing import Any
from unittest import mock

from ansible.module_utils import basic
from ansible.module_utils.common.json import Direction, get_module_encoder
from ansible.playbook import Playbook
from ansible.plugins.action import ActionBase
from ansible.plugins.callback import CallbackBase

ANSIBLES = ("ansible.builtin.", "ansible.legacy.")
PROFILE = "legacy"


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "in_process"
    CALLBACK_NEEDS_ENABLED = True

    def v2_playbook_on_start(self, playbook: Playbook) -> None:  # noqa: ARG002 (Ansible's signature)
        mock.patch.object(ActionBase, "_execute_module", execute).start()


sent = ActionBase._execute_module


def execute(
    action: ActionBase,
    module_name: str | None = None,
    module_args: dict[str, Any] | None = None,
    task_vars: dict[str, Any] | None = None,
    **more: Any,
) -> dict[str, Any]:
    name = module_name or action._task.action
    if not name.startswith(ANSIBLES) or more.get("wrap_async"):
        other: dict[str, Any] = sent(action, module_name, module_args, task_vars=task_vars, **more)
        return other
    arguments = dict(action._task.args if module_args is None else module_args)
    lenient = bool(more.get("ignore_unknown_opts"))
    ActionBase._update_module_args(action, name, arguments, task_vars or {}, ignore_unknown_opts=lenient)
    encoder = get_module_encoder(PROFILE, Direction.CONTROLLER_TO_MODULE)
    basic._ANSIBLE_ARGS = json.dumps({"ANSIBLE_MODULE_ARGS": arguments}, cls=encoder).encode()
    basic._ANSIBLE_PROFILE = PROFILE
    environment: dict[str, Any] = {}
    ActionBase._compute_environment_string(action, environment)
    os.environ.update({str(key): str(value) for key, value in environment.items()})  # a worker has one task
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.suppress(SystemExit):
        importlib.import_module(f"ansible.modules.{name.rpartition('.')[2]}").main()
    result = {"stdout": output.getvalue(), "stderr": "", "rc": 0}
    answer: dict[str, Any] = ActionBase._parse_returned_data(action, result, PROFILE)
    for stream in ("stdout", "stderr"):
        if stream in answer:
            answer.setdefault(f"{stream}_lines", (answer[stream] or "").splitlines())
    return answer
