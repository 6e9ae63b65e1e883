# SPDX-License-Identifier: Apache-2.0
"""How much memory a process may have, by what the kernel shows of its cgroup and of those around it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from paddleflow_fuse.cgroup import limit

SECOND = "0::/system.slice/a.service"
FIRST = "5:cpu:/a/b\n4:hugetlb,memory:/a/b\n0::/a/b"


@pytest.mark.parametrize(
    ("told", "limits", "found"),
    [
        (SECOND, {"system.slice/a.service/memory.max": "1000\n"}, 1000),
        (SECOND, {"system.slice/a.service/memory.max": "max\n", "system.slice/memory.max": "500\n"}, 500),
        (SECOND, {"system.slice/a.service/memory.max": "1000\n", "system.slice/memory.max": "500\n"}, 500),
        (SECOND, {"system.slice/a.service/memory.max": "max\n"}, None),
        ("0::/", {"memory.max": "700\n"}, 700),
        (
            FIRST,
            {"memory/a/b/memory.limit_in_bytes": "9223372036854771712\n", "memory/a/memory.limit_in_bytes": "5\n"},
            5,
        ),
        ("4:memory:/docker/abc", {"memory/memory.limit_in_bytes": "300\n"}, 300),
        (FIRST, {"cpu/a/b/memory.max": "1\n"}, None),
        ("", {"memory.max": "700\n"}, None),
    ],
)
def test_the_least_of_all_limits_counts(
    tmp_path: Path, told: str, limits: Mapping[str, str], found: int | None
) -> None:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text(told)
    for name, text in limits.items():
        place = tmp_path / "cgroups" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    assert limit(tmp_path / "proc", tmp_path / "cgroups") == found


def test_a_system_without_cgroups_has_no_limit(tmp_path: Path) -> None:
    assert limit(tmp_path, tmp_path) is None
