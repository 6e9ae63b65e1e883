# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os

import pytest
from hypothesis import settings

EXTENDED = bool(os.environ.get("PADDLEFLOW_EXTENDED"))

# The same examples in every run, so that a landing never fails by luck; new and more ones where there is time to look at them.
# No deadline: how long an example takes says more about the machine than about the code.
settings.register_profile(
    "paddleflow", deadline=None, database=None, derandomize=not EXTENDED, max_examples=200 if EXTENDED else 30
)
settings.load_profile("paddleflow")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave what is marked `extended` to `make test-extended`."""
    if EXTENDED:
        return
    heavy = [item for item in items if item.get_closest_marker("extended")]
    if heavy:
        config.hook.pytest_deselected(items=heavy)
        items[:] = [item for item in items if item not in heavy]
