# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Jobs of the cluster, as a lookup."""

from __future__ import annotations

DOCUMENTATION = r"""
name: job
short_description: Read jobs and what has become of them
version_added: 0.1.0
author:
  - The paddleflow.core authors (@paddleflow)
description:
  - Returns jobs by name, those that labels select, or all of them.
  - A job that is not there is told apart from a server that does not answer, may not be asked or has no such jobs at all, which is always an error.
options:
  _terms:
    description: Names of jobs. Without a name, all that O(label_selector) selects, in the order of namespaces and names.
    type: list
    elements: str
  namespace:
    description: Their namespace. When it is not given, names are looked up in the namespace of the connection, and a selector in all namespaces.
    type: str
  kind:
    description: The kind of job; V(Job) is one of Volcano, which most jobs become.
    type: str
    choices: [Job, PaddleJob, TrainingJob]
    default: Job
  label_selector:
    description: Only jobs with these labels. Mutually exclusive with names.
    type: str
  missing:
    description: What a name is whose job is not there; V(error) fails, V(skip) leaves it out.
    type: str
    choices: [error, skip]
    default: error
seealso:
  - plugin: paddleflow.core.run_outcome
    plugin_type: filter
notes:
  - With C(query) the result is always a list. C(lookup) returns a job itself when there is exactly one.
extends_documentation_fragment:
  - paddleflow.core.auth
"""

EXAMPLES = r"""
- name: How a job stands, and why
  ansible.builtin.debug:
    msg: "{{ lookup('paddleflow.core.job', 'train', namespace='research') | paddleflow.core.run_outcome }}"

- name: Names of the jobs of a queue in all namespaces
  ansible.builtin.debug:
    msg: "{{ query('paddleflow.core.job', label_selector='volcano.sh/queue-name=research') | map(attribute='metadata.name') }}"
"""

RETURN = r"""
_raw:
  description: The jobs as the API server has them, with their status.
  type: list
  elements: dict
"""

import typing as t

from ansible.plugins.lookup import LookupBase
from ansible_collections.paddleflow.core.plugins.plugin_utils import _lookups

KINDS = {
    "Job": "batch.volcano.sh/v1alpha1",
    "PaddleJob": "batch.paddlepaddle.org/v1",
    "TrainingJob": "paddlepaddle.org/v1",
}


class LookupModule(LookupBase):
    def run(
        self, terms: list[t.Any], variables: dict[str, t.Any] | None = None, **kwargs: t.Any
    ) -> list[dict[str, t.Any]]:
        option = _lookups.options(self, variables, kwargs)
        kind: str = option("kind")
        return _lookups.objects(option, terms, KINDS[kind], kind)
