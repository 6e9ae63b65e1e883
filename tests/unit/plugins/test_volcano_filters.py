# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
import yaml
from ansible_collections.paddleflow.core.plugins.filter.volcano import FilterModule

from tools import tree

FILTERS = FilterModule().filters()


@pytest.mark.parametrize("name", FILTERS)
def test_each_filter_is_documented_under_its_name(name: str) -> None:
    text = (tree.ROOT / f"plugins/filter/{name}.yml").read_text(encoding="utf-8")
    assert yaml.safe_load(text)["DOCUMENTATION"]["name"] == name


def test_no_documentation_outlives_its_filter() -> None:
    assert {path.stem for path in (tree.ROOT / "plugins/filter").glob("volcano_*.yml")} == set(FILTERS)
