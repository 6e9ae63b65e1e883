# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""The role preflight's decisions as a filter."""

from __future__ import annotations

DOCUMENTATION = r"""
name: preflight_findings
short_description: Judge what the preflight probe found on a host
version_added: 0.1.0
author:
  - The paddleflow.core authors (@paddleflow)
description:
  - Turns the results of the tasks that ran the role C(preflight)'s probe into sentences that name the object, what
    was found, what is needed and the remedy.
  - Meant for the roles of this collection.
positional: _input
options:
  _input:
    description:
      - The results of the probe's tasks, C(node) for the machine that will run the cluster and C(control) for the
        control node; either may be left out. C(registry) holds under C(results) what the registry of the images answered,
        C(known) a list of findings from elsewhere.
    type: dict
    required: true
  settings:
    description: What the installation needs, as the variables of the role C(preflight) say.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Judge what was found
  ansible.builtin.set_fact:
    preflight_result: "{{ {'node': preflight_probe} | paddleflow.core.preflight_findings({'provider': 'k3s'}) }}"
"""

RETURN = r"""
_value:
  description:
    - The sentences in the lists C(errors), C(warnings) and C(notes), their parts in C(findings), and all of it as one
      text in C(report).
  type: dict
  sample:
    errors:
      - "The user on node1 has user id 1000, but root is needed to make namespaces, mounts and services: run as root."
    warnings: []
    notes: []
"""

import typing as t

from ansible.errors import AnsibleFilterError
from ansible_collections.paddleflow.core.plugins.module_utils._core.plan.finding import Finding, as_data
from ansible_collections.paddleflow.core.plugins.module_utils._core.plan.preflight import evaluate, facts_of
from ansible_collections.paddleflow.core.plugins.module_utils._core.plan.preflight_settings import Settings

if t.TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def preflight_findings(results: Mapping[str, t.Any], settings: Mapping[str, t.Any] | None = None) -> dict[str, t.Any]:
    try:
        needs = Settings.from_data(settings or {})
    except ValueError as error:
        raise AnsibleFilterError(str(error)) from error
    answers = (results.get("registry") or {}).get("results") or ()
    found = evaluate(facts_of(results.get("node")), facts_of(results.get("control")), needs, answers)
    known = (
        Finding(**{name: text for name, text in each.items() if name != "message"})
        for each in results.get("known") or ()
    )
    return as_data([*known, *found], f"preflight of {needs.host}")


class FilterModule:
    def filters(self) -> dict[str, Callable[..., t.Any]]:
        return {"preflight_findings": preflight_findings}
