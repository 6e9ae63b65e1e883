#!/usr/bin/python
# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: grant_info
short_description: Tell who may use queues and file systems
version_added: 0.1.0
description:
  - Reads grants with what they grant, and to whom.
  - The grants of one queue have the label C(paddleflow.org/queue), and those of a user of M(paddleflow.core.user) one of their own, C(user.paddleflow.org/)
    and the name with the value V(true).
  - What is not there is an empty list. A cluster that does not answer, or does not permit it, is an error.
author:
  - The paddleflow.core authors (@paddleflow)
options:
  name:
    description: Only the grant of that name.
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
- name: Who may use what
  paddleflow.core.grant_info:
  register: found

- name: Show the queues that are granted to everybody who can log in
  ansible.builtin.debug:
    msg: "{{ found.objects | selectattr('declared.groups', 'defined') | selectattr('declared.groups', 'contains', 'system:authenticated')
      | map(attribute='declared.queue') }}"

- name: Who may use one queue
  paddleflow.core.grant_info:
    label_selectors: [paddleflow.org/queue=research]

- name: What is granted to a user of the platform
  paddleflow.core.grant_info:
    label_selectors: [user.paddleflow.org/alice=true]
"""

RETURN = r"""
objects:
  description: What was found.
  returned: success
  type: list
  elements: dict
  sample:
    - name: research team
      namespace: ''
      labels:
        app.kubernetes.io/managed-by: paddleflow
        paddleflow.org/queue: research
      declared:
        queue: research
        groups:
          - research
        namespaces:
          - research
          - research-dev
      status: {}
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
      description: What is declared of it, by the options of P(paddleflow.core.grant#module).
      type: dict
    status:
      description: What is known about it, as the object says it.
      type: dict
"""

from ansible_collections.paddleflow.core.plugins.module_utils._core.model import grant
from ansible_collections.paddleflow.core.plugins.module_utils._glue import info


def main() -> None:
    info.run(grant)


if __name__ == "__main__":
    main()
