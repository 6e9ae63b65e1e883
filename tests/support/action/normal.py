# SPDX-License-Identifier: Apache-2.0
"""Modules of the collection within Ansible's own worker, a tenth of the time, for plays whose subject is not how a module is sent.
Ansible takes it by ANSIBLE_ACTION_PLUGINS in place of its plugin of this name."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
from typing import Any

from ansible.module_utils import basic
from ansible.module_utils.common.json import Direction, get_module_encoder
from ansible.plugins.action import ActionBase

OURS = "paddleflow.core."
PROFILE = "legacy"


class ActionModule(ActionBase):
    _supports_check_mode = True
    _supports_async = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        known = task_vars or {}
        result: dict[str, Any] = super().run(tmp, known)
        if self._task.action.startswith(OURS):
            return {**result, **self._here(known)}
        return {**result, **self._execute_module(task_vars=known, wrap_async=self._task.async_val)}

    def _here(self, known: dict[str, Any]) -> dict[str, Any]:
        arguments = dict(self._task.args)
        self._update_module_args(self._task.action, arguments, known)
        encoder = get_module_encoder(PROFILE, Direction.CONTROLLER_TO_MODULE)
        basic._ANSIBLE_ARGS = json.dumps({"ANSIBLE_MODULE_ARGS": arguments}, cls=encoder).encode()
        basic._ANSIBLE_PROFILE = PROFILE
        environment: dict[str, Any] = {}
        ActionBase._compute_environment_string(self, environment)
        os.environ.update({str(key): str(value) for key, value in environment.items()})  # the worker has one task
        name = self._task.action.removeprefix(OURS)
        module = importlib.import_module(f"ansible_collections.{OURS}plugins.modules.{name}")
        output = io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.suppress(SystemExit):
            module.main()
        answer: dict[str, Any] = self._parse_returned_data(
            {"stdout": output.getvalue(), "stderr": "", "rc": 0}, PROFILE
        )
        return answer
