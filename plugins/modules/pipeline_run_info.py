#!/usr/bin/python
# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: pipeline_run_info
short_description: Tell how far runs of pipelines are, and what has become of their steps
version_added: 0.1.0
description:
  - Reads runs with their phases, the reasons for them, and the same of each of their steps.
  - What is not there is an empty list. A cluster that does not answer, or does not permit it, is an error.
author:
  - The paddleflow.core authors (@paddleflow)
options:
  name:
    description: Only the pipeline run of that name.
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
- name: Which runs are there
  paddleflow.core.pipeline_run_info:
  register: found

- name: Show those of a pipeline that have failed
  ansible.builtin.debug:
    msg: "{{ found.objects | selectattr('declared.pipeline.name', 'defined') | selectattr('declared.pipeline.name', 'eq', 'digits')
      | selectattr('status.phase', 'defined') | selectattr('status.phase', 'eq', 'failed') | map(attribute='name') }}"

- name: How far is one run
  paddleflow.core.pipeline_run_info:
    name: digits-0123456789
  register: digits

- name: Show which of its steps failed, and why
  ansible.builtin.debug:
    msg: "{{ item.name }}, attempt {{ item.attempt }}: {{ item.reason }}"
  loop: "{{ digits.objects | map(attribute='steps') | flatten | selectattr('phase', 'eq', 'failed') }}"
"""

RETURN = r"""
objects:
  description: What was found.
  returned: success
  type: list
  elements: dict
  sample:
    - name: digits-0123456789
      namespace: science
      labels:
        app.kubernetes.io/managed-by: paddleflow
      declared:
        pipeline:
          name: digits
        run_key: '2026-01-31'
      status:
        phase: failed
        message: 'entry_points.train: exit code 7'
        startTime: '2026-01-31T12:00:00Z'
        progress:
          steps: 2
      steps:
        - name: digits.entry_points.fetch
          phase: succeeded
          attempt: 0
          reason: ''
          cached: true
          results_of: digits-9876543210
          start_time: '2026-01-31T12:00:01Z'
          end_time: '2026-01-31T12:00:01Z'
        - name: digits.entry_points.train
          phase: failed
          attempt: 2
          reason: exit code 7
          cached: false
          results_of: ''
          start_time: '2026-01-31T12:00:02Z'
          end_time: '2026-01-31T12:04:41Z'
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
      description: What is declared of it, by the options of P(paddleflow.core.pipeline_run#module).
      type: dict
    status:
      description: What is known about it, as the object says it, but for its steps.
      type: dict
    steps:
      description: The instances of its steps and DAGs, in the order in which they began. An item of a loop is one of its own.
      type: list
      elements: dict
      contains:
        name:
          description: Its place in the run, such as V(digits.entry_points.train); the items of a loop are numbered from the second on.
          type: str
        phase:
          description: One of V(init), V(pending), V(running), V(terminating), V(succeeded), V(failed), V(terminated), V(cancelled) and V(skipped).
          type: str
        attempt:
          description: Which attempt it is; V(0) when no job was made for it.
          type: int
        reason:
          description: Why it is so.
          type: str
        cached:
          description: Whether its results are from an earlier run by the cache.
          type: bool
        results_of:
          description: The run that its results, and so its artifacts, are from. It is another one when they are cached, or kept by a retry.
          type: str
        start_time:
          description: When it began; empty when it did not.
          type: str
        end_time:
          description: When it ended; empty when it did not.
          type: str
"""

from ansible_collections.paddleflow.core.plugins.module_utils._core.model import pipeline_run
from ansible_collections.paddleflow.core.plugins.module_utils._glue import info, pipeline_run_info


def main() -> None:
    info.run(pipeline_run, pipeline_run_info.more)


if __name__ == "__main__":
    main()
