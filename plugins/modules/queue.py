#!/usr/bin/python
# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: queue
short_description: Declare queues of the scheduler
version_added: 0.1.0
description:
  - Brings queues into the declared state - what a team is entitled to, what it may borrow, and where its jobs run.
  - An O(objects) list declares many queues in one task; parents are written before their children.
  - Quantities are compared by value, so V(1000m) is V(1) and V(1024Mi) is V(1Gi).
  - A limit below what is in use is accepted; running jobs continue.
  - With V(open), V(closed) or V(drained) and a name alone, what was declared of the queue stays as it is.
author:
  - The paddleflow.core authors (@paddleflow)
options:
  name:
    description: Name of the queue.
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
      - V(closed) lets what runs end and nothing new begin, V(drained) also stops what runs, and V(open) is the opposite of both.
      - V(absent) refuses while jobs use the queue, unless O(force) is set, and takes its grants away.
    type: str
    choices:
      - present
      - absent
      - open
      - closed
      - drained
  namespace:
    description:
      - Namespace for the queue's jobs.
      - It is made when it is not there, and never removed.
      - Which namespaces and people may use the queue at all is what grants say.
    type: str
  quota_type:
    description:
      - V(elasticQuota) guarantees O(min) and lends what is unused of it, V(volcanoCapabilityQuota) only limits to O(max).
      - It cannot be changed.
      - When nothing is given it is V(elasticQuota).
      - One of V(elasticQuota), V(volcanoCapabilityQuota), in any case.
    type: str
  max:
    description:
      - The most that all jobs of the queue may use together, as resource names and quantities; what is not named is unlimited, V(0) is none.
      - Where it names anything, it names everything that O(min) names.
      - 'Less than what is in use is a warning: what runs goes on.'
      - The reference's C(mem) and C(scalarResources) are understood too.
    type: dict
    aliases:
      - max_resources
  min:
    description:
      - What the queue is entitled to and gets back within a bounded time when others have borrowed it.
      - At most O(max) in every resource.
    type: dict
    aliases:
      - min_resources
  parent:
    description:
      - The queue that this one is part of.
      - Every queue below it is held to the limits of all queues above it.
      - When nothing is given it is V(root).
    type: str
  isolation:
    description:
      - V(logical) shares the nodes that nobody owns, V(physical) owns the nodes of O(node_group).
      - It cannot be changed.
      - When nothing is given it is V(logical).
      - One of V(logical), V(physical), in any case.
    type: str
  node_group:
    description:
      - The group of nodes that the queue's jobs run on.
      - O(min) and O(max) are at most what its nodes have together, as far as they may be read; that a group has no nodes yet is a warning.
    type: str
  location:
    description:
      - Labels of the queue, by which the reference selects nodes.
    type: dict
  hardware_types:
    description:
      - Types of accelerators, at least one of which a node must have.
    type: list
    elements: str
  scheduling_policy:
    description:
      - How jobs inside of the queue are ordered.
    type: list
    elements: str
  ordering:
    description:
      - V(Fair) lets any job that fits run, V(StrictFIFO) keeps everybody waiting behind the first, V(BestEffortFIFO) lets others pass a first
        one that does not fit.
      - When nothing is given it is V(Fair).
      - One of V(Fair), V(StrictFIFO), V(BestEffortFIFO), in any case.
    type: str
  within_queue:
    description:
      - Whether a job may take the place of one with a lower priority in the same queue.
      - When nothing is given it is V(Never).
      - One of V(Never), V(LowerPriority), in any case.
    type: str
  lendable:
    description:
      - Whether others may use what this queue is entitled to as long as it does not.
      - V(false) makes every queue above keep the sum of what those below it keep, so that O(min) of each of them has to cover it.
      - When nothing is given it is V(true).
    type: bool
  reclaimable:
    description:
      - Whether jobs of this queue may be evicted for others that are entitled to the room.
      - When nothing is given it is V(true).
    type: bool
  max_running_jobs:
    description:
      - How many jobs of the queue may run at once.
    type: int
  objects:
    description:
      - Several queue objects at once; each entry has the options of this module.
      - The O(state), the O(labels) and the O(annotations) beside it are the defaults of every entry.
      - Mutually exclusive with O(name) and the options of a single one.
    type: list
    elements: dict
    suboptions:
      name:
        description: Name of the queue.
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
          - V(closed) lets what runs end and nothing new begin, V(drained) also stops what runs, and V(open) is the opposite of both.
          - V(absent) refuses while jobs use the queue, unless O(force) is set, and takes its grants away.
        type: str
        choices:
          - present
          - absent
          - open
          - closed
          - drained
      namespace:
        description:
          - Namespace for the queue's jobs.
          - It is made when it is not there, and never removed.
          - Which namespaces and people may use the queue at all is what grants say.
        type: str
      quota_type:
        description:
          - V(elasticQuota) guarantees O(min) and lends what is unused of it, V(volcanoCapabilityQuota) only limits to O(max).
          - It cannot be changed.
          - When nothing is given it is V(elasticQuota).
          - One of V(elasticQuota), V(volcanoCapabilityQuota), in any case.
        type: str
      max:
        description:
          - The most that all jobs of the queue may use together, as resource names and quantities; what is not named is unlimited, V(0) is none.
          - Where it names anything, it names everything that O(min) names.
          - 'Less than what is in use is a warning: what runs goes on.'
          - The reference's C(mem) and C(scalarResources) are understood too.
        type: dict
        aliases:
          - max_resources
      min:
        description:
          - What the queue is entitled to and gets back within a bounded time when others have borrowed it.
          - At most O(max) in every resource.
        type: dict
        aliases:
          - min_resources
      parent:
        description:
          - The queue that this one is part of.
          - Every queue below it is held to the limits of all queues above it.
          - When nothing is given it is V(root).
        type: str
      isolation:
        description:
          - V(logical) shares the nodes that nobody owns, V(physical) owns the nodes of O(node_group).
          - It cannot be changed.
          - When nothing is given it is V(logical).
          - One of V(logical), V(physical), in any case.
        type: str
      node_group:
        description:
          - The group of nodes that the queue's jobs run on.
          - O(min) and O(max) are at most what its nodes have together, as far as they may be read; that a group has no nodes yet is a warning.
        type: str
      location:
        description:
          - Labels of the queue, by which the reference selects nodes.
        type: dict
      hardware_types:
        description:
          - Types of accelerators, at least one of which a node must have.
        type: list
        elements: str
      scheduling_policy:
        description:
          - How jobs inside of the queue are ordered.
        type: list
        elements: str
      ordering:
        description:
          - V(Fair) lets any job that fits run, V(StrictFIFO) keeps everybody waiting behind the first, V(BestEffortFIFO) lets others pass a first
            one that does not fit.
          - When nothing is given it is V(Fair).
          - One of V(Fair), V(StrictFIFO), V(BestEffortFIFO), in any case.
        type: str
      within_queue:
        description:
          - Whether a job may take the place of one with a lower priority in the same queue.
          - When nothing is given it is V(Never).
          - One of V(Never), V(LowerPriority), in any case.
        type: str
      lendable:
        description:
          - Whether others may use what this queue is entitled to as long as it does not.
          - V(false) makes every queue above keep the sum of what those below it keep, so that O(min) of each of them has to cover it.
          - When nothing is given it is V(true).
        type: bool
      reclaimable:
        description:
          - Whether jobs of this queue may be evicted for others that are entitled to the room.
          - When nothing is given it is V(true).
        type: bool
      max_running_jobs:
        description:
          - How many jobs of the queue may run at once.
        type: int
  force:
    description: Whether V(state=absent) stops what still runs in the queue.
    type: bool
    default: false
extends_documentation_fragment:
  - paddleflow.core.auth
  - paddleflow.core.write
  - paddleflow.core.attributes
  - paddleflow.core.wait
"""

EXAMPLES = r"""
- name: A team that is entitled to 32 processors and may borrow up to 64
  paddleflow.core.queue:
    name: research
    namespace: research
    min: {cpu: 32, memory: 128Gi, nvidia.com/gpu: 4}
    max: {cpu: 64, memory: 256Gi, nvidia.com/gpu: 8}

- name: A tree of queues in one task
  paddleflow.core.queue:
    objects:
      - name: science
        max: {cpu: 100}
      - name: physics
        parent: science
        min: {cpu: 40}
        max: {cpu: 100}
      - name: biology
        parent: science
        min: {cpu: 60}
        max: {cpu: 100}
        ordering: StrictFIFO

- name: Let nothing new begin in a queue, stop what runs, and wait until it is empty
  paddleflow.core.queue:
    name: biology
    state: drained
    wait: true

- name: Take a queue away that nothing uses
  paddleflow.core.queue:
    name: biology
    state: absent
"""

RETURN = r"""
objects:
  description: What became of each object, in the order of the declaration.
  returned: always
  type: list
  elements: dict
  sample:
    - kind: Queue
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
      description: One of V(created), V(changed), V(recreated), V(deleted), V(opened), V(closed), V(drained), V(unchanged), V(failed).
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

from ansible_collections.paddleflow.core.plugins.module_utils._core.model import queue
from ansible_collections.paddleflow.core.plugins.module_utils._glue import noun, queues


def main() -> None:
    noun.run(queue, queues.carry, queues.BESIDE)


if __name__ == "__main__":
    main()
