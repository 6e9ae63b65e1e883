# SPDX-License-Identifier: Apache-2.0
"""The built collection: complete, nothing more than a user runs, the same bytes each time, and it works where nothing else is."""

from __future__ import annotations

import fnmatch
import hashlib
import json
import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

import setup
from tools import collection, tree

ALLOWED = (
    "FILES.json", "MANIFEST.json", "README.md", "LICENSE", "COPYING", "SECURITY.md", "CHANGELOG.rst",
    "changelogs/changelog.yaml", "meta/runtime.yml", "meta/execution-environment.yml", "meta/ee-*.txt",
    "docs/schema/paddleflow.json", "plugins/*.py", "plugins/*.yml", "roles/*", "playbooks/*",
)  # fmt: skip


@pytest.fixture(scope="module")
def tarball(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return collection.build(tmp_path_factory.mktemp("collection"))


def names(tarball: Path) -> set[str]:
    with tarfile.open(tarball) as archive:
        return {member.name for member in archive.getmembers() if member.isfile()}


def wheel_of(tarball: Path) -> Path:
    return next((tarball.parent / "stage/roles/artifacts/files").glob("*.whl"))


def test_it_holds_only_what_the_list_allows(tarball: Path) -> None:
    assert [name for name in names(tarball) if not any(fnmatch.fnmatch(name, pattern) for pattern in ALLOWED)] == []


def test_it_holds_what_a_user_needs(tarball: Path) -> None:
    found = names(tarball)
    assert found >= {
        "README.md",
        "LICENSE",
        "COPYING",
        "CHANGELOG.rst",
        "meta/runtime.yml",
        "docs/schema/paddleflow.json",
    }
    crds = tree.ROOT / "crds"
    assert found >= {f"roles/crds/files/{path.relative_to(crds)}" for path in crds.rglob("*.yaml")}
    shipped = ("plugins", "roles", "playbooks")
    assert {str(path) for path in tree.files() if path.parts[0] in shipped} <= found


def test_it_holds_the_wheel_with_its_checksum(tarball: Path) -> None:
    wheel = wheel_of(tarball)
    digest, name = wheel.with_name(wheel.name + ".sha256").read_text(encoding="utf-8").split()
    assert name == wheel.name
    assert digest == hashlib.sha256(wheel.read_bytes()).hexdigest()
    assert {f"roles/artifacts/files/{wheel.name}", f"roles/artifacts/files/{wheel.name}.sha256"} <= names(tarball)


def test_the_same_tree_gives_the_same_bytes(tarball: Path, tmp_path: Path) -> None:
    assert collection.build(tmp_path).read_bytes() == tarball.read_bytes()


def test_the_wheel_holds_the_tracked_files_and_nothing_else(tarball: Path) -> None:
    expected = {
        f"{name}/{path.relative_to(folder)}"
        for name, folder in setup.existing_roots().items()
        for path in tree.files()
        if path.is_relative_to(folder) and path.suffix == ".py"
    }
    with zipfile.ZipFile(wheel_of(tarball)) as archive:
        found = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert found == expected


def test_it_installs_into_an_empty_path(tarball: Path, tmp_path: Path) -> None:
    collection.install(tarball, tmp_path)
    manifest = json.loads((tmp_path / "ansible_collections/paddleflow/core/MANIFEST.json").read_text(encoding="utf-8"))
    assert manifest["collection_info"]["version"] == setup.version()
    assert manifest["collection_info"]["dependencies"] == {}


def lines(path: Path) -> list[str]:
    """Without comments."""
    found = [line.partition("#")[0].strip() for line in path.read_text(encoding="utf-8").splitlines()]
    return [line for line in found if line]


def test_an_execution_environment_takes_up_what_the_collection_asks_for(tarball: Path, tmp_path: Path) -> None:
    """As the builder does in an environment's image, over all collections that it installed there."""
    collection.install(tarball, tmp_path)
    written = {name: tmp_path / f"{name}.txt" for name in ("requirements", "bindep")}
    command = [str(Path(sys.executable).with_name("ansible-builder")), "introspect", str(tmp_path)]
    command += [f"--write-pip={written['requirements']}", f"--write-bindep={written['bindep']}"]
    subprocess.run(command, check=True, capture_output=True)
    taken = {name: lines(file) for name, file in written.items()}
    asked = {name: lines(tree.ROOT / f"meta/ee-{name}.txt") for name in written}
    # An environment has it anyway, with ansible-core, and the builder leaves it out.
    asked["requirements"] = [line for line in asked["requirements"] if not line.startswith("PyYAML")]
    assert all(asked.values())
    assert taken == asked


def test_every_module_of_the_wheel_imports_where_nothing_else_is_installed(tarball: Path, tmp_path: Path) -> None:
    """Third-party libraries are imported in the function that needs them, so no extra is needed to import a module."""
    wheel = wheel_of(tarball)
    venv.create(tmp_path, symlinks=True)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
        modules = sorted(
            name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            for name in archive.namelist()
            if name.startswith("paddleflow_core/") and name.endswith(".py")
        )
    code = f"import importlib, sys; [importlib.import_module(name) for name in {modules!r}]"
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(tmp_path / "site")}
    subprocess.run([str(tmp_path / "bin/python"), "-W", "error", "-c", code], env=environment, check=True)
    assert modules
