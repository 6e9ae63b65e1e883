#!/usr/bin/python
# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: apply
short_description: Apply any objects to a cluster
version_added: 0.1.0
description:
  - Brings any objects, of whatever kinds, into the declared state by server-side apply. Where nothing differs nothing is written.
  - Objects are read by one list for each kind and namespace, and written side by side - namespaces first, then definitions of
    kinds until they are established, permissions, queues from the root down, and the rest.
  - Each object has a result of its own; one that fails does not keep the others, and its error names file and line.
  - On the control node itself it runs without a process of its own, which makes a loop of it cheap.
author:
  - The paddleflow.core authors (@paddleflow)
options:
  definition:
    description:
      - An object, a list of them, or YAML text with any number of documents.
      - Exactly one of O(definition), O(src) and O(template) is given.
    type: raw
    aliases: [resource_definition]
  src:
    description:
      - Files with manifests, or directories of such files, on the control node. They are read as they are, and not templated.
    type: list
    elements: path
  template:
    description: Files with manifests on the control node, that are templated first.
    type: list
    elements: path
  recursive:
    description: Whether directories below those in O(src) are read too.
    type: bool
    default: false
  places:
    description: Where each object of a list in O(definition) stands, for messages. It follows from O(src) and O(template).
    type: list
    elements: str
  namespace:
    description: Namespace of the objects that name none; that of the connection when it is not given.
    type: str
  state:
    description: Whether the objects shall be there.
    type: str
    choices: [present, absent]
    default: present
  set:
    description:
      - A name for these objects together. They are labelled with it, and with the namespace, which remembers where the set has objects.
      - Sets of one name in two namespaces are two.
    type: str
  prune:
    description:
      - Whether what is labelled as part of the O(set) and is not among these objects is taken away.
      - That is what this module wrote, and not what controllers made of it. Nothing is taken away when another object failed.
    type: bool
    default: false
  prune_max:
    description: How many objects may be taken away by O(prune). When there are more, nothing at all is changed.
    type: int
    default: 10
  writers:
    description: How many objects are written at a time.
    type: int
    default: 8
  wait_for:
    description:
      - What O(wait) waits for on each of the objects, either a condition or a path. Without it, objects of usual kinds are
        waited for as these say that they are ready, and others are not.
      - Deployments, StatefulSets and DaemonSets are ready when all of their pods are as declared now and available, claims
        when they are bound. A claim whose StorageClass binds it only once a pod uses it is not waited for.
    type: dict
    suboptions:
      condition:
        description: A condition in the status that has to be true.
        type: str
      path:
        description: The path of a field, such as V(status.phase).
        type: str
      value:
        description: What has to stand at the path; anything, when it is not given.
        type: raw
extends_documentation_fragment:
  - paddleflow.core.auth
  - paddleflow.core.write
  - paddleflow.core.wait
  - paddleflow.core.attributes
"""

EXAMPLES = r"""
- name: One object
  paddleflow.core.apply:
    definition:
      apiVersion: v1
      kind: ConfigMap
      metadata:
        name: settings
        namespace: science
      data:
        colour: blue

- name: Exactly these objects, as far as the set "team" is concerned
  paddleflow.core.apply:
    set: team
    prune: true
    namespace: science
    definition: |
      apiVersion: v1
      kind: ServiceAccount
      metadata:
        name: robot
      ---
      apiVersion: v1
      kind: ConfigMap
      metadata:
        name: robot-settings
      data:
        speed: slow

- name: Take an object away
  paddleflow.core.apply:
    state: absent
    definition:
      apiVersion: v1
      kind: ConfigMap
      metadata:
        name: settings
        namespace: science
"""

RETURN = r"""
objects:
  description: What became of each object, in the order of the declaration, those that were pruned last.
  returned: always
  type: list
  elements: dict
  sample:
    - kind: ConfigMap
      namespace: science
      name: settings
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
      description:
        - One of V(created), V(changed), V(recreated), V(deleted), V(unchanged), V(kept), V(failed).
        - V(kept) is what would have been pruned, had nothing failed. An object with an RV(objects[].error) may have been written.
      type: str
    error:
      description: Why it failed, or did not become ready, when that is so.
      type: str
    object:
      description: The object itself, when O(return_content) asks for it.
      type: dict
"""

from ansible_collections.paddleflow.core.plugins.module_utils._glue import apply
from ansible_collections.paddleflow.core.plugins.module_utils._glue.module import begun


def main() -> None:
    apply.carry(begun(apply.SPEC))


if __name__ == "__main__":
    main()
