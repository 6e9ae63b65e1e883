#!/usr/bin/python
# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: filesystem_cache
short_description: Declare how the nodes cache a file system
version_added: 0.1.0
description:
  - Brings the cache policies of file systems into the declared state.
  - A policy is one part of its file system, which has to be there and stays when the policy is taken away.
  - A field that the module P(paddleflow.core.filesystem#module) declares too is a conflict, which names it.
author:
  - The paddleflow.core authors (@paddleflow)
options:
  name:
    description: Name of the filesystem cache.
    type: str
  namespace:
    description: Its namespace; that of the connection when it is not given.
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
  cache_dir:
    description:
      - Directory of the node for cached data.
      - Without one, or when it is empty, nothing is kept on disk.
    type: str
  meta_driver:
    description:
      - Where metadata is cached.
      - In memory when it is not given; on disk, listings outlive a mount.
      - One of V(mem), V(disk), in any case.
    type: str
  block_size:
    description:
      - Bytes of a block of cached data.
      - 20Mi when it is not given; with 0 no data is cached.
    type: raw
  quota:
    description:
      - Bytes of disk that cached data of the file system may take on a node.
      - What was read longest ago goes first.
    type: raw
  clean_cache:
    description:
      - Whether to remove what is cached when the mount ends.
      - When nothing is given it is V(false).
    type: bool
  resource:
    description:
      - Limits of the process that mounts the file system.
    type: dict
    suboptions:
      cpu_limit:
        description:
          - CPU limit, at most 2.
          - There is none when it is not given.
        type: raw
      memory_limit:
        description:
          - Memory limit, at most 8Gi.
          - The cache in memory is a part of it.
        type: raw
  node_taint_toleration:
    description:
      - Taints that mount pods tolerate, as keys and values.
      - An empty value tolerates any.
    type: dict
  node_affinity:
    description:
      - Which nodes it may be, or rather should be, as the node affinity of a pod.
    type: dict
    suboptions:
      required_during_scheduling_ignored_during_execution:
        description:
          - What a node must be like.
        type: dict
        suboptions:
          node_selector_terms:
            description:
              - Terms, one of which the node fulfils.
            type: list
            elements: dict
            suboptions:
              match_expressions:
                description:
                  - Conditions on labels of the node, all of which it fulfils.
                type: list
                elements: dict
                suboptions:
                  key:
                    description:
                      - Name of the label.
                    type: str
                  operator:
                    description:
                      - How the label and the values are compared.
                      - One of V(In), V(NotIn), V(Exists), V(DoesNotExist), V(Gt), V(Lt), in any case.
                    type: str
                  values:
                    description:
                      - Values to compare with; none for Exists and DoesNotExist, one number for Gt and Lt.
                    type: list
                    elements: str
              match_fields:
                description:
                  - Conditions on fields of the node, all of which it fulfils.
                type: list
                elements: dict
                suboptions:
                  key:
                    description:
                      - Name of the field.
                    type: str
                  operator:
                    description:
                      - How the field and the values are compared.
                      - One of V(In), V(NotIn), V(Exists), V(DoesNotExist), V(Gt), V(Lt), in any case.
                    type: str
                  values:
                    description:
                      - Values to compare with.
                    type: list
                    elements: str
      preferred_during_scheduling_ignored_during_execution:
        description:
          - What a node should be like.
        type: list
        elements: dict
        suboptions:
          weight:
            description:
              - How much the term counts, from 1 to 100.
            type: int
          preference:
            description:
              - The term.
            type: dict
            suboptions:
              match_expressions:
                description:
                  - Conditions on labels of the node, all of which it fulfils.
                type: list
                elements: dict
                suboptions:
                  key:
                    description:
                      - Name of the label.
                    type: str
                  operator:
                    description:
                      - How the label and the values are compared.
                      - One of V(In), V(NotIn), V(Exists), V(DoesNotExist), V(Gt), V(Lt), in any case.
                    type: str
                  values:
                    description:
                      - Values to compare with; none for Exists and DoesNotExist, one number for Gt and Lt.
                    type: list
                    elements: str
              match_fields:
                description:
                  - Conditions on fields of the node, all of which it fulfils.
                type: list
                elements: dict
                suboptions:
                  key:
                    description:
                      - Name of the field.
                    type: str
                  operator:
                    description:
                      - How the field and the values are compared.
                      - One of V(In), V(NotIn), V(Exists), V(DoesNotExist), V(Gt), V(Lt), in any case.
                    type: str
                  values:
                    description:
                      - Values to compare with.
                    type: list
                    elements: str
  extra_config:
    description:
      - Further flags of the agent, as names without their hyphens, and values.
    type: dict
  debug:
    description:
      - Whether the agent writes a detailed log.
      - When nothing is given it is V(false).
    type: bool
  objects:
    description:
      - Several filesystem_cache objects at once; each entry has the options of this module.
      - The O(state), the O(labels) and the O(annotations) beside it are the defaults of every entry, and so is the O(namespace).
      - Mutually exclusive with O(name) and the options of a single one.
    type: list
    elements: dict
    suboptions:
      name:
        description: Name of the filesystem cache.
        type: str
      namespace:
        description: Its namespace; that of the connection when it is not given.
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
      cache_dir:
        description:
          - Directory of the node for cached data.
          - Without one, or when it is empty, nothing is kept on disk.
        type: str
      meta_driver:
        description:
          - Where metadata is cached.
          - In memory when it is not given; on disk, listings outlive a mount.
          - One of V(mem), V(disk), in any case.
        type: str
      block_size:
        description:
          - Bytes of a block of cached data.
          - 20Mi when it is not given; with 0 no data is cached.
        type: raw
      quota:
        description:
          - Bytes of disk that cached data of the file system may take on a node.
          - What was read longest ago goes first.
        type: raw
      clean_cache:
        description:
          - Whether to remove what is cached when the mount ends.
          - When nothing is given it is V(false).
        type: bool
      resource:
        description:
          - Limits of the process that mounts the file system.
        type: dict
        suboptions:
          cpu_limit:
            description:
              - CPU limit, at most 2.
              - There is none when it is not given.
            type: raw
          memory_limit:
            description:
              - Memory limit, at most 8Gi.
              - The cache in memory is a part of it.
            type: raw
      node_taint_toleration:
        description:
          - Taints that mount pods tolerate, as keys and values.
          - An empty value tolerates any.
        type: dict
      node_affinity:
        description:
          - Which nodes it may be, or rather should be, as the node affinity of a pod.
        type: dict
        suboptions:
          required_during_scheduling_ignored_during_execution:
            description:
              - What a node must be like.
            type: dict
            suboptions:
              node_selector_terms:
                description:
                  - Terms, one of which the node fulfils.
                type: list
                elements: dict
                suboptions:
                  match_expressions:
                    description:
                      - Conditions on labels of the node, all of which it fulfils.
                    type: list
                    elements: dict
                    suboptions:
                      key:
                        description:
                          - Name of the label.
                        type: str
                      operator:
                        description:
                          - How the label and the values are compared.
                          - One of V(In), V(NotIn), V(Exists), V(DoesNotExist), V(Gt), V(Lt), in any case.
                        type: str
                      values:
                        description:
                          - Values to compare with; none for Exists and DoesNotExist, one number for Gt and Lt.
                        type: list
                        elements: str
                  match_fields:
                    description:
                      - Conditions on fields of the node, all of which it fulfils.
                    type: list
                    elements: dict
                    suboptions:
                      key:
                        description:
                          - Name of the field.
                        type: str
                      operator:
                        description:
                          - How the field and the values are compared.
                          - One of V(In), V(NotIn), V(Exists), V(DoesNotExist), V(Gt), V(Lt), in any case.
                        type: str
                      values:
                        description:
                          - Values to compare with.
                        type: list
                        elements: str
          preferred_during_scheduling_ignored_during_execution:
            description:
              - What a node should be like.
            type: list
            elements: dict
            suboptions:
              weight:
                description:
                  - How much the term counts, from 1 to 100.
                type: int
              preference:
                description:
                  - The term.
                type: dict
                suboptions:
                  match_expressions:
                    description:
                      - Conditions on labels of the node, all of which it fulfils.
                    type: list
                    elements: dict
                    suboptions:
                      key:
                        description:
                          - Name of the label.
                        type: str
                      operator:
                        description:
                          - How the label and the values are compared.
                          - One of V(In), V(NotIn), V(Exists), V(DoesNotExist), V(Gt), V(Lt), in any case.
                        type: str
                      values:
                        description:
                          - Values to compare with; none for Exists and DoesNotExist, one number for Gt and Lt.
                        type: list
                        elements: str
                  match_fields:
                    description:
                      - Conditions on fields of the node, all of which it fulfils.
                    type: list
                    elements: dict
                    suboptions:
                      key:
                        description:
                          - Name of the field.
                        type: str
                      operator:
                        description:
                          - How the field and the values are compared.
                          - One of V(In), V(NotIn), V(Exists), V(DoesNotExist), V(Gt), V(Lt), in any case.
                        type: str
                      values:
                        description:
                          - Values to compare with.
                        type: list
                        elements: str
      extra_config:
        description:
          - Further flags of the agent, as names without their hyphens, and values.
        type: dict
      debug:
        description:
          - Whether the agent writes a detailed log.
          - When nothing is given it is V(false).
        type: bool
extends_documentation_fragment:
  - paddleflow.core.auth
  - paddleflow.core.write
  - paddleflow.core.attributes
"""

EXAMPLES = r"""
- name: A file system whose policy is declared here
  paddleflow.core.filesystem:
    name: corpus
    namespace: science
    url: s3://corpus/2026
    properties:
      endpoint: https://minio.example.org
    secret_ref:
      name: corpus-keys

- name: Up to 200 GiB of it on the disk of each node that mounts it
  paddleflow.core.filesystem_cache:
    name: corpus
    namespace: science
    cache_dir: /var/cache/corpus
    meta_driver: disk
    quota: 200Gi
    block_size: 4Mi

- name: Back to no policy; the file system stays
  paddleflow.core.filesystem_cache:
    name: corpus
    namespace: science
    state: absent
"""

RETURN = r"""
objects:
  description: What became of each object, in the order of the declaration.
  returned: always
  type: list
  elements: dict
  sample:
    - kind: FileSystem
      namespace: team
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

from ansible_collections.paddleflow.core.plugins.module_utils._core.model import filesystem_cache
from ansible_collections.paddleflow.core.plugins.module_utils._glue import noun


def main() -> None:
    noun.run(filesystem_cache)


if __name__ == "__main__":
    main()
