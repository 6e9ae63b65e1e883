# SPDX-License-Identifier: Apache-2.0
"""What is written of benchmarks is what they do."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.bench.agent import peers
from tests.bench.agent.loads import Note
from tests.bench.agent.plan import CLIENT, REPEATS, ROUNDS, Kept, Part, plan
from tests.bench.agent.results import LIMITS, TARGETS, Results
from tests.bench.agent.stand import Measured
from tests.bench.agent.wheels import pytorch
from tools import tree


def test_the_settings_of_the_agents_peers_are_those_that_are_written_down() -> None:
    """Copy them from `python -m tests.bench.agent --settings`."""
    assert peers.settings() in (tree.ROOT / "docs/benchmarks.md").read_text(encoding="utf-8")


def test_pytorch_is_not_installed_for_loads_that_need_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "BUILD", tmp_path)
    assert pytorch(installs=False) is None
    assert list(tmp_path.iterdir()) == []


def test_each_load_is_done_as_often_as_it_says_and_everybody_is_first_once() -> None:
    names = [one.name for one in peers.CONTENDERS]
    parts = plan(names, list(REPEATS), ROUNDS)
    assert len(parts) == len(set(parts))
    often = Counter((part.load, part.name) for part in parts)
    for load, (ours, others) in REPEATS.items():
        assert often[load, "large"] == ours
        assert often[load, peers.NATIVE] == (ours if others else 0)
        assert often[load, "juicefs"] == others
    assert (often["B", peers.NO_DISK], often["A", peers.NO_DISK], often["B", CLIENT]) == (9, 0, 9)
    first = {part.round: part.name for part in reversed(parts) if part.load == "A"}
    assert len(set(first.values())) > 3
    once = plan(names, list(REPEATS), 1)
    assert {part.name for part in once if part.load == "A"} == {
        one.name for one in peers.CONTENDERS if not one.loads or "A" in one.loads
    }


def test_a_run_that_was_cut_off_goes_on_where_it_was(tmp_path: Path) -> None:
    path, settings = tmp_path / "new" / "parts", {"scale": 1}
    kept = Kept(path, settings)
    kept.begin(anew=False)
    kept.add(Part(0, "A", "large"), {"notes": []})
    kept.add(Part(0, "A", "native"), {"trouble": "none"})
    with path.open("a", encoding="utf-8") as file:
        file.write('{"part": [0, "B", "lar')
    again = Kept(path, settings)
    assert again.found == {Part(0, "A", "large"): {"notes": []}, Part(0, "A", "native"): {"trouble": "none"}}
    again.begin(anew=False)
    again.add(Part(0, "B", "large"), {"notes": []})
    assert len(Kept(path, settings).found) == 3
    assert Kept(path, {"scale": 2}).found == {}
    again.begin(anew=True)
    assert Kept(path, settings).found == {}


def test_every_goal_has_a_verdict_and_what_could_not_be_measured_is_named() -> None:
    def note(row: str, rate: float) -> dict[str, Any]:
        return {"notes": [Note(row, Measured({"done": rate, "seconds": 1.0}, 0.0, 0.0)).told()]}

    rates = {"native": 100.0, "large": 90.0, "juicefs": 10.0, "s3fs": 20.0}
    results = Results({Part(0, "B", name): note("seq warm", rate) for name, rate in rates.items()})
    metrics = results.metrics()
    assert len(metrics) == sum(len(target.goals) for target in TARGETS) + len(LIMITS)
    assert metrics["seq warm: large / native"]["met"]
    best = metrics["seq warm: large / best peer"]
    assert (best["who"], best["ratio"], best["goal"], best["met"]) == ("s3fs", 4.5, 3, True)
    absent = metrics["seq warm: large / pfs-fuse"]
    assert (absent["met"], absent["missing"]) == (False, "pfs-fuse")
    assert all("goal" in one and "met" in one for one in metrics.values())
    assert results.verdicts().count("\n") == len(metrics) + 2
