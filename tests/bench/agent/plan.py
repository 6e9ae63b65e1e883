# SPDX-License-Identifier: Apache-2.0
"""What is done to whom, in which round and order; and what was found, kept line by line, so that a run that was cut off goes on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.bench.agent.peers import BY_NAME, NATIVE, STOCK, Contender
from tools import tree

CLIENT = "own client"
# What our own client of S3 does alone, by the load that it is held against.
OWN = {"B": ("seq cold", "read"), "E": ("write 1 GiB", "store")}
# By load, in how many rounds it is done to us and a plain folder, whose goals are narrow, and in how many to others.
REPEATS = {"A": (9, 3), "A1": (3, 3), "B": (9, 3), "D": (9, 3), "E": (9, 3), "F": (3, 1), "G": (3, 0), "M": (1, 0)}
ROUNDS = max(ours for ours, _others in REPEATS.values())


class Part(NamedTuple):
    round: int
    load: str
    name: str


def plan(names: Sequence[str], loads: Sequence[str], rounds: int) -> list[Part]:
    """Everybody's turn comes at another place in each round; when the time is over, what is missing are whole rounds."""
    found = []
    for round_ in range(rounds):
        for load in loads:
            turn = round_ % len(names)
            there = [name for name in (*names[turn:], *names[:turn]) if _is_due(BY_NAME[name], load, round_, rounds)]
            found += [Part(round_, load, name) for name in there]
            if load in OWN and any(BY_NAME[name].is_ours for name in there):
                found.append(Part(round_, load, CLIENT))
    return found


def _is_due(one: Contender, load: str, round_: int, rounds: int) -> bool:
    if (one.loads and load not in one.loads) or (load == "M" and one.name != "large"):
        return False
    ours, others = REPEATS[load]
    often = (one.is_ours and one.name != STOCK) or (others and one.name == NATIVE)
    count = min(ours if often else others, rounds)
    return round_ * count // rounds != (round_ - 1) * count // rounds  # as far from each other as they can be


class Kept:
    """What was found so far, by part; what another run with other settings, or of other code, has left is not of it."""

    def __init__(self, path: Path, settings: Mapping[str, Any]) -> None:
        self._path = path
        self._head = json.dumps({**settings, "code": _code()}, sort_keys=True)
        self.found: dict[Part, dict[str, Any]] = dict(self._read())

    def _read(self) -> Iterator[tuple[Part, dict[str, Any]]]:
        if not self._path.exists():
            return
        head, *lines = self._path.read_text(encoding="utf-8").splitlines() or [""]
        for line in lines if head == self._head else []:
            try:
                found = json.loads(line)
            except ValueError:  # it was cut off
                return
            yield Part(*found.pop("part")), found

    def begin(self, anew: bool) -> None:
        if anew:
            self.found = {}
        self._path.parent.mkdir(parents=True, exist_ok=True)
        lines = [json.dumps({"part": part, **found}) for part, found in self.found.items()]
        self._path.write_text("\n".join([self._head, *lines]) + "\n", encoding="utf-8")

    def add(self, part: Part, found: dict[str, Any]) -> None:
        self.found[part] = found
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"part": part, **found}) + "\n")


def _code() -> str:
    """Of the agent and of what measures it."""
    folders = ("fuse_agent", "tests/bench/agent")
    files = sorted(path for folder in folders for path in (tree.ROOT / folder).rglob("*.py"))
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()[:16]
