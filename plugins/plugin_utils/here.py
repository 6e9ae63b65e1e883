# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Modules within ansible-playbook: to start a process for one costs ten times what the module itself does."""

from __future__ import annotations

import gc
import importlib
import os
import sys
import typing as t
from contextlib import suppress
from datetime import date
from functools import partial
from pathlib import Path

from ansible.constants import config
from ansible.errors import AnsibleActionFail
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator, ValidationResult
from ansible.module_utils.common.parameters import remove_values
from ansible.module_utils.errors import UnsupportedError
from ansible.plugins.action import ActionBase
from ansible_collections.paddleflow.core.plugins.module_utils._glue import connect, module

if t.TYPE_CHECKING:
    import types

    from ansible_collections.paddleflow.core.plugins.module_utils._core.kube.transport import Transport

# Ansible loads an action before it makes its workers: what is imported by then, no worker imports for itself.
with suppress(ImportError):
    importlib.import_module("urllib3")  # it takes longer than all that a module does with it


class Left(BaseException):
    """What ends a module, as SystemExit ends the process of one: nothing in between may take it for an error."""

    def __init__(self, result: dict[str, t.Any]) -> None:
        super().__init__()
        self.result = result


class HereAction(ActionBase):
    """Runs the task's module itself where it would run on this machine, as the same user and by the same Python; else sends it."""

    MODULE: types.ModuleType
    _spared: t.ClassVar[bool] = False
    _supports_check_mode = True
    _supports_async = True
    _supports_diff = True

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        if not HereAction._spared:
            # What Ansible made is shared with the worker, until a search for garbage writes into each object. Once, before the
            # first item of a loop: what the items leave is garbage.
            gc.freeze()
            HereAction._spared = True
        result: dict[str, t.Any] = super().run(tmp, task_vars)
        known = task_vars or {}
        return {**result, **self._carried(dict(self.arguments(known)), known)}

    def arguments(self, task_vars: dict[str, t.Any]) -> t.Mapping[str, t.Any]:  # noqa: ARG002 (for who renders templates)
        """What the module is given, without Ansible's marks."""
        arguments: dict[str, t.Any] = plain(self._task.args)
        return arguments

    def _carried(self, given: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """What it answers."""
        if not self._is_here(task_vars):
            sent: dict[str, t.Any] = self._execute_module(
                module_args=given, task_vars=task_vars, wrap_async=bool(self._task.async_val)
            )
            return sent
        environment: dict[str, t.Any] = {}
        ActionBase._compute_environment_string(self, environment)
        ours = {str(name): str(value) for name, value in plain(environment).items()}
        return carried(
            self.MODULE, given, {**os.environ, **ours},
            check=self._task.check_mode, diff=self._task.diff, loop=self._task.loop is not None,
        )  # fmt: skip

    def _is_here(self, task_vars: t.Mapping[str, t.Any]) -> bool:
        if self._task.delegate_to:
            task_vars = task_vars["ansible_delegated_vars"][self._task.delegate_to]
        named = task_vars.get("ansible_python_interpreter") or config.get_config_value("INTERPRETER_PYTHON")
        python = str(self._templar.template(named))
        return (
            self._connection.transport == "local"
            and not self._play_context.become
            and not self._task.async_val
            and (python.startswith("auto") or _same_environment(Path(python), Path(sys.executable)))
        )


def carried(
    what: types.ModuleType, given: dict[str, t.Any], environment: t.Mapping[str, str], *, check: bool, diff: bool, loop: bool = False,
) -> dict[str, t.Any]:  # fmt: skip
    """What a module answers that runs within this process."""
    name = what.__name__.rpartition(".")[2]
    begin = partial(Here, name=name, given=given, environment=environment, check=check, diff=diff, loop=loop)
    token = module.BEGIN.set(begin)
    try:
        what.main()
    except Left as left:
        return left.result
    finally:
        module.BEGIN.reset(token)
    raise AssertionError(f"the module {name} ended without a result")


def _same_environment(one: Path, other: Path) -> bool:
    """Behind their links the Pythons of all virtual environments may be one; within one environment, it has several names."""
    return one.parent.resolve() == other.parent.resolve() and one.resolve() == other.resolve()


class Here(module.Module):
    """A module that no process was started for: options and environment in, the result out."""

    # Of a loop's last item: one worker carries out all of them, one after the other, and ends. To connect is a third of what an item costs.
    kept: t.ClassVar[Transport | None] = None

    def __init__(
        self, spec: t.Mapping[str, t.Any], name: str, given: dict[str, t.Any], environment: t.Mapping[str, str],
        check: bool, diff: bool, loop: bool = False,
    ) -> None:  # fmt: skip
        # Ansible's own would read its options from the process, and log and print as one. What nothing is checked of may be ten
        # thousand objects, and checking copies all that it is given.
        raw = {
            alias: name
            for name, option in spec.items()
            if option.get("type") == "raw" and not option.get("no_log")
            for alias in (name, *option.get("aliases", ()))
        }
        held = {raw[name]: value for name, value in given.items() if name in raw and value is not None}
        checked = ArgumentSpecValidator(dict(spec)).validate(
            {name: "held" if name in raw and value is not None else value for name, value in given.items()}
        )
        self.params = {**checked.validated_parameters, **held}
        self.environment = environment
        self.loop, self.before = loop, self.kept if loop else None
        self.check_mode, self._diff = check, diff
        self.no_log_values = checked._no_log_values | connect.secrets(self.params)
        self.warned: list[str] = []
        if checked.error_messages:
            self.fail_json(msg=_refusal(name, checked))

    def warn(self, warning: str, *_more: t.Any, **_named: t.Any) -> None:
        if warning not in self.warned:
            self.warned.append(warning)

    def fail_json(self, msg: str, **result: t.Any) -> t.NoReturn:
        self._leave({"failed": True, "msg": msg, **result})

    def exit_json(self, **result: t.Any) -> t.NoReturn:
        self._leave({"changed": False, **result})

    def _leave(self, result: dict[str, t.Any]) -> t.NoReturn:
        for text in connect.warnings(self.transport):
            self.warn(text)
        if self.transport is not None:
            if self.loop:
                Here.kept = self.transport
            else:
                self.transport.close()
        if self.warned:
            result["warnings"] = self.warned
        result.setdefault("invocation", {"module_args": connect.shown(self.params)})
        # Which copies all of it.
        raise Left(remove_values(result, self.no_log_values) if self.no_log_values else result)


def _refusal(name: str, checked: ValidationResult) -> str:
    """As the process of a module says it."""
    text: str = checked.errors.msg
    if isinstance(checked.errors[0], UnsupportedError):
        return f"Unsupported parameters for (paddleflow.core.{name}) module: {text}"
    return text


_NO_VALUES = ((bytes, "write its base64 as text"), ((set, frozenset), "write it as a list"))


def plain(value: t.Any, path: str = "") -> t.Any:
    """Without Ansible's marks on values, of which nothing below knows, and the same for both ways."""
    if isinstance(value, dict):
        return {plain(key): plain(item, f"{path}.{key}" if path else str(key)) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item, f"{path}[{number}]") for number, item in enumerate(value)]
    if isinstance(value, bool) or value is None:
        return value
    for kind in (str, int, float):
        if isinstance(value, kind):
            return kind(value)
    for kinds, remedy in _NO_VALUES:
        if isinstance(value, kinds):
            raise AnsibleActionFail(f"{path} is {type(value).__name__}, which no object can hold: {remedy}.")
    # YAML makes a time of a text that looks like one.
    return value.isoformat() if isinstance(value, date) else str(value)
