#!/usr/bin/python
# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: flavour_info
short_description: Tell what flavours there are
version_added: 0.1.0
description:
  - Reads flavours, the sizes that jobs ask for by name.
  - Only those that are declared. A job may also name V(flavour1), V(flavour2) and V(flavour3), which are built in unless somebody declares one
    of that name.
  - What is not there is an empty list. A cluster that does not answer, or does not permit it, is an error.
author:
  - The paddleflow.core authors (@paddleflow)
options:
  name:
    description: Only the flavour of that name.
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
- name: Which sizes are there
  paddleflow.core.flavour_info:
  register: found

- name: Show their names
  ansible.builtin.debug:
    msg: "{{ found.objects | map(attribute='name') }}"
"""

RETURN = r"""
objects:
  description: What was found.
  returned: success
  type: list
  elements: dict
  sample:
    - name: large
      namespace: ''
      labels:
        app.kubernetes.io/managed-by: paddleflow
      declared:
        cpu: 8
        memory: 32Gi
        scalar_resources:
          nvidia.com/gpu: 1
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
      description: What is declared of it, by the options of P(paddleflow.core.flavour#module).
      type: dict
    status:
      description: What is known about it, as the object says it.
      type: dict
"""

from ansible_collections.paddleflow.core.plugins.module_utils._core.model import flavour
from ansible_collections.paddleflow.core.plugins.module_utils._glue import info


def main() -> None:
    info.run(flavour)


if __name__ == "__main__":
    main()
