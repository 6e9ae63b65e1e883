#!/usr/bin/python
# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_info
short_description: Tell what a cluster has, what of it is free, and what it serves of the platform
version_added: 0.1.0
description:
  - Reads the nodes of the cluster with what they have and what pods ask of them, and whether the kinds of the platform and of Volcano are served.
  - The words are those of the variables of the inventory plugin P(paddleflow.core.paddleflow#inventory).
  - Asks for one list of nodes, pods, queues and caches each, whatever the size of the cluster.
  - What the user may not see beside the nodes is left out, with a warning.
  - A cluster that does not answer, or does not let its nodes be listed, is an error.
author:
  - The paddleflow.core authors (@paddleflow)
options:
  label_selectors:
    description: Only nodes with these labels, such as V(paddleflow.org/node-group=a100).
    type: list
    elements: str
  field_selectors:
    description: Only nodes with these fields, such as V(metadata.name=gpu-1).
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
- name: What the cluster has
  paddleflow.core.cluster_info:
  register: cluster

- name: Show what is free of it
  ansible.builtin.debug:
    msg: "{{ cluster.total.free }}"

- name: Stop where the platform is not installed
  ansible.builtin.assert:
    that: cluster.served.volcano and cluster.served.paddleflow
    fail_msg: "The cluster does not serve {{ cluster.served.missing | join(', ') }}."

- name: What the nodes of one group have
  paddleflow.core.cluster_info:
    label_selectors: [paddleflow.org/node-group=a100]
"""

RETURN = r"""
server:
  description: The address of its API server.
  returned: success
  type: str
  sample: https://lab.example.org:6443
version:
  description: The version of Kubernetes that its API server runs.
  returned: success
  type: str
  sample: v1.34.4+k3s1
served:
  description: Which kinds it serves.
  returned: success
  type: dict
  sample:
    volcano: true
    paddleflow: false
    missing: [PipelineRun.paddleflow.org/v1alpha1]
  contains:
    volcano:
      description: Whether it serves all kinds of Volcano that the platform needs.
      type: bool
    paddleflow:
      description: Whether it serves all kinds of the platform.
      type: bool
    missing:
      description: The kinds that it does not serve.
      type: list
      elements: str
queues:
  description: How many queues there are, the root not counted. Nothing when they are not served, or the user may not see them.
  returned: success
  type: int
  sample: 12
nodes:
  description: The nodes.
  returned: success
  type: list
  elements: dict
  sample:
    - name: gpu-1
      ready: true
      schedulable: true
      roles: []
      node_group: a100
      hardware_type: NVIDIA-A100-SXM4-40GB
      accelerators: {nvidia.com/gpu: 4}
      addresses: {InternalIP: [10.1.0.2]}
      conditions: {Ready: 'True'}
      labels: {paddleflow.org/node-group: a100}
      taints: [{key: paddleflow.org/node-group, value: a100, effect: NoSchedule}]
      capacity: {cpu: '64', memory: 512Gi, nvidia.com/gpu: '4', pods: '110'}
      allocatable: {cpu: '63', memory: 500Gi, nvidia.com/gpu: '4', pods: '110'}
      requested: {cpu: '33', memory: 260Gi, nvidia.com/gpu: '3'}
      free: {cpu: '30', memory: 240Gi, nvidia.com/gpu: '1', pods: '107'}
      pods: 3
      jobs: [science/train]
      cached_bytes: {science/datasets: 42949672960}
  contains:
    name:
      description: Its name.
      type: str
    ready:
      description: Whether it is ready.
      type: bool
    schedulable:
      description: Whether pods may be placed on it; a node that is cordoned or drained is not.
      type: bool
    roles:
      description: Its roles.
      type: list
      elements: str
    node_group:
      description: The group of nodes that it is in; empty when it is in none.
      type: str
    hardware_type:
      description: The type of its accelerators, as its labels say it.
      type: str
    accelerators:
      description: How many accelerators it has, by resource.
      type: dict
    addresses:
      description: Its addresses, by type.
      type: dict
    conditions:
      description: Its conditions, by type.
      type: dict
    labels:
      description: Its labels.
      type: dict
    taints:
      description: Its taints.
      type: list
      elements: dict
    capacity:
      description: What it has.
      type: dict
    allocatable:
      description: What it allots to pods.
      type: dict
    requested:
      description: What the pods on it ask for. It needs the permission to list pods, as do RV(nodes[].free), RV(nodes[].pods) and RV(nodes[].jobs).
      type: dict
    free:
      description: What is left of RV(nodes[].allocatable).
      type: dict
    pods:
      description: How many pods it has.
      type: int
    jobs:
      description: The jobs that run on it.
      type: list
      elements: str
    cached_bytes:
      description: How many bytes of each file system it holds. It needs the permission to list NodeCache objects.
      type: dict
total:
  description: Sums of the nodes that take pods.
  returned: success
  type: dict
  sample:
    nodes: 3
    usable: 2
    accelerators: {nvidia.com/gpu: 8}
    capacity: {cpu: '128', memory: 1Ti, nvidia.com/gpu: '8', pods: '220'}
    allocatable: {cpu: '126', memory: 1000Gi, nvidia.com/gpu: '8', pods: '220'}
    requested: {cpu: '33', memory: 260Gi, nvidia.com/gpu: '3'}
    free: {cpu: '93', memory: 740Gi, nvidia.com/gpu: '5', pods: '217'}
  contains:
    nodes:
      description: How many nodes there are.
      type: int
    usable:
      description: How many of them are ready and schedulable. The sums are theirs.
      type: int
    accelerators:
      description: How many accelerators they have, by resource.
      type: dict
    capacity:
      description: What they have.
      type: dict
    allocatable:
      description: What they allot to pods.
      type: dict
    requested:
      description: What the pods on them ask for, when pods could be read.
      type: dict
    free:
      description: What is left, when pods could be read. It lies on several nodes, and a pod needs its room on one.
      type: dict
"""

from ansible_collections.paddleflow.core.plugins.module_utils._glue import cluster_info


def main() -> None:
    cluster_info.run()


if __name__ == "__main__":
    main()
