# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Whether a cluster can hold the platform, as a filter."""

from __future__ import annotations

DOCUMENTATION = r"""
name: cluster_findings
short_description: Judge whether a cluster can hold the platform
version_added: 0.1.0
author:
  - The paddleflow.core authors (@paddleflow)
description:
  - Turns what kubectl answered about a cluster into sentences that name the object, what was found, what is needed
    and the remedy.
  - Meant for the roles of this collection. P(paddleflow.core.cluster_questions#filter) gives the questions.
positional: _input
options:
  _input:
    description:
      - The results of kubectl by question. C(version) is that of C(kubectl get --raw /version -v=8). When it is the
        only one, the filter says whether the cluster answers at all.
      - Before there is a kubectl, C(server) alone, the result of M(ansible.builtin.uri) on any path of the server.
    type: dict
    required: true
  target:
    description: What P(paddleflow.core.cluster_kubeconfig#filter) returned as C(target).
    type: dict
    required: true
  supported:
    description: The oldest and the newest Kubernetes that is supported, as C(min) and C(max).
    type: dict
    default: {}
  kubectl:
    description: Version of kubectl.
    type: str
    default: ""
  adopt_volcano:
    description: Whether a Volcano that is already there is taken over.
    type: bool
    default: false
  priority_classes:
    description: The priority classes that the role C(volcano) will apply, with their values.
    type: dict
    default: {}
  built_here:
    description: Whether the platform's images are built on the control node, for nodes of its processor.
    type: bool
    default: false
  asked:
    description: When C(version) was asked, in seconds since 1970. Now, when it is left out.
    type: float
  clock_skew_max:
    description: How many seconds the clocks may differ.
    type: float
    default: 60
"""

EXAMPLES = r"""
- name: Judge whether the cluster answers
  ansible.builtin.set_fact:
    my_reach: "{{ {'version': my_version} | paddleflow.core.cluster_findings(target=my_config.target) }}"
"""

RETURN = r"""
_value:
  description:
    - The sentences in C(errors), C(warnings) and C(notes), all of it as one text in C(report), and what was learnt of
      the cluster in C(cluster).
  type: dict
  sample:
    errors: []
    cluster: {"version": "v1.34.4", "nodes": ["n1"], "default_storage_class": "local", "volcano_programs": []}
"""

import platform
import typing as t
from dataclasses import asdict
from datetime import UTC, datetime

from ansible_collections.paddleflow.core.plugins.module_utils._core.plan.cluster import judge, silence, unreachable
from ansible_collections.paddleflow.core.plugins.module_utils._core.plan.finding import as_data

if t.TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def cluster_findings(
    answers: Mapping[str, Mapping[str, t.Any]],
    target: Mapping[str, t.Any],
    supported: Mapping[str, t.Any] | None = None,
    kubectl: str = "",
    adopt_volcano: bool = False,
    asked: float | None = None,
    clock_skew_max: float = 60,
    priority_classes: Mapping[str, int] | None = None,
    built_here: bool = False,
) -> dict[str, t.Any]:
    server = str(target["server"])
    title = f"cluster {target['context']} ({server})"
    if "server" in answers:
        complaint = silence(answers["server"])
    else:
        version = answers["version"]
        failed = version.get("rc", 1) != 0
        complaint = str(version.get("stderr") or version.get("msg") or "kubectl gave no reason") if failed else ""
    if complaint:
        return {**as_data([unreachable(server, complaint, str(target.get("proxy") or ""))], title), "cluster": {}}
    if len(answers) == 1:
        return {**as_data([], title), "cluster": {}}
    limits = supported or {}
    cluster, found = judge(
        server,
        str(target["user"]),
        answers,
        now=datetime.now(UTC) if asked is None else datetime.fromtimestamp(float(asked), UTC),
        supported=(str(limits["min"]), str(limits["max"])),
        kubectl_version=kubectl,
        adopt_volcano=adopt_volcano,
        clock_skew_max=float(clock_skew_max),
        priority_classes=priority_classes,
        built_for=platform.machine() if built_here else "",
    )
    return {**as_data(found, title), "cluster": asdict(cluster)}


class FilterModule:
    def filters(self) -> dict[str, Callable[..., t.Any]]:
        return {"cluster_findings": cluster_findings}
