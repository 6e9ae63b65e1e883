#!/usr/bin/python
# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: sampleset
short_description: Declare data sets that are brought near to the jobs that read them
version_added: 0.1.0
description:
  - Brings data sets (SampleSet) into the declared state.
  - With O(wait), waits until the data of every partition can be read.
author:
  - The paddleflow.core authors (@paddleflow)
options:
  name:
    description: Name of the sampleset.
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
  partitions:
    description:
      - Number of nodes that cache it.
      - When nothing is given it is V(1).
    type: int
  source:
    description:
      - Where the data comes from.
    type: dict
    suboptions:
      uri:
        description:
          - Address of the source, as [scheme://]bucket[.endpoint][/prefix].
        type: str
      secret_ref:
        description:
          - The Secret with the credentials.
          - The name none stands for no credentials.
        type: dict
        suboptions:
          name:
            description:
              - Name of the Secret.
            type: str
          namespace:
            description:
              - Its namespace.
              - The object's own when it is not given.
            type: str
  secret_ref:
    description:
      - The Secret with the credentials.
      - The name none stands for no credentials.
    type: dict
    suboptions:
      name:
        description:
          - Name of the Secret.
        type: str
      namespace:
        description:
          - Its namespace.
          - The object's own when it is not given.
        type: str
  no_sync:
    description:
      - Whether the data is in the cached file system already, so that nothing is brought from the source.
    type: bool
  csi:
    description:
      - How the data set is mounted.
    type: dict
    suboptions:
      driver:
        description:
          - The cache engine.
          - When nothing is given it is V(juicefs).
          - One of V(juicefs), in any case.
        type: str
      juice_fs_mount_options:
        description:
          - Options of the mount, by the names that the cache engine gives them.
        type: dict
        suboptions:
          metrics:
            description:
              - Address at which metrics are exported.
            type: str
          attr_cache:
            description:
              - Seconds for which attributes are cached.
            type: int
          entry_cache:
            description:
              - Seconds for which entries of files are cached.
            type: int
          dir_entry_cache:
            description:
              - Seconds for which entries of directories are cached.
            type: int
          enable_xattr:
            description:
              - Whether extended attributes are there.
            type: bool
          get_timeout:
            description:
              - Seconds after which a download fails.
            type: int
          put_timeout:
            description:
              - Seconds after which an upload fails.
            type: int
          io_retries:
            description:
              - How often a failed transfer is tried again.
            type: int
          max_uploads:
            description:
              - Number of uploads at once.
            type: int
          buffer_size:
            description:
              - Megabytes of buffers.
            type: int
          prefetch:
            description:
              - Number of blocks that are read ahead.
            type: int
          writeback:
            description:
              - Whether a write is acknowledged before it is stored.
            type: bool
          cache_dir:
            description:
              - Directories of the cache, with colons between them, when no level names one.
            type: str
          cache_size:
            description:
              - MiB of the cache, when no level has a size.
            type: int
          free_space_ratio:
            description:
              - Share of the disk that stays free, as text.
            type: str
          cache_partial_only:
            description:
              - Whether only parts of files are cached.
            type: bool
          open_cache:
            description:
              - Seconds for which open files are not looked up again.
            type: int
          sub_dir:
            description:
              - Directory that is mounted in place of the root.
            type: str
  cache:
    description:
      - Where nodes keep the data.
    type: dict
    suboptions:
      levels:
        description:
          - The tiers of the cache.
        type: list
        elements: dict
        suboptions:
          medium_type:
            description:
              - What the tier is made of.
              - One of V(MEM), V(SSD), V(HDD), in any case.
            type: str
          path:
            description:
              - Directories of the tier, with colons between them.
            type: str
          cache_size:
            description:
              - MiB of the tier, of all its directories together.
            type: int
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
  tolerations:
    description:
      - Taints that are tolerated, as the tolerations of a pod.
    type: list
    elements: dict
    suboptions:
      key:
        description:
          - Key of the taint.
          - Any key when it is not given and the operator is Exists.
        type: str
      operator:
        description:
          - Whether the taint's value has to be equal, or its key only has to exist.
          - One of V(Equal), V(Exists), or nothing, in any case.
        type: str
      value:
        description:
          - Value of the taint.
        type: str
      effect:
        description:
          - Effect of the taint.
          - Any effect when it is not given.
          - One of V(NoSchedule), V(PreferNoSchedule), V(NoExecute), or nothing, in any case.
        type: str
      toleration_seconds:
        description:
          - How many seconds an effect NoExecute is tolerated.
        type: int
  objects:
    description:
      - Several sampleset objects at once; each entry has the options of this module.
      - The O(state), the O(labels) and the O(annotations) beside it are the defaults of every entry, and so is the O(namespace).
      - Mutually exclusive with O(name) and the options of a single one.
    type: list
    elements: dict
    suboptions:
      name:
        description: Name of the sampleset.
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
      partitions:
        description:
          - Number of nodes that cache it.
          - When nothing is given it is V(1).
        type: int
      source:
        description:
          - Where the data comes from.
        type: dict
        suboptions:
          uri:
            description:
              - Address of the source, as [scheme://]bucket[.endpoint][/prefix].
            type: str
          secret_ref:
            description:
              - The Secret with the credentials.
              - The name none stands for no credentials.
            type: dict
            suboptions:
              name:
                description:
                  - Name of the Secret.
                type: str
              namespace:
                description:
                  - Its namespace.
                  - The object's own when it is not given.
                type: str
      secret_ref:
        description:
          - The Secret with the credentials.
          - The name none stands for no credentials.
        type: dict
        suboptions:
          name:
            description:
              - Name of the Secret.
            type: str
          namespace:
            description:
              - Its namespace.
              - The object's own when it is not given.
            type: str
      no_sync:
        description:
          - Whether the data is in the cached file system already, so that nothing is brought from the source.
        type: bool
      csi:
        description:
          - How the data set is mounted.
        type: dict
        suboptions:
          driver:
            description:
              - The cache engine.
              - When nothing is given it is V(juicefs).
              - One of V(juicefs), in any case.
            type: str
          juice_fs_mount_options:
            description:
              - Options of the mount, by the names that the cache engine gives them.
            type: dict
            suboptions:
              metrics:
                description:
                  - Address at which metrics are exported.
                type: str
              attr_cache:
                description:
                  - Seconds for which attributes are cached.
                type: int
              entry_cache:
                description:
                  - Seconds for which entries of files are cached.
                type: int
              dir_entry_cache:
                description:
                  - Seconds for which entries of directories are cached.
                type: int
              enable_xattr:
                description:
                  - Whether extended attributes are there.
                type: bool
              get_timeout:
                description:
                  - Seconds after which a download fails.
                type: int
              put_timeout:
                description:
                  - Seconds after which an upload fails.
                type: int
              io_retries:
                description:
                  - How often a failed transfer is tried again.
                type: int
              max_uploads:
                description:
                  - Number of uploads at once.
                type: int
              buffer_size:
                description:
                  - Megabytes of buffers.
                type: int
              prefetch:
                description:
                  - Number of blocks that are read ahead.
                type: int
              writeback:
                description:
                  - Whether a write is acknowledged before it is stored.
                type: bool
              cache_dir:
                description:
                  - Directories of the cache, with colons between them, when no level names one.
                type: str
              cache_size:
                description:
                  - MiB of the cache, when no level has a size.
                type: int
              free_space_ratio:
                description:
                  - Share of the disk that stays free, as text.
                type: str
              cache_partial_only:
                description:
                  - Whether only parts of files are cached.
                type: bool
              open_cache:
                description:
                  - Seconds for which open files are not looked up again.
                type: int
              sub_dir:
                description:
                  - Directory that is mounted in place of the root.
                type: str
      cache:
        description:
          - Where nodes keep the data.
        type: dict
        suboptions:
          levels:
            description:
              - The tiers of the cache.
            type: list
            elements: dict
            suboptions:
              medium_type:
                description:
                  - What the tier is made of.
                  - One of V(MEM), V(SSD), V(HDD), in any case.
                type: str
              path:
                description:
                  - Directories of the tier, with colons between them.
                type: str
              cache_size:
                description:
                  - MiB of the tier, of all its directories together.
                type: int
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
      tolerations:
        description:
          - Taints that are tolerated, as the tolerations of a pod.
        type: list
        elements: dict
        suboptions:
          key:
            description:
              - Key of the taint.
              - Any key when it is not given and the operator is Exists.
            type: str
          operator:
            description:
              - Whether the taint's value has to be equal, or its key only has to exist.
              - One of V(Equal), V(Exists), or nothing, in any case.
            type: str
          value:
            description:
              - Value of the taint.
            type: str
          effect:
            description:
              - Effect of the taint.
              - Any effect when it is not given.
              - One of V(NoSchedule), V(PreferNoSchedule), V(NoExecute), or nothing, in any case.
            type: str
          toleration_seconds:
            description:
              - How many seconds an effect NoExecute is tolerated.
            type: int
extends_documentation_fragment:
  - paddleflow.core.auth
  - paddleflow.core.write
  - paddleflow.core.attributes
  - paddleflow.core.wait
"""

EXAMPLES = r"""
- name: A data set on the disks of two nodes
  paddleflow.core.sampleset:
    name: imagenet
    namespace: science
    partitions: 2
    source:
      uri: s3://imagenet.example.org/train
      secret_ref:
        name: imagenet-source
    secret_ref:
      name: imagenet-cache
    cache:
      levels:
        - medium_type: SSD
          path: /mnt/cache
          cache_size: 204800

- name: Take it away, with what nodes hold of it
  paddleflow.core.sampleset:
    name: imagenet
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
    - kind: SampleSet
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

from ansible_collections.paddleflow.core.plugins.module_utils._core.model import sampleset
from ansible_collections.paddleflow.core.plugins.module_utils._glue import noun


def main() -> None:
    noun.run(sampleset)


if __name__ == "__main__":
    main()
