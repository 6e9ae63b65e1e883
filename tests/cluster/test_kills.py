# SPDX-License-Identifier: Apache-2.0
"""A quickstart that is killed, at any moment of it, is finished by the next; every run does this once (conftest.py)."""

from __future__ import annotations

import random

import pytest

from tests.cluster.conftest import LOGS
from tests.support import host_state, plays

INSTANCE = "pfkill"
VARIABLES = plays.embedded(INSTANCE, 195)
POINTS = 10  # spread over the tasks of a quickstart


@pytest.mark.extended
@pytest.mark.parametrize("point", range(POINTS))
def test_the_next_run_completes_and_reset_leaves_nothing(point: int) -> None:
    before = host_state.look(f"/var/lib/{INSTANCE}")
    each = plays.QUICKSTART_TASKS // POINTS
    task = point * each + random.SystemRandom().randrange(each)
    print(f"killed in task {task}")
    try:
        plays.run_killed("paddleflow.core.quickstart", VARIABLES, task, log=LOGS / f"kill-{point}.log")
        plays.run("paddleflow.core.quickstart", VARIABLES, log=LOGS / f"kill-{point}-next.log").ok()
    finally:
        plays.run("paddleflow.core.reset", VARIABLES, log=LOGS / f"kill-{point}-reset.log", **plays.IN_PROCESS).ok()
    assert host_state.look(f"/var/lib/{INSTANCE}").left_by(before) == {}
