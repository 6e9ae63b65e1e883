# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""The choice of a cluster provider as a filter."""

from __future__ import annotations

DOCUMENTATION = r"""
name: provider_choice
short_description: Choose the cluster provider and say why
version_added: 0.1.0
author:
  - The paddleflow.core authors (@paddleflow)
description:
  - C(auto) takes the cluster that was named for this run, else the one that an earlier run made here, else K3s when
    its binary is given or can be downloaded, else the embedded provider.
  - A C(KUBECONFIG) that happens to be in the environment does not name a cluster.
positional: _input
options:
  _input:
    description: The provider that was asked for, one of V(existing), V(k3s), V(embedded) and V(auto).
    type: str
    required: true
  marker:
    description: The text of C(install.json) in the data directory, which an installation leaves there; none when there is no such file.
    type: str
  kubeconfig:
    description: Path of the kubeconfig that was named for this run.
    type: str
    default: ""
  context:
    description: The context that was named for this run.
    type: str
    default: ""
  own_kubeconfig:
    description: Path of the kubeconfig of the cluster that an earlier run made, unless O(marker) names it. Naming it names that cluster.
    type: str
    default: ""
  k3s_file:
    description: Path of K3s' binary, when it is given as a file.
    type: str
    default: ""
  k3s_reachable:
    description: Whether K3s' release can be downloaded.
    type: bool
    default: false
  k3s_url:
    description: Where K3s' release would be downloaded from.
    type: str
    default: ""
  ambient:
    description: The value of C(KUBECONFIG), which is mentioned only.
    type: str
    default: ""
"""

EXAMPLES = r"""
- name: Choose the provider
  ansible.builtin.set_fact:
    kubernetes_choice: "{{ 'auto' | paddleflow.core.provider_choice(k3s_file='/opt/k3s') }}"
"""

RETURN = r"""
_value:
  description:
    - The provider, and the reason as a sentence.
    - C(refused) says why the run must not go on, and is empty when it may.
    - C(made) is the provider of the cluster that an earlier run made here, and empty when none did.
  type: dict
  sample:
    provider: k3s
    reason: The provider is k3s because its binary was given as /opt/k3s.
    refused: ""
    made: ""
"""

import typing as t
from dataclasses import asdict

from ansible.errors import AnsibleFilterError
from ansible_collections.paddleflow.core.plugins.module_utils._core.plan.provider import choose

if t.TYPE_CHECKING:
    from collections.abc import Callable


def provider_choice(requested: str, **known: t.Any) -> dict[str, str]:
    try:
        return asdict(choose(requested, **known))
    except ValueError as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    def filters(self) -> dict[str, Callable[..., t.Any]]:
        return {"provider_choice": provider_choice}
