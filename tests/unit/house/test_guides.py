# SPDX-License-Identifier: Apache-2.0
"""Users find every page, and every noun on one. What the pages show is run by tests/api/test_module_examples.py."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from tests.support import guides
from tools import tree

INDEX = tree.ROOT / "docs/README.md"
PAGES = [tree.ROOT / "README.md", *sorted(tree.ROOT.glob("docs/**/*.md"))]
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


def test_the_index_leads_to_every_guide() -> None:
    linked = set(LINK.findall(INDEX.read_text(encoding="utf-8")))
    assert {f"guides/{path.name}" for path in (tree.ROOT / "docs/guides").glob("*.md")} <= linked
    assert "docs/README.md" in LINK.findall((tree.ROOT / "README.md").read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(tree.ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    dead = [link for link in LINK.findall(path.read_text(encoding="utf-8")) if not (path.parent / link).exists()]
    assert dead == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(tree.ROOT)))
def test_no_block_is_overlooked(path: Path) -> None:
    fences = re.findall(r"^ *```", path.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(fences) == 2 * len(list(guides.blocks(str(path.relative_to(tree.ROOT)))))


def test_every_noun_has_a_worked_example() -> None:
    runtime = yaml.safe_load((tree.ROOT / "meta/runtime.yml").read_text(encoding="utf-8"))
    nouns = {name for name in runtime["action_groups"]["paddleflow"] if not name.endswith("_info")}
    plays = [play for name in guides.pages() if name.startswith("docs/guides/") for play in guides.page(name).plays]
    shown = {action.removeprefix("paddleflow.core.") for play in plays for task in play["tasks"] for action in task}
    assert nouns - shown == set()
