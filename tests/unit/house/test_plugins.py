# SPDX-License-Identifier: Apache-2.0
"""meta/runtime.yml and the plugins say the same."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

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


def literals(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The documentation of a module, and of what it returns."""
    module = importlib.import_module(f"ansible_collections.paddleflow.core.plugins.modules.{name}")
    return yaml.safe_load(module.DOCUMENTATION), yaml.safe_load(module.RETURN)


def undocumented(sample: Any, field: dict[str, Any], place: str) -> list[str]:
    if isinstance(sample, list):
        return [wrong for one in sample for wrong in undocumented(one, field, place)]
    known = field.get("contains")
    if known is None or not isinstance(sample, dict):
        return []
    wrong = [f"{place}.{key}" for key in sample if key not in known]
    inner = ((key, value) for key, value in sample.items() if key in known)
    return wrong + [each for key, value in inner for each in undocumented(value, known[key], f"{place}.{key}")]


@pytest.mark.parametrize("name", [name for name in MODULES if name.endswith("_info")])
def test_an_info_shows_a_sample_in_the_words_that_it_documents(name: str) -> None:
    _options, returned = literals(name)
    found = [
        wrong
        for key, field in returned.items()
        for wrong in ([] if "sample" in field else [f"{key} has none"]) + undocumented(field["sample"], field, key)
    ]
    assert not found


def test_every_noun_has_an_info() -> None:
    """A cache policy is told with its file system."""
    texts = yaml.safe_load((tree.ROOT / "docs/model/modules.yaml").read_text(encoding="utf-8"))
    nouns = {name.removesuffix("_info") for name in texts}
    assert {noun for noun in nouns if f"{noun}_info" not in MODULES} == {"filesystem_cache"}


@pytest.mark.parametrize("noun", [name for name in MODULES if f"{name}_info" in MODULES])
def test_what_an_info_shows_as_declared_can_be_declared(noun: str) -> None:
    options, _returned = literals(noun)
    _options, returned = literals(f"{noun}_info")
    (sample,) = returned["objects"]["sample"]
    assert set(sample["declared"]) <= set(options["options"])
