# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""What a cluster is asked before it is used, as a filter."""

from __future__ import annotations

DOCUMENTATION = r"""
name: cluster_questions
short_description: Arguments of kubectl that ask a cluster what P(paddleflow.core.cluster_findings#filter) judges
version_added: 0.1.0
author:
  - The paddleflow.core authors (@paddleflow)
description:
  - Gives the calls of kubectl by question. None of them changes anything; SelfSubjectAccessReviews are answered and not
    stored.
  - Meant for the roles of this collection.
positional: _input
options:
  _input:
    description: The namespaces that the platform writes to, V(volcano) for its scheduler and V(demo) for the demonstration.
    type: dict
    required: true
  adopt_volcano:
    description: Whether a Volcano that is already there is taken over, which takes more permissions.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Show what would be asked
  ansible.builtin.debug:
    msg: "{{ {'volcano': 'volcano-system', 'demo': 'paddleflow-demo'} | paddleflow.core.cluster_questions }}"
"""

RETURN = r"""
_value:
  description: For each question its C(name), the arguments in C(args) and what goes to standard input in C(stdin).
  type: list
  elements: dict
  sample:
    - {"name": "groups", "args": ["get", "--raw", "/apis"], "stdin": ""}
"""

import json
import typing as t

from ansible_collections.paddleflow.core.plugins.module_utils._core.plan.access import reviews
from ansible_collections.paddleflow.core.plugins.module_utils._core.plan.cluster import QUESTIONS

if t.TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def cluster_questions(places: Mapping[str, str], adopt_volcano: bool = False) -> list[dict[str, t.Any]]:
    create = ["create", "--filename", "-", "--output", "json", "--validate=false"]
    questions = [{"name": name, "args": args, "stdin": ""} for name, args in QUESTIONS.items()]
    return [
        *questions,
        {"name": "access", "args": create, "stdin": json.dumps(reviews(places, adopt_volcano=adopt_volcano))},
    ]


class FilterModule:
    def filters(self) -> dict[str, Callable[..., t.Any]]:
        return {"cluster_questions": cluster_questions}
