# SPDX-License-Identifier: Apache-2.0
"""The support matrix says what the code says."""

from __future__ import annotations

import re
import tomllib

import yaml

from tools import tree

MATRIX = (tree.ROOT / "docs/reference/support.md").read_text(encoding="utf-8")
ARTIFACTS = yaml.safe_load((tree.ROOT / "roles/artifacts/defaults/main.yml").read_text(encoding="utf-8"))
RUNTIME = yaml.safe_load((tree.ROOT / "meta/runtime.yml").read_text(encoding="utf-8"))
PROJECT = tomllib.loads((tree.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def cell(row: str, column: int) -> str:
    found = re.search(rf"^\| {re.escape(row)} \|(.*)\|$", MATRIX, re.MULTILINE)
    assert found is not None, f"no row {row}"
    return found[1].split("|")[column].strip()


def test_ansible_core() -> None:
    assert cell("ansible-core", 0) == RUNTIME["requires_ansible"]
    locked = re.search(
        r"^ansible-core==(\S+)", (tree.ROOT / "locks/play.txt").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert locked is not None
    assert cell("ansible-core", 1) == locked[1]


def test_python() -> None:
    assert cell("Python, control node", 0) == PROJECT["requires-python"]


def test_kubernetes() -> None:
    supported = ARTIFACTS["artifacts_kubernetes_supported"]
    assert cell("Kubernetes", 0) == f">={supported['min']},<={supported['max']}"
    assert cell("Kubernetes", 1) == ARTIFACTS["artifacts_kubernetes_version"]


def test_what_is_installed() -> None:
    for row in ("etcd", "CoreDNS", "Volcano", "K3s"):
        assert cell(row, 1) == ARTIFACTS[f"artifacts_{row.lower()}_version"]


def test_the_room_that_readme_asks_for_is_what_preflight_demands() -> None:
    """By default what is compiled and the cluster lie on one file system, and its needs are added up."""
    readme = (tree.ROOT / "README.md").read_text(encoding="utf-8")
    asked = re.search(r"Python ([\d.]+), (\d+) GiB of free disk while it compiles, (\d+) GiB of memory", readme)
    assert asked is not None
    demanded = yaml.safe_load((tree.ROOT / "roles/preflight/defaults/main.yml").read_text(encoding="utf-8"))
    assert asked[1] == demanded["preflight_python_control"]
    assert int(asked[2]) == demanded["preflight_data_gib"] + demanded["preflight_build_gib"]
    # Neither is a sum: what compiles has ended when the cluster runs. The figure is of a whole machine, so it rounds up.
    assert int(asked[3]) - 1 < demanded["preflight_memory_build_gib"] <= int(asked[3])
