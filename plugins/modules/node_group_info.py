#!/usr/bin/python
# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: node_group_info
short_description: Tell what groups of nodes there are, and what their nodes have
version_added: 0.1.0
description:
  - Reads groups of nodes from the labels and taints of nodes, whoever put them there.
  - What of it is free, M(paddleflow.core.cluster_info) tells.
  - What is not there is an empty list. A cluster that does not answer, or does not permit it, is an error.
author:
  - The paddleflow.core authors (@paddleflow)
options:
  name:
    description: Only the node group of that name.
    type: str
  label_selectors:
    description: Only what nodes with these labels say, such as V(topology.kubernetes.io/zone=north).
    type: list
    elements: str
  field_selectors:
    description: Only what nodes with these fields say, such as V(spec.unschedulable=false).
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
- name: Which groups of nodes are there
  paddleflow.core.node_group_info:
  register: found

- name: Show how many nodes of each take pods
  ansible.builtin.debug:
    msg: "{{ dict(found.objects | map(attribute='name') | zip(found.objects | map(attribute='status.total.usable'))) }}"

- name: Which of them have nodes in one zone
  paddleflow.core.node_group_info:
    label_selectors: [topology.kubernetes.io/zone=north]
"""

RETURN = r"""
objects:
  description: What was found.
  returned: success
  type: list
  elements: dict
  sample:
    - name: a100
      namespace: ''
      declared:
        nodes:
          - gpu-1
          - gpu-2
        exclusive: true
      status:
        nodes:
          - name: gpu-1
            ready: true
            schedulable: true
            exclusive: true
          - name: gpu-2
            ready: true
            schedulable: false
            exclusive: true
        total:
          nodes: 2
          usable: 1
          accelerators:
            nvidia.com/gpu: 4
          capacity:
            cpu: '64'
            memory: 512Gi
            nvidia.com/gpu: '4'
          allocatable:
            cpu: '63'
            memory: 500Gi
            nvidia.com/gpu: '4'
  contains:
    name:
      description: Its name.
      type: str
    namespace:
      description: Its namespace; empty for kinds that are in none.
      type: str
    declared:
      description: What is declared of it, by the options of P(paddleflow.core.node_group#module).
      type: dict
    status:
      description: What is known about it.
      type: dict
      contains:
        nodes:
          description: Its nodes, whether pods can come to them, and whether only pods of the group can.
          type: list
          elements: dict
        total:
          description: How many nodes it has, how many of them are ready and schedulable, and what these have together.
          type: dict
"""

from ansible_collections.paddleflow.core.plugins.module_utils._glue import node_group_info


def main() -> None:
    node_group_info.run()


if __name__ == "__main__":
    main()
