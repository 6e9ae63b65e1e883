# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""What a kubeconfig says, as a filter."""

from __future__ import annotations

DOCUMENTATION = r"""
name: cluster_kubeconfig
short_description: Tell which cluster a kubeconfig names and what is wrong with it
version_added: 0.1.0
author:
  - The paddleflow.core authors (@paddleflow)
description:
  - Finds the cluster that a context of a kubeconfig refers to, or says in a sentence why it cannot be used.
  - Meant for the roles of this collection. Nothing that it returns is secret.
positional: _input, path
options:
  _input:
    description: The result of M(ansible.builtin.slurp) on the kubeconfig.
    type: dict
    required: true
  path:
    description: The kubeconfig's path.
    type: str
    required: true
  context:
    description: The context; empty takes the kubeconfig's current one.
    type: str
    default: ""
  certificate:
    description:
      - The result of M(ansible.builtin.slurp) on the file that C(target.certificate_file) names, once it is known.
    type: dict
  proxy:
    description: The value of E(HTTPS_PROXY). C(target.proxy) is what requests go through, which the kubeconfig may also say itself.
    type: str
    default: ""
  no_proxy:
    description: The value of E(NO_PROXY); a server that it exempts, or on the loopback, is asked without that proxy.
    type: str
    default: ""
"""

EXAMPLES = r"""
- name: Judge the kubeconfig
  ansible.builtin.set_fact:
    my_config: "{{ my_slurped | paddleflow.core.cluster_kubeconfig('/home/ann/.kube/config', context='lab') }}"
"""

RETURN = r"""
_value:
  description:
    - The sentences in C(errors), C(warnings) and C(notes), all of it as one text in C(report), and in C(target) the
      names of context, cluster, server and user, or nothing when the kubeconfig names no cluster.
  type: dict
  sample:
    errors: []
    target: {"context": "lab", "server": "https://lab.example.org:6443", "user": "ann", "credentials": "a token"}
"""

import base64
import typing as t
from dataclasses import asdict
from datetime import UTC, datetime

import yaml
from ansible_collections.paddleflow.core.plugins.module_utils._core.plan.finding import Finding, as_data
from ansible_collections.paddleflow.core.plugins.module_utils._core.plan.kubeconfig import (
    Target,
    certificate_findings,
    read_kubeconfig,
    unparsed,
    unread,
    way,
)

if t.TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def _text(result: Mapping[str, t.Any]) -> str:
    return base64.b64decode(str(result["content"])).decode("utf-8", "replace")


def _judge(
    result: Mapping[str, t.Any], path: str, context: str, certificate: Mapping[str, t.Any] | None
) -> tuple[Target | None, list[Finding]]:
    if "content" not in result:
        return None, [unread(path, str(result.get("msg") or ""))]
    try:
        config = yaml.safe_load(_text(result))
    except yaml.YAMLError as error:
        # Not the whole message: it quotes lines, and a line may be a token.
        place = getattr(error, "problem_mark", None)
        where = f", line {place.line + 1}" if place else ""
        return None, [unparsed(path, f"{getattr(error, 'problem', None) or 'it cannot be decoded'}{where}")]
    target, found = read_kubeconfig(path, config, context)
    if target and not (target.certificate_file and certificate is None):
        file = _text(certificate) if certificate and "content" in certificate else None
        found += certificate_findings(target, config, file, datetime.now(UTC))
    return target, found


def cluster_kubeconfig(
    result: Mapping[str, t.Any],
    path: str,
    context: str = "",
    certificate: Mapping[str, t.Any] | None = None,
    proxy: str = "",
    no_proxy: str = "",
) -> dict[str, t.Any]:
    target, found = _judge(result, str(path), str(context or ""), certificate)
    target = way(target, proxy, no_proxy) if target else None
    return {**as_data(found, f"kubeconfig {path}".strip()), "target": asdict(target) if target else None}


class FilterModule:
    def filters(self) -> dict[str, Callable[..., t.Any]]:
        return {"cluster_kubeconfig": cluster_kubeconfig}
