# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
import typing as t
from contextlib import suppress
from pathlib import Path

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

display = Display()

# For a command to put away what it has, before it is killed.
GRACE_SECONDS = 10.0


def progress_line(text: str, seconds: float) -> str:
    """``812/1903 packages compiled (x)`` -> ``812 of 1903 (42 %) packages compiled (x), 1 min 05 s``."""
    counts, _blank, what = text.strip().partition(" ")
    done, _slash, total = counts.partition("/")
    clock = f"{int(seconds) // 60} min {int(seconds) % 60:02d} s"
    if total.isdigit() and done.isdigit() and int(total):
        return f"{done} of {total} ({100 * int(done) // int(total)} %) {what}, {clock}"
    return f"{what}, {clock}" if what else f"running, {clock}"


class ActionModule(ActionBase):
    """Runs in the controller's own process: only there can a line be shown before the task has ended."""

    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        result: dict[str, t.Any] = super().run(tmp, task_vars)
        _spec, options = ActionBase.validate_argument_spec(
            self,
            argument_spec={
                "argv": {"type": "list", "elements": "str", "required": True},
                "chdir": {"type": "path"},
                "environment_vars": {"type": "dict", "default": {}},
                "progress_file": {"type": "path", "required": True},
                "interval": {"type": "int", "default": 10},
                "timeout": {"type": "int", "default": 7200},
            },
        )
        argv = [str(word) for word in options["argv"]]
        if self._task.check_mode:
            return {**result, "changed": True, "cmd": argv, "msg": "The command was not run: check mode."}
        progress = Path(str(options["progress_file"]))
        progress.unlink(missing_ok=True)
        started = time.monotonic()
        # A command writes what it likes, and what is no text must not end it.
        with (
            tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as out,
            tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as err,
        ):
            try:
                process = subprocess.Popen(
                    argv,
                    cwd=options["chdir"],
                    env={
                        **os.environ,
                        **{str(name): str(value) for name, value in options["environment_vars"].items()},
                    },
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    start_new_session=True,  # so that a timeout ends the command with everything it started
                )
            except OSError as error:
                return {**result, "failed": True, "cmd": argv, "msg": f"{argv[0]} cannot be run: {error.strerror}"}
            timed_out = self._follow(process, progress, started, options["interval"], options["timeout"])
            out.seek(0)
            err.seek(0)
            result.update(
                changed=True,
                cmd=argv,
                rc=process.returncode,
                stdout=out.read().strip(),
                stderr=err.read().strip(),
                seconds=round(time.monotonic() - started, 1),
            )
        if timed_out:
            result.update(
                failed=True, msg=f"{argv[0]} was ended after {options['timeout']} s. Raise the option timeout."
            )
        elif process.returncode:
            result.update(failed=True, msg=result["stderr"] or f"{argv[0]} ended with exit code {process.returncode}")
        return result

    @staticmethod
    def _follow(process: subprocess.Popen[bytes], progress: Path, started: float, interval: int, timeout: int) -> bool:
        """Show progress until the command has ended; True when it had to be ended for its time."""
        try:
            while True:
                seconds = time.monotonic() - started
                try:
                    process.wait(timeout=min(interval, max(timeout - seconds, 0)))
                    return False
                except subprocess.TimeoutExpired:
                    seconds = time.monotonic() - started
                if seconds >= timeout:
                    return True
                with suppress(OSError):  # also when nothing new is there to say: who waits sees that it goes on
                    display.display(
                        f"    {progress_line(progress.read_text(encoding='utf-8', errors='replace'), seconds)}"
                    )
        finally:
            # Also on the way out of an interrupted play: nothing of the command may outlive the task.
            if process.poll() is None:
                for number in (signal.SIGTERM, signal.SIGKILL):
                    with suppress(ProcessLookupError):
                        os.killpg(process.pid, number)
                    with suppress(subprocess.TimeoutExpired):
                        process.wait(timeout=GRACE_SECONDS)
