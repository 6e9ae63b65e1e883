# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

from __future__ import annotations

import os
import sys
import typing as t
from datetime import date
from pathlib import Path

from ansible.constants import config
from ansible.errors import AnsibleActionFail
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator, ValidationResult
from ansible.module_utils.common.parameters import remove_values
from ansible.module_utils.errors import UnsupportedError
from ansible.plugins.action import ActionBase
from ansible.template import trust_as_template
from ansible_collections.paddleflow.core.plugins.module_utils._glue import apply, connect, documents

if t.TYPE_CHECKING:
    from collections.abc import Iterator

_MANIFESTS = (".yaml", ".yml", ".json")


class ActionModule(ActionBase):
    """Reads files and templates where they are, on the control node; and where the task would run there too, as the same
    user and by the same Python, it applies them itself: starting a process for a module costs far more than one object."""

    _supports_check_mode = True
    _supports_async = True
    _supports_diff = True

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        known = task_vars or {}
        result: dict[str, t.Any] = super().run(tmp, known)
        arguments = _plain(self._arguments(known))
        if not self._here(known):
            there: dict[str, t.Any] = self._execute_module(
                module_name="paddleflow.core.apply",
                module_args=arguments,
                task_vars=known,
                wrap_async=self._task.async_val,
            )
            return {**result, **there}
        checked = ArgumentSpecValidator(apply.SPEC).validate(arguments)
        params = checked.validated_parameters
        if checked.error_messages:
            done = apply.refused(params, _refusal(checked))
        else:
            environment: dict[str, t.Any] = {}
            ActionBase._compute_environment_string(self, environment)
            ours = {str(name): str(value) for name, value in _plain(environment).items()}
            done = apply.carry(params, {**os.environ, **ours}, check=self._task.check_mode, diff=self._task.diff)
        hidden: dict[str, t.Any] = remove_values(done, checked._no_log_values | connect.secrets(params))
        return {**result, **hidden}

    def _here(self, known: dict[str, t.Any]) -> bool:
        if self._task.delegate_to:
            known = known["ansible_delegated_vars"][self._task.delegate_to]
        named = known.get("ansible_python_interpreter") or config.get_config_value("INTERPRETER_PYTHON")
        python = str(self._templar.template(named))
        return (
            self._connection.transport == "local"
            and not self._play_context.become
            and not self._task.async_val
            # By the path as it is written: behind their links, the Pythons of all virtual environments are one.
            and (python.startswith("auto") or Path(python).absolute() == Path(sys.executable).absolute())
        )

    def _arguments(self, known: dict[str, t.Any]) -> dict[str, t.Any]:
        """The options, with what files and templates say in the place of their names."""
        arguments = dict(self._task.args)
        sources = {name: arguments.pop(name, None) for name in ("src", "template")}
        recursive = arguments.pop("recursive", False)
        if not any(sources.values()):
            return arguments
        if "definition" in arguments or "resource_definition" in arguments or all(sources.values()):
            raise AnsibleActionFail("definition, src and template are given together: give one of them.")
        found: list[tuple[t.Any, str]] = []
        try:
            for name in _names(sources["src"]):
                for file in _files(Path(ActionBase._find_needle(self, "files", name)), bool(recursive)):
                    found += documents.parse(str(self._read(file)), str(file))
            for name in _names(sources["template"]):
                path = Path(ActionBase._find_needle(self, "templates", name))
                found += documents.parse(self._rendered(path, known), str(path))
        except documents.DocumentError as error:
            raise AnsibleActionFail(str(error)) from error
        return {**arguments, "definition": [one for one, _where in found], "places": [where for _one, where in found]}

    def _read(self, path: Path) -> str:
        """Also what Ansible Vault encrypted."""
        text: str = self._loader.get_text_file_contents(str(path))
        try:
            text.encode()
        except UnicodeEncodeError:
            raise AnsibleActionFail(f"{path} is no text in UTF-8: save it as such.") from None
        return text

    def _rendered(self, path: Path, known: dict[str, t.Any]) -> str:
        """As ansible.builtin.template does it: what is included is looked for beside the template too."""
        folders = [*known.get("ansible_search_path", ()), self._loader.get_basedir(), str(path.parent)]
        places = [place for folder in folders for place in (str(Path(folder, "templates")), str(folder))]
        templar = self._templar.copy_with_new_env(searchpath=places, available_variables=known)
        text = templar.template(trust_as_template(self._read(path)), escape_backslashes=False)
        return "" if text is None else str(text)


def _refusal(checked: ValidationResult) -> str:
    """As the process of a module says it."""
    text: str = checked.errors.msg
    if isinstance(checked.errors[0], UnsupportedError):
        return f"Unsupported parameters for (paddleflow.core.apply) module: {text}"
    return text


def _names(given: t.Any) -> list[str]:
    return [str(name) for name in ([given] if isinstance(given, str) else given or [])]


def _files(path: Path, recursive: bool) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    found = sorted(
        file for file in path.glob("**/*" if recursive else "*") if file.suffix in _MANIFESTS and file.is_file()
    )
    if not found:
        raise AnsibleActionFail(f"{path} holds no manifests: files whose names end with {', '.join(_MANIFESTS)}.")
    yield from found


_NO_VALUES = ((bytes, "write its base64 as text"), ((set, frozenset), "write it as a list"))


def _plain(value: t.Any, path: str = "") -> t.Any:
    """Without Ansible's marks on values, of which nothing below knows, and the same for both ways."""
    if isinstance(value, dict):
        return {_plain(key): _plain(item, f"{path}.{key}" if path else str(key)) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item, f"{path}[{number}]") for number, item in enumerate(value)]
    if isinstance(value, bool) or value is None:
        return value
    for kind in (str, int, float):
        if isinstance(value, kind):
            return kind(value)
    for kinds, remedy in _NO_VALUES:
        if isinstance(value, kinds):
            raise AnsibleActionFail(f"{path} is {type(value).__name__}, which no object can hold: {remedy}.")
    return (
        value.isoformat() if isinstance(value, date) else str(value)
    )  # of a text that looks like a time, YAML makes one
