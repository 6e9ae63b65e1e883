# SPDX-License-Identifier: Apache-2.0
"""The runner behind `make test`: each stage is `make <stage>` in a process of its own, shown and kept in build/log/.

Every stage runs, also after one failed. One that leaves processes, mounts, interfaces, network namespaces, packet filters or settings of the
kernel on the machine has failed. It ends with a table of where the time went, and last the stages' own closing lines.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

from tests.support import host_state
from tools import tree

STAGES = ("lint", "unit", "agent", "api", "cluster", "molecule")
LOGS = tree.BUILD / "log"

# pytest's `== 12 passed, 1 warning in 3.4s ==`, and the plain `12 passed, 0 failed` of the other runners.
CLOSING = re.compile(
    r"^(?:=+ )?(?:\d+ (?:passed|failed|errors?|skipped|deselected|xfailed|xpassed|warnings?)(?:, | in |$))+.*$"
)
COUNT = re.compile(r"(\d+) (passed|failed|errors?|skipped)")
# What a process of a stage has in its environment, whoever started it; by it a developer's own cluster is told from a stage's.
MARK = "PADDLEFLOW_STAGE"
# How long one that a stage stopped may take to end, in seconds.
PATIENCE = 10
KINDS = ("mounts", "interfaces", "namespaces", "rules", "settings")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class Result:
    stage: str
    code: int
    seconds: float
    closing: str

    def row(self) -> str:
        state = "ok" if self.code == 0 else f"FAILED ({self.code})"
        minutes, seconds = divmod(round(self.seconds), 60)
        counts = ", ".join(f"{number} {word}" for number, word in COUNT.findall(self.closing)) or "no counts"
        return f"{self.stage:<10} {state:<12} {minutes:3d}:{seconds:02d}  {counts}"


def closing_line(log: str) -> str:
    """The last line of a log that says how many passed and failed; empty when the stage did not come that far."""
    lines = [line for line in COLOUR.sub("", log).splitlines() if CLOSING.match(line)]
    return lines[-1] if lines else ""


def look() -> host_state.HostState | None:
    """Only root can leave such things, and only root can see all of them; in a container it may be that it cannot either."""
    if os.geteuid():
        return None
    try:
        return host_state.look()
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"What a stage leaves on this machine is not looked for: {error}", flush=True)
        return None


def left_on_host(before: host_state.HostState | None, after: host_state.HostState | None) -> list[str]:
    if before is None or after is None:
        return []
    found = after.left_by(before)
    return [f"{kind}: {name}" for kind in KINDS for name in found.get(kind, ())]


def processes(mark: str) -> list[str]:
    """Those that a stage started and that nobody ended. Nothing announces an end, so it is asked for, ten times a second."""
    deadline = time.monotonic() + PATIENCE
    while (found := marked(mark)) and time.monotonic() < deadline:
        time.sleep(0.1)
    return [f"process: {words}" for words in found]


def marked(mark: str) -> list[str]:
    found = []
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError):  # it has just ended, or is another user's
            if folder.name.isdigit() and f"{MARK}={mark}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                words = (folder / "cmdline").read_bytes().decode(errors="replace").replace("\0", " ")
                found.append(f"{folder.name} {words}"[:200].strip())
    return found


def command(stage: str) -> list[str]:
    return ["make", "--no-print-directory", stage]


def run(stage: str) -> Result:
    print(f"\n===== {stage} =====", flush=True)
    start = time.monotonic()
    log = LOGS / f"{stage}.log"
    mark, before = uuid.uuid4().hex, look()
    with (
        log.open("w", encoding="utf-8") as file,
        subprocess.Popen(
            command(stage), cwd=tree.ROOT, env={**os.environ, MARK: mark},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        ) as process,
    ):  # fmt: skip
        assert process.stdout is not None
        for line in process.stdout:
            sys.stdout.write(line)
            sys.stdout.flush()
            file.write(line)
        seconds = time.monotonic() - start
        code = process.wait()
        left = processes(mark) + left_on_host(before, look())
        for item in left:
            text = f"left behind by {stage}: {item}\n"
            print(text, end="", flush=True)
            file.write(text)
    closing = closing_line(log.read_text(encoding="utf-8"))
    if left and code == 0:
        code, closing = 1, f"1 failed, {closing.strip('= ')}".removesuffix(", ")
    return Result(stage, code, seconds, closing)


def report(results: list[Result]) -> str:
    """The table, and below it one closing line a stage: a stage that ended without one failed as a whole."""
    lines = ["", "stage      result        time  counts", *(result.row() for result in results)]
    total = round(sum(result.seconds for result in results))
    lines += [f"{'all':<24}{total // 60:3d}:{total % 60:02d}  logs in build/log/", ""]
    for result in results:
        lines.append(result.closing or ("1 passed" if result.code == 0 else "1 failed"))
    return "\n".join(lines)


def main(names: list[str]) -> int:
    LOGS.mkdir(parents=True, exist_ok=True)
    results = [run(stage) for stage in names or STAGES]
    print(report(results), flush=True)
    return 1 if any(result.code for result in results) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
