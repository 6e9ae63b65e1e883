# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""A module that asks a cluster. It prints nothing secret of its options, neither in a result nor to the system's log, from the
very beginning: Ansible logs them, and shows them with the refusal of a wrong one, before a module sees them."""

from __future__ import annotations

import os
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from ansible.module_utils.basic import AnsibleModule

from . import connect

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .._core.kube.transport import Transport


class Module(AnsibleModule):
    environment: Mapping[str, str] = os.environ
    # Set when it asks for the first time.
    transport: Transport | None = None
    # Of another one in the same process, which has ended.
    before: Transport | None = None

    def __init__(self, spec: Mapping[str, Any]) -> None:
        AnsibleModule.__init__(self, argument_spec=dict(spec), supports_check_mode=True)

    def _load_params(self) -> None:
        AnsibleModule._load_params(self)
        self.no_log_values.update(connect.secrets(self.params))

    def _log_invocation(self) -> None:
        given = self.params
        self.params = connect.shown(given)
        try:
            AnsibleModule._log_invocation(self)
        finally:
            self.params = given

    def _return_formatted(self, kwargs: dict[str, Any]) -> None:
        kwargs.setdefault("invocation", {"module_args": connect.shown(self.params)})
        for text in connect.warnings(self.transport):
            self.warn(text)
        AnsibleModule._return_formatted(self, kwargs)


# Who runs modules without a process for each (plugin_utils/here.py) puts another way to begin one here.
BEGIN: ContextVar[Callable[[Mapping[str, Any]], Module]] = ContextVar("begin", default=Module)


def begun(spec: Mapping[str, Any]) -> Module:
    return BEGIN.get()(spec)
