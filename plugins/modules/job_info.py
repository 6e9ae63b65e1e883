#!/usr/bin/python
# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: job_info
short_description: Tell what has become of jobs and their pods, and what they wrote
version_added: 0.1.0
description:
  - Reads jobs, whoever declared them, with their state, the reason for it, and the same of each of their pods.
  - The newest comes first.
  - What is not there is an empty list. A cluster that does not answer, or does not permit it, is an error.
author:
  - The paddleflow.core authors (@paddleflow)
options:
  name:
    description: Only the job of that name.
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
  kind:
    description:
      - The kind of job. V(Job) is one of Volcano, which most jobs become; V(PaddleJob) and V(TrainingJob) are those of their own groups.
      - Any other is named as it was declared, V(<Kind>.<group>/<version>), such as V(PyTorchJob.kubeflow.org/v1).
    type: str
    default: Job
  states:
    description: Only jobs in one of these states; those in any when nothing is given.
    type: list
    elements: str
    choices:
      - init
      - pending
      - running
      - succeeded
      - failed
      - terminating
      - terminated
      - preempting
      - preempted
  queue:
    description: Only jobs of that queue.
    type: str
  started_since:
    description: Only jobs that began then or later, such as V(2026-01-31T08:00:00Z). A time without an offset is in UTC.
    type: str
  changed_since:
    description: Only jobs that were accepted, began or ended then or later, such as V(2026-01-31).
    type: str
  logs:
    description: Whether what each pod wrote is returned too.
    type: bool
    default: false
  log_lines:
    description: How many lines of each pod's log, from its end.
    type: int
    default: 100
extends_documentation_fragment:
  - paddleflow.core.auth
  - paddleflow.core.attributes.info
"""

EXAMPLES = r"""
- name: Which jobs of a team are there
  paddleflow.core.job_info:
    namespace: science
  register: found

- name: Show their names
  ansible.builtin.debug:
    msg: "{{ found.objects | map(attribute='name') }}"

- name: What failed in a queue since the beginning of the month
  paddleflow.core.job_info:
    all_namespaces: true
    queue: vision
    states: [failed]
    changed_since: "2026-01-01"

- name: What has become of one job, with the end of its logs
  paddleflow.core.job_info:
    namespace: science
    name: train
    logs: true
  register: train

- name: Show the failed pods of it
  ansible.builtin.debug:
    msg: "{{ train.objects | map(attribute='tasks') | flatten | selectattr('status', 'equalto', 'failed') }}"
"""

RETURN = r"""
objects:
  description: What was found.
  returned: success
  type: list
  elements: dict
  sample:
    - name: train
      namespace: science
      labels:
        app.kubernetes.io/managed-by: paddleflow
      declared:
        framework: standalone
        image: registry.example.org/train:1
        command: python train.py
      status:
        state:
          phase: Failed
      state: failed
      message: 'train-standalone-0: exit code 7'
      restarts: 0
      acceptTime: '2026-01-31T08:00:00Z'
      startTime: '2026-01-31T08:00:04Z'
      finishTime: '2026-01-31T09:12:40Z'
      tasks:
        - name: train-standalone-0
          namespace: science
          status: failed
          message: exit code 7
          exitCode: 7
          nodeName: gpu-1
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
      description: What is declared of it, by the options of P(paddleflow.core.job#module).
      type: dict
    status:
      description: What is known about it, as the object says it.
      type: dict
    state:
      description: One of V(init), V(pending), V(running), V(succeeded), V(failed), V(terminating), V(terminated), V(preempting) and V(preempted).
      type: str
    message:
      description: Why it is so.
      type: str
    restarts:
      description: How often its pods were started anew.
      type: int
    acceptTime:
      description: When it was declared
      type: str
    startTime:
      description: When it began; empty before, and when nobody remembers it
      type: str
    finishTime:
      description: When it ended
      type: str
    tasks:
      description: Its pods.
      type: list
      elements: dict
      contains:
        id:
          description: The pod's uid
          type: str
        name:
          description: Name of the pod
          type: str
        namespace:
          description: Namespace of the pod
          type: str
        role:
          description: Its role in the job
          type: str
        group:
          description: The number of its member among those of that role
          type: int
        index:
          description: Its number in its member
          type: int
        status:
          description: V(pending), V(running), V(succeeded) or V(failed)
          type: str
        message:
          description: Why it is so
          type: str
        exitCode:
          description: With what its last container ended
          type: int
        finishedAt:
          description: When it ended
          type: str
        nodeName:
          description: Where it runs
          type: str
        acceleratorCards:
          description: The accelerators that it was given
          type: list
          elements: str
        log:
          description: The end of what it wrote, when O(logs) asks for it
          type: str
"""

from ansible_collections.paddleflow.core.plugins.module_utils._core.model import job
from ansible_collections.paddleflow.core.plugins.module_utils._glue import info, job_info


def main() -> None:
    info.run(job, job_info.more, job_info.BESIDE, job_info.kind)


if __name__ == "__main__":
    main()
