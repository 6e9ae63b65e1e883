# SPDX-License-Identifier: Apache-2.0
"""From what was measured to what is reported: medians of the ratios within each round, beside the goals."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from tests.bench.agent.loads import CREATED, LOOKUP, Note
from tests.bench.agent.memory import IDLE, NAMES
from tests.bench.agent.peers import ASLEEP, NATIVE, NO_DISK, PEERS, REFERENCE
from tests.bench.agent.plan import CLIENT, Part

BEST = "best peer"
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


class Limit(NamedTuple):
    """Of what is no ratio, since nobody else can do it, or it is memory.

    :ivar what: of what a load told beside its rate
    :ivar most: that it may be
    """

    row: str
    ours: str
    what: str
    most: float


def _against(native: float, best: float, reference: float) -> dict[str, float]:
    return {NATIVE: native, BEST: best, REFERENCE: reference}


# Seconds of a processor.
_ASKED = 0.1
TARGETS = (
    Target("seq warm", "large", _against(0.85, 3, 12)),
    Target("seq from the disk cache", "large", _against(0.85, 8, 12)),
    Target("rand 4 KiB from the disk cache", "large", _against(0.75, 15, 100)),
    Target("small warm 1", "small", _against(0.65, 20, 300)),
    Target("small warm, Python's open()", "small", _against(0.09, 1.5, 30)),
    Target("small warm 1", "large, relaxed", _against(0.04, 1.5, 30)),
    Target(LOOKUP, ASLEEP, _against(0.03, 1, 1)),
    Target(LOOKUP, "large", _against(0.08, 2, 1)),
    # As believing as the peers, of which none asks at an open.
    Target("small cold 1", "large, relaxed", {BEST: 2, REFERENCE: 6}),
    Target("seq cold", "large", {CLIENT: 0.5, BEST: 1.3, REFERENCE: 1.3}),
    Target("seq cold, no disk", NO_DISK, {CLIENT: 0.7}),
    Target(CREATED, "large", {BEST: 1, REFERENCE: 1}),
    Target("write 1 GiB", "large", {CLIENT: 0.8, BEST: 1, REFERENCE: 1}),
    Target("write() of 4 KiB", "large", _against(0.5, 3, 3)),
    Target("epoch, warm, decoded", "large, relaxed", {NATIVE: 1 / 1.2}),
    Target("epoch, warm, decoded", "small", {NATIVE: 1 / 1.2}),
)
LIMITS = (
    Limit(HELD, "large", "seconds of a processor", 0),
    *(
        Limit(KILLED, ours, what, most)
        for ours in ("large", "small")
        for what, most in (("errors", 0), ("longest stall, s", STALL))
    ),
    Limit(IDLE, "large", "worker", 60),
    Limit(IDLE, "large", "supervisor", 20),
    Limit(NAMES, "large", "table", 250),
)


class Results:
    """
    :ivar troubles: who could not be measured in which round with which load, and why
    """

    def __init__(self, found: Mapping[Part, Mapping[str, Any]]) -> None:
        # By row and contender, of each round.
        self._notes: dict[str, dict[str, dict[int, Note]]] = defaultdict(lambda: defaultdict(dict))
        troubles: dict[str, list[str]] = defaultdict(list)
        for part, told in found.items():
            for one in told.get("notes", ()):
                note = Note.heard(one)
                self._notes[note.row][part.name][part.round] = note
            if "trouble" in told:
                troubles[part.name].append(f"round {part.round}, load {part.load}: {told['trouble']}")
        self.troubles = {name: "; ".join(texts) for name, texts in troubles.items()}

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
        if (
            row == LOOKUP
        ):  # who used no processor was not asked: he cannot be told that the kernel is to believe no name
            there = [
                name for name in there if any(one.measured.cpu > _ASKED for one in self._notes[row][name].values())
            ]
        return max(there, key=lambda name: self.median(row, name)) if there else None

    def ratios(self, row: str, ours: str, other: str) -> list[float]:
        """Within each round that has both."""
        one, base = self.rates(row, ours), self.rates(_base(row, other), other)
        return [one[round_] / base[round_] for round_ in sorted(one.keys() & base.keys())]

    # --- report ------------------------------------------------------------------------------

    def metrics(self) -> dict[str, dict[str, Any]]:
        """Every goal; of one that could not be measured, what is missing."""
        found: dict[str, dict[str, Any]] = {}
        for target in TARGETS:
            for asked, goal in target.goals.items():
                found[f"{target.row}: {target.ours} / {asked}"] = self._compared(target, asked, goal)
        for limit in LIMITS:
            notes = self._notes[limit.row][limit.ours].values()
            told = [self._told(note, limit.what) for note in notes]
            name = f"{limit.row}: {limit.what}, {limit.ours}"
            found[name] = {"goal": limit.most, "met": False, "missing": limit.ours}
            if told:
                strict = not limit.most or max(told) < limit.most
                found[name] = {"ours": max(told), "goal": limit.most, "met": strict and max(told) <= limit.most}
        return found

    def _compared(self, target: Target, asked: str, goal: float) -> dict[str, Any]:
        other = self.best(target.row) if asked == BEST else asked
        ratios = self.ratios(target.row, target.ours, other) if other else []
        if not other or not ratios:
            ours = self.rates(target.row, target.ours)
            return {"goal": goal, "met": False, "missing": asked if ours else target.ours}
        ratio = statistics.median(ratios)
        return {
            "ours": self.median(target.row, target.ours), "peer": self.median(_base(target.row, other), other),
            "ratio": ratio, "least": min(ratios), "most": max(ratios), "rounds": len(ratios), "goal": goal, "met": ratio >= goal,
            "who": other, **({} if self.stored(target.row, other) else {"stored": False}),
        }  # fmt: skip

    @staticmethod
    def _told(note: Note, what: str) -> float:
        return (note.extra or {}).get(what, note.measured.cpu)

    def verdicts(self) -> str:
        lines = ["| goal | against | ours | theirs | ratio (least to most) | goal | met |", "|---" * 7 + "|"]
        for name, one in self.metrics().items():
            what, _colon, rest = name.partition(": ")
            ours, _slash, asked = rest.partition(" / ")
            who = f"{asked} ({one['who']})" if asked == BEST and "who" in one else asked or "at most"
            ratio = (
                f"{one['ratio']:.3g} ({one['least']:.3g} to {one['most']:.3g}, {one['rounds']} rounds)"
                if "ratio" in one
                else ""
            )
            late = "" if one.get("stored", True) else ", which had not stored it at close"
            met = f"not measured: {one['missing']}" if "missing" in one else "yes" if one["met"] else "**no**"
            cells = (
                f"{what}: {ours}",
                who + late,
                _short(one, "ours"),
                _short(one, "peer"),
                ratio,
                f"{one['goal']:.3g}",
                met,
            )
            lines.append("| " + " | ".join(cells) + " |")
        return "\n".join(lines) + "\n"

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


def _short(one: Mapping[str, Any], what: str) -> str:
    return f"{one[what]:,.4g}" if what in one else ""


def _base(row: str, other: str) -> str:
    """What our own client does has rows of its own."""
    if other != CLIENT:
        return row
    return "write 1 GiB" if row.startswith("write") else "seq cold"
