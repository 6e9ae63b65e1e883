# SPDX-License-Identifier: Apache-2.0
"""The examples of filters that people use in playbooks do what they say."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support import checkout_play
from tools import tree

FILTERS: dict[str, Any] = {}
for module in ("amounts", "queue_headroom", "run_outcome"):
    found = importlib.import_module(f"ansible_collections.paddleflow.core.plugins.filter.{module}")
    FILTERS |= dict.fromkeys(found.FilterModule().filters(), found)


def documented(name: str) -> dict[str, Any]:
    """The texts of a filter, beside its code or in a file of its name."""
    beside = tree.ROOT / f"plugins/filter/{name}.yml"
    if beside.is_file():
        texts: dict[str, Any] = yaml.safe_load(beside.read_text(encoding="utf-8"))
        return texts
    module = FILTERS[name]
    return {"DOCUMENTATION": yaml.safe_load(module.DOCUMENTATION), "EXAMPLES": module.EXAMPLES}


@pytest.mark.parametrize("name", FILTERS)
def test_each_filter_is_documented_under_its_name(name: str) -> None:
    assert documented(name)["DOCUMENTATION"]["name"] == name


def test_no_documentation_outlives_its_filter() -> None:
    files = {path.stem for path in (tree.ROOT / "plugins/filter").glob("*.yml")}
    assert {name for name in files if name.startswith(("quantity", "resources"))} <= set(FILTERS)


@checkout_play.NEEDS_ANSIBLE
def test_every_example_runs(tmp_path: Path) -> None:
    tasks = [task for name in FILTERS for task in yaml.safe_load(documented(name)["EXAMPLES"])]
    play = {"hosts": "localhost", "gather_facts": False, "tasks": tasks}
    done = checkout_play.run(tmp_path, yaml.safe_dump([play]))
    assert done.returncode == 0, done.stdout
    assert f"ok={len(tasks)} " in done.stdout
    assert '"msg": "24"' in done.stdout  # of queue_headroom, the only one that shows something


@checkout_play.NEEDS_ANSIBLE
def test_a_wrong_quantity_fails_the_task_with_its_own_words(tmp_path: Path) -> None:
    task = {"ansible.builtin.debug": {"msg": "{{ ['1', 'one'] | paddleflow.core.quantity_sum }}"}}
    done = checkout_play.run(tmp_path, yaml.safe_dump([{"hosts": "localhost", "gather_facts": False, "tasks": [task]}]))
    assert done.returncode != 0
    assert "entry 1 is 'one', but must be a quantity" in done.stdout + done.stderr
