# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
import yaml
from ansible_collections.paddleflow.core.plugins.action import command_progress
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


def test_a_command_that_does_not_want_to_end_is_killed_with_all_that_it_began(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command_progress, "GRACE_SECONDS", 0.5)
    script = "trap '' TERM; sh -c 'echo $$ >pid; exec sleep 600' & wait; sleep 600"
    process = subprocess.Popen(["sh", "-c", script], cwd=tmp_path, start_new_session=True)
    begun = time.monotonic()
    assert command_progress.ActionModule._follow(process, tmp_path / "progress", begun, 1, 1)
    assert process.returncode == -signal.SIGKILL
    state = subprocess.run(
        ["ps", "-o", "stat=", "-p", (tmp_path / "pid").read_text().strip()], capture_output=True, text=True, check=False
    )
    assert state.stdout.strip()[:1] in ("", "Z")


def test_output_that_is_no_text_fails_nothing(tmp_path: Path) -> None:
    script = r"printf 'out \377 end\n'; printf 'err \377 end\n' >&2"
    done = checkout_play.run(tmp_path, play(tmp_path, script), "-v")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(" end") >= 2


def test_progress_that_is_no_text_ends_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    monkeypatch.setattr(command_progress.display, "display", shown.append)
    progress = tmp_path / "progress"
    progress.write_bytes(b"1/2 \377 packages")
    process = subprocess.Popen(["sleep", "600"], start_new_session=True)
    assert command_progress.ActionModule._follow(process, progress, time.monotonic(), 1, 2)
    assert [line.strip() for line in shown] == ["1 of 2 (50 %) \ufffd packages, 0 min 01 s"]
