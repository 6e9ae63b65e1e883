#!/usr/bin/python
# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: queue_info
short_description: Tell what queues there are, how much of them is used, and who waits
version_added: 0.1.0
description:
  - Reads queues, whoever declared them, with their state, their use, and the jobs that wait in them.
  - What is not there is an empty list. A cluster that does not answer, or does not permit it, is an error.
author:
  - The paddleflow.core authors (@paddleflow)
options:
  name:
    description: Only the queue of that name.
    type: str
  label_selectors:
    description: Only those with these labels, such as V(team=vision).
    type: list
    elements: str
  field_selectors:
    description: Only those with these fields, such as V(metadata.name=vision).
    type: list
    elements: str
  timeout:
    description: Seconds that it may take.
    type: int
    default: 60
extends_documentation_fragment:
  - paddleflow.core.auth
  - paddleflow.core.attributes.info
"""

EXAMPLES = r"""
- name: Which queues are there
  paddleflow.core.queue_info:
  register: found

- name: Show their names
  ansible.builtin.debug:
    msg: "{{ found.objects | map(attribute='name') }}"

- name: Who waits in one of them, and why
  paddleflow.core.queue_info:
    name: vision
  register: vision

- name: Show the first in line
  ansible.builtin.debug:
    msg: "{{ vision.objects | map(attribute='pending') | flatten | first | default('nobody waits') }}"
"""

RETURN = r"""
objects:
  description: What was found.
  returned: success
  type: list
  elements: dict
  sample:
    - name: vision
      namespace: ''
      labels:
        app.kubernetes.io/managed-by: paddleflow
      declared:
        max:
          cpu: '64'
        min:
          cpu: '16'
        parent: research
      status:
        state: Open
        allocated:
          cpu: '32'
      state: Open
      used:
        cpu: '32'
      running: 2
      pending:
        - position: 1
          name: train
          namespace: science
          since: '2026-01-31T12:00:00Z'
          resources:
            cpu: '8'
          reason: no node has 8 cpu
  contains:
    name:
      description: Its name.
      type: str
    namespace:
      description: Its namespace; empty for kinds that are in none.
      type: str
    labels:
      description: Its labels.
      type: dict
    declared:
      description: What is declared of it, by the options of P(paddleflow.core.queue#module).
      type: dict
    status:
      description: What is known about it, as the object says it.
      type: dict
    state:
      description: Its state, such as V(Open), V(Closing) or V(Closed).
      type: str
    used:
      description: What its jobs have been given, as the scheduler says.
      type: dict
    running:
      description: How many jobs of it run.
      type: int
    pending:
      description: The jobs that wait, in the order in which the scheduler looks at them.
      type: list
      elements: dict
      contains:
        position:
          description: Its place among them
          type: int
        name:
          description: Name of the job
          type: str
        namespace:
          description: Namespace of the job
          type: str
        since:
          description: When it came
          type: str
        resources:
          description: What has to be free at once for it to begin
          type: dict
        reason:
          description: What keeps it, as the scheduler says
          type: str
"""

from ansible_collections.paddleflow.core.plugins.module_utils._core.model import queue
from ansible_collections.paddleflow.core.plugins.module_utils._glue import info, queue_info


def main() -> None:
    info.run(queue, queue_info.more)


if __name__ == "__main__":
    main()
