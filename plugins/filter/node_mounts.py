# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""The file systems that are declared for a machine, as a filter."""

from __future__ import annotations

DOCUMENTATION = r"""
name: node_mounts
short_description: Check the file systems that are declared for a machine
version_added: 0.1.0
author:
  - The paddleflow.core authors (@paddleflow)
description:
  - Says everything that is wrong with C(fuse_agent_mounts) of the role C(fuse_agent), and what the agent is told of each.
  - What it returns holds no secret.
  - Meant for the roles of this collection.
positional: _input
options:
  _input:
    description: The file systems, as C(fuse_agent_mounts) of the role C(fuse_agent).
    type: list
    elements: dict
    required: true
  config:
    description: The folder in which the agent finds its configuration.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Say what is wrong
  ansible.builtin.debug:
    msg: "{{ (fuse_agent_mounts | paddleflow.core.node_mounts(config='/etc/paddleflow/fuse')).problems }}"
"""

RETURN = r"""
_value:
  description:
    - C(problems) as sentences. While there are any, C(mounts) is empty.
    - C(mounts) has of each its C(name), C(state) and C(point), the C(content) of the file that declares it with its C(digest),
      whether its secrets were given with it (C(inline)), and the seconds that it has to end (C(grace)).
    - C(units) has what systemd is told of each, by the names of files below the folder of the machine's configuration.
  type: dict
  sample:
    problems: ["corpus: endpoint is missing, but must be given for type s3."]
    mounts: []
    units: {}
"""

import typing as t

from ansible_collections.paddleflow.core.plugins.module_utils._core.plan.node_mounts import plan

if t.TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def node_mounts(declared: Sequence[object], config: str) -> dict[str, t.Any]:
    return plan(declared, config)


class FilterModule:
    def filters(self) -> dict[str, Callable[..., t.Any]]:
        return {"node_mounts": node_mounts}
