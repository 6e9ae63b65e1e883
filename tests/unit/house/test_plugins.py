# SPDX-License-Identifier: Apache-2.0
"""meta/runtime.yml and the plugins say the same."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tools import tree

RUNTIME = yaml.safe_load((tree.ROOT / "meta/runtime.yml").read_text(encoding="utf-8"))
MODULES = sorted(path.stem for path in tree.files() if path.match("plugins/modules/*.py"))
FILTERS = [path for path in tree.files() if path.match("plugins/filter/*.py")]

# Modules without the connection options. module_defaults of the group reach every member, and one that does not know an
# option refuses it: a play with group defaults could then not include a role that uses such a module.
OUTSIDE_GROUP = {"command_progress", "files"}


def test_the_action_group_holds_every_module_that_takes_the_connection_options() -> None:
    assert sorted(RUNTIME["action_groups"]["paddleflow"]) == [name for name in MODULES if name not in OUTSIDE_GROUP]


def test_no_exception_outlives_its_module() -> None:
    assert set(MODULES) >= OUTSIDE_GROUP


@pytest.mark.parametrize("name", [path.stem for path in tree.files() if path.match("plugins/action/*.py")])
def test_every_action_plugin_has_a_module_that_documents_it(name: str) -> None:
    assert name in MODULES


@pytest.mark.parametrize("path", FILTERS, ids=str)
def test_filters_hold_no_logic(path: Path) -> None:
    """They only name functions of the library, where plain unit tests reach them."""
    assert tree.code_lines((tree.ROOT / path).read_text(encoding="utf-8")) <= 60
