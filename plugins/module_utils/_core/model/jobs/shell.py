# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""The command of a container: the user's, run by a few lines of shell."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

# What a pod ends with that was told to stop, whatever its command made of the signal. Without this an evicted pod ends like
# a failed one, or like one that is done: Volcano looks at the exit code only.
STOPPED = 143

# $0 is the command, $1 how often it is started again after it failed, $2 the seconds that it has to stop. Inside of a pod
# this is process 1, so that -1 is every other process of the container.
LAUNCH = """\
all() { if [ $$ = 1 ]; then kill "$1" -1; else kill "$1" "$child"; fi; } 2>/dev/null
stop= tries=0 waited=0
trap 'stop=1; all -TERM' TERM
until [ "$stop" ]; do
  sh -c "$0" & child=$!
  [ "$stop" ] || wait "$child"; code=$?
  [ "$stop" ] && break
  [ "$code" = 143 ] && code=1
  { [ "$code" = 0 ] || [ "$tries" -ge "$1" ]; } && exit "$code"
  tries=$((tries + 1))
  echo "paddleflow: exit code $code, started again ($tries of $1)" >&2
  sleep 1
done
while [ "$waited" -lt "$2" ] && all -0; do sleep 1; waited=$((waited + 1)); done
exit 143
"""


def launch(command: str, retries: int, seconds: int) -> list[str]:
    return ["sh", "-c", literal(LAUNCH), literal(command), str(retries), str(seconds)]


def compose(workdir: str, before: str, command: str, args: Sequence[str]) -> str:
    """The text of a shell: in the working directory, after what a framework needs, the command with its arguments."""
    start = f"cd {shlex.quote(workdir)}; " if workdir else ""
    line = " ".join([plain(command), *map(shlex.quote, args)])
    return f"{start}{before}{line}"


def plain(command: str) -> str:
    """Without a shell in front, which there is one of already."""
    found = re.match(r"\s*(/bin/)?(ba)?sh\s+-c\s+", command)
    if not found:
        return command
    rest = command[found.end() :]
    try:
        words = shlex.split(rest)
    except ValueError:  # the shell shall say what it thinks of it
        return rest
    return words[0] if len(words) == 1 else rest


def literal(text: str) -> str:
    """As the kubelet hands it on unchanged: two dollars are one to it. $(NAME) stays its reference to a variable."""
    return re.sub(r"\${2,}", lambda found: found[0] * 2, text)
