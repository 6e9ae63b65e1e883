# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

from __future__ import annotations

import typing as t
from pathlib import Path

from ansible.errors import AnsibleActionFail
from ansible.module_utils.common.validation import check_type_list
from ansible.module_utils.parsing.convert_bool import boolean
from ansible.plugins.action import ActionBase
from ansible.template import trust_as_template
from ansible_collections.paddleflow.core.plugins.module_utils._glue import documents
from ansible_collections.paddleflow.core.plugins.modules import apply
from ansible_collections.paddleflow.core.plugins.plugin_utils.here import HereAction

if t.TYPE_CHECKING:
    from collections.abc import Iterator

_MANIFESTS = (".yaml", ".yml", ".json")


class ActionModule(HereAction):
    """Reads files and templates where they are, on the control node."""

    MODULE = apply

    def arguments(self, task_vars: dict[str, t.Any]) -> t.Mapping[str, t.Any]:
        """The options, with what files and templates say in the place of their names."""
        arguments = dict(super().arguments(task_vars))
        sources = {name: _names(name, arguments.pop(name, None)) for name in ("src", "template")}
        recursive = _whether("recursive", arguments.pop("recursive", None))
        if not any(sources.values()):
            return arguments
        if "definition" in arguments or "resource_definition" in arguments or all(sources.values()):
            raise AnsibleActionFail("definition, src and template are given together: give one of them.")
        found: list[tuple[t.Any, str]] = []
        try:
            for name in sources["src"]:
                for file in _files(Path(ActionBase._find_needle(self, "files", name)), recursive):
                    found += documents.parse(str(self._read(file)), str(file))
            for name in sources["template"]:
                path = Path(ActionBase._find_needle(self, "templates", name))
                found += documents.parse(self._rendered(path, task_vars), str(path))
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


def _names(option: str, given: t.Any) -> list[str]:
    """As Ansible reads the lists of a module, which these do not reach."""
    try:
        return [str(name) for name in check_type_list(given or [])]
    except TypeError:
        raise AnsibleActionFail(f"{option} is {given!r}, but must be a path or a list of paths.") from None


def _whether(option: str, given: t.Any) -> bool:
    try:
        return bool(boolean(False if given is None else given, strict=True))
    except TypeError:
        raise AnsibleActionFail(f"{option} is {given!r}, but must be true or false.") from None


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
