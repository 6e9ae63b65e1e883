#!/usr/bin/python
# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: samplejob
short_description: Declare work on data sets, such as synchronising and warming up
version_added: 0.1.0
description:
  - Brings work on data sets (SampleJob) into the declared state, once or by a schedule.
  - With O(wait), waits until the work has succeeded, and fails as soon as it has failed.
author:
  - The paddleflow.core authors (@paddleflow)
options:
  name:
    description: Name of the samplejob.
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
  type:
    description:
      - 'What is done: sync brings data from the source, warmup brings it into the caches, rmr removes data, clear empties the caches.'
      - One of V(sync), V(warmup), V(rmr), V(clear), in any case.
    type: str
  sample_set_ref:
    description:
      - The data set that it is done to.
    type: dict
    suboptions:
      name:
        description:
          - Name of the SampleSet, in the same namespace.
        type: str
  secret_ref:
    description:
      - The Secret with the credentials.
      - The name none stands for no credentials.
    type: dict
    suboptions:
      name:
        description:
          - Name of the Secret.
        type: str
      namespace:
        description:
          - Its namespace.
          - The object's own when it is not given.
        type: str
  terminate:
    description:
      - Whether to end first what is being done to the data set.
    type: bool
  sync_options:
    description:
      - Options of type sync.
    type: dict
    suboptions:
      source:
        description:
          - Address of the source, as <scheme>://<bucket>/<path>.
          - That of the data set when it is not given.
        type: str
      destination:
        description:
          - Where to, relative to the data set.
        type: str
      start:
        description:
          - First key.
        type: str
      end:
        description:
          - Last key.
        type: str
      threads:
        description:
          - Number of transfers at once.
          - 10 when it is not given.
        type: int
      http_port:
        description:
          - Port of the reference's profiler.
        type: int
      update:
        description:
          - Whether files are replaced where the source's are newer.
        type: bool
      force_update:
        description:
          - Whether files are always replaced.
        type: bool
      perms:
        description:
          - Whether permissions are kept.
        type: bool
      dirs:
        description:
          - Whether directories are brought too.
        type: bool
      dry:
        description:
          - Whether to say only what would be done.
        type: bool
      delete_src:
        description:
          - Whether files are removed from the source afterwards.
        type: bool
      delete_dst:
        description:
          - Whether files that the source has not are removed.
        type: bool
      exclude:
        description:
          - Keys that are left out, as a regular expression.
        type: str
      include:
        description:
          - Keys that are brought all the same, as a regular expression.
        type: str
      manager:
        description:
          - Address of the reference's manager.
        type: str
      worker:
        description:
          - Hosts of the reference's workers.
        type: str
      bwlimit:
        description:
          - Limit in Mbps.
          - There is none when it is 0 or not given.
        type: int
      no_https:
        description:
          - Whether to do without TLS.
        type: bool
  warmup_options:
    description:
      - Options of type warmup.
    type: dict
    suboptions:
      paths:
        description:
          - What is brought into the caches, relative to the data set.
          - All of it when it is not given.
        type: list
        elements: str
      file:
        description:
          - A file with such paths, one in a line, relative to the data set.
        type: str
      partitions:
        description:
          - Has no effect; the data set's number counts.
        type: int
      strategy_name:
        description:
          - How files are divided over the nodes.
          - When nothing is given it is V(sequence).
          - One of V(random), V(sequence), in any case.
        type: str
      threads:
        description:
          - Number of transfers at once on each node.
          - 50 when it is not given.
        type: int
  rmr_options:
    description:
      - Options of type rmr.
    type: dict
    suboptions:
      paths:
        description:
          - What is removed, relative to the data set.
        type: list
        elements: str
  clear_options:
    description:
      - Options of type clear.
    type: dict
    suboptions:
      paths:
        description:
          - Directories of the caches that are emptied.
          - All of them when it is not given.
        type: list
        elements: str
  schedule:
    description:
      - 'When it is done, as five fields of cron: minute, hour, day of the month, month, day of the week.'
      - Once, at once, when it is not given.
    type: str
  time_zone:
    description:
      - Time zone of the schedule, such as Europe/Berlin.
      - UTC when it is not given.
    type: str
  concurrency_policy:
    description:
      - What happens when a run is due while another one runs.
      - When nothing is given it is V(Forbid).
      - One of V(Forbid), V(Allow), V(Replace), in any case.
    type: str
  starting_deadline_seconds:
    description:
      - How many seconds late a run may begin.
      - Any number when it is not given.
    type: int
  suspend:
    description:
      - Whether no further runs begin.
      - When nothing is given it is V(false).
    type: bool
  successful_runs_history_limit:
    description:
      - How many successful runs are kept in the history.
      - When nothing is given it is V(3).
    type: int
  failed_runs_history_limit:
    description:
      - How many failed runs are kept in the history.
      - When nothing is given it is V(1).
    type: int
  objects:
    description:
      - Several samplejob objects at once; each entry has the options of this module.
      - The O(state), the O(labels) and the O(annotations) beside it are the defaults of every entry, and so is the O(namespace).
      - Mutually exclusive with O(name) and the options of a single one.
    type: list
    elements: dict
    suboptions:
      name:
        description: Name of the samplejob.
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
      type:
        description:
          - 'What is done: sync brings data from the source, warmup brings it into the caches, rmr removes data, clear empties the caches.'
          - One of V(sync), V(warmup), V(rmr), V(clear), in any case.
        type: str
      sample_set_ref:
        description:
          - The data set that it is done to.
        type: dict
        suboptions:
          name:
            description:
              - Name of the SampleSet, in the same namespace.
            type: str
      secret_ref:
        description:
          - The Secret with the credentials.
          - The name none stands for no credentials.
        type: dict
        suboptions:
          name:
            description:
              - Name of the Secret.
            type: str
          namespace:
            description:
              - Its namespace.
              - The object's own when it is not given.
            type: str
      terminate:
        description:
          - Whether to end first what is being done to the data set.
        type: bool
      sync_options:
        description:
          - Options of type sync.
        type: dict
        suboptions:
          source:
            description:
              - Address of the source, as <scheme>://<bucket>/<path>.
              - That of the data set when it is not given.
            type: str
          destination:
            description:
              - Where to, relative to the data set.
            type: str
          start:
            description:
              - First key.
            type: str
          end:
            description:
              - Last key.
            type: str
          threads:
            description:
              - Number of transfers at once.
              - 10 when it is not given.
            type: int
          http_port:
            description:
              - Port of the reference's profiler.
            type: int
          update:
            description:
              - Whether files are replaced where the source's are newer.
            type: bool
          force_update:
            description:
              - Whether files are always replaced.
            type: bool
          perms:
            description:
              - Whether permissions are kept.
            type: bool
          dirs:
            description:
              - Whether directories are brought too.
            type: bool
          dry:
            description:
              - Whether to say only what would be done.
            type: bool
          delete_src:
            description:
              - Whether files are removed from the source afterwards.
            type: bool
          delete_dst:
            description:
              - Whether files that the source has not are removed.
            type: bool
          exclude:
            description:
              - Keys that are left out, as a regular expression.
            type: str
          include:
            description:
              - Keys that are brought all the same, as a regular expression.
            type: str
          manager:
            description:
              - Address of the reference's manager.
            type: str
          worker:
            description:
              - Hosts of the reference's workers.
            type: str
          bwlimit:
            description:
              - Limit in Mbps.
              - There is none when it is 0 or not given.
            type: int
          no_https:
            description:
              - Whether to do without TLS.
            type: bool
      warmup_options:
        description:
          - Options of type warmup.
        type: dict
        suboptions:
          paths:
            description:
              - What is brought into the caches, relative to the data set.
              - All of it when it is not given.
            type: list
            elements: str
          file:
            description:
              - A file with such paths, one in a line, relative to the data set.
            type: str
          partitions:
            description:
              - Has no effect; the data set's number counts.
            type: int
          strategy_name:
            description:
              - How files are divided over the nodes.
              - When nothing is given it is V(sequence).
              - One of V(random), V(sequence), in any case.
            type: str
          threads:
            description:
              - Number of transfers at once on each node.
              - 50 when it is not given.
            type: int
      rmr_options:
        description:
          - Options of type rmr.
        type: dict
        suboptions:
          paths:
            description:
              - What is removed, relative to the data set.
            type: list
            elements: str
      clear_options:
        description:
          - Options of type clear.
        type: dict
        suboptions:
          paths:
            description:
              - Directories of the caches that are emptied.
              - All of them when it is not given.
            type: list
            elements: str
      schedule:
        description:
          - 'When it is done, as five fields of cron: minute, hour, day of the month, month, day of the week.'
          - Once, at once, when it is not given.
        type: str
      time_zone:
        description:
          - Time zone of the schedule, such as Europe/Berlin.
          - UTC when it is not given.
        type: str
      concurrency_policy:
        description:
          - What happens when a run is due while another one runs.
          - When nothing is given it is V(Forbid).
          - One of V(Forbid), V(Allow), V(Replace), in any case.
        type: str
      starting_deadline_seconds:
        description:
          - How many seconds late a run may begin.
          - Any number when it is not given.
        type: int
      suspend:
        description:
          - Whether no further runs begin.
          - When nothing is given it is V(false).
        type: bool
      successful_runs_history_limit:
        description:
          - How many successful runs are kept in the history.
          - When nothing is given it is V(3).
        type: int
      failed_runs_history_limit:
        description:
          - How many failed runs are kept in the history.
          - When nothing is given it is V(1).
        type: int
extends_documentation_fragment:
  - paddleflow.core.auth
  - paddleflow.core.write
  - paddleflow.core.attributes
  - paddleflow.core.wait
"""

EXAMPLES = r"""
- name: Bring every file of a data set to the nodes
  paddleflow.core.samplejob:
    name: imagenet-warmup
    namespace: science
    type: warmup
    sample_set_ref:
      name: imagenet
    warmup_options:
      paths: [/]

- name: Synchronise it each night
  paddleflow.core.samplejob:
    name: imagenet-nightly
    namespace: science
    type: sync
    sample_set_ref:
      name: imagenet
    secret_ref:
      name: imagenet-source
    sync_options:
      source: s3://imagenet.example.org/train
    schedule: "0 3 * * *"
    time_zone: Europe/Berlin
"""

RETURN = r"""
objects:
  description: What became of each object, in the order of the declaration.
  returned: always
  type: list
  elements: dict
  sample:
    - kind: SampleJob
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

from ansible_collections.paddleflow.core.plugins.module_utils._core.model import samplejob
from ansible_collections.paddleflow.core.plugins.module_utils._glue import noun


def main() -> None:
    noun.run(samplejob)


if __name__ == "__main__":
    main()
