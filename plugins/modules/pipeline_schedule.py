#!/usr/bin/python
# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: pipeline_schedule
short_description: Declare schedules of pipelines
version_added: 0.1.0
description:
  - Brings schedules into the declared state. A schedule runs a pipeline by a rule of time.
  - Every field can be changed in place, and takes effect from the next time on.
  - V(stopped) ends a schedule for good; its runs that are active go on, and a schedule that has ended stays as it is.
  - A running schedule cannot become V(absent), it is ended first.
author:
  - The paddleflow.core authors (@paddleflow)
options:
  name:
    description: Name of the pipeline schedule.
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
          - The newest one each time when it is not given.
        type: int
  crontab:
    description:
      - When it is run.
      - Five fields as cron has them, a word such as @daily, or @every with a duration such as 90s or 1h30m.
    type: str
  time_zone:
    description:
      - The IANA time zone in which the rule is read.
      - UTC when it is not given.
    type: str
    aliases:
      - timezone
  start_time:
    description:
      - The first run is due at the first time of the rule after this.
      - A time without an offset is in UTC.
    type: str
  end_time:
    description:
      - No run is due after this.
      - A time without an offset is in UTC.
    type: str
  concurrency:
    description:
      - How many of its runs may be active at once.
      - With 0 there is no limit.
      - When nothing is given it is V(0).
    type: int
  concurrency_policy:
    description:
      - What happens at a time when as many runs are active as may be.
      - suspend waits until one has ended, skip leaves the time out, replace runs and stops the oldest.
      - When nothing is given it is V(suspend).
      - One of V(suspend), V(replace), V(skip), in any case.
    type: str
  expire_interval:
    description:
      - Seconds after which a time that could not be kept is left out.
      - With 0 it never is.
      - When nothing is given it is V(0).
    type: int
  catchup:
    description:
      - Whether all times are made up for that were missed while nothing was started.
      - Otherwise only the newest is.
      - When nothing is given it is V(false).
    type: bool
  suspend:
    description:
      - Whether nothing is started for now.
      - Runs that are active go on.
      - When nothing is given it is V(false).
    type: bool
  history_limit:
    description:
      - How many of its runs that have ended are kept.
      - All of them when it is not given.
    type: int
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
  objects:
    description:
      - Several pipeline_schedule objects at once; each entry has the options of this module.
      - The O(state), the O(labels) and the O(annotations) beside it are the defaults of every entry, and so is the O(namespace).
      - Mutually exclusive with O(name) and the options of a single one.
    type: list
    elements: dict
    suboptions:
      name:
        description: Name of the pipeline schedule.
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
              - The newest one each time when it is not given.
            type: int
      crontab:
        description:
          - When it is run.
          - Five fields as cron has them, a word such as @daily, or @every with a duration such as 90s or 1h30m.
        type: str
      time_zone:
        description:
          - The IANA time zone in which the rule is read.
          - UTC when it is not given.
        type: str
        aliases:
          - timezone
      start_time:
        description:
          - The first run is due at the first time of the rule after this.
          - A time without an offset is in UTC.
        type: str
      end_time:
        description:
          - No run is due after this.
          - A time without an offset is in UTC.
        type: str
      concurrency:
        description:
          - How many of its runs may be active at once.
          - With 0 there is no limit.
          - When nothing is given it is V(0).
        type: int
      concurrency_policy:
        description:
          - What happens at a time when as many runs are active as may be.
          - suspend waits until one has ended, skip leaves the time out, replace runs and stops the oldest.
          - When nothing is given it is V(suspend).
          - One of V(suspend), V(replace), V(skip), in any case.
        type: str
      expire_interval:
        description:
          - Seconds after which a time that could not be kept is left out.
          - With 0 it never is.
          - When nothing is given it is V(0).
        type: int
      catchup:
        description:
          - Whether all times are made up for that were missed while nothing was started.
          - Otherwise only the newest is.
          - When nothing is given it is V(false).
        type: bool
      suspend:
        description:
          - Whether nothing is started for now.
          - Runs that are active go on.
          - When nothing is given it is V(false).
        type: bool
      history_limit:
        description:
          - How many of its runs that have ended are kept.
          - All of them when it is not given.
        type: int
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
extends_documentation_fragment:
  - paddleflow.core.auth
  - paddleflow.core.write
  - paddleflow.core.attributes
  - paddleflow.core.wait
"""

EXAMPLES = r"""
- name: Every night but only one at a time, with the newest version
  paddleflow.core.pipeline_schedule:
    name: nightly
    pipeline: {name: digits}
    crontab: "30 2 * * *"
    time_zone: Europe/Berlin
    concurrency: 1
    concurrency_policy: skip
    parameters: {count: 100}

- name: Pause it
  paddleflow.core.pipeline_schedule:
    name: nightly
    pipeline: {name: digits}
    crontab: "30 2 * * *"
    suspend: true
"""

RETURN = r"""
objects:
  description: What became of each object, in the order of the declaration.
  returned: always
  type: list
  elements: dict
  sample:
    - kind: PipelineSchedule
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
      description: One of V(created), V(changed), V(recreated), V(deleted), V(stopped), V(unchanged), V(failed).
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

from ansible_collections.paddleflow.core.plugins.module_utils._core.model import pipeline_schedule
from ansible_collections.paddleflow.core.plugins.module_utils._glue import noun


def main() -> None:
    noun.run(pipeline_schedule)


if __name__ == "__main__":
    main()
