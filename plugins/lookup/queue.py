# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Queues of the cluster, as a lookup."""

from __future__ import annotations

DOCUMENTATION = r"""
name: queue
short_description: Read queues of the scheduler
version_added: 0.1.0
author:
  - The paddleflow.core authors (@paddleflow)
description:
  - Returns queues by name, those that labels select, or all of them.
  - A queue that is not there is told apart from a server that does not answer, may not be asked or has no queues at all, which is always an error.
options:
  _terms:
    description: Names of queues. Without a name, all that O(label_selector) selects, in the order of their names.
    type: list
    elements: str
  label_selector:
    description: Only queues with these labels. Mutually exclusive with names.
    type: str
  missing:
    description: What a name is whose queue is not there; V(error) fails, V(skip) leaves it out.
    type: str
    choices: [error, skip]
    default: error
seealso:
  - plugin: paddleflow.core.queue_headroom
    plugin_type: filter
  - module: paddleflow.core.queue
notes:
  - With C(query) the result is always a list. C(lookup) returns a queue itself when there is exactly one.
extends_documentation_fragment:
  - paddleflow.core.auth
"""

EXAMPLES = r"""
- name: How many accelerators are left of a queue and those above it
  ansible.builtin.debug:
    msg: "{{ (research | paddleflow.core.queue_headroom(all_queues))['nvidia.com/gpu'].left }}"
  vars:
    research: "{{ lookup('paddleflow.core.queue', 'research') }}"
    all_queues: "{{ query('paddleflow.core.queue') }}"

- name: Whether a queue is there
  ansible.builtin.debug:
    msg: "{{ query('paddleflow.core.queue', 'biology', missing='skip') | length > 0 }}"

- name: Names of the queues of a team
  ansible.builtin.debug:
    msg: "{{ query('paddleflow.core.queue', label_selector='team=physics') | map(attribute='metadata.name') }}"
"""

RETURN = r"""
_raw:
  description: The queues as the API server has them, with their status.
  type: list
  elements: dict
"""

import typing as t

from ansible.plugins.lookup import LookupBase
from ansible_collections.paddleflow.core.plugins.module_utils._core.model import queue
from ansible_collections.paddleflow.core.plugins.plugin_utils import _lookups


class LookupModule(LookupBase):
    def run(
        self, terms: list[t.Any], variables: dict[str, t.Any] | None = None, **kwargs: t.Any
    ) -> list[dict[str, t.Any]]:
        option = _lookups.options(self, variables, kwargs)
        return _lookups.objects(option, terms, queue.NOUN["api"], queue.NOUN["kind"])
