#!/usr/bin/python
# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: pipeline_info
short_description: Tell what pipelines there are
version_added: 0.1.0
description:
  - Reads pipelines with their documents, their newest versions and who uses them.
  - What is not there is an empty list. A cluster that does not answer, or does not permit it, is an error.
author:
  - The paddleflow.core authors (@paddleflow)
options:
  name:
    description: Only the pipeline of that name.
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
- name: Which pipelines are there
  paddleflow.core.pipeline_info:
  register: found

- name: Show the version that each of them is at
  ansible.builtin.debug:
    msg: "{{ dict(found.objects | map(attribute='name') | zip(found.objects | map(attribute='status.version', default=0))) }}"
"""

RETURN = r"""
objects:
  description: What was found.
  returned: success
  type: list
  elements: dict
  sample:
    - name: digits
      namespace: science
      labels:
        app.kubernetes.io/managed-by: paddleflow
      declared:
        document: '{"name": "digits"}'
        description: Numbers that people wrote
      status:
        version: 3
        schedules:
          - nightly
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
      description: What is declared of it, by the options of P(paddleflow.core.pipeline#module).
      type: dict
    status:
      description: What is known about it, as the object says it.
      type: dict
"""

from ansible_collections.paddleflow.core.plugins.module_utils._core.model import pipeline
from ansible_collections.paddleflow.core.plugins.module_utils._glue import info


def main() -> None:
    info.run(pipeline)


if __name__ == "__main__":
    main()
