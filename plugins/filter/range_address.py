# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Addresses of a range as a filter."""

from __future__ import annotations

DOCUMENTATION = r"""
name: range_address
short_description: An address of a range by its number
version_added: 0.1.0
author:
  - The paddleflow.core authors (@paddleflow)
description:
  - Counts from the first address of an IPv4 range. Kubernetes gives the first one after it to the service of the API server, and
    the tenth to the cluster's DNS.
positional: _input, number
options:
  _input:
    description: The range.
    type: str
    required: true
  number:
    description: V(0) is the address that names the range.
    type: int
    required: true
"""

EXAMPLES = r"""
- name: Where the cluster's DNS answers
  ansible.builtin.assert:
    that: "'10.203.7.16/28' | paddleflow.core.range_address(10) == '10.203.7.26'"
"""

RETURN = r"""
_value:
  description: The address.
  type: str
  sample: 10.203.7.26
"""

import typing as t

from ansible.errors import AnsibleFilterError
from ansible_collections.paddleflow.core.plugins.module_utils._core.plan.ranges import address_of

if t.TYPE_CHECKING:
    from collections.abc import Callable


def range_address(range_: str, number: int) -> str:
    try:
        return address_of(str(range_), int(number))
    except ValueError as error:
        raise AnsibleFilterError(f"An address of a range: {error}.") from error


class FilterModule:
    def filters(self) -> dict[str, Callable[..., t.Any]]:
        return {"range_address": range_address}
