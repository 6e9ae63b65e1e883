# SPDX-License-Identifier: Apache-2.0
"""The runner of `make test` reads the stages' closing lines, and CI reads the runner's."""

from __future__ import annotations

import pytest

from tools import stages


@pytest.mark.parametrize(
    ("log", "closing"),
    [
        ("collected\n===== 3 passed in 0.12s =====\n", "===== 3 passed in 0.12s ====="),
        ("= 1 failed, 2 passed, 1 warning in 61.00s (0:01:01) =\nmake: *** [unit] Error 1\n", "= 1 failed, 2 passed, 1 warning in 61.00s (0:01:01) ="),
        ("\x1b[32m===== \x1b[1m3 passed\x1b[0m in 0.1s =====\x1b[0m\n", "===== 3 passed in 0.1s ====="),
        ("12 passed in 3.4s\n", "12 passed in 3.4s"),
        ("13 passed, 0 failed\n", "13 passed, 0 failed"),
        ("10 passed, 3 failed\nmore\n11 passed, 2 failed\n", "11 passed, 2 failed"),
        ("3 passed the post\nthe end\n", ""),
        ("", ""),
    ],
)  # fmt: skip
def test_the_closing_line_is_found(log: str, closing: str) -> None:
    assert stages.closing_line(log) == closing


def test_the_report_ends_with_the_closing_lines() -> None:
    results = [
        stages.Result("lint", 0, 61.2, "13 passed, 0 failed"),
        stages.Result("unit", 1, 2.0, "== 1 failed, 2 passed in 1.0s =="),
        stages.Result("api", 2, 0.4, ""),
    ]
    lines = stages.report(results).splitlines()
    assert lines[-3:] == ["13 passed, 0 failed", "== 1 failed, 2 passed in 1.0s ==", "1 failed"]
    assert "lint       ok             1:01  13 passed, 0 failed" in lines
    assert "unit       FAILED (1)     0:02  1 failed, 2 passed" in lines
    assert "api        FAILED (2)     0:00  no counts" in lines
