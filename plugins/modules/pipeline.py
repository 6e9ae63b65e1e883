#!/usr/bin/python
# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: pipeline
short_description: Declare pipelines
version_added: 0.1.0
description:
  - Brings pipelines into the declared state. A pipeline is a document with a name; each text that it has had is kept as a version.
  - The whole document is checked before anything is written, and everything that is wrong with it is told at once.
  - A document has double braces of its own. Give it by O(src), a file of the control node that is never templated, or mark it with C(!unsafe).
  - Declaring the same text again makes no new version.
author:
  - The paddleflow.core authors (@paddleflow)
options:
  name:
    description: Name of the pipeline.
    type: str
  namespace:
    description: Its namespace; that of the connection when it is not given.
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
  src:
    description:
      - File of the control node with the document, looked for as other files of the playbook or role are.
      - It is never templated.
      - It stands in place of the document.
    type: str
  document:
    description:
      - The pipeline document, as YAML text or as a mapping.
      - Text is kept as it is.
      - Its braces are its own, so mark it with !unsafe where Ansible would expand them.
    type: raw
  file_system:
    description:
      - The file system that the document is read from, when it is not given here.
      - The controller reads it, and checks it then.
    type: str
    aliases:
      - fs_name
  path:
    description:
      - File with the document, relative to the root of the file system.
      - It is ./run.yaml when it is not given.
    type: str
  description:
    description:
      - What it is for, in the words of its users.
    type: str
    aliases:
      - desc
  owner:
    description:
      - Whose file systems its names mean, and who its steps are told that they run for.
      - The namespace when it is not given.
      - It cannot be changed.
    type: str
  removed_versions:
    description:
      - Versions that are out of use, which no run and no schedule can name any more.
      - The newest one cannot be among them, and none comes back.
    type: list
    elements: int
  history_limit:
    description:
      - How many runs that have ended are kept.
      - All of them when it is not given.
    type: int
  history_seconds:
    description:
      - For how many seconds a run that has ended is kept.
      - For ever when it is not given.
    type: int
  objects:
    description:
      - Several pipeline objects at once; each entry has the options of this module.
      - The O(state), the O(labels) and the O(annotations) beside it are the defaults of every entry, and so is the O(namespace).
      - Mutually exclusive with O(name) and the options of a single one.
    type: list
    elements: dict
    suboptions:
      name:
        description: Name of the pipeline.
        type: str
      namespace:
        description: Its namespace; that of the connection when it is not given.
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
      src:
        description:
          - File of the control node with the document, looked for as other files of the playbook or role are.
          - It is never templated.
          - It stands in place of the document.
        type: str
      document:
        description:
          - The pipeline document, as YAML text or as a mapping.
          - Text is kept as it is.
          - Its braces are its own, so mark it with !unsafe where Ansible would expand them.
        type: raw
      file_system:
        description:
          - The file system that the document is read from, when it is not given here.
          - The controller reads it, and checks it then.
        type: str
        aliases:
          - fs_name
      path:
        description:
          - File with the document, relative to the root of the file system.
          - It is ./run.yaml when it is not given.
        type: str
      description:
        description:
          - What it is for, in the words of its users.
        type: str
        aliases:
          - desc
      owner:
        description:
          - Whose file systems its names mean, and who its steps are told that they run for.
          - The namespace when it is not given.
          - It cannot be changed.
        type: str
      removed_versions:
        description:
          - Versions that are out of use, which no run and no schedule can name any more.
          - The newest one cannot be among them, and none comes back.
        type: list
        elements: int
      history_limit:
        description:
          - How many runs that have ended are kept.
          - All of them when it is not given.
        type: int
      history_seconds:
        description:
          - For how many seconds a run that has ended is kept.
          - For ever when it is not given.
        type: int
extends_documentation_fragment:
  - paddleflow.core.auth
  - paddleflow.core.write
  - paddleflow.core.attributes
  - paddleflow.core.wait
"""

EXAMPLES = r"""
- name: A pipeline from a file of the playbook, which is never templated
  paddleflow.core.pipeline:
    name: digits
    src: pipelines/digits.yaml
    description: Trains on the digits of the week

- name: The same in place, marked so that Ansible leaves the braces alone
  paddleflow.core.pipeline:
    name: greet
    document: !unsafe |
      name: greet
      docker_env: python:3.11
      entry_points:
        hello:
          parameters: {who: world}
          command: "echo hello {{who}}"

- name: Take a version out of use; the runs that it had stay
  paddleflow.core.pipeline:
    name: digits
    src: pipelines/digits.yaml
    removed_versions: [1]
"""

RETURN = r"""
objects:
  description: What became of each object, in the order of the declaration.
  returned: always
  type: list
  elements: dict
  sample:
    - kind: Pipeline
      namespace: team
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

from ansible_collections.paddleflow.core.plugins.module_utils._core.kube import document
from ansible_collections.paddleflow.core.plugins.module_utils._core.model import pipeline
from ansible_collections.paddleflow.core.plugins.module_utils._core.workflow.declared import Documented
from ansible_collections.paddleflow.core.plugins.module_utils._glue import noun


def main() -> None:
    noun.run(Documented(pipeline, document.load))


if __name__ == "__main__":
    main()
