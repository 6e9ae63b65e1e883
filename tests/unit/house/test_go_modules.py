# SPDX-License-Identifier: Apache-2.0
"""The Go modules that roles carry agree with each other and with the artifacts role. Reads the files; needs no Go."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from tools import go, tree

MODULES = go.modules()
ARTIFACTS = yaml.safe_load((tree.ROOT / "roles/artifacts/defaults/main.yml").read_text(encoding="utf-8"))
# Go's name of what an artifacts variable versions.
VERSIONED = {
    "k8s.io/kubernetes": "artifacts_kubernetes_version",
    "go.etcd.io/etcd/server/v3": "artifacts_etcd_version",
    "github.com/coredns/coredns": "artifacts_coredns_version",
    "volcano.sh/volcano": "artifacts_volcano_version",
}


def versions(folder: Path) -> dict[str, str]:
    """Module -> version of a go.mod, with its replacements applied."""
    text = re.sub(r"//.*", "", (folder / "go.mod").read_text(encoding="utf-8"))
    found = dict(re.findall(r"^\s*(?:require\s+)?([\w./~-]+\.[\w./~-]+)\s+(v\S+)\s*$", text, re.MULTILINE))
    for old, new, version in re.findall(
        r"^\s*(?:replace\s+)?(\S+)(?:\s+v\S+)?\s+=>\s+(\S+)\s+(v\S+)\s*$", text, re.MULTILINE
    ):
        if old in found:
            found[old] = version if old == new else f"{new} {version}"
    return found


def test_modules_that_both_use_have_one_version() -> None:
    """They share the build cache and, at run time, the API: two versions would double the one and split the other."""
    first, *others = (versions(folder) for folder in MODULES)
    for other in others:
        assert {name: other[name] for name in first.keys() & other.keys()} == {
            name: first[name] for name in first.keys() & other.keys()
        }


@pytest.mark.parametrize("folder", MODULES, ids=lambda path: path.name)
def test_the_artifacts_role_names_the_versions_that_are_compiled(folder: Path) -> None:
    found = versions(folder)
    named = {name: f"v{ARTIFACTS[variable]}" for name, variable in VERSIONED.items() if name in found}
    assert {name: found[name] for name in named} == named


@pytest.mark.parametrize("folder", MODULES, ids=lambda path: path.name)
def test_the_build_description_agrees_with_go_mod(folder: Path) -> None:
    description = json.loads((folder / "build.json").read_text(encoding="utf-8"))
    found = versions(folder)
    named = description.get("versions", {})
    assert {name: found.get(name) for name in named} == named
    if "k8s.io/kubernetes" in found:
        assert f"gitVersion={found['k8s.io/kubernetes']}" in description["ldflags"]


@pytest.mark.parametrize("folder", MODULES, ids=lambda path: path.name)
def test_every_module_has_its_checksums(folder: Path) -> None:
    # The effective modules only: go.sum holds a replacement under its own name.
    effective = [f"{name} {version}" for name, version in versions(folder).items() if " " not in version]
    sums = (folder / "go.sum").read_text(encoding="utf-8") if effective else ""
    assert [line for line in effective if line not in sums] == []
