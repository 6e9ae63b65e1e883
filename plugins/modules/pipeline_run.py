#!/usr/bin/python
# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: pipeline_run
short_description: Run pipelines, stop runs and try them again
version_added: 0.1.0
description:
  - Runs a pipeline, or a document in place of one. What a run was asked for never changes.
  - With O(run_key) the same declaration is the same run however often it is made; without O(name) and O(run_key) each call is a run of its own.
  - V(stopped) ends a run; what its document says for afterwards still runs unless O(force) is given. A run that has ended stays as it is.
  - V(retried) makes a run from one that has failed or was terminated, and keeps what had succeeded. It does so once for each run.
  - With O(wait) the module waits until the run has succeeded, or for V(stopped) has ended, and fails as soon as it fails, with the reason.
author:
  - The paddleflow.core authors (@paddleflow)
options:
  name:
    description: Name of the pipeline run.
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
      - stopped
      - retried
  run_key:
    description:
      - Makes the name of the run, together with its run name or else the name of its pipeline or document.
      - Who declares it again means the same run.
    type: str
  src:
    description:
      - File of the control node with the document, looked for as other files of the playbook or role are.
      - It is never templated.
      - It stands in place of the document.
    type: str
  check_cache:
    description:
      - Whether a run stays as long as others use its results, when it is declared absent.
      - When nothing is given it is V(true).
    type: bool
  force:
    description:
      - Whether a stop also ends or leaves out what the document says for afterwards.
      - It belongs to the state stopped.
      - When nothing is given it is V(false).
    type: bool
  document:
    description:
      - The pipeline document, as YAML text or as a mapping.
      - Text is kept as it is.
      - Its braces are its own, so mark it with !unsafe where Ansible would expand them.
    type: raw
  pipeline:
    description:
      - The pipeline that is run.
    type: dict
    suboptions:
      name:
        description:
          - Its name.
        type: str
      version:
        description:
          - Its version.
          - The newest when the run begins, if it is not given.
        type: int
  path:
    description:
      - File with the document, on the file system that fileSystem names and relative to its root.
      - ./run.yaml when nothing else says what to run.
    type: str
  run_name:
    description:
      - Name of the pipeline within this run, as artifacts and the cache have it.
      - That of the document when it is not given.
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
  parameters:
    description:
      - Values of parameters, by name for every component that has it, or by full name such as dag.step.name for one.
      - Text, numbers, booleans and lists are taken; they are kept as text.
    type: dict
  image:
    description:
      - Image of all steps that name none of their own.
      - It comes before that of the document.
    type: str
    aliases:
      - docker_env
  disabled:
    description:
      - Full names of components that are skipped, in place of those that the document names.
    type: list
    elements: str
  on_failure:
    description:
      - Whether the first failure stops everything, or what does not depend on it goes on.
      - As the document says when it is not given.
      - One of V(fail_fast), V(continue), in any case.
    type: str
    aliases:
      - failure_strategy
  cache:
    description:
      - Whose results are taken from earlier runs.
      - declared does as the document says, all and none mean every step and no step, refresh runs every step and keeps its results anew.
      - When nothing is given it is V(declared).
      - One of V(declared), V(all), V(none), V(refresh), in any case.
    type: str
  timeout_seconds:
    description:
      - Seconds after which a run is stopped and has failed.
      - As the document says when it is not given.
    type: int
  file_system:
    description:
      - The main file system, which artifacts are on, where the document names none.
      - Where it names one, it has to be the same.
    type: str
    aliases:
      - fs_name
  ttl_seconds_after_finished:
    description:
      - Seconds after its end when it is removed.
      - It is kept when it is not given.
    type: int
  objects:
    description:
      - Several pipeline_run objects at once; each entry has the options of this module.
      - The O(state), the O(labels) and the O(annotations) beside it are the defaults of every entry, and so is the O(namespace).
      - Mutually exclusive with O(name) and the options of a single one.
    type: list
    elements: dict
    suboptions:
      name:
        description: Name of the pipeline run.
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
          - stopped
          - retried
      run_key:
        description:
          - Makes the name of the run, together with its run name or else the name of its pipeline or document.
          - Who declares it again means the same run.
        type: str
      src:
        description:
          - File of the control node with the document, looked for as other files of the playbook or role are.
          - It is never templated.
          - It stands in place of the document.
        type: str
      check_cache:
        description:
          - Whether a run stays as long as others use its results, when it is declared absent.
          - When nothing is given it is V(true).
        type: bool
      force:
        description:
          - Whether a stop also ends or leaves out what the document says for afterwards.
          - It belongs to the state stopped.
          - When nothing is given it is V(false).
        type: bool
      document:
        description:
          - The pipeline document, as YAML text or as a mapping.
          - Text is kept as it is.
          - Its braces are its own, so mark it with !unsafe where Ansible would expand them.
        type: raw
      pipeline:
        description:
          - The pipeline that is run.
        type: dict
        suboptions:
          name:
            description:
              - Its name.
            type: str
          version:
            description:
              - Its version.
              - The newest when the run begins, if it is not given.
            type: int
      path:
        description:
          - File with the document, on the file system that fileSystem names and relative to its root.
          - ./run.yaml when nothing else says what to run.
        type: str
      run_name:
        description:
          - Name of the pipeline within this run, as artifacts and the cache have it.
          - That of the document when it is not given.
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
      parameters:
        description:
          - Values of parameters, by name for every component that has it, or by full name such as dag.step.name for one.
          - Text, numbers, booleans and lists are taken; they are kept as text.
        type: dict
      image:
        description:
          - Image of all steps that name none of their own.
          - It comes before that of the document.
        type: str
        aliases:
          - docker_env
      disabled:
        description:
          - Full names of components that are skipped, in place of those that the document names.
        type: list
        elements: str
      on_failure:
        description:
          - Whether the first failure stops everything, or what does not depend on it goes on.
          - As the document says when it is not given.
          - One of V(fail_fast), V(continue), in any case.
        type: str
        aliases:
          - failure_strategy
      cache:
        description:
          - Whose results are taken from earlier runs.
          - declared does as the document says, all and none mean every step and no step, refresh runs every step and keeps its results anew.
          - When nothing is given it is V(declared).
          - One of V(declared), V(all), V(none), V(refresh), in any case.
        type: str
      timeout_seconds:
        description:
          - Seconds after which a run is stopped and has failed.
          - As the document says when it is not given.
        type: int
      file_system:
        description:
          - The main file system, which artifacts are on, where the document names none.
          - Where it names one, it has to be the same.
        type: str
        aliases:
          - fs_name
      ttl_seconds_after_finished:
        description:
          - Seconds after its end when it is removed.
          - It is kept when it is not given.
        type: int
attributes:
  idempotent:
    description: When run twice in a row outside check mode, with the same arguments, the second invocation indicates no change.
    support: partial
    details: Without O(name) and O(run_key) each call makes a run of its own.
extends_documentation_fragment:
  - paddleflow.core.auth
  - paddleflow.core.write
  - paddleflow.core.attributes
  - paddleflow.core.wait
"""

EXAMPLES = r"""
- name: Run a pipeline once for each day, however often the playbook runs, and wait for it
  paddleflow.core.pipeline_run:
    pipeline: {name: digits}
    run_key: "{{ now(fmt='%Y-%m-%d') }}"
    parameters: {count: 5, make.rate: 0.1}
    wait: true
    wait_timeout: 7200

- name: Run a document that is not kept, under a name that is made for it
  paddleflow.core.pipeline_run:
    src: pipelines/experiment.yaml
    image: python:3.12
  register: experiment

- name: Stop it; what cleans up after it still runs
  paddleflow.core.pipeline_run:
    name: "{{ experiment.objects[0].name }}"
    state: stopped
    wait: true

- name: Try a failed run again, with what went well kept
  paddleflow.core.pipeline_run:
    name: digits-0123456789
    state: retried
    wait: true
"""

RETURN = r"""
objects:
  description: What became of each object, in the order of the declaration.
  returned: always
  type: list
  elements: dict
  sample:
    - kind: PipelineRun
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
      description: One of V(created), V(changed), V(recreated), V(deleted), V(stopped), V(retried), V(unchanged), V(failed).
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
from ansible_collections.paddleflow.core.plugins.module_utils._core.model import pipeline_run
from ansible_collections.paddleflow.core.plugins.module_utils._core.workflow.declared import DocumentedRun
from ansible_collections.paddleflow.core.plugins.module_utils._glue import noun


def main() -> None:
    noun.run(DocumentedRun(pipeline_run, document.load))


if __name__ == "__main__":
    main()
