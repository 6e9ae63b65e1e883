# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""How a job or run stands, as a filter."""

from __future__ import annotations

DOCUMENTATION = r"""
name: run_outcome
short_description: How a job or run stands, and why
version_added: 0.1.0
author:
  - The paddleflow.core authors (@paddleflow)
description:
  - Says of a job of any kind, and of a pipeline run, in the same words how it stands.
options:
  _input:
    description: The object, as P(paddleflow.core.job#lookup) or any module that reads objects returns it.
    type: dict
    required: true
seealso:
  - plugin: paddleflow.core.job
    plugin_type: lookup
"""

EXAMPLES = r"""
- name: Fail when the job failed
  ansible.builtin.assert:
    that: not outcome.final or outcome.succeeded
    fail_msg: "The job has {{ outcome.state }}: {{ outcome.reason }}"
  vars:
    outcome: "{{ job | paddleflow.core.run_outcome }}"
    job:
      apiVersion: batch.volcano.sh/v1alpha1
      kind: Job
      metadata: {name: train, namespace: research}
      status: {state: {phase: Completed}}
"""

RETURN = r"""
_value:
  description:
    - The C(state), which of a job is one of V(init), V(pending), V(running), V(terminating), V(preempting), V(succeeded), V(failed), V(terminated),
      V(preempted), V(cancelled), V(skipped), and of a run that was just made V(initiating); the C(reason), empty where there is none to tell;
      C(final), whether it will stay so; and whether it C(succeeded).
  type: dict
  sample: {state: failed, reason: "train-worker-0: exit code 137 (OOMKilled)", final: true, succeeded: false}
"""

import typing as t

from ansible_collections.paddleflow.core.plugins.module_utils._core.plan.outcome import outcome

if t.TYPE_CHECKING:
    from collections.abc import Callable


class FilterModule:
    def filters(self) -> dict[str, Callable[..., t.Any]]:
        return {"run_outcome": outcome}
