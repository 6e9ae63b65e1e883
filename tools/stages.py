# SPDX-License-Identifier: Apache-2.0
"""The runner behind `make test`: each stage is `make <stage>` in a process of its own, shown and kept in build/log/.

Every stage runs, also after one failed. It ends with a table of where the time went, and last the stages' own closing lines.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from dataclasses import dataclass

from tools import tree

STAGES = ("lint", "unit", "api", "cluster", "molecule")
LOGS = tree.BUILD / "log"

# pytest's `== 12 passed, 1 warning in 3.4s ==`, and the plain `12 passed, 0 failed` of the other runners.
CLOSING = re.compile(
    r"^(?:=+ )?(?:\d+ (?:passed|failed|errors?|skipped|deselected|xfailed|xpassed|warnings?)(?:, | in |$))+.*$"
)
COUNT = re.compile(r"(\d+) (passed|failed|errors?|skipped)")
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


def run(stage: str) -> Result:
    print(f"\n===== {stage} =====", flush=True)
    start = time.monotonic()
    log = LOGS / f"{stage}.log"
    with (
        log.open("w", encoding="utf-8") as file,
        subprocess.Popen(
            ["make", "--no-print-directory", stage],
            cwd=tree.ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        ) as process,
    ):  # fmt: skip
        assert process.stdout is not None
        for line in process.stdout:
            sys.stdout.write(line)
            sys.stdout.flush()
            file.write(line)
    closing = closing_line(log.read_text(encoding="utf-8"))
    return Result(stage, process.returncode, time.monotonic() - start, closing)


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
