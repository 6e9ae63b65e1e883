# SPDX-License-Identifier: Apache-2.0
"""Each role is complete, and only one of them names versions."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from tools import tree

FILES = tree.files()
ROLES = sorted({path.parts[1] for path in FILES if path.parts[0] == "roles"})
PARTS = ("README.md", "defaults/main.yml", "meta/main.yml", "meta/argument_specs.yml")
ARTIFACTS = yaml.safe_load((tree.ROOT / "roles/artifacts/defaults/main.yml").read_text(encoding="utf-8"))
VERSIONS = {name: str(value) for name, value in ARTIFACTS.items() if name.endswith("_version")}


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("part", PARTS)
def test_a_role_is_complete(role: str, part: str) -> None:
    assert Path("roles", role, part) in FILES


@pytest.mark.parametrize("role", ROLES)
def test_the_specification_names_each_default(role: str) -> None:
    """What a user may set is what is documented; both lists are one."""
    folder = tree.ROOT / "roles" / role
    defaults = yaml.safe_load((folder / "defaults/main.yml").read_text(encoding="utf-8")) or {}
    specification = yaml.safe_load((folder / "meta/argument_specs.yml").read_text(encoding="utf-8"))["argument_specs"]
    options = {name for entry in specification.values() for name in entry.get("options", {})}
    assert set(defaults) - options == set(), "defaults that no entry point documents"


@pytest.mark.parametrize("role", ROLES)
def test_defaults_carry_the_role_s_prefix(role: str) -> None:
    defaults = yaml.safe_load((tree.ROOT / "roles" / role / "defaults/main.yml").read_text(encoding="utf-8")) or {}
    assert [name for name in defaults if not name.startswith(f"{role}_")] == []


# Where a value takes effect. Documentation may show one as an example, and Go reads its own list (test_go_modules.py).
EFFECTIVE = ("roles/*/defaults/*.yml", "roles/*/vars/*.yml", "roles/*/templates/*", "playbooks/*")


def role_files() -> list[Path]:
    named = [path for path in FILES if any(path.match(pattern) for pattern in EFFECTIVE)]
    return [path for path in named if path.parts[1] != "artifacts"]


@pytest.mark.parametrize("path", role_files(), ids=str)
def test_only_the_artifacts_role_names_a_version(path: Path) -> None:
    text = (tree.ROOT / path).read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.strip().startswith(("#", "//"))]
    for name, version in VERSIONS.items():
        found = [line for line in lines if re.search(rf"(?<![\d.]){re.escape(version)}(?![\d.])", line)]
        assert not found, f"use {name}: {found[0].strip()}"


@pytest.mark.parametrize("path", [path for path in FILES if path.match("roles/*/meta/main.yml")], ids=str)
def test_roles_depend_on_roles_of_this_collection_only(path: Path) -> None:
    meta = yaml.safe_load((tree.ROOT / path).read_text(encoding="utf-8"))
    names = [entry["role"] for entry in meta["dependencies"]]
    assert [name for name in names if not name.startswith("paddleflow.core.")] == []
