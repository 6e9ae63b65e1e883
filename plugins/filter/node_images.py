# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""What the role images does to a node's images, as a filter."""

from __future__ import annotations

DOCUMENTATION = r"""
name: node_images
short_description: Tell which images a node lacks, and which it no longer needs
version_added: 0.1.0
author:
  - The paddleflow.core authors (@paddleflow)
description:
  - Compares the images of a node's containerd with those that a release brings.
  - An image of the repository that is neither wanted nor used by a container is stale when the release before this one
    did not bring it either, which a label on it says.
  - Meant for the roles of this collection.
positional: _input
options:
  _input:
    description: What C(ctr images list) printed.
    type: str
    required: true
  containers:
    description: What C(ctr containers list) printed.
    type: str
    required: true
  wanted:
    description: The full names of the images that the release brings.
    type: list
    elements: str
    required: true
  repository:
    description: The prefix of the names of all images of this collection.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Compare the images of the node with those of the release
  ansible.builtin.set_fact:
    images_changes: "{{ images | paddleflow.core.node_images(containers, ['localhost/paddleflow/pause:1'], 'localhost/paddleflow') }}"
"""

RETURN = r"""
_value:
  description:
    - The names of wanted images that the node lacks in C(missing), the images to label as those of the release before in
      C(replaced), and in C(stale) every name of each image that it no longer needs.
  type: dict
  sample:
    missing: [localhost/paddleflow/pause:1]
    replaced: []
    stale: []
"""

import typing as t

from ansible_collections.paddleflow.core.plugins.module_utils._core.plan.node_images import changes

if t.TYPE_CHECKING:
    from collections.abc import Callable


def node_images(images: str, containers: str, wanted: list[str], repository: str) -> dict[str, list[t.Any]]:
    return changes(images, containers, wanted, repository)._asdict()


class FilterModule:
    def filters(self) -> dict[str, Callable[..., t.Any]]:
        return {"node_images": node_images}
