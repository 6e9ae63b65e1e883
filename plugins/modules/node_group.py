#!/usr/bin/python
# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: node_group
short_description: Declare groups of nodes
version_added: 0.1.0
description:
  - Puts nodes into a group by the label C(paddleflow.org/node-group) and a taint of the same name, and takes those out that it does not declare
    any more.
  - Nodes themselves are never made or deleted, and nothing else in them is changed.
  - A node is in one group. It moves to another one within one task that declares both.
author:
  - The paddleflow.core authors (@paddleflow)
options:
  name:
    description: Name of the node group.
    type: str
  state:
    description:
      - What it shall be; V(present) when nothing is given.
    type: str
    choices:
      - present
      - absent
  nodes:
    description:
      - Names of its nodes.
      - An empty list is a group without nodes.
    type: list
    elements: str
  selector:
    description:
      - Labels of its nodes, all of which a node must have; beside those that O(nodes) names.
      - Nodes that come later join when the task runs again.
    type: dict
  exclusive:
    description:
      - Whether only pods that tolerate the taint C(paddleflow.org/node-group) run there, as those of jobs in the group's queues do.
      - When nothing is given it is V(true).
    type: bool
  objects:
    description:
      - Several node_group objects at once; each entry has the options of this module.
      - The O(state) beside it is the default of every entry.
      - Mutually exclusive with O(name) and the options of a single one.
    type: list
    elements: dict
    suboptions:
      name:
        description: Name of the node group.
        type: str
      state:
        description:
          - What it shall be; V(present) when nothing is given.
        type: str
        choices:
          - present
          - absent
      nodes:
        description:
          - Names of its nodes.
          - An empty list is a group without nodes.
        type: list
        elements: str
      selector:
        description:
          - Labels of its nodes, all of which a node must have; beside those that O(nodes) names.
          - Nodes that come later join when the task runs again.
        type: dict
      exclusive:
        description:
          - Whether only pods that tolerate the taint C(paddleflow.org/node-group) run there, as those of jobs in the group's queues do.
          - When nothing is given it is V(true).
        type: bool
extends_documentation_fragment:
  - paddleflow.core.auth
  - paddleflow.core.write
  - paddleflow.core.attributes
"""

EXAMPLES = r"""
- name: Two nodes that only jobs of their queues run on
  paddleflow.core.node_group:
    name: a100
    nodes: [gpu-1, gpu-2]

- name: A queue that is held to them
  paddleflow.core.queue:
    name: training
    isolation: physical
    node_group: a100

- name: Groups by the labels of nodes, open to other pods
  paddleflow.core.node_group:
    objects:
      - name: north
        selector: {topology.kubernetes.io/zone: north}
        exclusive: false
      - name: south
        selector: {topology.kubernetes.io/zone: south}
        exclusive: false

- name: The nodes of a group belong to none any more
  paddleflow.core.node_group:
    name: a100
    state: absent
"""

RETURN = r"""
objects:
  description: What became of each object, in the order of the declaration.
  returned: always
  type: list
  elements: dict
  sample:
    - kind: Node
      namespace: ''
      name: one
      changed: true
      action: created
  contains:
    kind:
      description: Its kind.
      type: str
    namespace:
      description: Its namespace; empty for kinds that are in none.
      type: str
    name:
      description: Its name.
      type: str
    changed:
      description: Whether it was, or in check mode would be, changed.
      type: bool
    action:
      description: One of V(created), V(changed), V(recreated), V(deleted), V(unchanged), V(failed).
      type: str
    error:
      description: Why it failed, when it did.
      type: str
    object:
      description: The object itself, when O(return_content) asks for it.
      type: dict
problems:
  description: Everything that is wrong with the declaration, of which nothing was written.
  returned: when the declaration is wrong
  type: list
  elements: str
errors:
  description: What a program reads of each problem with a field.
  returned: when the declaration is wrong
  type: list
  elements: dict
  contains:
    code:
      description: The error code, as the reference platform names it.
      type: str
    field:
      description: The option that is wrong, with those that it is in.
      type: str
    hint:
      description: What to do about it.
      type: str
code:
  description: RV(errors[].code) of the first problem.
  returned: when the declaration is wrong
  type: str
field:
  description: RV(errors[].field) of the first problem.
  returned: when the declaration is wrong
  type: str
hint:
  description: RV(errors[].hint) of the first problem.
  returned: when the declaration is wrong
  type: str
"""

from ansible_collections.paddleflow.core.plugins.module_utils._glue import node_group


def main() -> None:
    node_group.run()


if __name__ == "__main__":
    main()
