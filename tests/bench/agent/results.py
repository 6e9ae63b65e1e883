# SPDX-License-Identifier: Apache-2.0
"""From what was measured to what is reported: medians of the ratios within each round, beside the goals."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from tests.bench.agent.loads import CREATED, Note
from tests.bench.agent.peers import NATIVE, NO_DISK, PEERS, REFERENCE

BEST, CLIENT = "best peer", "own client"
HELD, KILLED = "rand 4 KiB, descriptor open already", "small files while killed"
# Longer than that nobody may wait for a file because its server was killed.
STALL = 2.0
# Rows that count something else than operations.
BYTES = ("seq", "write 1 GiB")


class Target(NamedTuple):
    """
    :ivar ours: which of ours it is asked of
    :ivar goals: how many times as fast as whom
    """

    row: str
    ours: str
    goals: Mapping[str, float]


def _against(native: float, best: float, reference: float) -> dict[str, float]:
    return {NATIVE: native, BEST: best, REFERENCE: reference}


TARGETS = (
    Target("seq warm", "large", _against(0.85, 3, 12)),
    Target("seq from the disk cache", "large", _against(0.85, 8, 12)),
    Target("rand 4 KiB from the disk cache", "large", _against(0.75, 15, 100)),
    Target("small warm 1", "small", _against(0.65, 20, 300)),
    Target("small warm, Python's open()", "small", _against(0.09, 1.5, 30)),
    Target("small warm 1", "large, relaxed", _against(0.04, 1.5, 30)),
    Target("stat, kernel ttl 0", "large", _against(0.03, 1, 1)),
    Target("small cold 1", "large", {BEST: 2, REFERENCE: 6}),
    Target("seq cold", "large", {CLIENT: 0.5, BEST: 1.3, REFERENCE: 1.3}),
    Target("seq cold, no disk", NO_DISK, {CLIENT: 0.7}),
    Target(CREATED, "large", {BEST: 1, REFERENCE: 1}),
    Target("write 1 GiB", "large", {CLIENT: 0.8, BEST: 1, REFERENCE: 1}),
    Target("write() of 4 KiB", "large", _against(0.5, 3, 3)),
    Target("epoch, warm, decoded", "large", {NATIVE: 1 / 1.2}),
    Target("epoch, warm, decoded", "small", {NATIVE: 1 / 1.2}),
)


class Results:
    """
    :ivar troubles: who could not be measured with which load, and why
    """

    def __init__(self) -> None:
        # By row and contender, of each round.
        self._notes: dict[str, dict[str, dict[int, Note]]] = defaultdict(lambda: defaultdict(dict))
        self.troubles: dict[str, list[str]] = defaultdict(list)

    def add(self, round_: int, name: str, notes: Iterable[Note]) -> None:
        for note in notes:
            self._notes[note.row][name][round_] = note

    def trouble(self, name: str, load: str, why: str) -> None:
        self.troubles[name].append(f"{load}: {why}")

    def rates(self, row: str, name: str) -> dict[int, float]:
        return {round_: note.measured.rate for round_, note in self._notes[row][name].items()}

    def median(self, row: str, name: str) -> float:
        return statistics.median(self.rates(row, name).values())

    def stored(self, row: str, name: str) -> bool:
        """Whether the store had all of it when it was closed, as far as that can be counted."""
        return all(note.stored is None or note.stored >= 1 for note in self._notes[row][name].values())

    def best(self, row: str) -> str | None:
        """The fastest of those that do the same: what is written is stored when it is closed."""
        there = [name for name in PEERS if self.rates(row, name) and self.stored(row, name)]
        return max(there, key=lambda name: self.median(row, name)) if there else None

    def ratios(self, row: str, ours: str, other: str) -> list[float]:
        """Within each round that has both."""
        one, base = self.rates(row, ours), self.rates(_base(row, other), other)
        return [one[round_] / base[round_] for round_ in sorted(one.keys() & base.keys())]

    # --- report ------------------------------------------------------------------------------

    def metrics(self) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        for target in TARGETS:
            for asked, goal in target.goals.items():
                other = self.best(target.row) if asked == BEST else asked
                ratios = self.ratios(target.row, target.ours, other) if other else []
                if not other or not ratios:
                    continue
                ratio = statistics.median(ratios)
                found[f"{target.row}: {target.ours} / {asked}"] = {
                    "ours": self.median(target.row, target.ours), "peer": self.median(_base(target.row, other), other),
                    "ratio": ratio, "least": min(ratios), "most": max(ratios), "goal": goal, "met": ratio >= goal,
                    **({"best": other} if asked == BEST else {}),
                }  # fmt: skip
        return found | self._counted()

    def _counted(self) -> dict[str, dict[str, Any]]:
        """What has no peer: none of them can do it at all."""
        found: dict[str, dict[str, Any]] = {}
        for name, notes in self._notes[HELD].items():
            if name == "large":
                used = max(note.measured.cpu for note in notes.values())
                found["CPU of the agent while an open descriptor is read, s"] = {
                    "ours": used,
                    "goal": 0,
                    "met": used == 0,
                }
        for name, notes in self._notes[KILLED].items():
            told = [note.extra for note in notes.values() if note.extra]
            errors, stall = (max(one[what] for one in told) for what in ("errors", "longest stall, s"))
            row = {"ours": errors, "goal": 0, "met": errors == 0}
            found[f"errors of a client while its worker is killed: {name}"] = row
            row = {"ours": stall, "goal": STALL, "met": stall < STALL}
            found[f"longest stall of that, s: {name}"] = row
        return found

    def values(self) -> dict[str, dict[str, Any]]:
        """All that was measured: rates, and what whoever served took of the machine."""
        return {
            row: {
                name: {
                    "rates": list(self.rates(row, name).values()),
                    "cpu": statistics.median(note.measured.cpu for note in notes.values()),
                    "memory": statistics.median(note.measured.memory for note in notes.values()),
                    "stored": self.stored(row, name),
                    "done": statistics.median(note.measured.found["done"] for note in notes.values()),
                }
                for name, notes in by_name.items()
                if notes
            }
            for row, by_name in self._notes.items()
            if by_name
        }

    def table(self, names: Iterable[str]) -> str:
        """For docs/benchmarks.md: medians of all, who is the server's CPU and memory beside."""
        shown = [name for name in names if any(self.rates(row, name) for row in self._notes)]
        lines = ["| what, per second | " + " | ".join(shown) + " |", "|---" * (len(shown) + 1) + "|"]
        for row, by_name in self._notes.items():
            cells = [self._cell(row, by_name[name]) if by_name.get(name) else "" for name in shown]
            lines.append(f"| {row} | " + " | ".join(cells) + " |")
        return "\n".join(lines) + "\n"

    def _cell(self, row: str, notes: Mapping[int, Note]) -> str:
        rate = statistics.median(note.measured.rate for note in notes.values())
        cpu = statistics.median(note.measured.cpu for note in notes.values())
        memory = statistics.median(note.measured.memory for note in notes.values())
        text = f"{rate / 1e6:,.0f} MB" if row.startswith(BYTES) else f"{rate:,.0f}"
        cost = f" ({cpu:.1f} s, {memory:.0f} MB)" if memory else ""
        late = (
            "" if all(note.stored is None or note.stored >= 1 for note in notes.values()) else ", not stored at close"
        )
        return text + cost + late


def _base(row: str, other: str) -> str:
    """What our own client does has rows of its own."""
    if other != CLIENT:
        return row
    return "write 1 GiB" if row.startswith("write") else "seq cold"
