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
