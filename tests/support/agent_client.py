# SPDX-License-Identifier: Apache-2.0
"""Clients of a mount, each a process of its own: who serves it must not wait for itself.

`read FILE...` reads them again and again until its input ends, and compares; `once FILE` reads one whole; `hold FILE` opens one and reads a
byte of it each time it is sent a line. What they say are lines of JSON.
"""

from __future__ import annotations

import json
import os
import random
import select
import sys
import time
from pathlib import Path


def content(name: str, size: int) -> bytes:
    """What a file of that name has."""
    line = f"{name} ".encode()
    return (line * (size // len(line) + 1))[:size]


def say(**said: object) -> None:
    print(json.dumps(said), flush=True)


def read(paths: list[str]) -> None:
    reads, errors, longest = 0, [], 0.0
    while not select.select([sys.stdin], [], [], 0)[0]:
        path = random.choice(paths)
        begun = time.monotonic()
        try:
            data = Path(path).read_bytes()
        except OSError as error:
            errors.append(str(error))
        else:
            if data != content(Path(path).name, len(data)) or not data:
                errors.append(f"{path} has something else")
        reads += 1
        longest = max(longest, time.monotonic() - begun)
        if reads % 10 == 1:
            say(reads=reads)
    say(reads=reads, errors=errors[:5], longest=longest)


def once(path: str) -> None:
    try:
        say(size=len(Path(path).read_bytes()))
    except OSError as error:
        say(errno=error.errno)


def hold(path: str, mode: str) -> None:
    file = os.open(path, os.O_RDWR if mode == "write" else os.O_RDONLY)
    say(open=True)
    for place, _line in enumerate(sys.stdin):
        try:
            if mode == "write":
                os.pwrite(file, b"x", place)
            say(byte=os.pread(file, 1, place * 4096).decode())
        except OSError as error:
            say(errno=error.errno)


if __name__ == "__main__":
    if sys.argv[1] == "read":
        read(sys.argv[2:])
    elif sys.argv[1] == "once":
        once(sys.argv[2])
    else:
        hold(sys.argv[2], sys.argv[3])
