# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""Ends a playbook's output with its slowest tasks. For the Makefile's runs only; it is not part of the collection."""

from __future__ import annotations

import time

from ansible.playbook.play import Play
from ansible.playbook.task import Task
from ansible.plugins.callback import CallbackBase

DOCUMENTATION = r"""
name: task_times
type: aggregate
short_description: Ends the output with the slowest tasks
description: Prints the ten slowest tasks that took longer than a second, and the time of the whole run.
"""

SHOWN = 10
WORTH_SHOWING = 1.0


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "task_times"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self) -> None:
        super().__init__()
        self.start = time.monotonic()
        self.since = self.start
        self.current = ""
        self.times: list[tuple[float, str]] = []

    def _next(self, name: str) -> None:
        now = time.monotonic()
        if self.current:
            self.times.append((now - self.since, self.current))
        self.current, self.since = name, now

    def v2_playbook_on_play_start(self, play: Play) -> None:
        self._next(f"gather facts of {play.get_name()}")

    def v2_playbook_on_task_start(self, task: Task, is_conditional: bool) -> None:
        self._next(task.get_name())

    def v2_playbook_on_handler_task_start(self, task: Task) -> None:
        self._next(task.get_name())

    def v2_playbook_on_stats(self, stats: object) -> None:
        self._next("")
        slow = sorted((entry for entry in self.times if entry[0] >= WORTH_SHOWING), reverse=True)[:SHOWN]
        for seconds, name in slow:
            self._display.display(f"{seconds:8.1f} s  {name}")
        self._display.display(f"{time.monotonic() - self.start:8.1f} s  in all")
