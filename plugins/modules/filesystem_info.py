#!/usr/bin/python
# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: filesystem_info
short_description: Tell what file systems there are, and what nodes hold of them
version_added: 0.1.0
description:
  - Reads file systems with their cache policies, and how much of each every node holds.
  - Nothing secret is read or returned.
  - What is not there is an empty list. A cluster that does not answer, or does not permit it, is an error.
author:
  - The paddleflow.core authors (@paddleflow)
options:
  name:
    description: Only the filesystem of that name.
    type: str
  namespace:
    description: Only those in it; that of the connection when it is not given.
    type: str
  all_namespaces:
    description: Whether those of all namespaces are meant.
    type: bool
    default: false
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
- name: Which file systems of a team are there
  paddleflow.core.filesystem_info:
    namespace: science
  register: found

- name: Show their names
  ansible.builtin.debug:
    msg: "{{ found.objects | map(attribute='name') }}"

- name: Show which nodes hold more than a gigabyte of one of them
  ansible.builtin.debug:
    msg: "{{ item.cached_bytes | dict2items | selectattr('value', 'gt', 2 ** 30) | map(attribute='key') }}"
  loop: "{{ found.objects | selectattr('name', 'eq', 'datasets') }}"
"""

RETURN = r"""
objects:
  description: What was found.
  returned: success
  type: list
  elements: dict
  sample:
    - name: datasets
      namespace: science
      labels:
        paddleflow.org/owner: science
      declared:
        url: s3://datasets/
        properties:
          endpoint: https://s3.example.org
        secret_ref:
          name: keys
      status:
        type: s3
        cachedBytes: 53687091200
      cached_bytes:
        gpu-1: 42949672960
        gpu-2: 10737418240
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
      description: What is declared of it, by the options of P(paddleflow.core.filesystem#module).
      type: dict
    status:
      description: What is known about it, as the object says it.
      type: dict
    cached_bytes:
      description:
        - How many bytes of it each node holds, by the node's name. Nodes that hold nothing of it are left out.
        - As the nodes report it; as RV(objects[].status) says it where the user may not see NodeCache objects.
      type: dict
"""

from ansible_collections.paddleflow.core.plugins.module_utils._core.model import filesystem
from ansible_collections.paddleflow.core.plugins.module_utils._glue import filesystem_info, info


def main() -> None:
    info.run(filesystem, filesystem_info.more)


if __name__ == "__main__":
    main()
