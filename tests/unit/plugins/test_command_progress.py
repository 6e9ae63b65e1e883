# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
import yaml
from ansible_collections.paddleflow.core.plugins.action.command_progress import progress_line

from tests.support import checkout_play


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("812/1903 packages compiled (x/y)\n", "812 of 1903 (42 %) packages compiled (x/y), 1 min 05 s"),
        ("0/0 fetching sources: 7 modules\n", "fetching sources: 7 modules, 1 min 05 s"),
        ("", "running, 1 min 05 s"),
    ],
)
def test_a_line_says_how_far_it_is(text: str, line: str) -> None:
    assert progress_line(text, 65.4) == line


def play(folder: Path, script: str, **options: object) -> str:
    task = {"argv": ["sh", "-c", script], "chdir": str(folder), "progress_file": str(folder / "progress"), **options}
    plays = [{"hosts": "localhost", "gather_facts": False, "tasks": [{"paddleflow.core.command_progress": task}]}]
    return yaml.safe_dump(plays)


def test_it_is_shown_while_the_command_runs_and_again_when_nothing_new_is_there_to_say(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "goes-on")
    script = 'echo "1/4 packages" >new && mv new progress && read word <goes-on && echo "$word"'
    with checkout_play.started(tmp_path, play(tmp_path, script, interval=1), "-v") as process:
        assert process.stdout is not None
        shown = 0
        while shown < 2:
            line = process.stdout.readline()
            assert line, "the play ended, though its command waits"
            shown += "1 of 4 (25 %) packages, " in line
        (tmp_path / "goes-on").write_text("finished\n")
        rest = process.stdout.read()
    assert process.returncode == 0
    assert "finished" in rest


def test_a_command_that_takes_too_long_ends_with_all_that_it_began(tmp_path: Path) -> None:
    script = 'sleep 600 & echo "$!" >pid; wait'
    done = checkout_play.run(tmp_path, play(tmp_path, script, timeout=1))
    assert done.returncode == 2
    assert "sh was ended after 1 s. Raise the option timeout." in done.stdout
    state = subprocess.run(
        ["ps", "-o", "stat=", "-p", (tmp_path / "pid").read_text().strip()], capture_output=True, text=True, check=False
    )
    assert state.stdout.strip()[:1] in ("", "Z")
