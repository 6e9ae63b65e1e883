# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""The admission policies of grants with a site's settings, as a filter."""

from __future__ import annotations

DOCUMENTATION = r"""
name: grant_policies
short_description: Put a site's settings into the admission policies of grants
version_added: 0.1.0
author:
  - The paddleflow.core authors (@paddleflow)
description:
  - Takes the admission policies and bindings that this collection carries, and gives them as they are to be applied.
  - Meant for the role P(paddleflow.core.crds#role).
positional: _input
options:
  _input:
    description: The policies and their bindings.
    type: list
    elements: dict
    required: true
  action:
    description: What becomes of a request that a policy is against.
    type: str
    choices:
      - enforce
      - warn
      - audit
    required: true
  controllers:
    description: Users and groups that make objects from templates of others, beside those that are known.
    type: list
    elements: str
    default: []
  volcano:
    description: The namespace of Volcano.
    type: str
    default: volcano-system
  scheduler:
    description: The name of Volcano's scheduler.
    type: str
    default: volcano
"""

EXAMPLES = r"""
- name: Policies that warn
  ansible.builtin.set_fact:
    my_policies: "{{ policies | paddleflow.core.grant_policies('warn') }}"
"""

RETURN = r"""
_value:
  description: The same objects with the settings.
  type: list
  elements: dict
"""

import typing as t

from ansible_collections.paddleflow.core.plugins.module_utils._core.model.policies import configured

if t.TYPE_CHECKING:
    from collections.abc import Callable


class FilterModule:
    def filters(self) -> dict[str, Callable[..., t.Any]]:
        return {"grant_policies": configured}
