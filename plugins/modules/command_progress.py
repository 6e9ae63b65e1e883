#!/usr/bin/python
# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: command_progress
short_description: Run a long command on the control node and show how far it is
version_added: 0.1.0
description:
  - Runs a command on the control node and, while it runs, shows what it writes into a progress file.
  - Meant for work that takes minutes, such as compiling or building an image, where a silent task looks like a hang.
author:
  - The paddleflow.core authors (@paddleflow)
options:
  argv:
    description: The command and its arguments. No shell is involved.
    type: list
    elements: str
    required: true
  chdir:
    description: Folder to run in.
    type: path
  environment_vars:
    description: Variables added to the environment of the command.
    type: dict
    default: {}
  progress_file:
    description:
      - File that the command replaces with one line C(DONE/TOTAL TEXT) as it goes on; a TOTAL of 0 means unknown.
      - It need not exist. It is removed before the command starts.
    type: path
    required: true
  interval:
    description: Seconds between two lines of progress.
    type: int
    default: 10
  timeout:
    description: Seconds after which the command is ended and the task fails.
    type: int
    default: 7200
attributes:
  check_mode:
    description: Can run in check_mode and return changed status prediction without modifying target.
    support: full
    details: The command is not run and the task reports a change, so call it only when there is something to do.
  diff_mode:
    description: Will return details on what has changed (or possibly needs changing in check_mode), when in diff mode.
    support: none
  action:
    description: Indicates this has a corresponding action plugin so some parts of the options can be executed on the controller.
    support: full
"""

EXAMPLES = r"""
- name: Compile with a line of progress every ten seconds
  paddleflow.core.command_progress:
    argv: [python3, build.py, --progress, /tmp/build.progress]
    progress_file: /tmp/build.progress
"""

RETURN = r"""
stdout:
  description: What the command printed.
  returned: when the command ran
  type: str
  sample: '{"built": true}'
stderr:
  description: What the command printed on its error stream.
  returned: when the command ran
  type: str
  sample: ''
rc:
  description: Exit code of the command.
  returned: when the command ran
  type: int
  sample: 0
seconds:
  description: How long the command took.
  returned: when the command ran
  type: float
  sample: 12.5
"""
