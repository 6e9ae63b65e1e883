#!/usr/bin/python
# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: grant
short_description: Declare who may use queues and file systems
version_added: 0.1.0
description:
  - Lets people and namespaces use a queue, and namespaces a file system. The API server refuses what nobody granted, see the role C(paddleflow.core.crds).
  - A user needs a grant for what they make themselves. What controllers make from a template is judged by the namespace.
  - What is running keeps running when a grant goes.
  - Grants add up, and each is taken away by its own name.
author:
  - The paddleflow.core authors (@paddleflow)
options:
  name:
    description: Name of the grant.
    type: str
  labels:
    description: Further labels of the object.
    type: dict
  annotations:
    description: Further annotations of the object.
    type: dict
  state:
    description:
      - What it shall be; V(present) when nothing is given.
    type: str
    choices:
      - present
      - absent
  queue:
    description:
      - The queue that is granted.
      - Its name is enough, it need not be there yet; a queue that has children is refused.
    type: str
  file_system:
    description:
      - The file system that is granted, as V(namespace/name).
      - The namespace that it is in needs no grant.
    type: str
  people:
    description:
      - Users by the names that M(paddleflow.core.user) gives them, who may put objects into the queue themselves.
    type: list
    elements: str
  users:
    description:
      - Users as the API server knows them, likewise.
      - A service account is the user V(system:serviceaccount:namespace:name).
    type: list
    elements: str
  groups:
    description:
      - Groups of users.
    type: list
    elements: str
  namespaces:
    description:
      - Namespaces that may use it, whoever asks there.
      - Controllers (of deployments, cron jobs, runs of pipelines) act for the namespace that they work in.
      - 'A namespace that is granted a queue is bound to queues: all its pods are placed by their scheduler.'
    type: list
    elements: str
  objects:
    description:
      - Several grant objects at once; each entry has the options of this module.
      - The O(state), the O(labels) and the O(annotations) beside it are the defaults of every entry.
      - Mutually exclusive with O(name) and the options of a single one.
    type: list
    elements: dict
    suboptions:
      name:
        description: Name of the grant.
        type: str
      labels:
        description: Further labels of the object.
        type: dict
      annotations:
        description: Further annotations of the object.
        type: dict
      state:
        description:
          - What it shall be; V(present) when nothing is given.
        type: str
        choices:
          - present
          - absent
      queue:
        description:
          - The queue that is granted.
          - Its name is enough, it need not be there yet; a queue that has children is refused.
        type: str
      file_system:
        description:
          - The file system that is granted, as V(namespace/name).
          - The namespace that it is in needs no grant.
        type: str
      people:
        description:
          - Users by the names that M(paddleflow.core.user) gives them, who may put objects into the queue themselves.
        type: list
        elements: str
      users:
        description:
          - Users as the API server knows them, likewise.
          - A service account is the user V(system:serviceaccount:namespace:name).
        type: list
        elements: str
      groups:
        description:
          - Groups of users.
        type: list
        elements: str
      namespaces:
        description:
          - Namespaces that may use it, whoever asks there.
          - Controllers (of deployments, cron jobs, runs of pipelines) act for the namespace that they work in.
          - 'A namespace that is granted a queue is bound to queues: all its pods are placed by their scheduler.'
        type: list
        elements: str
extends_documentation_fragment:
  - paddleflow.core.auth
  - paddleflow.core.write
  - paddleflow.core.attributes
"""

EXAMPLES = r"""
- name: Alice and her team may use the queue research, and so may what controllers make in two namespaces
  paddleflow.core.grant:
    name: research team
    queue: research
    users: [alice@example.com]
    groups: [research]
    namespaces: [research, research-dev]

- name: Everybody may use the default queue
  paddleflow.core.grant:
    name: default for everybody
    queue: default
    groups: ["system:authenticated"]

- name: Pods of two namespaces may mount the file system datasets of the namespace data
  paddleflow.core.grant:
    name: datasets
    file_system: data/datasets
    namespaces: [research, production]

- name: Take a grant away
  paddleflow.core.grant:
    name: research team
    state: absent
"""

RETURN = r"""
objects:
  description: What became of each object, in the order of the declaration.
  returned: always
  type: list
  elements: dict
  sample:
    - kind: ClusterRoleBinding
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

from ansible_collections.paddleflow.core.plugins.module_utils._core.model import grant
from ansible_collections.paddleflow.core.plugins.module_utils._glue import noun


def main() -> None:
    noun.run(grant)


if __name__ == "__main__":
    main()
