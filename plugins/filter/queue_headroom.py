# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""What is left of a queue, as a filter."""

from __future__ import annotations

DOCUMENTATION = r"""
name: queue_headroom
short_description: What is left of a queue
version_added: 0.1.0
author:
  - The paddleflow.core authors (@paddleflow)
description:
  - Compares what a queue and the queues above it may use with what they use, resource by resource.
positional: _input, queues
options:
  _input:
    description: A queue, as P(paddleflow.core.queue#lookup) returns it.
    type: dict
    required: true
  queues:
    description:
      - Queues among which those above it are found; the limits of all of them count.
      - Without them only the queue's own limit counts, and one above it may leave less.
    type: list
    elements: dict
    default: []
seealso:
  - plugin: paddleflow.core.queue
    plugin_type: lookup
"""

EXAMPLES = r"""
- name: Processors that the queue may still take
  ansible.builtin.debug:
    msg: "{{ (queue | paddleflow.core.queue_headroom).cpu.left }}"
  vars:
    queue:
      metadata: {name: research}
      spec: {capability: {cpu: 64}, deserved: {cpu: 32}}
      status: {allocated: {cpu: 40}}
"""

RETURN = r"""
_value:
  description:
    - By resource, the queue's own C(max) and C(min), what is C(used), what is C(left) up to the lowest limit, and what the queue is C(entitled) to and does
      not use yet. All are quantities; C(max) and C(left) are V(null) where nothing limits the resource.
    - A queue whose limit was lowered below what it uses has V(0) left.
  type: dict
  sample:
    cpu: {max: "64", min: "32", used: "40", left: "24", entitled: "0"}
"""

import typing as t

from ansible_collections.paddleflow.core.plugins.module_utils._core.plan.headroom import headroom

if t.TYPE_CHECKING:
    from collections.abc import Callable


class FilterModule:
    def filters(self) -> dict[str, Callable[..., t.Any]]:
        return {"queue_headroom": headroom}
