#!/usr/bin/python
# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: flavour
short_description: Declare flavours, the sizes that jobs ask for by name
version_added: 0.1.0
description:
  - Brings flavours into the declared state. A flavour is an amount of resources with a name.
  - Quantities are compared by value, so V(1000m) is V(1) and V(1024Mi) is V(1Gi).
  - Jobs that run keep what they were started with.
author:
  - The paddleflow.core authors (@paddleflow)
options:
  name:
    description: Name of the flavour.
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
  cpu:
    description:
      - CPUs, above 0.
    type: raw
  memory:
    description:
      - Memory, above 0.
      - The reference's mem is understood too.
    type: raw
    aliases:
      - mem
  scalar_resources:
    description:
      - Further resources by their names, such as nvidia.com/gpu.
    type: dict
  cluster_name:
    description:
      - The only cluster whose jobs may ask for it.
      - It cannot be changed.
    type: str
  objects:
    description:
      - Several flavour objects at once; each entry has the options of this module.
      - The O(state), the O(labels) and the O(annotations) beside it are the defaults of every entry.
      - Mutually exclusive with O(name) and the options of a single one.
    type: list
    elements: dict
    suboptions:
      name:
        description: Name of the flavour.
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
      cpu:
        description:
          - CPUs, above 0.
        type: raw
      memory:
        description:
          - Memory, above 0.
          - The reference's mem is understood too.
        type: raw
        aliases:
          - mem
      scalar_resources:
        description:
          - Further resources by their names, such as nvidia.com/gpu.
        type: dict
      cluster_name:
        description:
          - The only cluster whose jobs may ask for it.
          - It cannot be changed.
        type: str
extends_documentation_fragment:
  - paddleflow.core.auth
  - paddleflow.core.write
  - paddleflow.core.attributes
"""

EXAMPLES = r"""
- name: A size that jobs ask for by its name
  paddleflow.core.flavour:
    name: gpu-small
    cpu: 8
    memory: 32Gi
    scalar_resources:
      nvidia.com/gpu: 1

- name: Several sizes at once
  paddleflow.core.flavour:
    objects:
      - {name: small, cpu: 1, memory: 2Gi}
      - {name: large, cpu: 16, memory: 64Gi}

- name: Take a size away
  paddleflow.core.flavour:
    name: gpu-small
    state: absent
"""

RETURN = r"""
objects:
  description: What became of each object, in the order of the declaration.
  returned: always
  type: list
  elements: dict
  sample:
    - kind: Flavour
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

from ansible_collections.paddleflow.core.plugins.module_utils._core.model import flavour
from ansible_collections.paddleflow.core.plugins.module_utils._glue import noun


def main() -> None:
    noun.run(flavour)


if __name__ == "__main__":
    main()
