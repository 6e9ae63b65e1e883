# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from ansible_collections.paddleflow.core.plugins.action.command_progress import progress_line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("812/1903 packages compiled (x/y)\n", "812 of 1903 (42 %) packages compiled (x/y), 1 min 05 s"),
        ("0/0 fetching sources: 7 modules\n", "fetching sources: 7 modules, 1 min 05 s"),
        ("", "running, 1 min 05 s"),
    ],
)
def test_a_line_says_how_far_it_is(text: str, line: str) -> None:
    assert progress_line(text, 65.4) == line
