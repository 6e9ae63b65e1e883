#!/usr/bin/python
# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: user
short_description: Declare who the users of the platform are
version_added: 0.1.0
description:
  - Gives a person one name, as owners of file systems and jobs have it, whatever names they log in to the cluster by.
  - Grants name a user by it (O(paddleflow.core.grant#module:people)) and follow when the identities change.
  - With V(absent) the user is taken out of grants too.
  - There are no passwords and no tokens here. Who somebody is, the cluster's own login decides.
author:
  - The paddleflow.core authors (@paddleflow)
options:
  name:
    description: Name of the user.
    type: str
  labels:
    description: Further labels of the object.
    type: dict
  annotations:
    description: Further annotations of the object.
    type: dict
  state:
    description:
      - What it shall be; V(present) when nothing is given.
    type: str
    choices:
      - present
      - absent
  identities:
    description:
      - The names that the API server knows the person by, such as V(oidc:alice@example.com); a service account is V(system:serviceaccount:namespace:name).
      - With an empty list the user may do nothing, and keeps their grants.
    type: list
    elements: str
  objects:
    description:
      - Several user objects at once; each entry has the options of this module.
      - The O(state), the O(labels) and the O(annotations) beside it are the defaults of every entry.
      - Mutually exclusive with O(name) and the options of a single one.
    type: list
    elements: dict
    suboptions:
      name:
        description: Name of the user.
        type: str
      labels:
        description: Further labels of the object.
        type: dict
      annotations:
        description: Further annotations of the object.
        type: dict
      state:
        description:
          - What it shall be; V(present) when nothing is given.
        type: str
        choices:
          - present
          - absent
      identities:
        description:
          - The names that the API server knows the person by, such as V(oidc:alice@example.com); a service account is V(system:serviceaccount:namespace:name).
          - With an empty list the user may do nothing, and keeps their grants.
        type: list
        elements: str
extends_documentation_fragment:
  - paddleflow.core.auth
  - paddleflow.core.write
  - paddleflow.core.attributes
"""

EXAMPLES = r"""
- name: Alice, by her login and by the account of her notebooks
  paddleflow.core.user:
    name: alice
    identities:
      - oidc:alice@example.com
      - system:serviceaccount:research:alice

- name: What is granted to her holds for both
  paddleflow.core.grant:
    name: alice in research
    queue: research
    people: [alice]

- name: Somebody who left; grants that name them have nobody to hold for
  paddleflow.core.user:
    name: bob
    state: absent
"""

RETURN = r"""
objects:
  description: What became of each object, in the order of the declaration.
  returned: always
  type: list
  elements: dict
  sample:
    - kind: ClusterRoleBinding
      namespace: ''
      name: one
      changed: true
      action: created
  contains:
    kind:
      description: Its kind.
      type: str
    namespace:
      description: Its namespace; empty for kinds that are in none.
      type: str
    name:
      description: Its name.
      type: str
    changed:
      description: Whether it was, or in check mode would be, changed.
      type: bool
    action:
      description: One of V(created), V(changed), V(recreated), V(deleted), V(unchanged), V(failed).
      type: str
    error:
      description: Why it failed, when it did.
      type: str
    object:
      description: The object itself, when O(return_content) asks for it.
      type: dict
problems:
  description: Everything that is wrong with the declaration, of which nothing was written.
  returned: when the declaration is wrong
  type: list
  elements: str
errors:
  description: What a program reads of each problem with a field.
  returned: when the declaration is wrong
  type: list
  elements: dict
  contains:
    code:
      description: The error code, as the reference platform names it.
      type: str
    field:
      description: The option that is wrong, with those that it is in.
      type: str
    hint:
      description: What to do about it.
      type: str
code:
  description: RV(errors[].code) of the first problem.
  returned: when the declaration is wrong
  type: str
field:
  description: RV(errors[].field) of the first problem.
  returned: when the declaration is wrong
  type: str
hint:
  description: RV(errors[].hint) of the first problem.
  returned: when the declaration is wrong
  type: str
"""

from ansible_collections.paddleflow.core.plugins.module_utils._core.model import user
from ansible_collections.paddleflow.core.plugins.module_utils._glue import grants, noun


def main() -> None:
    noun.run(user, grants.carry)


if __name__ == "__main__":
    main()
