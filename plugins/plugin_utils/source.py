# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""The base of the actions of all modules with `src`: a file of the control node, which nothing may expand."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleActionFail, AnsibleError
from ansible.plugins.action import ActionBase
from ansible_collections.paddleflow.core.plugins.plugin_utils.here import HereAction, plain

_REMEDY = (
    "A document has braces of its own, which Ansible expands before any module sees them: "
    "give it as a file by src, which is never expanded, or mark the text with !unsafe."
)


class SourceAction(HereAction):
    """Puts the text of `src` in the place of ``FIELD``, for one object and for each of `objects`."""

    FIELD: t.ClassVar[str]

    @classmethod
    def finalize_task_arg(cls, name: str, value: t.Any, *more: t.Any, **named: t.Any) -> t.Any:
        # Ansible calls this interface experimental: without it, errors have one sentence less.
        try:
            return super().finalize_task_arg(name, value, *more, **named)
        except AnsibleError as error:
            if name not in (cls.FIELD, "objects"):
                raise
            raise AnsibleError(_REMEDY) from error

    def arguments(self, task_vars: dict[str, t.Any]) -> t.Mapping[str, t.Any]:
        try:
            arguments = self._read(super().arguments(task_vars))
            if isinstance(arguments.get("objects"), list):
                objects = [self._read(one) if isinstance(one, dict) else one for one in arguments["objects"]]
                arguments["objects"] = objects
        except AnsibleError as error:
            raise AnsibleActionFail(str(error)) from error
        return arguments

    def _read(self, given: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
        source = given.get("src")
        if source is None:
            return dict(given)
        if given.get(self.FIELD) is not None:
            raise AnsibleError(f"src and {self.FIELD} are both given: leave one of the two out.")
        path: str = ActionBase._find_needle(self, "files", source)
        return {**given, self.FIELD: str(plain(self._loader.get_text_file_contents(path)))}
