# SPDX-License-Identifier: Apache-2.0
"""What is written of benchmarks is what they do."""

from __future__ import annotations

from tests.bench.agent import peers
from tools import tree


def test_the_settings_of_the_agents_peers_are_those_that_are_written_down() -> None:
    """Copy them from `python -m tests.bench.agent --settings`."""
    assert peers.settings() in (tree.ROOT / "docs/benchmarks.md").read_text(encoding="utf-8")
